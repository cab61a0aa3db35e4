// A clock of two hands, and the turn from one to the other as a field of light.

import { element } from "./core.js";

/** How far its hands reach. */
export const REACH = 20;

/**
 * @param {[string, string]} kinds  of its hands: their classes
 * @returns {{ node: Element, show: (first: number[], second: number[]) => void }} a hand points to (x, y), of length 1 at
 *   the rim, y upwards
 */
export function clock(kinds) {
  const hands = kinds.map((kind) => element("line", { class: kind }));
  const turn = element("path");
  const face = element("circle", { r: REACH + 2 });
  const node = element(
    "svg",
    { class: "ab-clock", viewBox: "-24 -24 48 48", "aria-hidden": "true" },
    face,
    turn,
    ...hands,
  );
  const show = (...ends) => {
    ends.forEach(([x, y], n) => {
      hands[n].setAttribute("x2", REACH * x);
      hands[n].setAttribute("y2", -REACH * y);
    });
    const [[x, y], [X, Y]] = ends.map(([across, up]) => {
      const rim = REACH / Math.hypot(across, up);
      return [rim * across, -rim * up];
    });
    turn.setAttribute("d", `M0 0L${x} ${y}A${REACH} ${REACH} 0 0 ${x * Y > X * y ? 1 : 0} ${X} ${Y}Z`); // the short way
  };
  return { node, show };
}
