// Parts of a Transformer that more than one widget computes with.

import { dot } from "./core.js";

/**
 * Sinusoidal positions: what stands in row i of a table of width D.
 * @param {number} i
 * @param {number} D
 * @returns {number[]}
 */
export const sinusoid = (i, D) =>
  Array.from({ length: D }, (_, n) => (n % 2 ? Math.cos : Math.sin)(i / 10000 ** ((n - (n % 2)) / D)));

/**
 * A vector of mean 0 and variance 1; gain and bias are up to the caller.
 * @param {number[]} x
 * @returns {number[]}
 */
export function layerNorm(x) {
  const mean = x.reduce((sum, number) => sum + number, 0) / x.length;
  const centred = x.map((number) => number - mean);
  const size = Math.sqrt(dot(centred, centred) / x.length + 1e-5);
  return centred.map((number) => number / size);
}

/**
 * The piece of each head.
 * @param {number[]} x
 * @param {number} heads
 * @returns {number[][]}
 */
export const split = (x, heads) =>
  Array.from({ length: heads }, (_, h) => x.slice((h * x.length) / heads, ((h + 1) * x.length) / heads));
