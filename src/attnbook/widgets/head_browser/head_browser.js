import {
  body,
  button,
  choice,
  element,
  fill,
  fillNodes,
  follower,
  number,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { slider } from "../shared/slider.js";
import { grid } from "../shared/cells.js";

// Points of a thumbnail's side, tokens that find room beside the map, letters that find room on two lines, rows of a list,
// buttons, and layers in one block.
const [THUMBNAIL, FEW, LINES, ROWS, BEST, SHALLOW] = [48, 24, 170, 4, 5, 16];
const WEIGHTS = Float64Array.from({ length: 256 }, (_, step) => (step / 255) ** 2);

// The maps of a text, packed as in __init__.py. A map is the steps of its rows, one after the other; of a causal one, what
// is seen.
function unpacked(tokens, queries, maps, heads, causal) {
  const letters = atob(maps);
  const bytes = new Uint8Array(letters.length);
  for (let n = 0; n < bytes.length; n++) bytes[n] = letters.charCodeAt(n);
  const size = bytes.length / heads;
  const start = (i) => (causal ? (i * (i + 1)) / 2 : i * tokens.length);
  const width = (i) => (causal ? i + 1 : tokens.length);
  return {
    tokens,
    queries,
    maps: Array.from({ length: heads }, (_, n) => bytes.subarray(n * size, (n + 1) * size)),
    start,
    width,
    weight: (n, i, j) => (j < width(i) ? WEIGHTS[bytes[n * size + start(i) + j]] : 0),
    own: String(queries) === String(tokens),
  };
}

// ---- pictures ----

// The colours of the steps, as they are where the widget stands.
function palette(root) {
  const [style, pen] = [getComputedStyle(root), element("canvas", { width: 256 }).getContext("2d")];
  const [L, dL, C, dC, hue] = ["L", "dL", "C", "dC", "hue"].map((name) => +style.getPropertyValue(`--weight-${name}`));
  for (let step = 0; step < 256; step++) {
    pen.fillStyle = `oklch(${L + (step / 255) * dL} ${C + (step / 255) * dC} ${hue})`;
    pen.fillRect(step, 0, 1, 1);
  }
  return new Uint32Array(pen.getImageData(0, 0, 256, 1).data.buffer);
}

// A map of at most so many points a side; a point is the brightest of the weights that fall on it, none is clear.
function paint(canvas, { tokens, queries, width, start }, steps, colours, most) {
  const [down, across] = [queries, tokens].map((side) => Math.min(side.length, most));
  const brightest = new Int16Array(down * across).fill(-1);
  const columns = Int32Array.from(tokens, (_, j) => (j * across) / tokens.length);
  queries.forEach((_, i) => {
    const line = Math.floor((i * down) / queries.length) * across;
    for (let j = 0, place = start(i), end = width(i); j < end; j++, place++) {
      const point = line + columns[j];
      if (steps[place] > brightest[point]) brightest[point] = steps[place];
    }
  });
  [canvas.width, canvas.height] = [across, down];
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(across, down);
  const points = new Uint32Array(image.data.buffer);
  for (let n = 0; n < points.length; n++) points[n] = colours[brightest[n]];
  pen.putImageData(image, 0, 0);
}

const visible = (token) => (token.trim() ? token : "␣");
const spans = (tokens, attributes) => tokens.map((token) => element("span", attributes, visible(token)));

// The chosen map, with bands over the row and the column of the token that is pointed at.
function largeMap(label, { tokens, queries, own }, named, point) {
  const canvas = element("canvas", { role: "img", "aria-label": label });
  const [row, column] = ["row", "column"].map((way) => element("i", { class: `ab-band ab-${way}` }));
  column.hidden = !own;
  const picture = element("div", { class: "ab-picture" }, canvas, row, column);
  point(picture, ({ clientY }) => {
    const { top, height } = picture.getBoundingClientRect();
    return Math.min(Math.floor((Math.max(clientY - top, 0) / height) * queries.length), queries.length - 1);
  });
  const names = (side, kind) =>
    element(
      "div",
      { class: `ab-names ab-${kind}`, translate: "no", "aria-hidden": "true" },
      ...spans(named && side.length <= FEW ? side : []),
    );
  const style = `--across: ${tokens.length}; --down: ${queries.length}`;
  const node = element("div", { class: "ab-large", style }, names(tokens, "above"), names(queries, "left"), picture);
  return { node, canvas };
}

// Tokens as a text, each lit by a weight; `point` makes them something to point at.
function textOf(tokens, lit, point) {
  const parts = spans(tokens, lit ? { class: "ab-weight" } : {});
  // A long one scrolls, by keys too.
  const long = tokens.join("  ").length > LINES;
  const node = element("p", { class: `ab-text ${long ? "ab-long" : ""}`, translate: "no" }, ...parts);
  if (long) node.tabIndex = 0;
  if (point) point(node, ({ target }) => parts.indexOf(target));
  // Few tokens change their level, and only those are drawn anew.
  const light = (name, weights) =>
    parts.forEach(({ style }, n) => {
      const level = weights[n].toFixed(2);
      if (style.getPropertyValue(name) !== level) style.setProperty(name, level);
    });
  let chosen = parts[0];
  const choose = (n, scroll) => {
    chosen.classList.remove("ab-chosen");
    chosen = parts[n];
    chosen.classList.add("ab-chosen");
    if (scroll) node.scrollTop = chosen.offsetTop - node.offsetTop - node.clientHeight / 2;
  };
  return { node, light, choose };
}

// A table of the tokens with the largest of some weights, as far as there is anything to see.
function largest(tokens, text, kind) {
  const word = verbatim("", { class: kind });
  const rows = tokens.slice(0, ROWS).map(() => {
    const name = element("th", { scope: "row", translate: "no" });
    return element("tr", {}, name, element("td"), element("td", { class: "ab-weight" }));
  });
  return {
    node: element("table", {}, element("caption", {}, ...fillNodes(text, { word })), ...rows),
    show(token, weights) {
      word.textContent = visible(token);
      const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]);
      rows.forEach((row, n) => {
        const [j, cells] = [order[n], row.children];
        row.classList.toggle("ab-none", weights[j] < 0.005);
        [visible(tokens[j]), whole(j), number(weights[j])].forEach(
          (text, column) => (cells[column].textContent = text),
        );
        cells[2].style.setProperty("--w", weights[j]);
      });
    },
  };
}

