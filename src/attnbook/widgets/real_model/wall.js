// All heads of a model at once: a column for each block, a row for each head, in each place the head's map. A narrow wall
// is broken into two strips. Every fifth block has its number.

import { element, whole } from "../shared/core.js";

const NARROW = 460; // pixels
const [GLOW, DARK] = [
  [255, 214, 107],
  [160, 150, 185],
];
const DIM = 16; // of 255: how bright a weight of zero is

/**
 * A map as light: how opaque a point is says the root of its weight. A head that is off is a grey square.
 * @param {ImageData} image
 * @param {number} left  where it begins
 * @param {number} top
 * @param {number} n  tokens
 * @param {(i: number, j: number) => number} weight
 * @param {number} [light]  of all of it
 * @param {boolean} [off]
 */
export function paint({ data, width }, left, top, n, weight, light = 1, off = false) {
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= (off ? n - 1 : i); j++) {
      const step = j > i ? 0 : Math.round(Math.round(255 * Math.sqrt(weight(i, j))) * light);
      data.set([...(off ? DARK : GLOW), Math.max(off ? step / 2 : step, DIM)], 4 * ((top + i) * width + left + j));
    }
}

/**
 * @param {string} label
 * @param {{ point: (n: number | null) => void, press: (n: number) => void, go: (n: number) => void }} hands  a mouse points
 *   at head n of all, or at none; a head is pressed; arrows go to it
 * @returns {{ node: Element, draw: (picture: object, off: Set<number>, light: (n: number) => number) => void,
 *   choose: (n: number, name: string) => void }}
 */
export function wall(label, { point, press, go }) {
  const id = `head-${Math.random().toString(36).slice(2)}`;
  const canvas = element("canvas");
  const numbers = element("div", { class: "ab-blocks", "aria-hidden": "true" });
  const frame = element("div", { role: "gridcell", id, "aria-selected": "true" });
  const node = element(
    "div",
    { class: "ab-wall", role: "grid", tabindex: 0, "aria-label": label, "aria-activedescendant": id },
    canvas,
    numbers,
    element("div", { role: "row" }, frame),
  );
  let [last, layers, heads, across, down, chosen] = [null, 1, 1, 1, 1, 0];
  const place = (n) => {
    const block = Math.floor(n / heads);
    return [block % across, Math.floor(block / across) * heads + (n % heads)];
  };
  const move = () => {
    const [x, y] = place(chosen);
    for (const [name, value] of Object.entries({ x, y, across, down })) node.style.setProperty(`--${name}`, value);
  };
  const draw = (picture, off, light) => {
    last = [picture, off, light];
    ({ layers, heads } = picture);
    const n = picture.rows.length;
    const step = n + Math.ceil(n / 8);
    across = Math.ceil(layers / (node.clientWidth < NARROW ? 2 : 1));
    down = Math.ceil(layers / across) * heads;
    [canvas.width, canvas.height] = [across * step, down * step];
    const named = Array.from({ length: layers }, (_, n) => n).filter((n) => n % 5 === 0 || n === layers - 1);
    const spans = named.map((n) =>
      element("span", { class: n < across ? "" : "ab-below", style: `--x: ${n % across}` }, whole(n)),
    );
    numbers.replaceChildren(element("p", {}, label), ...spans);
    canvas.style.imageRendering = n < 20 ? "pixelated" : "auto";
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(canvas.width, canvas.height);
    for (let head = 0; head < layers * heads; head++) {
      const [x, y] = place(head);
      const weight = (i, j) => picture.rows[i][head * (i + 1) + j];
      paint(image, x * step, y * step, n, weight, light(head), off.has(head));
    }
    pen.putImageData(image, 0, 0);
    move();
  };
  const under = ({ clientX, clientY }) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const y = Math.floor(((clientY - top) / height) * down);
    const block = Math.floor(y / heads) * across + Math.floor(((clientX - left) / width) * across);
    return Math.min(Math.max(block, 0), layers - 1) * heads + (((y % heads) + heads) % heads);
  };
  node.addEventListener("pointermove", (event) => event.pointerType === "mouse" && point(under(event)));
  node.addEventListener("pointerleave", () => point(null));
  node.addEventListener("click", (event) => press(under(event)));
  node.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -heads, ArrowRight: heads, ArrowUp: -1, ArrowDown: 1 };
    const to = chosen + steps[event.key];
    if (event.key in steps) {
      if (to >= 0 && to < layers * heads) go(to);
    } else if (event.key === "Enter" || event.key === " ") press(chosen);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => last && draw(...last)).observe(node);
  return {
    node,
    draw,
    choose(n, name) {
      chosen = n;
      frame.setAttribute("aria-label", name);
      move();
    },
  };
}
