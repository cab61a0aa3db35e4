// The whole picture along one axis, depth: all maps, the streams, and what one stream would say after each block. Wide,
// depth runs to the right; on a phone it runs down.

import { element, number, verbatim } from "../shared/core.js";
import { spoken } from "../shared/spoken.js";

/** @import { Picture } from "./seen.js" */

// Looks that are drawn: of all heads the strong ones, of the chosen head nearly all; and how strong a push has a colour.
const [STRONG, WEAK, PUSH] = [0.24, 0.03, 0.25];
const DIM = 26; // of 255: how bright a weight of zero is
const QUIET = 0.6; // how bright maps are where colours are those of pushes
const [GOLD, LIT, PINK, VIOLET] = [
  [255, 214, 107],
  [255, 244, 190],
  [255, 143, 184],
  [169, 154, 230],
];

/**
 * @param {number} push
 * @returns {string}
 */
export const signed = (push) => `${push >= 0.005 ? "+" : ""}${number(push)}`;

/**
 * What the parts of the picture show.
 * @typedef {{ tokens: string[], blocks: number, heads: number, picture: Picture, off: number[], chosen: number, token: number,
 *   pushes: boolean, sink: boolean, whole: Picture, isStored: boolean }} Shown  heads are counted over all blocks; `whole` is
 *   the same with all heads on; where it `isStored`, nothing else is known
 */

/**
 * All maps: of each block a strip of heads.
 * @param {string} label
 * @param {number} blocks
 * @param {{ point: (n: number | null) => void, press: (n: number) => void, go: (n: number) => void }} hands  a mouse points
 *   at a head, or at none; a head is pressed; arrows go to it
 * @returns {{ node: Element, draw: (shown: Shown, isTall: boolean) => void, choose: (n: number, name: string) => void }}
 */
export function wall(label, blocks, { point, press, go }) {
  const id = `map-${Math.random().toString(36).slice(2)}`;
  const strips = Array.from({ length: blocks }, (_, b) => element("canvas", { style: `--b: ${b}` }));
  const frame = element("div", { role: "gridcell", id, "aria-selected": "true" });
  const hollow = element("div");
  const node = element(
    "div",
    { class: "ab-wall", role: "grid", tabindex: 0, "aria-label": label, "aria-activedescendant": id },
    ...strips,
    hollow,
    element("div", { role: "row" }, frame),
  );
  let [heads, tall, chosen] = [1, false, 0];
  const place = (cell, n) => {
    cell.style.setProperty("--b", Math.floor(n / heads));
    cell.style.setProperty("--h", n % heads);
  };
  const under = ({ target, clientX, clientY }) => {
    const block = strips.indexOf(target);
    if (block < 0) return chosen;
    const { left, top, width, height } = target.getBoundingClientRect();
    const share = tall ? (clientX - left) / width : (clientY - top) / height;
    return block * heads + Math.min(Math.max(Math.floor(share * heads), 0), heads - 1);
  };
  // A finger is broader than a head: it slides along a block, and what is under it is told of; it goes in where it was.
  let before = null;
  node.addEventListener("pointerdown", (event) => {
    before = event.pointerType === "touch" ? chosen : null;
    point(under(event));
  });
  node.addEventListener("pointermove", (event) => point(under(event)));
  node.addEventListener("pointerup", (event) => before !== null && go(under(event)));
  for (const end of ["pointerleave", "pointercancel"]) node.addEventListener(end, () => point(null));
  node.addEventListener("click", (event) => {
    const n = under(event);
    if (before === null || before === n) press(n);
  });
  node.addEventListener("keydown", (event) => {
    const [across, down] = tall ? [1, heads] : [heads, 1];
    const step = { ArrowLeft: -across, ArrowRight: across, ArrowUp: -down, ArrowDown: down }[event.key];
    if (step) {
      if (chosen + step >= 0 && chosen + step < blocks * heads) go(chosen + step);
    } else if (event.key === "Enter" || event.key === " ") press(chosen);
    else return;
    event.preventDefault();
  });
  return {
    node,
    draw(shown, isTall) {
      [heads, tall] = [shown.heads, isTall];
      node.style.setProperty("--heads", heads);
      strips.forEach((strip, b) => paint(strip, b, shown, tall));
      hollow.replaceChildren(
        ...shown.off.map((n) => {
          const cell = element("i");
          place(cell, n);
          return cell;
        }),
      );
    },
    choose(n, name) {
      chosen = n;
      frame.setAttribute("aria-label", name);
      place(frame, n);
    },
  };
}

