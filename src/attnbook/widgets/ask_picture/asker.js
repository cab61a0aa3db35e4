// A network that is asked about pictures, as attnbook/tasks/pictures.py has it.

import { plus } from "../shared/core.js";
import { attention, feed, linear, meanOf, norm } from "../shared/network.js";
import { patchesOf } from "../shared/patches.js";
import { stored } from "../shared/stored.js";

/** The four places in 8 × 16 of each patch. */
export const PATCHES = patchesOf(16);

/**
 * @param {ArrayBuffer} bytes  asker.bin
 * @returns {{ ask: (image: number[], ids: number[]) => { scores: number[], looks: number[][][] }, about: object }} scores
 *   for the answers 0 to 18, and for each word of the question, in each head, its weights on the patches; and what the
 *   file says of the network
 */
export function asker(bytes) {
  const { parts, ...about } = stored(bytes);
  const selfAttention = (block) => attention(block.self_attention, block.self_attention_norm, about.heads);
  const through = (xs, block) =>
    selfAttention(block)
      .among(xs)
      .map(({ x }) => feed(block, x));
  const ask = (image, ids) => {
    const patches = PATCHES.map((places, p) => {
      const pixels = Float64Array.from(places, (place) => image[place]);
      return plus(linear(parts.embed, pixels), parts.places[p]);
    });
    const memory = Object.values(parts.sees).reduce(through, patches);
    const words = ids.map((id, i) => plus(parts.words.weight[id], parts.order[i]));
    const cross = attention(parts.asks.cross_attention, parts.asks.cross_attention_norm, about.heads);
    cross.remember(memory);
    const looked = selfAttention(parts.asks)
      .among(words)
      .map(({ x }) => cross.look(x));
    const scores = linear(parts.scores, norm(parts.norm, meanOf(looked.map(({ x }) => feed(parts.asks, x)))));
    return { scores: Array.from(scores), looks: looked.map(({ weights }) => weights) };
  };
  return { ask, about };
}
