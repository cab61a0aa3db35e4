import {
  asset,
  body,
  button,
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
import { whenNeeded } from "../shared/needed.js";
import { paint, wall } from "./wall.js";

/**
 * A text as the model reads it: in `rows`, for each token, what it looks at by each head, one head after the other.
 * @typedef {{ tokens: string[], given: number, layers: number, heads: number, rows: ArrayLike<number>[],
 *   next: [string, number, number?][] }} Picture
 */

// Tokens of a text, and so many that they find room beside the map; the weakest arc; likeliest tokens.
const [MOST, NAMED, ARC, SHOWN] = [64, 24, 0.03, 6];
const KINDS = ["previous", "same", "first", "separator", "induction"];

const spoken = (token) => token.replace(/^·(?=.)/, "");
const separates = (token) => !/[\p{L}\p{N}]/u.test(token) || /^<.*>$/s.test(token);

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
  return { ...about, texts, pictures: new Map(found) };
}

// As HeadBrowser's: for each kind, the share of a head's attention that goes where a head of the kind would look.
function kindsOf({ tokens, rows, layers, heads }) {
  const there = {
    previous: (i, j) => j === i - 1,
    same: (i, j) => tokens[j] === tokens[i],
    first: (i, j) => j === 0 && i > 0,
    separator: (_, j) => separates(tokens[j]),
    induction: (i, j) => j > 0 && j < i && tokens[j - 1] === tokens[i],
  };
  const shares = (kind) => {
    const places = rows.map((_, i) => [...tokens.keys()].filter((j) => j <= i && there[kind](i, j)));
    const asking = places.filter((row) => row.length).length || 1;
    const sum = (n) =>
      places.reduce((all, row, i) => row.reduce((total, j) => total + rows[i][n * (i + 1) + j], all), 0);
    return Array.from({ length: layers * heads }, (_, n) => sum(n) / asking);
  };
  return Object.fromEntries(KINDS.map((kind) => [kind, shares(kind)]));
}

// The text, each token lit by what the chosen one looks at, and an arc for each weight.
function textOf(point) {
  const boxes = Array.from({ length: MOST }, () => verbatim("", { class: "ab-weight" }));
  const light = beams();
  const text = element("p", { class: "ab-text" }, ...boxes);
  point(text, ({ target }) => boxes.indexOf(target));
  return {
    node: element("div", { class: "ab-looks" }, light.node, text),
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
      const pairs = tokens.flatMap((_, i) => Array.from({ length: i }, (_, j) => [i, j]));
      const seen = pairs.filter(([i, j]) => weight(i, j) >= ARC);
      light.draw(
        seen.map(([i, j]) => ({
          from: boxes[i],
          to: boxes[j],
          weight: weight(i, j),
          kind: i === token ? "" : "ab-faint",
        })),
      );
    },
  };
}

// A head's map, large. The half that nobody may look at has room for the names of the tokens.
function largeMap(label, point) {
  const canvas = element("canvas", { role: "img", "aria-label": label });
  const band = element("i");
  const names = Array.from({ length: NAMED }, (_, i) => verbatim("", { style: `--i: ${i}` }));
  const node = element("div", { class: "ab-map" }, canvas, band, ...names);
  let n = 1;
  point(node, ({ clientY }) => {
    const { top, height } = canvas.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((clientY - top) / height) * n), 0), n - 1);
  });
  return {
    node,
    draw({ tokens }, token, weight) {
      n = tokens.length;
      names.forEach((name, i) => (name.textContent = n > NAMED || i >= n ? "" : spoken(tokens[i])));
      node.style.setProperty("--n", n);
      node.style.setProperty("--at", token);
      canvas.width = canvas.height = n;
      const pen = canvas.getContext("2d");
      const image = pen.createImageData(n, n);
      paint(image, [0, 0], n, n, weight);
      pen.putImageData(image, 0, 0);
    },
  };
}

