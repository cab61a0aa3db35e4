// For widgets in which a network reads a text letter by letter and writes another: what they share.

import { beams } from "./beams.js";
import { button, element, fill, heading, number, update, verbatim } from "./core.js";
import { slider } from "./slider.js";

/** @import { Model, Subscriptions } from "./core.js" */

/**
 * All that is written of what is read, and the weights of one kind of attention, a row for each letter that asks: of what is
 * written to what is read (cross) or to what was written before (decoder), or of what is read to itself (encoder).
 * @typedef {{ letters: string[], where: "cross" | "decoder" | "encoder", weights: number[][] }} Looks
 */

const TRIES = [
  "23rd of october 1962",
  "Wednesday, 7 May 1980",
  "11/12/13",
  "29.02.2004",
  "the 4th of July 1976",
  "31 February 2001",
  "Monday",
];
export const LONGEST = 29; // letters that are read; and written, ten and the end
export const LETTERS = 11;
// ids of tokens; then come the letters
export const START = 1;
export const STOP = 2;
const FIRST = 3;

/**
 * @param {string} known  the letters that the network knows, in the order of their ids
 * @returns {{ knows: (letter: string) => boolean, ids: (text: string) => number[], letter: (id: number) => string }}
 */
export const alphabet = (known) => ({
  knows: (letter) => known.includes(letter),
  ids: (text) => [...text].map((letter) => known.indexOf(letter) + FIRST).concat(STOP),
  letter: (id) => shown(known[id - FIRST] ?? ""),
});

/**
 * A letter such that a space and the end can be seen.
 * @param {string} letter
 * @returns {string}
 */
export const shown = (letter) => ({ " ": "·", "": "■" })[letter] ?? letter;

const [BEGIN, PENDING] = ["▸", "?"]; // before the first letter written, and in place of those to come
const SIGNS = { "·": "space", "■": "end", [BEGIN]: "start", [PENDING]: "pending" };

/**
 * Writes a letter into a heading; the signs that a screen reader would skip get a name.
 * @param {Object<string, any>} say  the widget's words, here and below
 * @returns {(head: HTMLElement, letter: string) => void}
 */
export const namer = (say) => (head, letter) => {
  const name = say.letters.signs[SIGNS[letter]];
  head.textContent = letter;
  head.ariaLabel = name ?? letter;
  head.translate = Boolean(name);
};

/**
 * A field for the text, and buttons with more to try.
 * @param {Model} model
 * @param {Subscriptions} subscriptions
 * @param {Object<string, any>} say
 * @param {object} options
 * @param {(letter: string) => boolean} options.knows
 * @param {Object<string, any>} options.changes  what a new text sets, too
 * @param {string[]} [options.tries]
 * @returns {Element}
 */
