// The model in the page, from the press on: which of its heads are off, and of what kind they are.

import { reader } from "../engine/reader.js";
import { button, count, element, number, update } from "../shared/core.js";
import { KINDS, kindsOf } from "./kinds.js";

const [MOST, HALF] = [64, 0.5]; // tokens of a text; of a head's attention, if it is of a kind

/**
 * @param {object} parts  of the widget
 * @param {import("../shared/core.js").Model} parts.model
 * @param {Object<string, any>} parts.say  words for this, which arrive with it
 * @param {string} parts.folder  of the model's parts
 * @param {Element} parts.top  here goes the reader's own text,
 * @param {Element} parts.writing  here how the model writes,
 * @param {Element} parts.panel  here how it arrives and then what heads do,
 * @param {Element} parts.status  and here what is to be said
 * @param {() => number} parts.here  the chosen head
 * @param {(pictures: import("./real_model.js").Picture[]) => void} parts.show
 * @param {() => void} parts.wait  called when the reader does without
 * @returns {Promise<{ without: string, reads: () => boolean, off: () => Set<number>, light: (n: number) => number,
 *   look: (n: number) => void, toggle: (n: number) => void, end: () => void }>}
 */
export async function live({ say, here, show, ...parts }) {
  const { model, panel } = parts;
  const known = [[], []]; // rows of maps: with all heads, and without some
  let [heads, pictures, shares] = [0, [], {}];

  const pair = (n) => [Math.floor(n / heads), n % heads];
  const off = () => new Set(heads ? model.get("off").map(([block, head]) => block * heads + head) : []);
  const toggle = (...list) => {
    const now = off();
    const left = list.filter((n) => !now.has(n));
    const then = left.length ? [...now, ...left] : [...now].filter((n) => !list.includes(n));
    update(model, { off: then.map(pair) });
  };
  const ofKind = () => {
    const kind = shares[model.get("kind")] ?? [];
    return [...kind.keys()].filter((n) => kind[n] >= HALF);
  };
  const light = (n) => {
    const kind = shares[model.get("kind")];
    return kind ? 0.2 + 0.8 * kind[n] : 1;
  };
  const one = button("", () => toggle(here()));
  const several = button("", () => toggle(...ofKind()));
  const none = button(say.all, () => update(model, { off: [] }));
  const kinds = KINDS.map((kind) => {
    const share = element("span", { class: "ab-number" });
    const node = button(say.kinds[kind], () => update(model, { kind: model.get("kind") === kind ? "all" : kind }));
    node.append(share);
    return { kind, node, share };
  });
  const look = (n) => {
    if (!pictures.length) return;
    for (const { kind, node, share } of kinds) {
      share.textContent = number(shares[kind][n]);
      node.style.setProperty("--w", shares[kind][n]);
      node.ariaPressed = kind === model.get("kind");
    }
    one.textContent = off().has(here()) ? say.switch.on : say.switch.off;
    several.textContent = count(say.these, ofKind().length);
    several.hidden = !ofKind().length;
    none.hidden = !off().size;
  };
  const { end } = await reader({
    ...parts,
    most: MOST,
    off: () => [...off()],
    begin(about, subscriptions) {
      ({ heads } = about);
      const list = element("div", { class: "ab-kinds" }, element("p", {}, say.like), ...kinds.map(({ node }) => node));
      panel.replaceChildren(list, one, none, several);
      subscriptions.follow(["kind"], () => pictures.length && show(pictures));
    },
    take({ read, ...about }) {
      read.forEach(({ known: same, rows }, n) => (known[n] = [...known[n].slice(0, same), ...rows]));
      pictures = read.map(({ next }, n) => ({ ...about, rows: known[n], next }));
      shares = kindsOf(pictures.at(-1));
      show(pictures);
    },
  });
  return { without: say.without, reads: () => Boolean(heads), off, light, look, toggle, end };
}
