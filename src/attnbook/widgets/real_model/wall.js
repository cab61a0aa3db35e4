// All heads of a model at once: a column for each block, a row for each head, in each place the head's map. A narrow wall
// is broken into strips, one below the other.

import { element } from "../shared/core.js";

const [LEAST, MOST, GAP, NARROW] = [24, 32, 3, 460]; // points of a map's side, and between maps; pixels
const GLOW = [255, 214, 107];
const DIM = 16; // of 255: how bright a weight of zero is
const DARK = [120, 112, 140];

/**
 * A map as light: the root of each weight is how opaque its points are. What lies over others is the brightest.
 * @param {ImageData} image
 * @param {number[]} corner  of the map in the image
 * @param {number} side  in points
 * @param {number} n  tokens
 * @param {(i: number, j: number) => number} weight
 * @param {number} [light]  of all of it
 * @param {number[]} [colour]
 */
export function paint(image, [left, top], side, n, weight, light = 1, colour = GLOW) {
  const end = (i) => Math.ceil(((i + 1) * side) / n);
  const start = (i) => Math.floor((i * side) / n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      const alpha = Math.max(Math.round(Math.round(255 * Math.sqrt(weight(i, j))) * light), DIM);
      for (let y = start(i); y < end(i); y++)
        for (let x = start(j); x < end(j); x++) {
          const at = 4 * ((top + y) * image.width + left + x);
          if (alpha < image.data[at + 3]) continue;
          image.data.set(colour, at);
          image.data[at + 3] = alpha;
        }
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
  const canvas = element("canvas", { "aria-hidden": "true" });
  const frame = element("div", { class: "ab-frame", role: "gridcell", id, "aria-selected": "true" });
  const row = element("div", { role: "row" }, frame);
  const node = element(
    "div",
    { class: "ab-wall", role: "grid", tabindex: 0, "aria-label": label, "aria-activedescendant": id },
    canvas,
    row,
  );
  let [shown, chosen, across] = [null, 0, 0];
  const place = (n) => {
    const { layers, heads } = shown.picture;
    const [layer, head] = [Math.floor(n / heads), n % heads];
    return [layer % across, Math.floor(layer / across) * heads + head, Math.ceil(layers / across) * heads];
  };
  const move = () => {
    const [x, y, rows] = place(chosen);
    for (const [name, value] of Object.entries({ x, y, rows, across })) node.style.setProperty(`--${name}`, value);
  };
  const draw = () => {
    const { picture, off, light } = shown;
    const { rows, layers, heads } = picture;
    across = node.clientWidth < NARROW ? Math.ceil(layers / 2) : layers;
    const n = rows.length;
    const side = n > MOST ? MOST : n * Math.ceil(LEAST / n);
    const step = side + GAP;
    [canvas.width, canvas.height] = [across * step, Math.ceil(layers / across) * heads * step];
    canvas.dataset.side = side;
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(canvas.width, canvas.height);
    const corners = Array.from({ length: layers * heads }, (_, head) => {
      const [x, y] = place(head);
      return [x * step + 1, y * step + 1];
    });
    corners.forEach((corner, head) =>
      paint(
        image,
        corner,
        side,
        n,
        (i, j) => rows[i][head * (i + 1) + j],
        off.has(head) ? 0.5 : light(head),
        off.has(head) ? DARK : GLOW,
      ),
    );
    pen.putImageData(image, 0, 0);
    pen.strokeStyle = `rgb(${DARK})`;
    pen.lineWidth = 2;
    for (const head of off) {
      const [x, y] = corners[head];
      pen.stroke(new Path2D(`M${x + 2} ${y + side - 2}L${x + side - 2} ${y + 2}`));
    }
    move();
  };
  const under = ({ clientX, clientY }) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const { layers, heads } = shown.picture;
    const y = Math.floor(((clientY - top) / height) * Math.ceil(layers / across) * heads);
    const layer = Math.floor(y / heads) * across + Math.floor(((clientX - left) / width) * across);
    return layer < layers && y >= 0 ? layer * heads + (y % heads) : null;
  };
  node.addEventListener("pointermove", (event) => event.pointerType === "mouse" && point(under(event)));
  node.addEventListener("pointerleave", () => point(null));
  node.addEventListener("click", (event) => under(event) !== null && press(under(event)));
  node.addEventListener("keydown", (event) => {
    const { layers, heads } = shown.picture;
    const [layer, head] = [Math.floor(chosen / heads), chosen % heads];
    const to = {
      ArrowLeft: [layer - 1, head],
      ArrowRight: [layer + 1, head],
      ArrowUp: [layer, head - 1],
      ArrowDown: [layer, head + 1],
    }[event.key];
    if (to) {
      const [a, b] = [Math.min(Math.max(to[0], 0), layers - 1), Math.min(Math.max(to[1], 0), heads - 1)];
      go(a * heads + b);
    } else if (event.key === "Enter" || event.key === " ") press(chosen);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => shown && draw()).observe(node);
  return {
    node,
    draw(picture, off, light) {
      shown = { picture, off, light };
      node.setAttribute("aria-colcount", picture.layers);
      node.setAttribute("aria-rowcount", picture.heads);
      draw();
    },
    choose(n, name) {
      chosen = n;
      const { heads } = shown.picture;
      frame.setAttribute("aria-label", name);
      frame.setAttribute("aria-colindex", Math.floor(n / heads) + 1);
      row.setAttribute("aria-rowindex", (n % heads) + 1);
      move();
    },
  };
}
