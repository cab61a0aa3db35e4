// A number of the model, at one of a few stops.

import { element, plain, update } from "./core.js";

/** @import { Model, Subscriptions } from "./core.js" */

/**
 * @param {Model} model
 * @param {Subscriptions} subscriptions
 * @param {object} options
 * @param {string} options.trait
 * @param {string} options.label
 * @param {any[] | (() => any[])} options.values  its stops; if they depend on the model, on the traits in `with`
 * @param {string[]} [options.with]
 * @param {(value: any) => string} [options.show]
 * @returns {Element}
 */
export function slider(model, subscriptions, { trait, label, values, with: others = [], show = plain }) {
  const choices = () => (typeof values === "function" ? values() : values);
  const input = element("input", { type: "range", min: 0, step: 1 });
  // Not an <output>: a label names the first control inside it. The value is hidden from the name, aria-valuetext says it.
  const output = element("span", { class: "ab-value", "aria-hidden": "true" });
  const node = element("div", { class: "ab-control" }, element("label", {}, `${label} `, output, input));
  input.addEventListener("input", () => update(model, { [trait]: choices()[input.value] }));
  subscriptions.follow([trait, ...others], () => {
    // It need not be one of the stops: the thumb goes to the nearest.
    const value = model.get(trait);
    input.max = choices().length - 1;
    input.value = nearestStop(choices(), value);
    output.textContent = show(value);
    input.setAttribute("aria-valuetext", show(value));
  });
  return node;
}

/**
 * @param {number[]} stops
 * @param {number} value
 * @returns {number} the place of the stop nearest to the value
 */
export function nearestStop(stops, value) {
  const away = stops.map((x) => Math.abs(x - value));
  return away.indexOf(Math.min(...away));
}

/** Its stops where it is a temperature. */
export const TEMPERATURES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10];

/**
 * By what scores of vectors of a width are divided.
 * @type {Object<string, (width: number) => number>}
 */
export const SCALES = { none: () => 1, sqrt: Math.sqrt, d: (width) => width };
