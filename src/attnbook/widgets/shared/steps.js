// Going through something step by step, and back.

import { button, element, nearest, put, slider } from "./core.js";

// A slider, and two buttons that go to the stop before and after; `at` is the number of the stop it is at, from 0.
export function stepper(model, life, { back, forward, values, show, ...options }) {
  const at = () => nearest(values(), model.get(options.trait));
  const turn = (by) => () =>
    put(model, { [options.trait]: values()[Math.min(Math.max(at() + by, 0), values().length - 1)] });
  return {
    at,
    node: element(
      "div",
      { class: "ab-controls" },
      button(back, turn(-1)),
      button(forward, turn(1)),
      slider(model, life, { ...options, values, show: () => show(at()) }),
    ),
  };
}
