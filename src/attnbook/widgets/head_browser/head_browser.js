import {
  body,
  button,
  choice,
  element,
  fill,
  fillNodes,
  follower,
  number,
  slider,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { grid } from "../shared/cells.js";

// Points of a thumbnail's side, tokens that find room beside the map, rows of a list, tokens shown without scrolling, and
// levels of light on a token.
const [THUMBNAIL, NAMED, BEST, SHORT, LEVELS] = [48, 24, 5, 60, 50];
const KINDS = ["previous", "same", "first", "separator", "induction"];
const WEIGHTS = Float64Array.from({ length: 256 }, (_, step) => (step / 255) ** 2);

// The maps, packed as in __init__.py. A map is the steps of its rows, one after the other; of a causal one, what is seen.
function unpacked(model) {
  const names = ["tokens", "queries", "layers", "heads", "causal"];
  const [tokens, queries, layers, heads, causal] = names.map((name) => model.get(name));
  const bytes = Uint8Array.from(atob(model.get("maps")), (letter) => letter.charCodeAt(0));
  const size = bytes.length / (layers.length * heads);
  const maps = layers.flatMap((_, layer) =>
    Array.from({ length: heads }, (_, head) => {
      const n = layer * heads + head;
      return { layer, head, steps: bytes.subarray(n * size, (n + 1) * size) };
    }),
  );
  const start = (i) => (causal ? (i * (i + 1)) / 2 : i * tokens.length);
  const width = (i) => (causal ? i + 1 : tokens.length);
  return { tokens, queries, layers, heads, maps, start, width, own: String(queries) === String(tokens) };
}

function separates(token) {
  const bare = token.replace(/^[Ġ▁Ċ \n\t]+|[Ġ▁Ċ \n\t]+$/gu, "");
  return !/[\p{L}\p{N}]/u.test(bare) || /^(<.*>|\[.*\])$/su.test(bare);
}

// As in __init__.py: for each kind, the share of a map's attention that goes where a head of the kind would look.
function kindsOf({ tokens, width, start, maps }) {
  const parts = tokens.map(separates);
  const there = {
    previous: (i, j) => j === i - 1,
    same: (i, j) => tokens[j] === tokens[i],
    first: (i, j) => j === 0 && i > 0,
    separator: (_, j) => parts[j],
    induction: (i, j) => j > 0 && j < i && tokens[j - 1] === tokens[i],
  };
  for (const kind of KINDS) {
    const rows = tokens.map((_, i) =>
      tokens.flatMap((_, j) => (j < width(i) && there[kind](i, j) ? start(i) + j : [])),
    );
    const places = rows.flat();
    const asking = rows.filter((row) => row.length).length || 1;
    for (const map of maps) map[kind] = places.reduce((sum, place) => sum + WEIGHTS[map.steps[place]], 0) / asking;
  }
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
  queries.forEach((_, i) => {
    const line = Math.floor((i * down) / queries.length) * across;
    for (let j = 0; j < width(i); j++) {
      const point = line + Math.floor((j * across) / tokens.length);
      brightest[point] = Math.max(brightest[point], steps[start(i) + j]);
    }
  });
  [canvas.width, canvas.height] = [across, down];
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(across, down);
  new Uint32Array(image.data.buffer).set(Uint32Array.from(brightest, (step) => colours[step] ?? 0));
  pen.putImageData(image, 0, 0);
}

const visible = (token) => (token.trim() ? token : "␣");
const spans = (tokens, attributes) => tokens.map((token) => element("span", attributes, visible(token)));

// The chosen map, with bands over the row and the column of the token that is pointed at.
function largeMap(say, { tokens, queries, own }, point) {
  const canvas = element("canvas", { role: "img", "aria-label": say.map });
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
      ...spans(side.length > NAMED ? [] : side),
    );
  const style = `--across: ${tokens.length}; --down: ${queries.length}`;
  const node = element("div", { class: "ab-large", style }, names(tokens, "above"), names(queries, "left"), picture);
  return { node, canvas };
}

