// Light that goes from what asks to what it looks at: the wider and brighter, the more.

import { element } from "./core.js";

/** @typedef {{ from: Element, to: Element, weight: number, kind?: string }} Beam  of a weight from 0 to 1 */

/**
 * A layer of beams between elements of the box it lies in, which is `position: relative`. They follow their elements when
 * the box changes its size. Between two of one line a beam is an arch above them, else an S.
 * @returns {{ node: Element, draw: (beams: Beam[]) => void }}
 */
export function beams() {
  const node = element("svg", { class: "ab-beams", "aria-hidden": "true" });
  const paths = [];
  let shown = [];
  const place = () => {
    const origin = node.getBoundingClientRect();
    const boxes = shown.map(({ from, to }) => [from.getBoundingClientRect(), to.getBoundingClientRect()]);
    boxes.forEach(([from, to], i) => paths[i].setAttribute("d", curve(from, to, origin)));
  };
  const draw = (now) => {
    shown = now;
    while (paths.length < shown.length) {
      paths.push(element("path", { pathLength: 1 }));
      node.append(paths.at(-1));
    }
    paths.forEach((path, i) => {
      path.toggleAttribute("data-dark", !shown[i]);
      path.style.setProperty("--w", shown[i]?.weight ?? 0);
      path.setAttribute("class", shown[i]?.kind ?? "");
    });
    place();
  };
  new ResizeObserver(place).observe(node);
  document.fonts.ready.then(place);
  return { node, draw };
}

function curve(from, to, origin) {
  const [x, X] = [from, to].map((box) => (box.left + box.right) / 2 - origin.left);
  if (from.top < to.bottom && to.top < from.bottom) {
    const y = Math.min(from.top, to.top) - origin.top;
    return `M${x} ${y}Q${(x + X) / 2} ${y - Math.min(Math.abs(X - x) * 0.6, 90)} ${X} ${y}`;
  }
  const down = from.top < to.top;
  const [y, Y] = [(down ? from.bottom : from.top) - origin.top, (down ? to.top : to.bottom) - origin.top];
  const middle = (y + Y) / 2;
  return `M${x} ${y}C${x} ${middle} ${X} ${middle} ${X} ${Y}`;
}
