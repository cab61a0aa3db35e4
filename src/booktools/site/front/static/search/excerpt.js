// The stretch of a text that says most of what was asked, in pieces: [text, whether it is asked for].
import { terms } from "./terms.js";

const LONG = 180;
const HAN = /^\p{Script=Han}/u;
// A Chinese sign, or a word, which ends at a full-width sign.
const PIECE =
  /\p{Script=Han}[^\s\p{L}\p{N}]*|(?:(?!\p{Script=Han})[^\s\u3000-\u303f\uff00-\uffef])+[，。、；：！？）”]*|\S/gu;

// What stands at a place of a text, as search knows it: a word's terms, or the two pairs that a Chinese sign is in.
export function termsAt(text, index, word) {
  return HAN.test(word) ? [text.slice(index - 1, index + 1), text.slice(index, index + 2)].flatMap(terms) : terms(word);
}

export function excerpt(text, asked) {
  const words = [...text.matchAll(PIECE)].map(({ 0: word, index }) => ({
    word,
    index,
    hits: termsAt(text, index, word).filter((term) => asked.includes(term)),
    after: /\s/.test(text[index + word.length] ?? "") ? " " : "",
  }));
  const starts = (i) => !i || /[.!?:。！？：；]$/.test(words[i - 1].word);
  const until = (from) => {
    const end = words.findIndex(({ index, word }, i) => i > from && index + word.length > words[from].index + LONG);
    return end < 0 ? words.length : end;
  };
  let best = { from: 0, to: words.length ? until(0) : 0, worth: 0 };
  for (const [from, { hits }] of words.entries()) {
    if (!hits.length && !starts(from)) continue;
    const to = until(from);
    const seen = words.slice(from, to).flatMap((word) => word.hits);
    const worth = new Set(seen).size + 0.1 * seen.length + (starts(from) ? 0.5 : 0);
    if (seen.length && worth > best.worth) best = { from, to, worth };
  }
  const pieces = words.slice(best.from, best.to).map(({ word, hits, after }) => [word + after, hits.length > 0]);
  return [...(starts(best.from) ? [] : [["… ", false]]), ...pieces, ...(best.to < words.length ? [["…", false]] : [])];
}
