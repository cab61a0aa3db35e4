// What is seen of a model while it reads: what booktools/make/model_map.py stored of one sentence.

import { headed } from "../shared/core.js";

/**
 * A model that has read a text with some heads off. Heads are counted over all blocks; `i` is the token that looks, `j` the
 * one that is looked at. Pushes are in logits, of the word that comes next with all heads on.
 * @typedef {{ weight: (n: number, i: number, j: number) => number, look: (n: number, i: number, j: number) => number,
 *   push: (n: number, i: number) => number, network: (block: number, i: number) => number,
 *   says: (i: number) => { words: [string, number][], final: number }[], final: (i: number) => string }} Picture  `final` is the
 *   word that comes next with all heads on; `says` has, of each block, the words that the stream would most likely say after
 *   it, with their probabilities, and that of the final word
 */

/**
 * @param {Picture["look"]} look
 * @returns {Picture["push"]} by all that a head looks at
 */
export const pushOf = (look) => (head, i) => {
  let sum = 0;
  for (let j = 0; j <= i; j++) sum += look(head, i, j);
  return sum;
};

/**
 * @param {Picture} picture
 * @param {number} head
 * @param {number} i
 * @returns {number} the token that the head looks at most
 */
export const mostSeen = ({ weight }, head, i) => {
  let most = 0;
  for (let j = 1; j <= i; j++) if (weight(head, i, j) > weight(head, i, most)) most = j;
  return most;
};

const [STEPS, LOOK, NETWORK, CHANCE] = [255, 1e4, 500, 1e4]; // of a weight's root; of a logit; of a probability
const LIKELIEST = 6;

/**
 * @param {ArrayBuffer} bytes
 * @returns {{ text: string, tokens: string[], blocks: number, heads: number, model: string, size: number, left: number[],
 *   picture: (off: number[]) => Picture | undefined }}
 */
export function stored(bytes) {
  const { start, pictures, ...about } = headed(bytes);
  const { blocks, heads, tokens, words } = about;
  let at = start;
  const take = (kind, size) => {
    const found = new kind(bytes, at, size);
    at += found.byteLength;
    return found;
  };
  const cells = (tokens.length * (tokens.length + 1)) / 2;
  const sixteen = pictures.map(({ first }) =>
    [heads * cells, tokens.length, tokens.length * (LIKELIEST + 1)].map((size) =>
      take(Int16Array, (blocks - first) * size),
    ),
  );
  let whole;
  const made = pictures.map(({ off, first, scale }, n) => {
    const [looks, networks, chances] = sixteen[n];
    const own = blocks - first;
    const maps = take(Uint8Array, own * heads * cells);
    const likeliest = take(Uint8Array, own * tokens.length * LIKELIEST);
    const before = whole;
    const place = (head, i, j) => (own * heads * i * (i + 1)) / 2 + (head - first * heads) * (i + 1) + j;
    const said = (at) => {
      const [from, to] = [at * (LIKELIEST + 1), (at + 1) * (LIKELIEST + 1) - 1];
      const likely = Array.from(chances.subarray(from, to), (chance, n) => [
        words[likeliest[at * LIKELIEST + n]],
        chance / CHANCE,
      ]);
      return { words: likely, final: chances[to] / CHANCE };
    };
    const isBefore = (head) => head < first * heads;
    const look = (head, i, j) =>
      isBefore(head) ? before.look(head, i, j) * scale[i] : looks[place(head, i, j)] / LOOK;
    const picture = {
      off,
      look,
      weight: (head, i, j) => (isBefore(head) ? before.weight(head, i, j) : (maps[place(head, i, j)] / STEPS) ** 2),
      push: pushOf(look),
      network: (block, i) =>
        block < first ? before.network(block, i) * scale[i] : networks[(block - first) * tokens.length + i] / NETWORK,
      says: (i) => [
        ...(before?.says(i).slice(0, first) ?? []),
        ...Array.from({ length: own }, (_, b) => said(i * own + b)),
      ],
      final: (i) => (before ?? picture).says(i).at(-1).words[0][0],
    };
    whole ??= picture;
    return picture;
  });
  return {
    ...about,
    picture: (off) => (off.length ? made.find((each) => off.length === 1 && each.off === off[0]) : whole),
  };
}
