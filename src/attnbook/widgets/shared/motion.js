// What a widget computes, seen happening: its style draws it at --now, from 0 to the number of steps.

import { element } from "./core.js";

/**
 * A scrubber through the steps. It stops where it is touched; keys go from step to step.
 * @param {string} label
 * @param {string[]} steps  their names, which may change
 * @param {number} [pace]  milliseconds a step
 * @param {object} [more]
 * @param {number} [more.rest]  milliseconds that it holds
 * @param {() => number} [more.at]  after so many steps
 * @param {(step: number, isEnd: boolean) => void} [more.see]  told of whatever step is shown, counted from 0
 * @returns {{ node: Element, play: () => void }} `play` shows them one after the other, or the end where motion is reduced
 */
export function motion(label, steps, pace = 500, { rest = 0, at = () => 0, see } = {}) {
  const end = steps.length;
  const input = element("input", { type: "range", max: end });
  const node = element("label", { class: "ab-control ab-motion" }, label, input);
  let frame;
  const show = (now) => {
    input.value = now;
    const step = Math.max(Math.ceil(now) - 1, 0);
    node.dataset.step = steps[step];
    see?.(step, now >= end);
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
    const past = time - since;
    const gone = Math.max(Math.min(past, at() * pace), past - rest);
    const now = still ? end : Math.min(gone / pace, end);
    show(now);
    if (now < end) frame = requestAnimationFrame((later) => play(later, since));
  };
  input.addEventListener("pointerdown", () => stop("any"));
  input.addEventListener("keydown", () => stop(1));
  input.addEventListener("input", () => show(input.value));
  show(end);
  return { node, play: () => play(performance.now()) };
}
