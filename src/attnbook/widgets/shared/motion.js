// What a widget computes, seen happening: its style draws it at --now, from 0 to the number of steps.

import { element } from "./core.js";

/**
 * A scrubber through the steps. It stops where it is touched; keys go from step to step. Until something has happened only its
 * place is kept.
 * @param {string} label
 * @param {string[]} steps  their names, which may change
 * @param {(past: number, from: number) => number} [pace]  how many steps are done so many milliseconds after it began,
 *   and from where
 * @param {Element} [moved]  what is drawn at --now, if not the whole widget: whatever inherits it is styled anew in each frame
 * @returns {{ node: Element, play: (from?: number) => void }} `play` shows them one after the other, or the end where motion
 *   is reduced; it may begin at a later step
 */
export function motion(label, steps, pace = (past) => past / 500, moved = null) {
  const end = steps.length;
  const input = element("input", { type: "range", max: end });
  const node = element("label", { class: "ab-control ab-motion" }, label, input);
  let frame;
  const show = (now) => {
    input.value = now;
    input.ariaValueText = node.dataset.step = steps[Math.ceil(now) - 1] ?? steps[0];
    const root = node.closest(".ab-body");
    root?.toggleAttribute("data-moving", now < end);
    (moved ?? root)?.style.setProperty("--now", now);
  };
  const stop = (step) => {
    cancelAnimationFrame(frame);
    input.step = step;
  };
  const play = (from = 0) => {
    node.style.visibility = "";
    stop("any");
    const since = performance.now();
    const draw = (time) => {
      const now = matchMedia("(prefers-reduced-motion: reduce)").matches ? end : pace(time - since, from);
      show(Math.min(now, end));
      if (now < end) frame = requestAnimationFrame(draw);
    };
    draw(since);
  };
  input.addEventListener("pointerdown", () => stop("any"));
  input.addEventListener("keydown", () => stop(1));
  input.addEventListener("input", () => show(input.value));
  show(end);
  node.style.visibility = "hidden";
  return { node, play };
}
