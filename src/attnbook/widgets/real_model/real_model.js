import {
  asset,
  body,
  choice,
  element,
  fill,
  follower,
  headed,
  number,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { beams } from "../shared/beams.js";
import { offer } from "../shared/offer.js";
import { spoken } from "../shared/spoken.js";
import { paint, wall } from "./wall.js";

/**
 * A text as the model reads it: in `rows`, for each token, what it looks at by each head, one head after the other.
 * @typedef {{ tokens: string[], given: number, layers: number, heads: number, rows: ArrayLike<number>[],
 *   next: [string, number, number?][] }} Picture
 */

// Tokens of a text, and so many that they find room beside the map; the weakest arc; likeliest tokens.
const [MOST, NAMED, ARC, SHOWN] = [64, 24, 0.03, 6];

// The pictures of a file that booktools/make/real_model.py made, by their texts.
function stored(bytes) {
  const { start, texts, pictures, layers, heads, ...about } = headed(bytes);
  let at = start;
  const found = pictures.map(({ tokens, next }, n) => {
    const rows = tokens.map((_, i) => {
      const steps = new Uint8Array(bytes, at, layers * heads * (i + 1));
      at += steps.length;
      return Float64Array.from(steps, (step) => (step / 255) ** 2);
    });
    return [texts[n], { tokens, given: tokens.length, layers, heads, rows, next }];
  });
  return { ...about, texts, pictures: Object.fromEntries(found) };
}

// The text, each token lit by what the chosen one looks at, and an arc for each weight.
function textOf(point) {
  const boxes = Array.from({ length: MOST }, () => verbatim("", { class: "ab-weight" }));
  const light = beams();
  const text = element("p", { class: "ab-text" }, ...boxes);
  point(text, ({ target }) => boxes.indexOf(target));
  return {
    node: element("div", { class: "ab-looks" }, text, light.node),
    draw({ tokens, given }, token, weight) {
      boxes.forEach((box, j) => {
        box.hidden = j >= tokens.length;
        if (box.hidden) return;
        box.textContent = spoken(tokens[j]);
        box.classList.toggle("ab-begins", tokens[j].startsWith("·"));
        box.classList.toggle("ab-own", j >= given);
        box.classList.toggle("ab-asks", j === token);
        box.style.setProperty("--w", j <= token ? weight(token, j) : 0);
      });
      const arcs = tokens.flatMap((_, i) =>
        boxes.slice(0, i).map((to, j) => ({
          from: boxes[i],
          to,
          weight: weight(i, j),
          kind: i === token ? "" : "ab-faint",
        })),
      );
      light.draw(arcs.filter((arc) => arc.weight >= ARC));
    },
  };
}

// A head's map, large. The half that nobody may look at has room for the names of the tokens.
function largeMap(label, point) {
  const canvas = element("canvas", { role: "img", "aria-label": label });
  const names = Array.from({ length: NAMED }, (_, i) => verbatim("", { style: `--i: ${i}` }));
  const node = element("div", { class: "ab-map" }, canvas, element("i"), ...names);
  point(node, ({ clientY }) => {
    const { top, height } = canvas.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((clientY - top) / height) * canvas.height), 0), canvas.height - 1);
  });
  return {
    node,
    draw({ tokens }, token, weight) {
      const n = tokens.length;
      names.forEach((name, i) => {
        name.hidden = n > NAMED || i >= n;
        name.textContent = spoken(tokens[i] ?? "");
      });
      node.style.setProperty("--n", n);
      node.style.setProperty("--at", token);
      canvas.width = canvas.height = n;
      const pen = canvas.getContext("2d");
      const image = pen.createImageData(n, n);
      paint(image, 0, 0, n, weight);
      pen.putImageData(image, 0, 0);
    },
  };
}

