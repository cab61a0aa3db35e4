// Numbers that are very large or very small.

import { fill, number, plain, whole } from "./core.js";

/**
 * An integer, from `from` on rounded, in the words for its size: 335.5 million.
 * @param {number} x
 * @param {[number, string][]} sizes  from shared/en.json: another language may go by other powers of ten
 * @param {number} [from]
 * @returns {string}
 */
export function large(x, sizes, from = 0) {
  const size = x >= from && sizes.find(([least]) => x >= least);
  return size ? fill(size[1], { x: number(x / size[0], 1) }) : whole(x);
}

/**
 * As a power of ten: 4.2e−5.
 * @param {number} x
 * @returns {string}
 */
export const scientific = (x) => plain(x.toExponential(1).replace("e+", "e"));
