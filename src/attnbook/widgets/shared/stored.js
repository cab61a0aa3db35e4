// Files of numbers: the networks in them, and files that wait until they are needed.

import { asset, headed } from "./core.js";

/** @import { Model } from "./core.js" */

/**
 * From a file made by data/stored.py: of each network every parameter by its name, a matrix as a list of rows.
 * @param {ArrayBuffer} bytes
 * @returns {{ models: Object<string, Object<string, any>> }} and what else its head says
 */
export function networks(bytes) {
  const { unit, shapes, start, ...more } = headed(bytes);
  const numbers = new Int16Array(bytes, start);
  let next = 0;
  const take = (n) => Array.from(numbers.subarray(next, (next += n)), (step) => step * unit);
  const rows = (shape) =>
    shape.length > 1 ? Array.from({ length: shape[0] }, () => rows(shape.slice(1))) : take(shape[0]);
  const read = (parts) => Object.fromEntries(Object.entries(parts).map(([name, shape]) => [name, rows(shape)]));
  return { ...more, models: Object.fromEntries(Object.entries(shapes).map(([name, parts]) => [name, read(parts)])) };
}

/**
 * An asset that is large, and fetched once, when it is first needed; until it is there the widget says so.
 * @template T
 * @param {Model} model
 * @param {string} name  of the trait
 * @param {(bytes: ArrayBuffer) => T} read
 * @returns {(root: Element, status: Element, text: string) => Promise<T>}
 */
export function whenNeeded(model, name, read) {
  let found = null;
  let fetching = null;
  return async (root, status, text) => {
    if (found) return found;
    root.setAttribute("aria-busy", "true");
    status.textContent = text;
    try {
      fetching ??= asset(model, name).then(read);
      found = await fetching;
    } finally {
      fetching = null; // where it failed, the next who needs it tries again
      status.textContent = "";
      root.removeAttribute("aria-busy");
    }
    return found;
  };
}