export function textField(model, subscriptions, say, { knows, changes, tries = TRIES }) {
  const field = element("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const hint = element("p", { class: "ab-hint", role: "status" });
  const show = () => {
    field.value = model.get("text");
    hint.textContent = "";
  };
  const take = (text) => {
    update(model, { text, ...changes });
    show();
  };
  field.addEventListener("change", () => {
    const text = field.value.replace(/\s/g, " ").trim();
    const unknown = [...new Set(text)].filter((letter) => !knows(letter));
    if (unknown.length) hint.textContent = fill(say.letters.unknown, { letters: unknown.join(" ") });
    else if (text.length > LONGEST) hint.textContent = fill(say.letters.long, { most: LONGEST });
    else if (text) take(text);
    else show();
  });
  subscriptions.follow(["text"], show);
  return element(
    "div",
    { class: "ab-asked" },
    element("div", { class: "ab-control" }, element("label", {}, say.letters.field, field), hint),
    element(
      "div",
      { class: "ab-controls ab-tries", role: "group", "aria-label": say.letters.tries },
      ...tries.map((text) => button(verbatim(text), () => take(text))),
    ),
  );
}

/**
 * A picture of one who reads and writes, and the weights in it as a map; one goes back and forth through what is written.
 * @param {Model} model
 * @param {Subscriptions} subscriptions
 * @param {Object<string, any>} say
 * @param {() => number} all  how many letters will be written
 * @param {string[]} traits  on which that depends
 * @returns {{ at: () => number, picture: Element, map: Element, draw: (looks: Looks) => void }}
 */
export function reading(model, subscriptions, say, all, traits) {
  const at = () => Math.min(model.get("step"), all());
  const turn = (label, by) => button(label, () => update(model, { step: Math.min(Math.max(at() + by, 0), all()) }));
  const place = slider(model, subscriptions, {
    trait: "step",
    label: say.letters.step,
    values: () => [...Array(all() + 1).keys()],
    with: traits,
    show: () => fill(say.steps.of, { n: at(), all: all() }),
  });
  const [picture, map] = [lines(turn(say.steps.back, -1), place, turn(say.steps.forward, 1)), letterMap(say)];
  const draw = ({ letters, where, weights }) => {
    const n = at();
    const read = [...model.get("text"), ""].map(shown);
    const written = letters.map((letter, i) => (i < n ? letter : PENDING));
    const known = where === "encoder" ? weights : weights.slice(0, n);
    picture.draw(read, [BEGIN, ...written], where, known, n);
    const asked = where === "decoder" ? [BEGIN, ...written.slice(0, -1)] : read;
    if (where === "encoder") map.draw(read, asked, known);
    else map.draw(written, asked, known, n - 1);
  };
  return { at, picture: picture.node, map: map.node, draw };
}

// Two lines of letters: what is read, below it what is written; beams from the letter that asks to what it looks at.
function lines(back, place, forward) {
  const tiles = (n) => Array.from({ length: n }, () => verbatim("", { class: "ab-weight" }));
  const [sources, targets, light] = [tiles(LONGEST + 1), tiles(LETTERS + 1), beams()];
  targets[0].ariaHidden = true;
  place.prepend(element("output", {}, ...targets));
  const line = element("div", { class: "ab-read", "aria-hidden": "true" }, ...sources);
  const turn = element("div", { class: "ab-controls ab-written" }, back, place, forward);
  const node = element("div", { class: "ab-lines ab-pin" }, line, turn, light.node);
  const write = (box, parts, letters) => {
    box.style.setProperty("--n", letters.length);
    parts.forEach((part, j) => {
      part.hidden = j >= letters.length;
      part.textContent = letters[j]?.replace(PENDING, "");
    });
  };
  const draw = (read, written, where, known, n) => {
    node.dataset.where = where;
    write(line, sources, read);
    write(place, targets, written);
    const asked = where === "decoder" ? targets : sources;
    const [asks, weights] = where === "encoder" ? [sources, known] : [targets.slice(n), known.slice(-1)];
    for (const part of [...sources, ...targets]) {
      const shares = weights.map((row) => row[asked.indexOf(part)] ?? 0);
      part.style.setProperty("--w", shares.reduce((a, b) => a + b, 0) / weights.length || 0);
    }
    light.draw(weights.flatMap((row, i) => row.map((weight, j) => ({ from: asks[i], to: asked[j], weight }))));
  };
  return { node, draw };
}

// Weights as colours, a row for each letter that asks and a column for each that is asked; rows without weights wait.
function letterMap(say) {
  const named = namer(say);
  const heads = Array.from({ length: LONGEST + 1 }, () => element("th", { scope: "col" }));
  const rows = heads.map(() => {
    const [head, cells] = [element("th", { scope: "row" }), heads.map(() => element("td", { class: "ab-weight" }))];
    return { head, cells, node: element("tr", {}, head, ...cells) };
  });
  const node = element(
    "table",
    { class: "ab-map" },
    element("caption", {}, say.letters.map),
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", {}, ...rows.map((row) => row.node)),
  );
  const draw = (asking, asked, weights, here) => {
    heads.forEach((head, j) => {
      head.hidden = j >= asked.length;
      named(head, asked[j]);
    });
    rows.forEach(({ head, cells, node: row }, i) => {
      row.hidden = i >= asking.length;
      named(head, asking[i]);
      row.classList.toggle("ab-chosen", i === here);
      row.classList.toggle("ab-waits", !weights[i]);
      cells.forEach((cell, j) => {
        cell.hidden = j >= asked.length;
        const weight = weights[i]?.[j];
        cell.style.setProperty("--w", weight ?? 0);
        cell.textContent = weight === undefined ? "" : number(weight);
      });
    });
  };
  return { node, draw };
}

/**
 * The largest of some shares, each with its light and a name.
 * @param {string[]} titles
 * @param {number} n
 * @param {(head: HTMLElement, index: number) => void} name  writes the name
 * @param {(index: number) => void} [press]  with it the name is a button
 * @returns {{ node: Element, draw: (numbers?: number[], chosen?: number) => void }}
 */
export function ranking(titles, n, name, press) {
  const rows = Array.from({ length: n }, () => {
    const [head, value] = [element("th", { scope: "row" }), element("td", { class: "ab-number ab-weight" })];
    const row = { value, node: element("tr", {}, head, value) };
    row.name = press ? head.appendChild(button("", () => press(row.index))) : head;
    return row;
  });
  const node = element("table", {}, heading(titles), element("tbody", {}, ...rows.map((row) => row.node)));
  const draw = (numbers = [], chosen = -1) => {
    const order = [...numbers.keys()].sort((i, j) => numbers[j] - numbers[i]);
    node.hidden = !order.length;
    rows.forEach((row, place) => {
      const index = (row.index = order[place]);
      row.node.hidden = place >= order.length;
      if (row.node.hidden) return;
      name(row.name, index);
      if (press) row.name.ariaPressed = index === chosen;
      row.value.textContent = number(numbers[index]);
      row.value.style.setProperty("--w", numbers[index]);
    });
  };
  return { node, draw };
}

/**
 * Which token is the likeliest. What comes before the end, padding and the start, is never written.
 * @param {number[]} chances
 * @returns {number}
 */
export const likeliest = (chances) => chances.indexOf(Math.max(...chances.slice(STOP)), STOP);
