// A table of cells that is one tab stop: arrows move, Enter and space press, a mouse may sweep over it. A finger taps, and
// its swipes scroll the page; over a grid of the class ab-paints they sweep while fingerPainting is on.

import { element } from "./core.js";

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
 * @returns {{ node: Element, cells: Element[][], heads: Element[], columns: Element[] }}
 */
export function grid({ label, rows, columns: names, at, move, press, named = false }) {
  const data = named ? {} : { translate: "no" };
  const cells = rows.map(() => names.map(() => element("td", { role: "gridcell", tabindex: -1 })));
  const heads = rows.map((row) => element("th", { scope: "row", ...data }, row));
  const columns = names.map((name) => element("th", { scope: "col", ...data }, element("span", {}, name)));
  const node = element(
    "table",
    { role: "grid", "aria-label": label, "aria-multiselectable": "true" },
    element("thead", {}, element("tr", {}, element("td"), ...columns)),
    element("tbody", {}, ...cells.map((line, i) => element("tr", {}, heads[i], ...line))),
  );
  let [row, column] = at;
  cells[row][column].tabIndex = 0;

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
  const reach = (target) => {
    if (!node.contains(target)) return;
    const [i, j] = [target.parentNode.rowIndex - 1, target.cellIndex - 1];
    const spot = [i, j < 0 ? column : j];
    if (i < 0 || String(spot) === last) return;
    const first = last === null;
    last = String(spot);
    go(...spot);
    if (j >= 0) press(...spot, first);
  };
  const under = (event) => node.getRootNode().elementFromPoint(event.clientX, event.clientY)?.closest("td, th");
  let swept = false;
  node.addEventListener("pointerdown", (event) => {
    if (!event.isPrimary || event.button !== 0) return;
    last = null;
    swept = event.pointerType === "mouse" || node.matches(".ab-painting .ab-paints");
    if (!swept) return;
    node.setPointerCapture(event.pointerId);
    reach(under(event));
  });
  node.addEventListener("pointermove", (event) => {
    if (node.hasPointerCapture(event.pointerId)) reach(under(event));
  });
  node.addEventListener("click", ({ target }) => {
    if (!swept) reach(target.closest("td, th"));
    [last, swept] = [null, false];
  });
  return { node, cells, heads, columns };
}
