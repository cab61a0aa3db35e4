// The words nearest to a vector.

import { dot, length } from "./core.js";

/**
 * The rows nearest to a vector by cosine.
 * @param {ReturnType<typeof import("./lexicon.js").wordVectors>} vectors
 * @param {ArrayLike<number>} to
 * @param {number} n
 * @param {number[]} [without]  rows left out
 * @returns {[row: number, cosine: number][]}
 */
export function nearestWords({ list, vector }, to, n, without = []) {
  const size = length(to);
  const cosines = list.map((_, i) => [i, dot(vector(i), to) / (length(vector(i)) * size || 1)]);
  return cosines
    .filter(([i]) => !without.includes(i))
    .sort((a, b) => b[1] - a[1])
    .slice(0, n);
}
