// The network that reads a date and writes it anew, as in attnbook/models/seq2seq.py.

import { dot, plus, softmax, times } from "../shared/core.js";
import { LETTERS, START, STOP, alphabet, likeliest } from "../shared/letters.js";
import { stored } from "../shared/stored.js";

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

export function dateReader(bytes) {
  const {
    letters: known,
    parts: { reader: found },
  } = stored(bytes);
  const letters = alphabet(known);
  const gru = (layer, end) => (x, h) => {
    const [W, U, b, c] = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map((name) => found[layer][`${name}${end}`]);
    const [input, state] = [plus(times(W, x), b), plus(times(U, h), c)]; // for both gates, then for what is new
    const D = h.length;
    return h.map((old, i) => {
      const [reset, keep] = [0, D].map((gate) => sigmoid(input[gate + i] + state[gate + i]));
      return (1 - keep) * Math.tanh(input[2 * D + i] + reset * state[2 * D + i]) + keep * old;
    });
  };
  const over = (cell, xs) => {
    let h = found.first.bias.map(() => 0);
    return xs.map((x) => (h = cell(x, h)));
  };

  // For each letter written: which, the weights of the letters read, and the chance of every token.
  const read = (text) => {
    const xs = letters.ids(text).map((id) => found.source.weight[id]);
    const forth = over(gru("encoder", "_l0"), xs);
    const back = over(gru("encoder", "_l0_reverse"), [...xs].reverse()).reverse();
    const memory = forth.map((h, j) => [...h, ...back[j]]);
    const keys = memory.map((h) => times(found.attention.key.weight, h));
    const decoder = gru("decoder", "");
    let h = plus(times(found.first.weight, back[0]), found.first.bias).map(Math.tanh);
    const steps = [];
    for (let token = START; steps.length < LETTERS && token !== STOP;) {
      const query = times(found.attention.query.weight, h);
      const weights = softmax(keys.map((key) => dot(found.attention.score.weight[0], plus(query, key).map(Math.tanh))));
      const context = memory[0].map((_, i) =>
        dot(
          weights,
          memory.map((m) => m[i]),
        ),
      );
      h = decoder([...found.target.weight[token], ...context], h);
      const chances = softmax(plus(times(found.output.weight, [...h, ...context]), found.output.bias));
      token = likeliest(chances);
      steps.push({ token, weights, chances });
    }
    return steps;
  };
  return { ...letters, read };
}
