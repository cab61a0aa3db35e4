// What a widget computes, seen happening: its style draws it at --now, from 0 to the number of steps.

import { element } from "./core.js";

/**
 * A scrubber through the steps. It stops where it is touched; keys go from step to step.
 * @param {string} label
 * @param {string[]} steps  their names, which may change
 * @param {(past: number) => number} [pace]  how many steps are done after so many milliseconds
 * @returns {{ node: Element, play: () => void }} `play` shows them one after the other, or the end where motion is reduced
 */
export function motion(label, steps, pace = (past) => past / 500) {
  const end = steps.length;
  const input = element("input", { type: "range", max: end });
  const node = element("label", { class: "ab-control ab-motion" }, label, input);
  let frame;
  const show = (now) => {
    input.value = now;
    node.dataset.step = steps[Math.ceil(now) - 1] ?? steps[0];
    input.setAttribute("aria-valuetext", node.dataset.step);
    const root = node.closest(".ab-body");
    root?.style.setProperty("--now", now);
    root?.toggleAttribute("data-moving", now < end);
  };
  const stop = (step) => {
    cancelAnimationFrame(frame);
    input.step = step;
  };
  const play = (time, since = time) => {
    stop("any");
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const now = still ? end : Math.min(pace(time - since), end);
    show(now);
    if (now < end) frame = requestAnimationFrame((later) => play(later, since));
  };
  input.addEventListener("pointerdown", () => stop("any"));
  input.addEventListener("keydown", () => stop(1));
  input.addEventListener("input", () => show(input.value));
  show(end);
  return { node, play: () => play(performance.now()) };
}
