// Files of numbers: the networks in them.

import { headed } from "./core.js";

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
