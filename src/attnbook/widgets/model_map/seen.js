// What is seen of a model while it reads: what booktools/make/model_map.py stored of one sentence.

import { headed } from "../shared/core.js";

/**
 * A model that has read a text with some heads off. Heads are counted over all blocks; `i` is the token that looks, `j` the
 * one that is looked at. Pushes are in logits, of the word that comes next with all heads on.
 * @typedef {{ weight: (n: number, i: number, j: number) => number, look: (n: number, i: number, j: number) => number,
 *   push: (n: number, i: number) => number, network: (block: number, i: number) => number,
 *   says: (i: number) => [string, number, number][], ends: (i: number) => [string, number][],
 *   final: (i: number) => string }} Picture  `final` is the word that comes next with all heads on; `says` has, of each block,
 *   the word that the stream would say after it, its probability, and that of the final word
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

const [STEPS, LOOK, NETWORK] = [255, 1e4, 500]; // of a weight's root; of a logit

/**
 * @param {ArrayBuffer} bytes
 * @returns {{ text: string, tokens: string[], blocks: number, heads: number, model: string, size: number, left: number[],
 *   picture: (off: number[]) => Picture | undefined }}
 */
export function stored(bytes) {
  const { start, pictures, ...about } = headed(bytes);
  const { blocks, heads, tokens } = about;
  let at = start;
  const take = (kind, size) => {
    const found = new kind(bytes, at, size);
    at += found.byteLength;
    return found;
  };
  const cells = (tokens.length * (tokens.length + 1)) / 2;
  const pushes = pictures.map(({ first }) => [
    take(Int16Array, (blocks - first) * heads * cells),
    take(Int16Array, (blocks - first) * tokens.length),
  ]);
  let whole;
  const made = pictures.map(({ off, first, scale, says, ends }, n) => {
    const [looks, networks] = pushes[n];
    const maps = take(Uint8Array, (blocks - first) * heads * cells);
    const before = whole;
    const place = (head, i, j) => ((blocks - first) * heads * i * (i + 1)) / 2 + (head - first * heads) * (i + 1) + j;
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
      says: (i) => [...(before?.says(i).slice(0, first) ?? []), ...says[i]],
      ends: (i) => ends[i],
      final: (i) => (before ?? picture).says(i).at(-1)[0],
    };
    whole ??= picture;
    return picture;
  });
  return {
    ...about,
    picture: (off) => (off.length ? made.find((each) => off.length === 1 && each.off === off[0]) : whole),
  };
}