// The likeliest next tokens, a bar each.
function barsOf() {
  const title = element("p");
  const rows = Array.from({ length: SHOWN }, () => {
    const cells = [verbatim(""), element("span", { class: "ab-number" })];
    return { cells, node: element("li", {}, ...cells) };
  });
  const list = element("ol", {}, ...rows.map((row) => row.node));
  const node = element("div", { class: "ab-next" }, title, list);
  return {
    node,
    draw({ next }, text) {
      title.textContent = text;
      rows.forEach(({ cells, node: row }, n) => {
        const [token, chance] = next[n];
        cells[0].textContent = token;
        cells[1].textContent = number(chance);
        row.style.setProperty("--w", chance);
      });
    },
  };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const get = (...traits) => traits.map((trait) => model.get(trait));
  let file = stored(await asset(model, "maps", "first."));
  const needed = whenNeeded(model, "maps", stored);
  let [pictures, pointedHead, pointedToken] = [[...file.pictures.values()].slice(0, 1), null, null];
  let shares = kindsOf(pictures[0]);
  let engine = null; // the model in the page, once somebody wants it

  const heads = () => pictures[0].heads;
  const at = () => {
    const [block, head] = get("block", "head");
    return Math.min(block, pictures[0].layers - 1) * heads() + Math.min(head, heads() - 1);
  };
  const named = (n) => fill(say.here, { block: whole(Math.floor(n / heads())), head: whole(n % heads()) });
  const go = (n) => update(model, { block: Math.floor(n / heads()), head: n % heads() });
  const off = () => new Set(pictures[1] ? model.get("off").map(([block, head]) => block * heads() + head) : []);
  const lastOr = (n) => Math.min(n, pictures[0].tokens.length - 1);

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
      const n = find(event);
      if (n >= 0) update(model, { token: n });
    });
  };
  const all = wall(say.wall, {
    go,
    point(n) {
      if (n === pointedHead) return;
      pointedHead = n;
      drawHead();
    },
    press: (n) => (n === at() && engine ? engine.toggle(n) : go(n)),
  });
  const text = textOf(point);
  const maps = [0, 1].map(() => largeMap(say.map, point));
  const bars = [barsOf(), barsOf()];
  const [title, said, status] = ["p", "p", "p"].map((tag) => element(tag));
  status.className = "ab-hint";
  status.setAttribute("role", "status");
  const kinds = KINDS.map((kind) => {
    const share = element("span", { class: "ab-number" });
    const node = button(say.kinds[kind], () => update(model, { kind: model.get("kind") === kind ? "all" : kind }));
    node.append(share);
    return { kind, node, share };
  });
  const range = element("input", { type: "range", min: 0, step: 1 });
  range.addEventListener("input", () => update(model, { token: Number(range.value) }));
  const asks = element("div", { class: "ab-control" }, element("label", {}, say.token, range));
  const texts = choice(model, subscriptions, {
    trait: "text",
    label: say.text,
    options: Object.fromEntries(file.texts.map((text, n) => [text, say.texts[n]])),
    with: { written: [], token: MOST - 1 },
  });
  const [top, writing, switches] = ["run", "writes", "off"].map((name) =>
    element("div", { class: `ab-controls ab-tries ab-${name}` }),
  );
  const places = { top, writing, heads: switches, status };
  const root = body(
    el,
    "real",
    element("div", { class: "ab-controls ab-first" }, texts, places.top),
    text.node,
    all.node,
    element(
      "div",
      { class: "ab-large" },
      element("div", { class: "ab-named" }, title, said),
      ...maps.map((map) => map.node),
      asks,
    ),
    element("div", { class: "ab-could" }, ...bars.map((list) => list.node), writing),
    element(
      "div",
      { class: "ab-kinds" },
      element("p", {}, say.like),
      ...kinds.map(({ node }) => node),
      switches,
      status,
    ),
  );

  function drawHead() {
    const n = pointedHead ?? at();
    const token = lastOr(pointedToken ?? model.get("token"));
    const weightOf = (picture) => (i, j) => picture.rows[i][n * (i + 1) + j];
    const last = pictures.at(-1);
    all.choose(n, named(n));
    pictures.forEach((picture, side) => maps[side].draw(picture, token, weightOf(picture)));
    text.draw(last, token, weightOf(last));
    const looks = [...last.tokens.keys()].slice(0, token + 1).map((j) => weightOf(last)(token, j));
    const most = looks.indexOf(Math.max(...looks));
    [range.max, range.value] = [last.tokens.length - 1, token];
    range.setAttribute("aria-valuetext", spoken(last.tokens[token]));
    title.textContent = named(n);
    said.textContent = fill(say.most, {
      asks: spoken(last.tokens[token]),
      word: spoken(last.tokens[most]),
      share: number(looks[most]),
    });
    for (const { kind, node, share } of kinds) {
      share.textContent = number(shares[kind][n]);
      node.style.setProperty("--w", shares[kind][n]);
      node.ariaPressed = kind === model.get("kind");
    }
  }
  function drawAll() {
    const kind = model.get("kind");
    const light = kind === "all" ? () => 1 : (n) => 0.2 + 0.8 * shares[kind][n];
    root.classList.toggle("ab-both", pictures.length > 1);
    pictures.forEach((picture, side) => bars[side].draw(picture, side ? engine.without : say.next));
    all.draw(pictures.at(-1), off(), light);
    drawHead();
  }
  function show(found) {
    [pictures, shares] = [found, kindsOf(found.at(-1))];
    drawAll();
    engine?.label();
  }
  subscriptions.follow(["text"], async () => {
    if (pictures[0].milliseconds) return; // the model has read it, or will
    const known = file.texts.includes(model.get("text")) ? model.get("text") : file.texts[0];
    if (!file.pictures.has(known)) file = await needed(root, status, say.fetching);
    show([file.pictures.get(known)]);
  });
  subscriptions.follow(["kind"], drawAll);
  subscriptions.follow(["block", "head", "token"], drawHead);

  // Only a page has the model's parts beside it.
  const folder = new URL(`../../models/${file.model}/`, import.meta.url).href;
  const run = button(fill(say.run, { n: whole(file.size / 1e6) }), async () => {
    run.remove();
    try {
      const { live } = await import(new URL("live.js", import.meta.url));
      const later = await (await fetch(new URL("later.json", import.meta.url))).json();
      const now = () => ({ pictures, shares, here: at() });
      engine = live({ model, say: later, subscriptions, folder, places, now, show, gone });
    } catch {
      gone();
      status.textContent = say.failed;
    }
  });
  function gone() {
    engine = null;
    top.replaceChildren(run);
  }
  if (typeof model.get("maps") === "string") {
    top.append(run);
    status.textContent = matchMedia("(pointer: coarse)").matches ? say.phone : say.hint;
    const kept = await globalThis.caches?.match(`${folder}parts.json`).catch(() => null);
    if (kept) run.textContent = say.kept;
  }
  return () => {
    engine?.end();
    subscriptions.end();
  };
}

export default { render };
