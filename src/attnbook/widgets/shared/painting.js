// Strokes over a grid of cells (cells.js) that are painted on and off.

import { button, element, update } from "./core.js";

/** @import { Model } from "./core.js" */

/**
 * A switch that is there where fingers are: while it is on, they paint the grids in `around`.
 * @param {Object<string, any>} say  the widget's words
 * @param {Element} around
 * @returns {Element}
 */
export function fingerPainting(say, around) {
  const hint = element("span", { class: "ab-hint", role: "status" });
  const node = button(say.finger.paint, () => {
    const on = around.classList.toggle("ab-painting");
    node.ariaPressed = on;
    hint.textContent = on ? say.finger.on : "";
  });
  node.ariaPressed = false;
  return element("div", { class: "ab-finger" }, node, hint);
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
  let on;
  return (i, j, first) => {
    if (first) on = null;
    const is = isOn(i, j);
    if (is === undefined || is === (on ??= !is)) return;
    const cells = model.get(trait);
    const others = cells.filter(([a, b]) => a !== i || b !== j);
    update(model, { [trait]: others.length < cells.length ? others : [...cells, [i, j]] });
  };
}
