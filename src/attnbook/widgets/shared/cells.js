// A table of cells that is one tab stop: arrows move, Enter and space press, a finger or mouse may sweep over it.

import { element, update } from "./core.js";

/** @import { Content, Model } from "./core.js" */

/**
 * A table of cells, with names of rows and columns.
 * @param {object} options
 * @param {string} options.label
 * @param {Content[]} options.rows
 * @param {Content[]} options.columns
 * @param {[number, number]} options.at  the cell that the Tab key reaches
 * @param {(i: number, j: number) => void} options.move  called when another cell is reached
 * @param {(i: number, j: number, first: boolean) => void} options.press  `first` of a stroke, or one that goes on
 * @param {boolean} [options.named]  rows and columns have names in words, and not data such as tokens
 * @returns {{ node: Element, cells: Element[][], heads: Element[] }}
 */
export function grid({ label, rows, columns, at, move, press, named = false }) {
  const data = named ? {} : { translate: "no" };
  const cells = rows.map(() => columns.map(() => element("td", { role: "gridcell", tabindex: -1 })));
  const heads = rows.map((row) => element("th", { scope: "row", ...data }, row));
  const node = element(
    "table",
    { role: "grid", "aria-label": label, "aria-multiselectable": "true" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("td", {}),
        ...columns.map((name) => element("th", { scope: "col", ...data }, element("span", {}, name))),
      ),
    ),
    element("tbody", {}, ...cells.map((line, i) => element("tr", {}, heads[i], ...line))),
  );
  let [row, column] = at;
  cells[row][column].tabIndex = 0;

  const place = (cell) => {
    const i = cells.findIndex((line) => line.includes(cell));
    return i < 0 ? null : [i, cells[i].indexOf(cell)];
  };
  const go = (i, j) => {
    cells[row][column].tabIndex = -1;
    [row, column] = [i, j];
    cells[row][column].tabIndex = 0;
    move(i, j);
  };
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  node.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (step) {
      go(
        Math.min(Math.max(row + step[0], 0), rows.length - 1),
        Math.min(Math.max(column + step[1], 0), columns.length - 1),
      );
      cells[row][column].focus();
    } else if (event.key === "Enter" || event.key === " ") press(row, column, true);
    else return;
    event.preventDefault();
  });

  let last = null;
  const sweep = (event) => {
    const target = node.getRootNode().elementFromPoint(event.clientX, event.clientY)?.closest("td, th");
    const header = heads.indexOf(target);
    const spot = header < 0 ? place(target) : [header, column];
    if (!spot || String(spot) === last) return;
    const first = last === null;
    last = String(spot);
    go(...spot);
    if (header < 0) press(...spot, first);
  };
  node.addEventListener("pointerdown", (event) => {
    if (!event.isPrimary || event.button !== 0) return;
    last = null;
    node.setPointerCapture(event.pointerId);
    sweep(event);
  });
  node.addEventListener("pointermove", (event) => {
    if (node.hasPointerCapture(event.pointerId)) sweep(event);
  });
  return { node, cells, heads };
}

/**
 * What a press on a grid does to a trait that lists cells: put it in or take it out. A stroke does to all what it does to
 * its first: switch on, or off.
 * @param {Model} model
 * @param {string} trait
 * @param {(i: number, j: number) => boolean | undefined} [isOn]  undefined for a cell that doesn't count
 * @returns {(i: number, j: number, first: boolean) => void}
 */
export function painter(model, trait, isOn = (i, j) => model.get(trait).some(([a, b]) => a === i && b === j)) {
  let on = null;
  return (i, j, first) => {
    if (first) on = null;
    const is = isOn(i, j);
    if (is === undefined) return;
    on ??= !is;
    if (is === on) return;
    const cells = model.get(trait);
    const others = cells.filter(([a, b]) => a !== i || b !== j);
    update(model, { [trait]: others.length < cells.length ? others : [...cells, [i, j]] });
  };
}
