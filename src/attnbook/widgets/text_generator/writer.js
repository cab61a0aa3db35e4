// A small language model, as in attnbook/tasks/writing.py, and how its next token is drawn, as in models/decoding.py.

import { softmax } from "../shared/core.js";
import { attention, embed, feed, linear, norm } from "../shared/network.js";
import { stored } from "../shared/stored.js";

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
  const { heads, parts } = stored(bytes);
  const { norm: last, ...all } = parts.decoder;
  const blocks = Object.values(all);
  const looking = blocks.map((block) => attention(block.self_attention, block.self_attention_norm, heads, BASE));

  const read = (id) => {
    const weights = [];
    let x = embed(parts.tokens, id);
    blocks.forEach((block, n) => {
      const look = looking[n].next(x);
      weights.push(...look.weights);
      x = feed(block, look.x);
    });
    return { scores: Array.from(linear(parts.tokens.embedding, norm(last, x))), weights };
  };

  let [known, steps] = [[], []];
  return (ids) => {
    const differs = ids.findIndex((id, i) => id !== known[i]);
    const same = differs < 0 ? ids.length : differs;
    for (const own of looking) own.forget(same);
    steps = [...steps.slice(0, same), ...ids.slice(same).map(read)];
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
