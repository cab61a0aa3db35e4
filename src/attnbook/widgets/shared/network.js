// A network from a file with a byte for each parameter, and what its pre-norm blocks are made of.

import { dot, headed, plus, softmax, times } from "./core.js";
import { layerNorm, split } from "./layers.js";

/**
 * Where a number of vectors look: for each of them, in each head, its weights on what it looks at.
 * @typedef {number[][][]} Weights
 */

/**
 * From a file made by data/stored.py, to_single_bytes: every parameter by its name, a matrix as a list of rows; and the
 * layers that have these parameters, by the names that PyTorch gives them.
 * @param {ArrayBuffer} bytes
 * @returns {{
 *   parts: Object<string, any>,
 *   linear: (name: string, x: number[]) => number[],
 *   norm: (name: string, x: number[]) => number[],
 *   attend: (name: string, xs: number[][], memory?: number[][]) => { xs: number[][], weights: Weights },
 *   feed: (block: string, xs: number[][]) => number[][],
 *   about: Object<string, any>
 * }} `attend` and `feed` norm first and add what comes out; without a memory, vectors look at each other. `about` is what
 *   else the head of the file says
 */
export function network(bytes) {
  const { units, shapes, start, ...about } = headed(bytes);
  const parts = {};
  let next = start;
  for (const [name, shape] of Object.entries(shapes)) {
    const take = (n) => Array.from(new Int8Array(bytes, next, n), (step) => ((next += 1), step * units[name]));
    const width = shape.at(-1);
    parts[name] = shape.length > 1 ? Array.from({ length: shape[0] }, () => take(width)) : take(width);
  }
  const linear = (name, x) => plus(times(parts[`${name}.weight`], x), parts[`${name}.bias`]);
  const norm = (name, x) =>
    layerNorm(x).map((number, i) => number * parts[`${name}.weight`][i] + parts[`${name}.bias`][i]);

  const attend = (name, xs, memory) => {
    const pieces = (role, x) => split(linear(`${name}.${role}`, x), about.heads);
    const normed = xs.map((x) => norm(`${name}_norm`, x));
    const [keys, values] = ["key", "value"].map((role) => (memory ?? normed).map((x) => pieces(role, x)));
    const weights = normed.map((x) =>
      pieces("query", x).map((q, h) => softmax(keys.map((key) => dot(q, key[h]) / Math.sqrt(q.length)))),
    );
    const read = (row, h) => values[0][h].map((_, k) => row.reduce((sum, w, j) => sum + w * values[j][h][k], 0));
    return { xs: xs.map((x, i) => plus(x, linear(`${name}.output`, weights[i].flatMap(read)))), weights };
  };
  const feed = (block, xs) =>
    xs.map((x) => {
      const hidden = linear(`${block}.feed_forward.0`, norm(`${block}.feed_forward_norm`, x));
      const open = hidden.map((number) => Math.max(number, 0));
      return plus(x, linear(`${block}.feed_forward.3`, open));
    });
  return { parts, linear, norm, attend, feed, about };
}

/**
 * @param {number[][]} rows
 * @returns {number[]}
 */
export const meanOf = (rows) => rows.reduce(plus).map((sum) => sum / rows.length);

/**
 * The places of each patch of 2 × 2 in an image that is so wide and 8 high.
 * @param {number} width
 * @returns {number[][]}
 */
export const patchesOf = (width) =>
  Array.from({ length: 2 * width }, (_, p) => {
    const corner = 2 * width * Math.floor((2 * p) / width) + ((2 * p) % width);
    return [corner, corner + 1, corner + width, corner + width + 1];
  });
