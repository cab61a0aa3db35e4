// The network that reads a date and writes it anew, as in attnbook/models/transformer.py: one layer each, LayerNorm first.

import { LETTERS, START, STOP, alphabet, likeliest } from "../shared/letters.js";
import { attention, decoder, embed, feed, norm } from "../shared/network.js";
import { stored } from "../shared/stored.js";

export function dateTransformer(bytes) {
  const { letters: known, heads, parts } = stored(bytes);
  const letters = alphabet(known);
  const { 0: block, norm: last } = parts.writer.encoder;

  // For each letter written: which, which it would be by itself, the chance of every token, the weights of each head.
  const read = (text, forced = []) => {
    const xs = letters.ids(text).map((id, i) => embed(parts.writer.source, id, i));
    const looks = attention(block.self_attention, block.self_attention_norm, heads).among(xs);
    const memory = looks.map(({ x }) => norm(last, feed(block, x)));
    const next = decoder(parts.writer, memory, heads);
    const instead = new Map(forced);
    const steps = [];
    for (let token = START; steps.length < LETTERS && token !== STOP;) {
      const found = next(token);
      const own = likeliest(found.chances);
      token = instead.get(steps.length) ?? own;
      steps.push({ token, own, ...found });
    }
    return { encoder: looks.map(({ weights }) => weights), steps };
  };
  return { ...letters, read };
}
