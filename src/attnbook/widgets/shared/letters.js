// For widgets in which a network reads a text letter by letter and writes another: what they share.

import { button, element, fill, heading, number, update, verbatim, whole } from "./core.js";
import { stepSlider } from "./steps.js";

/** @import { Model, Subscriptions } from "./core.js" */

/**
 * What a map of letters shows; `here` is the row that is being written.
 * @typedef {{ rows: string[], columns: string[], weights: number[][], here?: number }} LetterWeights
 */

export const TRIES = [
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
export function alphabet(known) {
  const letters = [...known];
  const ids = new Map(letters.map((letter, i) => [letter, i + FIRST]));
  return {
    knows: (letter) => ids.has(letter),
    ids: (text) => [...text].map((letter) => ids.get(letter)).concat(STOP),
    letter: (id) => (id === START ? "▸" : shown(letters[id - FIRST] ?? "")),
  };
}

/**
 * A letter such that a space and the end can be seen.
 * @param {string} letter
 * @returns {string}
 */
export const shown = (letter) => ({ " ": "·", "": "■" })[letter] ?? letter;

const SIGNS = { "·": "space", "■": "end", "▸": "start", "?": "pending" };

/**
 * Writes a letter into a heading; the signs that a screen reader would skip get a name.
 * @param {Object<string, any>} say  the widget's words, here and below
 * @returns {(head: HTMLElement, letter: string) => void}
 */
export function namer(say) {
  return (head, letter) => {
    const name = say.letters.signs[SIGNS[letter]];
    head.textContent = letter;
    head.translate = Boolean(name);
    if (name) head.setAttribute("aria-label", name);
    else head.removeAttribute("aria-label");
  };
}

/**
 * A field for the text, and buttons with more to try.
 * @param {Model} model
 * @param {Subscriptions} subscriptions
 * @param {Object<string, any>} say
 * @param {object} options
 * @param {(letter: string) => boolean} options.knows
 * @param {Object<string, any>} options.changes  what a new text sets, too
 * @returns {Element[]}
 */
export function textField(model, subscriptions, say, { knows, changes }) {
  const field = element("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const hint = element("p", { class: "ab-hint", role: "status" });
  const remark = (fault, gaps) => {
    hint.dataset.fault = fault;
    hint.textContent = fault && fill(say.letters[fault], gaps);
  };
  const show = () => {
    field.value = model.get("text");
    remark("");
  };
  const take = (text) => {
    update(model, { text, ...changes });
    show();
  };
  field.addEventListener("change", () => {
    const text = field.value.replace(/\s/g, " ").trim();
    const unknown = [...new Set(text)].filter((letter) => !knows(letter));
    if (unknown.length) remark("unknown", { letters: unknown.join(" ") });
    else if (text.length > LONGEST) remark("long", { most: whole(LONGEST) });
    else if (text) take(text);
    else show();
  });
  subscriptions.follow(["text"], show);
  return [
    element(
      "div",
      { class: "ab-controls" },
      element("div", { class: "ab-control ab-text" }, element("label", {}, say.letters.field, field)),
    ),
    element(
      "div",
      { class: "ab-controls ab-tries" },
      element("span", { class: "ab-hint" }, say.letters.tries),
      ...TRIES.map((text) => button(verbatim(text), () => take(text))),
    ),
    hint,
  ];
}

/**
 * Back, forward and a slider: how many letters are written.
 * @param {Model} model
 * @param {Subscriptions} subscriptions
 * @param {Object<string, any>} say
 * @param {() => number} written  of how many
 * @param {string[]} traits  on which that depends
 * @returns {{ at: () => number, node: Element }}
 */
export const writingSteps = (model, subscriptions, say, written, traits) =>
  stepSlider(model, subscriptions, {
    trait: "step",
    label: say.letters.step,
    back: say.steps.back,
    forward: say.steps.forward,
    values: () => Array.from({ length: written() + 1 }, (_, i) => i),
    with: traits,
    show: (step) => fill(say.steps.of, { n: whole(step), all: whole(written()) }),
  });

/**
 * @param {Object<string, any>} say
 * @returns {{ node: Element, output: Element }} a line, and the place in it for what is written
 */
export function writing(say) {
  const output = element("output", { class: "ab-written", translate: "no" });
  return {
    node: element("p", {}, element("span", { class: "ab-hint" }, `${say.letters.written} `), output),
    output,
  };
}

/**
 * Weights as colours, a row for each letter that asks and a column for each that is asked; rows without weights wait.
 * @param {Object<string, any>} say
 * @param {string} caption
 * @param {{ rows: number, columns: number }} most
 * @returns {{ node: Element, title: Element, draw: (map: LetterWeights) => void }}
 */
export function letterMap(say, caption, most) {
  const named = namer(say);
  const heads = Array.from({ length: most.columns }, () => element("th", { scope: "col" }));
  const lines = Array.from({ length: most.rows }, () => {
    const [head, cells] = [element("th", { scope: "row" }), heads.map(() => element("td", { class: "ab-weight" }))];
    return { head, cells, node: element("tr", {}, head, ...cells) };
  });
  const title = element("caption", {}, caption);
  const node = element(
    "table",
    { class: "ab-map" },
    title,
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", {}, ...lines.map((line) => line.node)),
  );
  const draw = ({ rows, columns, weights, here }) => {
    heads.forEach((head, j) => {
      head.hidden = j >= columns.length;
      if (!head.hidden) named(head, columns[j]);
    });
    lines.forEach(({ head, cells, node: line }, i) => {
      line.hidden = i >= rows.length;
      if (line.hidden) return;
      named(head, rows[i]);
      line.classList.toggle("ab-chosen", i === here);
      cells.forEach((cell, j) => {
        cell.hidden = j >= columns.length;
        if (cell.hidden) return;
        const weight = weights[i]?.[j];
        cell.style.setProperty("--w", weight ?? 0);
        cell.textContent = weight === undefined ? "" : number(weight);
      });
    });
  };
  return { node, draw, title };
}

/**
 * The largest of some numbers, each with a bar and a name.
 * @param {string[]} titles
 * @param {number} n
 * @param {(head: HTMLElement, index: number) => void} name  writes the name
 * @param {(index: number) => void} [press]  with it the name is a button
 * @returns {{ node: Element, rows: object[], draw: (numbers: number[]) => void }}
 */
export function ranking(titles, n, name, press) {
  const rows = Array.from({ length: n }, () => {
    const [head, value, bar] = [element("th", { scope: "row" }), element("td", { class: "ab-number" }), element("i")];
    const row = {
      value,
      bar,
      index: 0,
      node: element("tr", {}, head, value, element("td", { class: "ab-bar", "aria-hidden": "true" }, bar)),
    };
    row.name = press ? head.appendChild(button("", () => press(row.index))) : head;
    return row;
  });
  const draw = (numbers) => {
    const top = numbers
      .map((x, i) => [x, i])
      .sort(([x], [y]) => y - x)
      .slice(0, n);
    rows.forEach((row, place) => {
      row.node.hidden = place >= top.length;
      if (row.node.hidden) return;
      const [x, index] = top[place];
      row.index = index;
      name(row.name, index);
      row.value.textContent = number(x);
      row.bar.style.setProperty("--w", x);
    });
  };
  return {
    rows,
    draw,
    node: element("table", {}, heading([...titles, ""]), element("tbody", {}, ...rows.map(({ node }) => node))),
  };
}

/**
 * Which token is the likeliest. What comes before the end, padding and the start, is never written.
 * @param {number[]} chances
 * @returns {number}
 */
export const likeliest = (chances) =>
  STOP + chances.slice(STOP).reduce((top, x, i, all) => (x > all[top] ? i : top), 0);
