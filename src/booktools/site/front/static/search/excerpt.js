// The stretch of a text that says most of what was asked, in pieces: [text, whether it is asked for].
import { terms } from "./terms.js";

const LONG = 180;

export function excerpt(text, asked) {
  const words = [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({
    word,
    index,
    hits: terms(word).filter((term) => asked.includes(term)),
  }));
  const starts = (i) => !i || /[.!?:]$/.test(words[i - 1].word);
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
  const pieces = words.slice(best.from, best.to).map(({ word, hits }) => [word, hits.length > 0]);
  return [...(starts(best.from) ? [] : [["…", false]]), ...pieces, ...(best.to < words.length ? [["…", false]] : [])];
}