// A block's maps: how opaque a point is says the root of its weight; or, of each head, its push, with its map behind.
function paint(strip, block, { picture, tokens, heads, off, token, pushes }, tall) {
  const n = tokens.length;
  const step = n + 1;
  [strip.width, strip.height] = tall ? [heads * step, n] : [n, heads * step];
  const pen = strip.getContext("2d");
  const image = pen.createImageData(strip.width, strip.height);
  for (let h = 0; h < heads; h++) {
    const head = block * heads + h;
    const [left, top] = tall ? [h * step, 0] : [0, h * step];
    const push = pushes ? picture.push(head, token) : 0;
    const force = Math.min(Math.abs(push) / 2, 1);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < (pushes ? n : i + 1); j++) {
        const weight = j <= i ? Math.sqrt(picture.weight(head, i, j)) : 0;
        const behind = pushes && QUIET * weight >= force;
        const light = off.includes(head) ? 0 : behind ? QUIET * weight : pushes ? force : weight;
        const colour = behind ? VIOLET : pushes ? (push < 0 ? PINK : GOLD) : i === token ? LIT : GOLD;
        image.data.set([...colour, Math.max(Math.round(255 * light), DIM)], 4 * ((top + i) * strip.width + left + j));
      }
  }
  pen.putImageData(image, 0, 0);
}

/**
 * The streams, the lit one of a colour that says how likely it makes the final word, and the looks that flow into it.
 * @param {number} blocks
 * @returns {{ node: Element, draw: (shown: Shown, isTall: boolean) => void }}
 */
export function streams(blocks) {
  const others = element("path", { class: "ab-others" });
  const lit = Array.from({ length: blocks }, (_, b) => element("path", { class: "ab-lit", style: `--b: ${b}` }));
  const looks = [];
  const node = element(
    "svg",
    { class: "ab-streams", preserveAspectRatio: "none", "aria-hidden": "true" },
    others,
    ...lit,
  );
  return {
    node,
    draw({ picture, tokens, heads, off, chosen, token, sink }, tall) {
      const at = (b, j) => (tall ? `${j + 0.5} ${b}` : `${b} ${j + 0.5}`);
      node.setAttribute("viewBox", tall ? `0 0 ${tokens.length} ${blocks}` : `0 0 ${blocks} ${tokens.length}`);
      others.setAttribute("d", tokens.map((_, j) => `M${at(0, j)}L${at(blocks, j)}`).join(""));
      const says = picture.says(token);
      lit.forEach((part, b) => {
        part.setAttribute("d", `M${at(b, token)}L${at(b + 1, token)}`);
        part.style.setProperty("--w", says[b].final);
      });
      const found = [];
      for (let head = 0; head < blocks * heads; head++)
        for (let j = head === chosen || sink ? 0 : 1; j < token; j++) {
          const weight = picture.weight(head, token, j);
          if (weight >= (head === chosen ? WEAK : STRONG)) found.push({ head, j, weight });
        }
      while (looks.length < found.length) {
        looks.push(element("path"));
        node.append(looks.at(-1));
      }
      looks.forEach((path, n) => {
        path.toggleAttribute("hidden", !found[n]);
        if (!found[n]) return;
        const { head, j, weight } = found[n];
        const b = Math.floor(head / heads);
        const own = ((head % heads) - heads / 2) * 0.03; // of each head of a block, its own strand
        const [start, end] = tall ? [b + 0.5, b + 0.98] : [b + 0.15 + own, b + 0.85 + own];
        const [near, far] = [start + 0.85 * (end - start), end - 0.85 * (end - start)];
        path.setAttribute("d", `M${at(start, j)}C${at(near, j)} ${at(far, token)} ${at(end, token)}`);
        const push = picture.look(head, token, j);
        const kind = off.includes(head) ? "off" : push > PUSH ? "for" : push < -PUSH ? "against" : "look";
        path.setAttribute("class", `ab-${kind}${head === chosen ? " ab-chosen" : ""}`);
        path.dataset.look = `${head} ${j}`;
        path.style.cssText = `--b: ${b}; --w: ${weight}; --push: ${Math.min(Math.abs(push), 1)}`;
      });
    },
  };
}

/**
 * After each block, the word that the lit stream would say, and a bar of how likely it is, golden if it is the final word.
 * @param {string} label
 * @param {number} blocks
 * @returns {{ node: Element, draw: (shown: Shown, before: Picture | null) => void }}
 */
export function lens(label, blocks) {
  const items = Array.from({ length: blocks }, (_, b) =>
    element("li", { style: `--b: ${b}` }, element("i"), verbatim(""), element("small")),
  );
  return {
    node: element("ol", { class: "ab-lens", "aria-label": label }, ...items),
    draw({ picture, token }, before) {
      const best = (of) => of.says(token).map(({ words }) => words[0]);
      const [says, old, final] = [best(picture), before && best(before), picture.final(token)];
      items.forEach((item, b) => {
        const [[word, chance], [, name, share]] = [says[b], item.children];
        item.style.setProperty("--w", chance);
        item.style.setProperty("--old", old ? old[b][1] : 0);
        item.toggleAttribute("data-final", word === final);
        item.toggleAttribute("data-same", word === says[b - 1]?.[0]);
        const next = says.findIndex(([other], n) => n > b && other !== word);
        item.style.setProperty("--run", (next < 0 ? blocks : next) - b);
        name.textContent = spoken(word);
        item.toggleAttribute("data-sign", !/\p{L}/u.test(word));
        share.textContent = number(chance);
      });
    },
  };
}
