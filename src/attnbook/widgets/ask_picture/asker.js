// A network that is asked about pictures, as attnbook/tasks/pictures.py has it.

import { plus } from "../shared/core.js";
import { meanOf, network, patchesOf } from "../shared/network.js";

/** The four places in 8 × 16 of each patch. */
export const PATCHES = patchesOf(16);

/**
 * @param {ArrayBuffer} bytes  asker.bin
 * @returns {{ ask: (image: number[], ids: number[]) => { scores: number[], looks: number[][][] }, about: object }} scores
 *   for the answers 0 to 18, and for each word of the question, in each head, its weights on the patches; and what the
 *   file says of the network
 */
export function asker(bytes) {
  const { parts, linear, norm, attend, feed, about } = network(bytes);
  const block = (name, xs) => feed(name, attend(`${name}.self_attention`, xs).xs);
  const ask = (image, ids) => {
    const patches = PATCHES.map((places, p) => {
      const pixels = places.map((place) => image[place]);
      return plus(linear("embed", pixels), parts.places[p]);
    });
    const memory = block("sees.1", block("sees.0", patches));
    const words = ids.map((id, i) => plus(parts["words.weight"][id], parts.order[i]));
    const looked = attend("asks.cross_attention", attend("asks.self_attention", words).xs, memory);
    const scores = linear("scores", norm("norm", meanOf(feed("asks", looked.xs))));
    return { scores, looks: looked.weights };
  };
  return { ask, about };
}
