// The network that reads a date and writes it anew, as in attnbook/models/transformer.py: one layer each, LayerNorm first.

import { dot, plus, softmax, times } from "../shared/core.js";
import { layerNorm, sinusoid, split } from "../shared/layers.js";
import { LETTERS, START, STOP, alphabet, likeliest } from "../shared/letters.js";
import { networks } from "../shared/stored.js";

export function dateTransformer(bytes) {
  const {
    letters: known,
    heads,
    models: { writer: found },
  } = networks(bytes);
  const letters = alphabet(known);
  const table = found["source.embedding.weight"];
  const D = table[0].length;
  const linear = (name, x) => plus(times(found[`${name}.weight`], x), found[`${name}.bias`]);
  const norm = (name, x) =>
    layerNorm(x).map((number, i) => number * found[`${name}.weight`][i] + found[`${name}.bias`][i]);
  const embed = (id, position) =>
    plus(
      table[id].map((x) => x * Math.sqrt(D)),
      sinusoid(position, D),
    );
  const per = (x) => split(x, heads);
  // Keys and values once added are kept for all who ask later.
  const attention = (name) => {
    const [keys, values] = [[], []];
    return {
      add(x) {
        keys.push(per(linear(`${name}.key`, x)));
        values.push(per(linear(`${name}.value`, x)));
      },
      look(x) {
        const weights = per(linear(`${name}.query`, x)).map((q, h) =>
          softmax(keys.map((key) => dot(q, key[h]) / Math.sqrt(q.length))),
        );
        const joined = weights.flatMap((row, h) =>
          row.map((weight, j) => values[j][h].map((x) => weight * x)).reduce(plus),
        );
        return { weights, output: linear(`${name}.output`, joined) };
      },
    };
  };
  const feedForward = (block, x) => {
    const hidden = linear(`${block}.feed_forward.0`, norm(`${block}.feed_forward_norm`, x)).map((number) =>
      Math.max(number, 0),
    );
    return plus(x, linear(`${block}.feed_forward.3`, hidden));
  };

  const encode = (text) => {
    const own = attention("encoder.0.self_attention");
    const xs = letters.ids(text).map(embed);
    const normed = xs.map((x) => norm("encoder.0.self_attention_norm", x));
    normed.forEach(own.add);
    const looks = normed.map(own.look);
    const memory = xs.map((x, i) => norm("encoder.norm", feedForward("encoder.0", plus(x, looks[i].output))));
    return { memory, weights: looks.map((look) => look.weights) };
  };

  // For each letter written: which, which it would be by itself, the chance of every token, the weights of each head.
  const read = (text, forced = []) => {
    const { memory, weights: encoder } = encode(text);
    const instead = new Map(forced);
    const [target, source] = ["decoder.0.self_attention", "decoder.0.cross_attention"].map(attention);
    memory.forEach(source.add);
    const steps = [];
    for (let token = START; steps.length < LETTERS && token !== STOP;) {
      let x = embed(token, steps.length);
      const asks = norm("decoder.0.self_attention_norm", x);
      target.add(asks);
      const before = target.look(asks);
      x = plus(x, before.output);
      const found = source.look(norm("decoder.0.cross_attention_norm", x));
      x = norm("decoder.norm", feedForward("decoder.0", plus(x, found.output)));
      const chances = softmax(times(table, x));
      const own = likeliest(chances);
      token = instead.get(steps.length) ?? own;
      steps.push({ token, own, chances, decoder: before.weights, cross: found.weights });
    }
    return { encoder, steps };
  };
  return { ...letters, read };
}
