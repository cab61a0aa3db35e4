// What only a page has: the way nearer, and the model itself, which reads whatever a reader writes.

import { asset, button, choice, element, update } from "../shared/core.js";
import { offer } from "../shared/offer.js";
import { stored } from "../shared/stored.js";

// Doors, by the part of the picture beside which they stand.
const DOORS = {
  ".ab-of-wall": ["heads", "sink", "before"],
  ".ab-of-lens": ["embedding", "positions"],
  ".ab-next": ["writing"],
  ".ab-ways": ["looks", "block", "cache", "switches", "pictures", "sounds"],
};

/**
 * @param {object} parts  of the widget
 * @param {import("../shared/core.js").Model} parts.model
 * @param {Object<string, string>} parts.offers  words for the button that brings the model
 * @param {import("../shared/core.js").Subscriptions} parts.subscriptions
 * @param {Element} parts.root
 * @param {Element} parts.own  where the text stands
 * @param {Element} parts.engine  here goes how the model arrives, and writes,
 * @param {Element} parts.closer  here the choice of how near one looks,
 * @param {Element} parts.near  and here what is seen
 * @param {{ model: string, size: number }} parts.file
 * @param {() => number} parts.here  the chosen head
 * @param {() => import("./stage.js").Shown} parts.shown
 * @param {(seen: object) => void} parts.become  what another text is seen as
 * @param {() => void} parts.play
 * @returns {Promise<() => void>} its end
 */
export async function more(parts) {
  const { model, offers, subscriptions, root, own, engine, closer, near, file, here, shown, become } = parts;
  const style = element("link", { rel: "stylesheet", href: new URL("more.css", import.meta.url).href });
  const styled = new Promise((done) => ["load", "error"].forEach((end) => style.addEventListener(end, done)));
  document.head.append(style);
  const say = await (await fetch(new URL("later.json", import.meta.url))).json();
  await styled;

  // A link to the chapter that builds a part, where the page says its address.
  const to = (part) => {
    const href = model.get("doors")[part] ?? "";
    const [, chapter] = /^\w+\/(\d+)_\w+\.html$/.exec(href) ?? [];
    if (!chapter) return "";
    return element("a", { class: "ab-door", href }, element("b", {}, String(Number(chapter))), say.doors[part]);
  };
  for (const [place, doors] of Object.entries(DOORS)) root.querySelector(place).append(...doors.map(to));

  let vectors = async (block) => stored(await asset(model, "vectors")).parts[block];
  let [close, latest, running] = [null, null, null];
  const again = button(offers.failed, draw);
  async function draw() {
    const now = (latest = {});
    const zoom = model.get("zoom");
    if (zoom === "whole") return (near.hidden = true);
    near.setAttribute("aria-busy", "true");
    const content = await closely(zoom).catch(() => [again]);
    if (now !== latest) return;
    near.removeAttribute("aria-busy");
    near.replaceChildren(...content);
    near.hidden = false;
  }
  async function closely(zoom) {
    close ??= (await import(new URL("close.js", import.meta.url))).close(say, to, (changes) => update(model, changes));
    return close(zoom, { ...shown(), chosen: here() }, model.get("key"), vectors);
  }
  near.ariaLabel = say.zoom;
  closer.prepend(choice(model, subscriptions, { trait: "zoom", label: say.zoom, options: say.zooms }));
  subscriptions.follow(["zoom", "block", "head", "token", "key", "off"], draw);

  const [panel, writing] = ["panel", "writing"].map((name) => element("div", { class: `ab-controls ab-${name}` }));
  const status = element("p", { class: "ab-hint", role: "status" });
  engine.replaceChildren(panel, writing, status);
  const [text, asStored] = [[...own.childNodes], vectors];
  const show = (seen) => {
    ({ vectors = asStored } = seen);
    become(seen);
    draw();
  };
  await offer(file, offers, panel, status, async (folder, wait) => {
    const { live } = await import(new URL("live.js", import.meta.url));
    const without = () => {
      own.replaceChildren(...text);
      writing.replaceChildren();
      show(file);
      wait();
    };
    const places = { root, top: own, writing, panel, status };
    running = await live({ ...places, model, say, folder, show, play: parts.play, wait: without });
  });
  return () => running?.end();
}