// All that is shown of one text, and of how the chosen head reads it.
function reading(say, data, label, named, point) {
  const { tokens, queries, weight, own } = data;
  const { node, canvas } = largeMap(label, data, named, point);
  const asking = textOf(queries, own, point);
  const asked = own ? asking : textOf(tokens, true);
  const [looks, lookers] = [largest(tokens, say.asks, "attn-query"), largest(queries, say.asked, "attn-key")];
  return {
    map: node,
    texts: new Set([asking.node, asked.node]),
    lists: own && named ? [looks.node, lookers.node] : [looks.node],
    paint: (head, colours) => paint(canvas, data, data.maps[head], colours, Infinity),
    show(head, token, scroll) {
      const at = Math.min(token, queries.length - 1);
      const given = tokens.map((_, j) => weight(head, at, j));
      const taken = queries.map((_, i) => weight(head, i, at));
      node.style.setProperty("--at", at);
      asking.choose(at, scroll);
      asked.light("--w", given);
      looks.show(queries[at], given);
      if (own) asking.light("--back", taken);
      lookers.show(queries[at], taken);
    },
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [layers, heads, shares, causal] = ["layers", "heads", "shares", "causal"].map((name) => model.get(name));
  const count = layers.length * heads;
  const texts = [
    ["tokens", "queries", "maps"],
    ["other_tokens", "other_tokens", "other_maps"],
  ].map((names) => unpacked(...names.map((name) => model.get(name)), count, causal));
  const compared = texts[1].tokens.length > 0;
  if (!compared) texts.pop();
  const place = (n) => ({ layer: Math.floor(n / heads), head: n % heads });
  const named = (text, n, share) => fill(text, { layer: layers[place(n).layer], head: whole(n % heads), share });

  // A mouse that moves over something shows a token, a press keeps it.
  let pointed = null;
  const point = (node, find) => {
    const to = (n) => {
      if (n === pointed || n === -1) return;
      pointed = n;
      showToken();
    };
    node.addEventListener("pointermove", (event) => event.pointerType === "mouse" && to(find(event)));
    node.addEventListener("pointerleave", () => to(null));
    node.addEventListener("click", (event) => {
      const token = find(event);
      if (token >= 0) update(model, { token });
    });
  };
  const readings = texts.map((data, n) => reading(say, data, say.maps[compared ? n + 1 : 0], !compared, point));
  const part = (name) => readings.flatMap((each) => [...each[name]]);

  const table = grid({
    label: say.grid,
    rows: layers,
    columns: Array.from({ length: heads }, (_, head) => whole(head)),
    at: [0, 0],
    move: (layer, head) => update(model, { layer, head }),
    press: () => {},
  });
  const cells = table.cells.flat();
  cells.forEach((cell, n) => {
    // Hundreds of canvases would be as many layers to compose.
    cell.append(element("img", { alt: "" }));
    cell.ariaLabel = named(say.here, n);
  });
  // Many layers stand in two blocks, where there is room; the second has the heads' names once more.
  const deep = layers.length > SHALLOW;
  if (deep)
    for (const name of [element("td"), ...table.columns.map((column) => column.cloneNode(true))]) {
      name.ariaHidden = true;
      table.columns[0].parentNode.append(name);
    }
  const box = element("div", { class: "ab-heads" }, table.node);

  const best = cells.slice(0, BEST).map(() => {
    const node = button("", () => update(model, place(node.head)));
    return node;
  });
  const tries = element("div", { class: "ab-controls ab-tries", role: "group", "aria-label": say.strongest }, ...best);
  const title = element("b");
  const likes = Object.keys(shares).map((kind) => [kind, element("b", { class: "ab-weight" })]);
  const options = likes.map(([kind, like]) => [
    kind,
    element("span", {}, say.kinds[kind] ?? verbatim(kind), " ", like),
  ]);
  const filter = choice(model, subscriptions, {
    trait: "kind",
    label: element("span", {}, ...fillNodes(options.length ? say.kind : "{head}", { head: title })),
    options: { all: say.kinds.all, ...Object.fromEntries(options) },
  });
  filter.lastChild.hidden = !options.length;
  const values = [...Array(Math.max(...texts.map(({ queries }) => queries.length))).keys()];
  const token = slider(model, subscriptions, { trait: "token", label: say.token, values, show: whole });
  const root = body(
    el,
    "browser",
    filter,
    tries,
    element("div", { class: "ab-texts" }, ...part("texts")),
    element("div", { class: "ab-controls" }, token, element("p", { class: "ab-hint" }, say.light)),
    element(
      "div",
      {
        class: `ab-main ${deep ? "ab-deep" : ""}`,
        style: `--heads: ${heads}; --layers: ${layers.length}; --half: ${Math.ceil(layers.length / 2)}`,
      },
      box,
      element("div", { class: "ab-maps" }, ...readings.map(({ map }) => map)),
      element("div", { class: "ab-lists" }, ...part("lists")),
    ),
  );

  let here, colours;
  function showToken() {
    for (const each of readings) each.show(here, pointed ?? model.get("token"), pointed === null);
  }
  const paintLarge = () => colours && readings.forEach((each) => each.paint(here, colours));
  subscriptions.follow(["layer", "head", "kind"], () => {
    const kind = model.get("kind");
    const share = shares[kind] ?? [];
    // Texts that differ by a word differ little: the most different head is the brightest.
    const most = (kind === "different" && Math.max(...share)) || 1;
    here = Math.min(model.get("layer") * heads + model.get("head"), count - 1);
    cells.forEach((cell, n) => {
      cell.ariaSelected = n === here;
      cell.style.setProperty("--share", (share[n] ?? 1) / most);
    });
    const order = [...share.keys()].sort((a, b) => share[b] - share[a]);
    tries.hidden = !order.length;
    order.slice(0, BEST).forEach((head, n) => {
      best[n].head = head;
      best[n].ariaPressed = head === here;
      best[n].textContent = named(say.best, head, number(share[head]));
    });
    title.textContent = named(say.here, here);
    for (const [kind, like] of likes) {
      like.textContent = number(shares[kind][here]);
      like.style.setProperty("--w", shares[kind][here]);
    }
    // Scrolls the heads, and not the page.
    const off = cells[here].offsetTop - box.scrollTop - box.clientHeight / 2;
    if (Math.abs(off) > box.clientHeight / 2 - 40) box.scrollTop += off;
    paintLarge();
    showToken();
  });
  subscriptions.follow(["token"], showToken);

  // In a notebook the widget is made before it stands on the page, where its colours are.
  const stands = new ResizeObserver(() => {
    stands.disconnect();
    colours = palette(root);
    const canvas = element("canvas");
    texts[0].maps.forEach((steps, n) => {
      paint(canvas, texts[0], steps, colours, THUMBNAIL);
      cells[n].firstChild.src = canvas.toDataURL();
    });
    paintLarge();
  });
  stands.observe(root);
  return subscriptions.end;
}

export default { render };
