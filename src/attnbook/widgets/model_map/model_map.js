import {
  asset,
  body,
  button,
  choice,
  element,
  fill,
  follower,
  number,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { motion } from "../shared/motion.js";
import { stored } from "./seen.js";
import { lens, signed, spoken, streams, wall } from "./stage.js";

const [NARROW, PACE, SHOWN] = [640, 80, 6]; // pixels; milliseconds a block; words that could come next

// A link to the chapter that builds a part, where the page says its address.
function door(model, say, part) {
  const href = model.get("doors")[part] ?? "";
  const [, chapter] = /^\w+\/(\d+)_\w+\.html$/.exec(href) ?? [];
  if (!chapter) return "";
  return element("a", { class: "ab-door", href }, element("b", {}, String(Number(chapter))), say.doors[part]);
}

// The likeliest next words, a bar each, and an outline for what it was before.
function barsOf(say) {
  const rows = Array.from({ length: SHOWN }, () => element("li", {}, verbatim(""), element("span")));
  return {
    node: element("ol", { "aria-label": say.next }, ...rows),
    draw(ends, before) {
      const old = new Map(before);
      rows.forEach((row, n) => {
        const [word, chance] = ends[n];
        row.firstChild.textContent = spoken(word);
        row.lastChild.textContent = number(chance, 3);
        row.style.setProperty("--w", chance);
        row.style.setProperty("--old", old.get(word) ?? 0);
      });
    },
  };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const { picture, tokens, blocks, heads, left, text } = stored(await asset(model, "seen"));
  const full = picture([]);
  let [tall, pointed, closer] = [false, null, null];

  const here = () => model.get("block") * heads + model.get("head");
  const pair = (n) => ({ block: Math.floor(n / heads), head: n % heads });
  const off = () => model.get("off").map(([block, head]) => block * heads + head);
  const shown = () => {
    const seen = picture(off());
    return {
      tokens,
      blocks,
      heads,
      picture: seen ?? full,
      off: seen ? off() : [],
      chosen: pointed ?? here(),
      token: model.get("token"),
      pushes: model.get("light") === "pushes",
      sink: model.get("sink"),
    };
  };
  const choose = (n) => {
    pointed = null; // where the mouse rests
    update(model, pair(n));
  };
  const zoomBy = (step) => {
    const zooms = Object.keys(say.zooms);
    update(model, { zoom: zooms.at(Math.min(Math.max(zooms.indexOf(model.get("zoom")) + step, 0), zooms.length - 1)) });
  };

  // Only a page has scripts that come later.
  const nearer =
    typeof model.get("vectors") === "string" &&
    (async () => {
      const { close } = await import(new URL("close.js", import.meta.url));
      const later = await (await fetch(new URL("later.json", import.meta.url))).json();
      return close(
        later,
        to,
        () => asset(model, "vectors"),
        (changes) => update(model, changes),
      );
    });

  const steps = Array.from({ length: blocks }, () => "");
  const film = motion(say.depth, steps, PACE);
  const all = wall(say.wall, blocks, {
    go: choose,
    press: (n) => (n === here() ? zoomBy(1) : choose(n)),
    point(n) {
      if (n === pointed) return;
      pointed = n;
      drawHead();
    },
  });
  const [flow, would, bars] = [streams(blocks), lens(say.would, blocks), barsOf(say)];
  const [title, said, kept] = [element("b"), element("span"), element("p", { class: "ab-hint" })];
  const turn = button("", () => update(model, { off: off().includes(here()) ? [] : [Object.values(pair(here()))] }));
  const near = element("div", { class: "ab-near", role: "group", tabindex: 0, "aria-label": say.zoom });
  const sink = button(say.sink, () => update(model, { sink: !model.get("sink") }));
  const axis = element("div", { class: "ab-axis", translate: "no", "aria-hidden": "true" });
  axis.append(...Array.from({ length: blocks }, (_, b) => element("span", { style: `--b: ${b}` }, whole(b))));
  const to = (part) => door(model, say, part);
  const pick = (trait, options) => choice(model, subscriptions, { trait, label: say[trait], options });
  const ways = ["looks", "block", "cache", "switches"];
  const root = body(
    el,
    "modelmap",
    element(
      "div",
      { class: "ab-top ab-controls ab-tries" },
      element("p", { class: "ab-sentence", translate: "no" }, text),
      button(say.run, film.play),
      pick("light", say.lights),
      sink,
    ),
    element("div", { class: "ab-label ab-of-wall" }, element("small", {}, say.wall), to("heads"), to("sink")),
    element("div", { class: "ab-label ab-of-lens" }, to("embedding"), to("positions"), element("small", {}, say.would)),
    element(
      "div",
      { class: "ab-from" },
      pick("token", Object.fromEntries(tokens.map((word, j) => [j, verbatim(spoken(word))]))),
    ),
    film.node,
    element("div", { class: "ab-depth" }, axis, all.node, flow.node, would.node, element("i", { class: "ab-front" })),
    element(
      "div",
      { class: "ab-foot" },
      element("div", { class: "ab-next" }, element("p", {}, say.next), bars.node, to("writing")),
      element("div", { class: "ab-said" }, element("p", { role: "status" }, title, " ", said), turn, kept),
      element("div", { class: "ab-ways" }, ...(nearer ? [pick("zoom", say.zooms)] : []), ...ways.map(to)),
      near,
    ),
    element("p", { class: "ab-hint" }, say.hint),
  );

  function drawHead() {
    const now = shown();
    const { picture: seen, chosen, token: i } = now;
    flow.draw(now, tall);
    const at = pair(chosen);
    title.textContent = fill(say.here, { block: whole(at.block), head: whole(at.head) });
    all.choose(chosen, title.textContent);
    const looks = tokens.slice(0, i + 1).map((_, j) => seen.weight(chosen, i, j));
    const most = looks.indexOf(Math.max(...looks));
    const gaps = {
      asks: spoken(tokens[i]),
      share: number(looks[most]),
      push: signed(seen.push(chosen, i)),
      left: number(left[chosen], 3),
      now: number(seen.says(i).at(-1)[2], 3),
      all: number(full.ends(i)[0][1], 3),
    };
    const word = spoken(full.final(i));
    // What is left without a head was measured for the last token, with all other heads on.
    const effect = i === tokens.length - 1 && !now.off.length ? `${say.push} ${say.effect}` : say.push;
    const sentence = fill(now.off.includes(chosen) ? say.without : effect, { ...gaps, word });
    said.textContent = `${fill(say.most, { ...gaps, word: spoken(tokens[most]) })} ${sentence}`;
  }
  function draw() {
    const now = shown();
    const { picture: seen, token: i } = now;
    const before = now.off.length ? full : null;
    root.style.setProperty("--n", tokens.length);
    all.draw(now, tall);
    would.draw(now, before);
    bars.draw(seen.ends(i), before?.ends(i));
    seen.says(i).forEach(([word, chance], b) => {
      steps[b] = fill(say.after, { block: whole(b), word: spoken(word), chance: number(chance) });
    });
    film.node.lastChild.dispatchEvent(new Event("input")); // its names are others
    drawHead();
  }
  function drawSwitch() {
    turn.textContent = off().includes(here()) ? say.switch.on : say.switch.off;
    turn.disabled = !picture([here()]);
    kept.textContent = turn.disabled ? say.stored : "";
  }
  async function drawNear() {
    const zoom = model.get("zoom");
    if (!nearer || zoom === "whole") return (near.hidden = true);
    root.setAttribute("aria-busy", "true");
    closer ??= nearer();
    const content = await (await closer)(zoom, { ...shown(), chosen: here() }, model.get("key"), full);
    root.removeAttribute("aria-busy");
    if (zoom !== model.get("zoom")) return;
    near.replaceChildren(...content);
    near.hidden = false;
  }
  root.addEventListener("keydown", (event) => event.key === "Escape" && zoomBy(-1));
  const size = new ResizeObserver(() => {
    if (tall === root.clientWidth < NARROW) return;
    tall = !tall;
    root.classList.toggle("ab-tall", tall);
    draw();
  });
  size.observe(root);
  subscriptions.follow(["off", "token", "light"], draw);
  subscriptions.follow(["block", "head", "sink"], drawHead);
  subscriptions.follow(["block", "head", "off"], drawSwitch);
  subscriptions.follow(["sink"], () => (sink.ariaPressed = model.get("sink")));
  subscriptions.follow(["zoom", "block", "head", "token", "key", "off"], drawNear);
  film.play();
  return () => {
    size.disconnect();
    subscriptions.end();
  };
}

export default { render };
