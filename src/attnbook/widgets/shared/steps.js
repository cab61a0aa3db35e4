// Going through something step by step, and back.

import { button, element, update } from "./core.js";
import { nearestStop, slider } from "./slider.js";

/** @import { Model, Subscriptions } from "./core.js" */

/**
 * A slider, and two buttons that go to the stop before and after.
 * @param {Model} model
 * @param {Subscriptions} subscriptions
 * @param {object} options  those of `slider`, and these
 * @param {string} options.back
 * @param {string} options.forward
 * @param {() => number[]} options.values
 * @param {(at: number) => string} options.show
 * @returns {{ at: () => number, node: Element }} `at` is the number of the stop it is at, from 0
 */
export function stepSlider(model, subscriptions, { back, forward, values, show, ...options }) {
  const at = () => nearestStop(values(), model.get(options.trait));
  const turn = (by) => () =>
    update(model, { [options.trait]: values()[Math.min(Math.max(at() + by, 0), values().length - 1)] });
  const on = button(forward, turn(1));
  on.classList.add("ab-start");
  return {
    at,
    node: element(
      "div",
      { class: "ab-controls" },
      button(back, turn(-1)),
      on,
      slider(model, subscriptions, { ...options, values, show: () => show(at()) }),
    ),
  };
}
