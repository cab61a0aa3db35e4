// Going through something step by step, and back.

import { button, element, nearestStop, update, slider } from "./core.js";

// A slider, and two buttons that go to the stop before and after; `at` is the number of the stop it is at, from 0.
export function stepSlider(model, subscriptions, { back, forward, values, show, ...options }) {
  const at = () => nearestStop(values(), model.get(options.trait));
  const turn = (by) => () =>
    update(model, { [options.trait]: values()[Math.min(Math.max(at() + by, 0), values().length - 1)] });
  return {
    at,
    node: element(
      "div",
      { class: "ab-controls" },
      button(back, turn(-1)),
      button(forward, turn(1)),
      slider(model, subscriptions, { ...options, values, show: () => show(at()) }),
    ),
  };
}
