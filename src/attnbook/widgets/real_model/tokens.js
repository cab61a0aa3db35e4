// The tokens of a published model, as in attnbook/pretrained/tokens.py: byte pairs under the numbers that its list gives.

import { shownToken, wordsOf } from "../shared/pairs.js";

const SPECIAL = [3, 4]; // types of tokens that are no pieces of text
const NUMERAL = /(\p{N})/u;

// GPT-2's alphabet of bytes: the character that stands for each in its lists. Those that can be seen stand for themselves.
const ALPHABET = new Map();
const seen = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173 && byte < 256);
for (let byte = 0, next = 256; byte < 256; byte++)
  ALPHABET.set(String.fromCharCode(seen(byte) ? byte : next++), String.fromCharCode(byte));
const inBytes = (text) => Array.from(text, (letter) => ALPHABET.get(letter)).join("");

/**
 * @param {Object<string, any>} facts  of the model's file
 * @returns {{ encode: (text: string) => number[], shown: (id: number) => string }}
 */
export function tokenizer(facts) {
  const types = facts["tokenizer.ggml.token_type"];
  const special = (id) => SPECIAL.includes(types[id]);
  const tokens = facts["tokenizer.ggml.tokens"].map((text, id) => (special(id) ? text : inBytes(text)));
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const ranks = new Map(facts["tokenizer.ggml.merges"].map((pair, rank) => [pair.split(" ").map(inBytes).join("\0"), rank]));
  const unknown = facts["tokenizer.ggml.unknown_token_id"] ?? 0;
  const specials = tokens.filter((_, id) => special(id)).map((token) => token.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const cut = new RegExp(`(${specials.join("|")})`);

  // Of all pairs the one that was learned first becomes one token, until none is left.
  const pieces = (word) => {
    const parts = [...word];
    for (;;) {
      const order = parts.slice(1).map((part, i) => ranks.get(`${parts[i]}\0${part}`) ?? Infinity);
      const first = Math.min(...order);
      if (first === Infinity) return parts;
      const i = order.indexOf(first);
      parts.splice(i, 2, parts[i] + parts[i + 1]);
    }
  };
  const encode = (text) =>
    text.split(cut).flatMap((part, n) => {
      if (n % 2) return [ids.get(part)];
      const found = facts["tokenizer.ggml.pre"] === "smollm" ? part.split(NUMERAL) : [part];
      return found.flatMap(wordsOf).flatMap(pieces).map((token) => ids.get(token) ?? unknown);
    });
  return { encode, shown: (id) => shownToken(tokens[id]) };
}
