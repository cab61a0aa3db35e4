// The film: a front of light goes from block to block, and the list tells what the model would say if it stopped there.

import { button, element, fill, number, whole } from "../shared/core.js";
import { motion } from "../shared/motion.js";
import { spoken } from "../shared/spoken.js";
import { mostSeen } from "./seen.js";

// Milliseconds: for a block, after that of the chosen head, for a block once more, and for all that is shown once more.
const [PACE, REST, SLOW, MOST] = [220, 2200, 440, 2000];

/**
 * @param {object} parts  of the widget
 * @param {Object<string, any>} parts.say
 * @param {Element} parts.root
 * @param {Element} parts.place  here goes the scrubber
 * @param {Element} parts.next  what the list is of
 * @param {{ draw: (stop: number) => void }} parts.bars  the list, after a block
 * @param {() => import("./stage.js").Shown} parts.shown
 * @returns {{ draw: () => void, play: () => void, end: () => void }} `draw` follows what is shown: if a head was switched, it
 *   plays from there on, as only what lies behind is another
 */
export function film({ say, root, place, next, bars, shown }) {
  const { blocks, heads, ...first } = shown();
  const steps = Array.from({ length: blocks }, () => "");
  let silent = first.off;
  const pace = (past, from) => {
    const there = (Math.floor(shown().chosen / heads) + 1) * PACE; // here it holds
    return from
      ? from + past / Math.min(SLOW, MOST / (blocks - from))
      : Math.max(Math.min(past, there), past - REST) / PACE;
  };
  const light = root.querySelector(".ab-front");
  const { node, play } = motion(say.depth, steps, pace, light);
  const slider = node.lastChild;
  const tell = (news) => {
    if (news?.every(({ target, oldValue }) => target === node && oldValue === node.dataset.step)) return; // the same block
    const stop = Math.max(Math.ceil(slider.value) - 1, 0);
    const { picture, tokens, chosen, token, off } = shown();
    const isHere = stop === Math.floor(chosen / heads) && root.matches("[data-moving]") && !off.includes(chosen);
    const word = spoken(tokens[mostSeen(picture, chosen, token)]);
    const early = fill(isHere ? say.fetches : say.early, { block: whole(stop), head: whole(chosen % heads), word });
    next.firstChild.data = slider.value === slider.max ? say.next : early;
    bars.draw(stop);
  };
  const draw = () => {
    const { picture, token, off } = shown();
    picture.says(token).forEach(({ words: [[word, chance]] }, b) => {
      steps[b] = fill(say.after, { block: whole(b), word: spoken(word), chance: number(chance) });
    });
    slider.dispatchEvent(new Event("input")); // its names are others
    tell();
    const switched = [...off, ...silent].filter((n) => off.includes(n) !== silent.includes(n));
    silent = off;
    if (switched.length) play(Math.floor(Math.min(...switched) / heads));
  };
  const front = new MutationObserver(tell);
  front.observe(node, { attributeFilter: ["data-step"], attributeOldValue: true });
  front.observe(root, { attributeFilter: ["data-moving"] });
  const begin = () => play();
  const run = element("div", { class: "ab-tries" }, button(say.run, begin));
  place.replaceChildren(run, node);
  const unfollow = along(root, place, light);
  draw();
  const sight = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      sight.disconnect();
      play();
    },
    { rootMargin: "0px 0px -30%" },
  );
  sight.observe(root.querySelector(".ab-axis"));
  return {
    draw,
    play: begin,
    end() {
      for (const each of [front, sight]) each.disconnect();
      unfollow();
    },
  };
}

// On a phone depth is scrolling: whoever presses goes along with the front, and then to the chosen head, until a finger moves.
function along(root, place, light) {
  let goes = false;
  const [depth, above, below, frame] = [".ab-depth", ".ab-from", ".ab-foot", "[role=gridcell]"].map((part) =>
    root.querySelector(part),
  );
  root.addEventListener("click", ({ target }) => {
    const isPressed = target.closest(".ab-start") || place.contains(target.closest("button"));
    goes = Boolean(isPressed) && root.matches(".ab-tall");
  });
  for (const moved of ["touchstart", "wheel"]) root.addEventListener(moved, () => (goes = false), { passive: true });
  const watch = new MutationObserver(() => {
    if (!goes) return;
    goes = root.matches("[data-moving]");
    if (!goes) return frame.scrollIntoView({ block: "center" });
    const [from, to] = [above.getBoundingClientRect().bottom, below.getBoundingClientRect().top];
    const { top, height } = depth.getBoundingClientRect();
    const front = top + (height * Number(light.style.getPropertyValue("--now"))) / 30;
    scrollBy({ top: Math.min(front - (from + to) / 2, top + height - to), behavior: "instant" });
  });
  watch.observe(light, { attributeFilter: ["style"] });
  return () => watch.disconnect();
}
