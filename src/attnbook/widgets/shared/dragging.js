import { element } from "./core.js";

/**
 * A part of a picture that follows mouse or finger.
 * @param {SVGElement} part
 * @param {(x: number, y: number) => void} move  gets the place as shares of the picture's width and height
 */
export function draggable(part, move) {
  part.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false }); // the page stays where it is
  part.addEventListener("pointerdown", (event) => {
    if (event.isPrimary && event.button === 0) part.setPointerCapture(event.pointerId);
  });
  part.addEventListener("pointermove", (event) => {
    if (!part.hasPointerCapture(event.pointerId)) return;
    const box = part.ownerSVGElement.getBoundingClientRect();
    move((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  });
}

const STEPS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  Home: [-Infinity, 0],
  End: [Infinity, 0],
  PageUp: [0, Infinity],
  PageDown: [0, -Infinity],
};

/**
 * What one grabs in a picture: a circle that mouse and finger drag, and keys move; to a screen reader, a slider.
 * @param {string} label
 * @param {number} r  how far from its middle a finger may be
 * @param {(x: number, y: number) => void} move  as of `draggable`
 * @param {(right: number, up: number) => void} step  so many steps by an arrow, infinitely many by the keys for the ends
 * @returns {{ node: SVGElement, put: (x: number, y: number, now: number, text: string) => void }}
 */
export function handle(label, r, move, step) {
  const node = element("circle", { class: "ab-tip", r, role: "slider", tabindex: 0, "aria-label": label });
  draggable(node, move);
  node.addEventListener("keydown", (event) => {
    if (!STEPS[event.key]) return;
    event.preventDefault();
    step(...STEPS[event.key]);
  });
  return {
    node,
    put: (cx, cy, now, text) => put(node, { cx, cy, "aria-valuenow": now, "aria-valuetext": text }),
  };
}

/**
 * @param {Element} node
 * @param {Object<string, any>} attributes  their new values
 */
export function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

/**
 * @param {number} x
 * @param {number} least
 * @param {number} most
 * @returns {number}
 */
export const clamp = (x, least, most) => Math.min(Math.max(x, least), most);