// Tokens as a text, each lit by a weight; `point` makes them something to point at.
function textOf(tokens, lit, point) {
  const parts = spans(tokens, lit ? { class: "ab-weight" } : {});
  // A long one scrolls, by keys too.
  const long = tokens.length > SHORT;
  const node = element("p", { class: `ab-text ${long ? "ab-long" : ""}`, translate: "no" }, ...parts);
  if (long) node.tabIndex = 0;
  if (point) point(node, ({ target }) => parts.indexOf(target));
  // Few tokens change their level, and only those are drawn anew.
  const light = (name, weights) =>
    parts.forEach(({ style }, n) => {
      const level = String(Math.round(weights[n] * LEVELS) / LEVELS);
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

// A table of at most n names, each with its place in the text and a weight.
function list(title, n, data = {}) {
  const rows = Array.from({ length: n }, () => {
    const cells = [element("th", { scope: "row", ...data }), element("td"), element("td", { class: "ab-weight" })];
    return { cells, node: element("tr", {}, ...cells) };
  });
  const node = element("table", {}, element("caption", {}, ...title), ...rows.map((row) => row.node));
  const show = (items) =>
    rows.forEach(({ cells, node: row }, place) => {
      const [name, where, weight] = items[place] ?? ["", ""];
      row.classList.toggle("ab-none", !name);
      [name, where, name && number(weight)].forEach((text, column) => (cells[column].textContent = text));
      cells[2].style.setProperty("--w", weight);
    });
  return { node, show };
}

// The tokens with the largest of some weights, as far as there is anything to see.
function largest(tokens, text, kind) {
  const word = verbatim("", { class: kind });
  const { node, show } = list(fillNodes(text, { word }), Math.min(BEST, tokens.length), { translate: "no" });
  return {
    node,
    show(token, weights) {
      word.textContent = visible(token);
      const order = [...weights.keys()].filter((j) => weights[j] >= 0.005).sort((a, b) => weights[b] - weights[a]);
      show(order.map((j) => [visible(tokens[j]), whole(j), weights[j]]));
    },
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const data = unpacked(model);
  const { tokens, queries, layers, heads, maps, own, start, width } = data;
  if (own) kindsOf(data);
  const named = (text, { layer, head }, share) => fill(text, { layer: layers[layer], head: whole(head), share });
  const go = ({ layer, head }) => update(model, { layer, head });

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

  const table = grid({
    label: say.grid,
    rows: layers,
    columns: Array.from({ length: heads }, (_, head) => whole(head)),
    at: [0, 0],
    move: (layer, head) => go({ layer, head }),
    press: () => {},
  });
  const cells = table.cells.flat();
  const thumbnails = maps.map((map, n) => {
    // Hundreds of canvases would be as many layers to compose.
    const image = element("img", { alt: "" });
    cells[n].append(image);
    cells[n].setAttribute("aria-label", named(say.here, map));
    return image;
  });
  const large = largeMap(say, data, point);
  const asking = textOf(queries, own, point);
  const asked = own ? asking : textOf(tokens, true);
  const [looks, lookers] = [largest(tokens, say.asks, "attn-query"), largest(queries, say.asked, "attn-key")];
  const title = element("span");
  const like = list([title], own ? KINDS.length : 0);
  const best = maps.slice(0, BEST).map(() => {
    const node = button("", () => go(node.map));
    return node;
  });
  const tries = element("div", { class: "ab-controls ab-tries", role: "group", "aria-label": say.strongest }, ...best);
  const kinds = choice(model, subscriptions, { trait: "kind", label: say.kind, options: say.kinds });
  const values = [...queries.keys()];
  kinds.hidden = lookers.node.hidden = !own;
  const root = body(
    el,
    "browser",
    element(
      "div",
      { class: "ab-controls" },
      kinds,
      slider(model, subscriptions, { trait: "token", label: say.token, values, show: whole }),
    ),
    tries,
    element(
      "div",
      { class: "ab-texts" },
      asking.node,
      own ? element("p", { class: "ab-hint" }, say.light) : asked.node,
    ),
    element("div", { class: "ab-heads ab-scroll", style: `--heads: ${heads}; --layers: ${layers.length}` }, table.node),
    large.node,
    element("div", { class: "ab-lists" }, like.node, looks.node, lookers.node),
  );

  let here, colours;
  function showToken() {
    const at = pointed ?? Math.min(model.get("token"), queries.length - 1);
    const weight = (i, j) => (j < width(i) ? WEIGHTS[here.steps[start(i) + j]] : 0);
    const given = tokens.map((_, j) => weight(at, j));
    large.node.style.setProperty("--at", at);
    asking.choose(at, pointed === null);
    asked.light("--w", given);
    looks.show(queries[at], given);
    if (!own) return;
    const taken = queries.map((_, i) => weight(i, at));
    asking.light("--back", taken);
    lookers.show(queries[at], taken);
  }
  const paintLarge = () => colours && paint(large.canvas, data, here.steps, colours, Infinity);
  subscriptions.follow(["layer", "head", "kind"], () => {
    const kind = model.get("kind");
    const chosen = own && kind !== "all";
    here = maps.find(({ layer, head }) => layer === model.get("layer") && head === model.get("head")) ?? maps[0];
    cells.forEach((cell, n) => {
      cell.ariaSelected = maps[n] === here;
      cell.style.setProperty("--share", chosen ? maps[n][kind] : 1);
    });
    tries.hidden = !chosen;
    const order = [...maps].sort((a, b) => b[kind] - a[kind]);
    best.forEach((node, n) => {
      node.map = order[n];
      node.ariaPressed = order[n] === here;
      node.textContent = named(say.best, order[n], chosen && number(order[n][kind]));
    });
    title.textContent = named(say.here, here);
    like.show(KINDS.map((name, n) => [say.likes[n], "", here[name]]));
    paintLarge();
    showToken();
  });
  subscriptions.follow(["token"], showToken);

  // In a notebook the widget is made before it stands on the page, where its colours are.
  const stands = new ResizeObserver(() => {
    stands.disconnect();
    colours = palette(root);
    const canvas = element("canvas");
    maps.forEach(({ steps }, n) => {
      paint(canvas, data, steps, colours, THUMBNAIL);
      thumbnails[n].src = canvas.toDataURL();
    });
    paintLarge();
  });
  stands.observe(root);
  return subscriptions.end;
}

export default { render };
