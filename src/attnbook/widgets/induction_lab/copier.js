// Layers of attention and nothing else, as in attnbook/tasks/repeats.py.

import { dot, plus, softmax, times } from "../shared/core.js";
import { layerNorm, split } from "../shared/layers.js";
import { turn } from "../shared/rotary.js";

const BASE = 100;

/**
 * @param {Object<string, any>} found  its parameters by their names
 * @param {number} layers
 * @param {number} heads
 * @returns {(ids: number[], off: number[]) => { weights: number[][][], chances: number[][] }} what each head looks at, by head
 *   (of all layers), letter that asks and letter that is asked; and the chance of every letter after each
 */
export function copier(found, layers, heads) {
  const normed = (name, x) =>
    layerNorm(x).map((number, i) => number * found[`${name}.weight`][i] + found[`${name}.bias`][i]);
  return (ids, off) => {
    const weights = [];
    let xs = ids.map((id) => found["letters.weight"][id]);
    for (let layer = 0; layer < layers; layer++) {
      const per = (name, x) => split(times(found[`layers.${layer}.${name}.weight`], x), heads);
      const inputs = xs.map((x) => normed(`norms.${layer}`, x));
      const turned = (name) => inputs.map((x, i) => per(name, x).map((part) => turn(part, i, BASE)));
      const [queries, keys, values] = [turned("query"), turned("key"), inputs.map((x) => per("value", x))];
      const rows = queries.map((query, i) =>
        query.map((q, h) => softmax(keys.slice(0, i + 1).map((key) => dot(q, key[h]) / Math.sqrt(q.length)))),
      );
      xs = xs.map((x, i) => {
        const joined = rows[i].flatMap((row, h) => {
          const blended = new Array(values[0][h].length).fill(0);
          if (!off.includes(layer * heads + h))
            row.forEach((weight, j) => values[j][h].forEach((value, n) => (blended[n] += weight * value)));
          return blended;
        });
        return plus(x, times(found[`layers.${layer}.output.weight`], joined));
      });
      for (let h = 0; h < heads; h++) weights.push(rows.map((row) => row[h]));
    }
    return { weights, chances: xs.map((x) => softmax(times(found["next.weight"], normed("norm", x)))) };
  };
}
