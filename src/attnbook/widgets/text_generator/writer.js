// A small language model, as in attnbook/tasks/writing.py, and how its next token is drawn, as in models/decoding.py.

import { dot, headed, plus, softmax } from "../shared/core.js";
import { turn } from "../shared/rotary.js";

const BASE = 10000;

/**
 * Of a token, the scores of all that could follow, and what each head of all blocks looks at from it.
 * @typedef {{ scores: number[], weights: number[][] }} Step
 */

/**
 * @param {ArrayBuffer} bytes  writer.bin
 * @returns {(ids: number[]) => Step[]} which reads what it has not read already: keys and values are kept
 */
export function writer(bytes) {
  const { units, shapes, heads, start } = headed(bytes);
  const parts = {};
  let next = start;
  for (const [name, shape] of Object.entries(shapes)) {
    const size = shape.reduce((a, b) => a * b);
    parts[name] = Float32Array.from(new Int8Array(bytes, next, size), (step) => step * units[name]);
    next += size;
  }
  const product = (name, x) => {
    const matrix = parts[`${name}.weight`];
    const y = new Array(matrix.length / x.length).fill(0);
    for (let row = 0, at = 0; row < y.length; row++) for (let i = 0; i < x.length; i++) y[row] += matrix[at++] * x[i];
    return y;
  };
  const norm = (name, x) => {
    const size = Math.sqrt(dot(x, x) / x.length + 1e-5);
    return x.map((number, i) => (number / size) * parts[`${name}.weight`][i]);
  };
  const D = parts["decoder.norm.weight"].length;
  const blocks = [];
  while (`decoder.${blocks.length}.feed_forward.up.weight` in parts) blocks.push({ keys: [], values: [] });

  const read = (id, place) => {
    const weights = [];
    let x = Array.from(
      parts["tokens.embedding.weight"].subarray(id * D, (id + 1) * D),
      (number) => number * Math.sqrt(D),
    );
    blocks.forEach(({ keys, values }, n) => {
      const [block, own] = [`decoder.${n}`, `decoder.${n}.self_attention`];
      const asks = norm(`${own}_norm`, x);
      const per = (name) => {
        const all = product(`${own}.${name}`, asks);
        return Array.from({ length: heads }, (_, h) => all.slice((h * D) / heads, ((h + 1) * D) / heads));
      };
      const turned = (name) => per(name).map((part) => turn(part, place, BASE));
      keys[place] = turned("key");
      values[place] = per("value");
      const joined = turned("query").flatMap((q, h) => {
        const row = softmax(keys.map((key) => dot(q, key[h]) / Math.sqrt(q.length)));
        weights.push(row);
        return q.map((_, i) => row.reduce((sum, weight, j) => sum + weight * values[j][h][i], 0));
      });
      x = plus(x, product(`${own}.output`, joined));
      const given = norm(`${block}.feed_forward_norm`, x);
      const up = product(`${block}.feed_forward.up`, given);
      const open = product(`${block}.feed_forward.gate`, given).map((z, i) => (up[i] * z) / (1 + Math.exp(-z)));
      x = plus(x, product(`${block}.feed_forward.down`, open));
    });
    return { scores: product("tokens.embedding", norm("decoder.norm", x)), weights };
  };

  let [known, steps] = [[], []];
  return (ids) => {
    const differs = ids.findIndex((id, i) => id !== known[i]);
    const same = differs < 0 ? ids.length : differs;
    steps = steps.slice(0, same);
    for (const { keys, values } of blocks) keys.length = values.length = same;
    for (let i = same; i < ids.length; i++) steps.push(read(ids[i], i));
    known = [...ids];
    return steps;
  };
}

/**
 * The probabilities to draw a token with.
 * @param {number[]} scores
 * @param {number} temperature
 * @param {number} topK
 * @param {number} topP
 * @returns {number[]}
 */
export function filtered(scores, temperature, topK, topP) {
  const order = [...scores.keys()].sort((i, j) => scores[j] - scores[i]).slice(0, temperature ? topK : 1);
  const ordered = softmax(order.map((i) => scores[i] / (temperature || 1)));
  const chances = scores.map(() => 0);
  let [before, total] = [0, 0];
  ordered.forEach((chance, n) => {
    if (topP < 1 && before >= topP) return;
    chances[order[n]] = chance;
    total += chance;
    before += chance;
  });
  return chances.map((chance) => chance / total);
}

/**
 * The first token at which the sum of probabilities exceeds a number between 0 and 1.
 * @param {number[]} chances
 * @param {number} number
 * @returns {number}
 */
export function drawn(chances, number) {
  const sums = [];
  chances.reduce((sum, chance, i) => (sums[i] = sum + chance), 0);
  return sums.findIndex((sum) => sum > number * sums.at(-1));
}
