// Words and their vectors, from files made by booktools/make/words.py.

import { dot, element, fill, length, update, words } from "./core.js";
import { headed } from "./stored.js";

// The words in their order, and where to find one, whatever the size of its letters.
export function lexicon(text) {
  const list = text.split(" ");
  const rows = new Map(list.map((word, row) => [word, row]));
  return { list, row: (word) => rows.get(word.trim()) ?? rows.get(word.trim().toLowerCase()) };
}

export function wordVectors(bytes) {
  const { words: text, width, unit, start } = headed(bytes);
  const { list, row } = lexicon(text);
  const numbers = Float64Array.from(new Int8Array(bytes, start), (step) => step * unit);
  const vector = (i) => numbers.subarray(i * width, (i + 1) * width);
  return { list, row, width, vector };
}

// The n rows nearest to a vector by cosine, as [row, cosine], without those left out.
export function nearestWords({ list, vector }, to, n, without = []) {
  const size = length(to);
  const cosines = list.map((_, i) => [i, dot(vector(i), to) / (length(vector(i)) * size || 1)]);
  return cosines
    .filter(([i]) => !without.includes(i))
    .sort((a, b) => b[1] - a[1])
    .slice(0, n);
}

// A field for one word of a lexicon, which offers words while one types. The trait takes the word as the lexicon has it.
export function wordField(model, subscriptions, { trait, label, known, more = () => ({}) }) {
  const say = words(model).lexicon;
  const id = `words-${Math.random().toString(36).slice(2)}`;
  const offers = Array.from({ length: 8 }, () => element("option"));
  const input = element("input", {
    type: "text",
    list: id,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
  });
  const hint = element("p", { class: "ab-hint", role: "status" });
  input.addEventListener("input", () => {
    const typed = input.value.trim().toLowerCase();
    const found = typed ? known.list.filter((word) => word.startsWith(typed)).slice(0, offers.length) : [];
    offers.forEach((offer, i) => {
      offer.value = found[i] ?? "";
    });
  });
  input.addEventListener("change", () => {
    const [word, row] = [input.value.trim(), known.row(input.value)];
    hint.textContent = row === undefined && word ? fill(say.unknown, { word }) : "";
    if (row !== undefined) update(model, { [trait]: known.list[row], ...more(row) });
    else input.value = model.get(trait);
  });
  subscriptions.follow([trait], () => {
    input.value = model.get(trait);
  });
  return element(
    "div",
    { class: "ab-control ab-word" },
    element("label", {}, label, input),
    element("datalist", { id }, ...offers),
    hint,
  );
}