// The likeliest next tokens, a bar each.
function barsOf() {
  const title = element("p");
  const rows = Array.from({ length: SHOWN }, () => element("li", {}, verbatim(""), element("span")));
  return {
    node: element("div", { class: "ab-next" }, title, element("ol", {}, ...rows)),
    draw({ next }, text) {
      title.textContent = text;
      rows.forEach((row, n) => {
        const [token, chance] = next[n];
        row.firstChild.textContent = token;
        row.lastChild.textContent = number(chance, 3);
        row.style.setProperty("--w", chance);
      });
    },
  };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  let file = stored(await asset(model, "maps", "first."));
  let pictures = Object.values(file.pictures).slice(0, 1); // of the model, and of it without some heads
  let [pointedHead, pointedToken] = [null, null];
  let engine = null; // the model in the page, once somebody wants it

  const here = () => {
    const [{ layers, heads }] = pictures;
    return Math.min(model.get("block"), layers - 1) * heads + Math.min(model.get("head"), heads - 1);
  };
  const pair = (n) => ({ block: Math.floor(n / pictures[0].heads), head: n % pictures[0].heads });

  // A mouse that moves over something shows it, a press keeps it.
  const point = (node, find) => {
    const to = (n) => {
      if (n === pointedToken || n === -1) return;
      pointedToken = n;
      drawHead();
    };
    node.addEventListener("pointermove", (event) => event.pointerType === "mouse" && to(find(event)));
    node.addEventListener("pointerleave", () => to(null));
    node.addEventListener("click", (event) => {
      const token = find(event);
      if (token >= 0) update(model, { token });
    });
  };
  const all = wall(say.wall, {
    go: (n) => update(model, pair(n)),
    point(n) {
      if (n === pointedHead) return;
      pointedHead = n;
      drawHead();
    },
    press: (n) => (n === here() && engine?.reads() ? engine.toggle(n) : update(model, pair(n))),
  });
  const text = textOf(point);
  const maps = [0, 1].map(() => largeMap(say.map, point));
  const bars = [barsOf(), barsOf()];
  const [title, said] = [element("b"), element("p", { class: "ab-hint" })];
  const range = element("input", { type: "range", min: 0, translate: "no" });
  range.addEventListener("input", () => update(model, { token: Number(range.value) }));
  const status = element("p", { class: "ab-hint", role: "status" });
  const [top, writing, panel] = ["top", "writing", "engine"].map((name) =>
    element("div", { class: `ab-controls ab-tries ab-${name}` }),
  );
  const root = body(
    el,
    "real",
    element(
      "div",
      { class: "ab-controls ab-first" },
      choice(model, subscriptions, {
        trait: "text",
        label: say.text,
        options: Object.fromEntries(file.texts.map((text, n) => [text, say.texts[n]])),
        with: { written: [], token: MOST - 1 },
      }),
      top,
    ),
    text.node,
    all.node,
    element(
      "div",
      { class: "ab-large" },
      title,
      said,
      element("div", { class: "ab-maps" }, ...maps.map(({ node }) => node)),
      element("div", { class: "ab-control" }, element("label", {}, say.token, range)),
    ),
    element("div", { class: "ab-could" }, ...bars.map(({ node }) => node), writing),
    element("div", { class: "ab-side" }, panel, status),
  );

  function drawHead() {
    const n = pointedHead ?? here();
    const last = pictures.at(-1);
    const token = Math.min(pointedToken ?? model.get("token"), last.tokens.length - 1);
    const weights = pictures.map(
      ({ rows }) =>
        (i, j) =>
          rows[i][n * (i + 1) + j],
    );
    pictures.forEach((picture, side) => maps[side].draw(picture, token, weights[side]));
    text.draw(last, token, weights.at(-1));
    title.textContent = fill(say.here, { block: whole(pair(n).block), head: whole(pair(n).head) });
    all.choose(n, title.textContent);
    const looks = [...last.tokens.keys()].slice(0, token + 1).map((j) => weights.at(-1)(token, j));
    const most = Math.max(...looks);
    const [asks, word] = [token, looks.indexOf(most)].map((i) => spoken(last.tokens[i]));
    said.textContent = fill(say.most, { asks, word, share: number(most) });
    [range.max, range.value] = [last.tokens.length - 1, token];
    range.setAttribute("aria-valuetext", asks);
    engine?.look(n);
  }
  function show(found) {
    pictures = found;
    maps[1].node.hidden = bars[1].node.hidden = pictures.length < 2;
    pictures.forEach((picture, side) => bars[side].draw(picture, side ? engine.without : say.next));
    all.draw(pictures.at(-1), engine?.off() ?? new Set(), engine?.light ?? (() => 1));
    drawHead();
  }
  async function showStored() {
    if (engine?.reads()) return;
    const known = file.texts.includes(model.get("text")) ? model.get("text") : file.texts[0];
    if (!file.pictures[known]) {
      root.setAttribute("aria-busy", "true");
      file = stored(await asset(model, "maps"));
      root.removeAttribute("aria-busy");
    }
    show([file.pictures[known]]);
  }
  subscriptions.follow(["text"], showStored);
  subscriptions.follow(["block", "head", "token"], drawHead);

  if (typeof model.get("maps") === "string")
    await offer(file, say.offer, panel, status, async (folder, wait) => {
      const { live } = await import(new URL("live.js", import.meta.url));
      const later = await (await fetch(new URL("later.json", import.meta.url))).json();
      const parts = { model, folder, top, writing, panel, status, here, show };
      const without = () => {
        engine = null;
        for (const place of [top, writing]) place.replaceChildren();
        showStored();
        wait();
      };
      engine = await live({ ...parts, say: later, wait: without });
    });
  return () => {
    engine?.end();
    subscriptions.end();
  };
}

export default { render };
