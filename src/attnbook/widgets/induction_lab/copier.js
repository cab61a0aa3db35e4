// Layers of attention and nothing else, as in attnbook/tasks/repeats.py.

import { softened } from "../shared/core.js";
import { attention, linear, norm } from "../shared/network.js";

const BASE = 100;

/**
 * @param {Object<string, any>} parts  of the network
 * @param {number} heads
 * @returns {(ids: number[], off: number[]) => { weights: number[][][], chances: Float64Array[] }} what each head looks at, by
 *   head (of all layers), letter that asks and letter that is asked; and the chance of every letter after each
 */
export function copier(parts, heads) {
  return (ids, off) => {
    const weights = [];
    let xs = ids.map((id) => parts.letters.weight[id]);
    Object.values(parts.layers).forEach((layer, n) => {
      const own = attention(layer, parts.norms[n], heads, BASE);
      const looks = xs.map((x) => own.next(x, (h) => off.includes(n * heads + h)));
      xs = looks.map(({ x }) => x);
      for (let h = 0; h < heads; h++) weights.push(looks.map((look) => look.weights[h]));
    });
    return { weights, chances: xs.map((x) => softened(linear(parts.next, norm(parts.norm, x)))) };
  };
}
