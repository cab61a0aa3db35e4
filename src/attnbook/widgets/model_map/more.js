// What only a page has: the way nearer, and the model itself, which reads whatever a reader writes.

import { asset, button, choice, element, update } from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { offer } from "../shared/offer.js";
import { stored } from "../shared/stored.js";

const ZOOMS = ["whole", "block", "head", "product"];

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

  const inside = element("div", { class: "ab-inside", role: "group", tabindex: 0, "aria-label": say.zoom });
  const out = () => update(model, { zoom: ZOOMS[Math.max(ZOOMS.indexOf(model.get("zoom")) - 1, 0)] });
  let vectors = async (block) => stored(await asset(model, "vectors")).parts[block];
  let [close, latest, running, before, pressed] = [null, null, null, "", null];
  const again = button(offers.failed, draw);
  const [frame, wall, depth] = ["[role=gridcell]", ".ab-wall", ".ab-depth"].map((part) => root.querySelector(part));
  inside.addEventListener("click", ({ target }) => (pressed = target.closest("button")), true);
  async function draw() {
    const now = (latest = {});
    const zoom = model.get("zoom");
    into.hidden = zoom !== "whole";
    if (zoom === "whole") {
      const isIn = near.contains(document.activeElement);
      near.hidden = true;
      before = zoom;
      if (isIn) wall.focus({ preventScroll: true });
      return;
    }
    near.setAttribute("aria-busy", "true");
    const content = await closely(zoom).catch(() => [again]);
    if (now !== latest) return;
    const from = (before === "whole" ? frame : pressed)?.getBoundingClientRect();
    const [isFirst, isOpen] = [!before, !near.hidden];
    [before, pressed] = [zoom, null];
    depth.style.transformOrigin = place(from, depth);
    near.removeAttribute("aria-busy");
    inside.replaceChildren(...content);
    inside.classList.toggle("ab-silent", zoom !== "block" && shown().off.includes(here()));
    near.hidden = false;
    if (from) grow(near, from);
    if (isFirst || isOpen) return;
    inside.focus({ preventScroll: true });
    if (root.matches(".ab-tall")) frame.scrollIntoView({ block: "center" });
    else near.scrollIntoView({ block: "nearest" });
  }
  async function closely(zoom) {
    close ??= (await import(new URL("close.js", import.meta.url))).close(say, to, (changes) => update(model, changes));
    return close(zoom, { ...shown(), chosen: here() }, model.get("key"), vectors);
  }
  const escape = ({ key }) => key === "Escape" && out();
  root.addEventListener("keydown", escape);
  // Also if one has pressed beside it since, so that what holds it has the focus.
  const gone = new AbortController();
  document.addEventListener("keydown", (event) => event.target.contains(root) && escape(event), gone);
  const into = button(say.into, () => update(model, { zoom: "head" }));
  root.querySelector(".ab-said").append(into);
  const sink = button(say.sink, () => update(model, { sink: !model.get("sink") }));
  subscriptions.follow(["sink"], () => (sink.ariaPressed = model.get("sink")));
  const pick = (trait, options) => choice(model, subscriptions, { trait, label: say[trait], options });
  near.append(element("div", { class: "ab-ways" }, button(say.out, out), pick("zoom", say.zooms)), inside);
  closer.append(
    folded(
      say.more,
      element("div", { class: "ab-ways" }, pick("light", say.lights), sink),
      element("div", { class: "ab-ways" }, ...Object.keys(say.doors).map(to)),
      element("p", { class: "ab-hint" }, say.hint),
    ),
  );
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
      closer.before(engine);
      show(file);
      wait();
    };
    own.parentElement.append(engine); // where one writes
    engine.scrollIntoView({ block: "nearest" });
    const places = { root, top: own, writing, panel, status };
    running = await live({ ...places, model, say, folder, show, play: parts.play, wait: without });
  });
  return () => {
    gone.abort();
    running?.end();
  };
}

// Where a box lies in a node, as an origin that it grows from.
function place(box, node) {
  if (!box) return "";
  const { left, top } = node.getBoundingClientRect();
  const zoom = node.currentCSSZoom ?? 1; // in full screen
  return `${(box.left + box.width / 2 - left) / zoom}px ${(box.top + box.height / 2 - top) / zoom}px`;
}

// From where it was pressed, and as small, to where it is now.
function grow(node, from) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const to = node.getBoundingClientRect();
  const zoom = node.currentCSSZoom ?? 1;
  const way = `translate(${(from.left - to.left) / zoom}px, ${(from.top - to.top) / zoom}px)`;
  const small = `${way} scale(${from.width / to.width}, ${from.height / to.height})`;
  const moves = [
    { transform: small, opacity: 0.3 },
    { transform: "none", opacity: 1 },
  ];
  node.animate(moves, { duration: 500, easing: "cubic-bezier(0.2, 0.8, 0.3, 1)" });
}
