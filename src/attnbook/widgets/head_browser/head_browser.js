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

const [THUMBNAIL, NAMED, BEST] = [48, 24, 5]; // points of a side, tokens that find room beside the map, rows of a list
const [LEVELS, SHORT] = [50, 60]; // of light on a token; tokens that are shown without scrolling
const KINDS = ["previous", "same", "first", "separator", "induction"];
const WEIGHTS = Float64Array.from({ length: 256 }, (_, step) => (step / 255) ** 2);

// The maps, packed as in __init__.py. A map is the steps of its rows, one after the other; of a causal one, what is seen.
function unpacked(model) {
  const [tokens, queries, layers, heads, causal] = ["tokens", "queries", "layers", "heads", "causal"].map((name) =>
    model.get(name),
  );
  const bytes = Uint8Array.from(atob(model.get("maps")), (letter) => letter.charCodeAt(0));
  const size = bytes.length / (layers.length * heads);
  const start = (i) => (causal ? (i * (i + 1)) / 2 : i * tokens.length);
  const width = (i) => (causal ? i + 1 : tokens.length);
  const map = (layer, head) => bytes.subarray((layer * heads + head) * size, (layer * heads + head + 1) * size);
  return {
    tokens,
    queries,
    layers,
    heads,
    start,
    width,
    map,
    own: String(queries) === String(tokens),
    row: (steps, i) => tokens.map((_, j) => (j < width(i) ? steps[start(i) + j] : 0)),
    column: (steps, j) => queries.map((_, i) => (j < width(i) ? steps[start(i) + j] : 0)),
  };
}

function separates(token) {
  const bare = token.replace(/^[Ġ▁Ċ \n\t]+|[Ġ▁Ċ \n\t]+$/gu, "");
  return !/[\p{L}\p{N}]/u.test(bare) || /^(<.*>|\[.*\])$/su.test(bare);
}

// As in __init__.py: of each kind, the share of a head's attention that goes where a head of the kind would look.
function kindsOf({ tokens, width, start, map, layers, heads }) {
  const parts = tokens.map(separates);
  const there = {
    previous: (i, j) => j === i - 1,
    same: (i, j) => tokens[j] === tokens[i],
    first: (i, j) => j === 0 && i > 0,
    separator: (i, j) => parts[j],
    induction: (i, j) => j > 0 && j < i && tokens[j - 1] === tokens[i],
  };
  const targets = KINDS.map((kind) => {
    const places = [];
    let rows = 0;
    tokens.forEach((_, i) => {
      const before = places.length;
      for (let j = 0; j < width(i); j++) if (there[kind](i, j)) places.push(start(i) + j);
      rows += places.length > before;
    });
    return { places, rows: Math.max(rows, 1) };
  });
  return layers.map((_, layer) =>
    Array.from({ length: heads }, (_, head) => {
      const steps = map(layer, head);
      return targets.map(({ places, rows }) => places.reduce((sum, place) => sum + WEIGHTS[steps[place]], 0) / rows);
    }),
  );
}

// ---- pictures ----

// The colours of the steps, as they are where the widget stands.
function palette(root) {
  const [style, pen] = [getComputedStyle(root), element("canvas", { width: 256, height: 1 }).getContext("2d")];
  const [L, dL, C, dC, hue] = ["L", "dL", "C", "dC", "hue"].map((name) =>
    Number(style.getPropertyValue(`--weight-${name}`)),
  );
  for (let step = 0; step < 256; step++) {
    pen.fillStyle = `oklch(${L + (step / 255) * dL} ${C + (step / 255) * dC} ${hue})`;
    pen.fillRect(step, 0, 1, 1);
  }
  return new Uint32Array(pen.getImageData(0, 0, 256, 1).data.buffer);
}

// A map of at most so many points a side; a point is the brightest of the weights that fall on it, none is clear.
function paint(canvas, { tokens, queries, width, start }, steps, colours, most = Infinity) {
  const [L, M] = [queries.length, tokens.length];
  const [down, across] = [Math.min(L, most), Math.min(M, most)];
  const brightest = new Int16Array(down * across).fill(-1);
  for (let i = 0; i < L; i++) {
    const line = Math.floor((i * down) / L) * across;
    for (let j = 0, from = start(i), end = width(i); j < end; j++) {
      const point = line + Math.floor((j * across) / M);
      if (steps[from + j] > brightest[point]) brightest[point] = steps[from + j];
    }
  }
  [canvas.width, canvas.height] = [across, down];
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(across, down);
  new Uint32Array(image.data.buffer).set(Uint32Array.from(brightest, (step) => (step < 0 ? 0 : colours[step])));
  pen.putImageData(image, 0, 0);
}

const visible = (token) => (token.trim() ? token : "␣");

function namesOf(tokens, side) {
  const node = element("div", { class: `ab-names ab-${side}`, translate: "no", "aria-hidden": "true" });
  if (tokens.length <= NAMED) node.append(...tokens.map((token) => element("span", {}, visible(token))));
  return node;
}

// The chosen map, with bands over the row and the column of the token that is pointed at.
function largeMap(say, data, point) {
  const { tokens, queries, own } = data;
  const canvas = element("canvas", { role: "img", "aria-label": say.map });
  const [row, column] = ["row", "column"].map((way) => element("i", { class: `ab-band ab-${way}` }));
  column.hidden = !own;
  const box = element("div", { class: "ab-picture" }, canvas, row, column);
  const [left, above] = [namesOf(queries, "left"), namesOf(tokens, "above")];
  const at = ({ clientY }) => {
    const { top, height } = box.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((clientY - top) / height) * queries.length), 0), queries.length - 1);
  };
  point(box, at);
  const node = element("div", { class: "ab-large" }, above, left, box);
  node.style.setProperty("--across", tokens.length);
  node.style.setProperty("--down", queries.length);
  return {
    node,
    paint: (steps, colours) => paint(canvas, data, steps, colours),
    show(i) {
      node.style.setProperty("--at", i);
      [...left.children].forEach((name, n) => name.classList.toggle("attn-query", n === i));
      [...above.children].forEach((name, n) => name.classList.toggle("attn-key", own && n === i));
    },
  };
}

// Tokens as a text, each lit by a weight; `point` makes them something to point at.
function textOf(tokens, lit, point) {
  const parts = tokens.map((token) => element("span", lit ? { class: "ab-weight" } : {}, visible(token)));
  const node = element("p", { class: "ab-text", translate: "no" }, ...parts);
  if (tokens.length > SHORT) {
    node.classList.add("ab-long"); // it scrolls, by keys too
    node.tabIndex = 0;
  }
  if (point) point(node, ({ target }) => parts.indexOf(target));
  const shown = { "--w": [], "--back": [] };
  const light = (name, steps) =>
    steps.forEach((step, n) => {
      const level = Math.round(WEIGHTS[step] * LEVELS) / LEVELS; // few tokens change theirs, and only they are drawn anew
      if (shown[name][n] !== level) parts[n].style.setProperty(name, level);
      shown[name][n] = level;
    });
  let chosen;
  const choose = (n, scroll) => {
    chosen?.classList.remove("ab-chosen");
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
    show(token, steps) {
      word.textContent = visible(token);
      const order = [...steps.keys()].filter((j) => WEIGHTS[steps[j]] >= 0.005).sort((a, b) => steps[b] - steps[a]);
      show(order.map((j) => [visible(tokens[j]), whole(j), WEIGHTS[steps[j]]]));
    },
  };
}

// The heads in which a kind is strongest, to press.
function strongest(model, say, heads) {
  const buttons = heads.slice(0, BEST).map(() => {
    const [name, share] = [element("span"), element("b", { class: "ab-number" })];
    const node = button(name, () => update(model, node.place));
    node.append(" ", share);
    return { name, share, node };
  });
  const row = buttons.map(({ node }) => node);
  const node = element("div", { class: "ab-controls ab-tries", role: "group", "aria-label": say.strongest }, ...row);
  const show = (share, named, at) => {
    node.hidden = !share;
    if (!share) return;
    const order = [...heads].sort((a, b) => share(b) - share(a));
    buttons.forEach((one, n) => {
      const { layer, head } = (one.node.place = order[n]);
      one.name.textContent = named(say.best, order[n]);
      one.share.textContent = number(share(order[n]));
      one.node.setAttribute("aria-pressed", layer === at.layer && head === at.head);
    });
  };
  return { node, show };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const data = unpacked(model);
  const { tokens, queries, layers, heads, own, map } = data;
  const shares = own ? kindsOf(data) : null;
  const places = layers.flatMap((_, layer) => Array.from({ length: heads }, (_, head) => ({ layer, head })));
  const last = (list, n) => Math.min(n, list.length - 1);
  const at = () => ({ layer: last(layers, model.get("layer")), head: Math.min(model.get("head"), heads - 1) });

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

  const named = (text, { layer, head }) => fill(text, { layer: layers[layer], head: whole(head) });
  const thumbnails = places.map(() => element("img", { alt: "" })); // hundreds of canvases would each be a layer to compose
  const table = grid({
    label: say.grid,
    rows: layers,
    columns: Array.from({ length: heads }, (_, head) => whole(head)),
    at: [at().layer, at().head],
    move: (layer, head) => update(model, { layer, head }),
    press: () => {},
  });
  const cells = table.cells.flat();
  cells.forEach((cell, n) => {
    cell.append(thumbnails[n]);
    cell.setAttribute("aria-label", named(say.here, places[n]));
  });
  const large = largeMap(say, data, point);
  const asking = textOf(queries, own, point);
  const asked = own ? asking : textOf(tokens, true);
  const [looks, lookers] = [largest(tokens, say.asks, "attn-query"), largest(queries, say.asked, "attn-key")];
  lookers.node.hidden = !own;
  const title = element("span");
  const like = list([title], own ? KINDS.length : 0);
  const best = strongest(model, say, places);
  const kinds = choice(model, subscriptions, { trait: "kind", label: say.kind, options: say.kinds });
  kinds.hidden = !own;
  const token = slider(model, subscriptions, {
    trait: "token",
    label: say.token,
    values: [...queries.keys()],
    show: whole,
  });
  const root = body(
    el,
    "browser",
    element("div", { class: "ab-controls" }, kinds, token),
    best.node,
    element(
      "div",
      { class: "ab-texts" },
      asking.node,
      own ? element("p", { class: "ab-hint" }, say.light) : asked.node,
    ),
    element("div", { class: "ab-heads ab-scroll" }, table.node),
    large.node,
    element("div", { class: "ab-lists" }, like.node, looks.node, lookers.node),
  );
  root.style.setProperty("--heads", heads);
  root.style.setProperty("--layers", layers.length);

  let [steps, colours, painted] = [];
  function showToken() {
    const i = pointed ?? last(queries, model.get("token"));
    const row = data.row(steps, i);
    large.show(i);
    asking.choose(i, pointed === null);
    asked.light("--w", row);
    looks.show(queries[i], row);
    if (!own) return;
    const column = data.column(steps, i);
    asking.light("--back", column);
    lookers.show(queries[i], column);
  }
  function paintLarge() {
    if (!colours || painted === steps) return;
    painted = steps;
    large.paint(steps, colours);
  }
  subscriptions.follow(["layer", "head", "kind"], () => {
    const here = at();
    const kind = own ? KINDS.indexOf(model.get("kind")) : -1;
    const share = kind < 0 ? null : ({ layer, head }) => shares[layer][head][kind];
    if (steps?.byteOffset !== map(here.layer, here.head).byteOffset) steps = map(here.layer, here.head);
    cells.forEach((cell, n) => {
      cell.setAttribute("aria-selected", n === here.layer * heads + here.head);
      cell.style.setProperty("--share", share ? share(places[n]) : 1);
    });
    best.show(share, named, here);
    title.textContent = named(say.here, here);
    like.show(own ? KINDS.map((name, n) => [say.kinds[name], "", shares[here.layer][here.head][n]]) : []);
    paintLarge();
    showToken();
  });
  subscriptions.follow(["token"], showToken);

  // In a notebook the widget is made before it stands on the page, where its colours are.
  const stands = new ResizeObserver(() => {
    stands.disconnect();
    colours = palette(root);
    const canvas = element("canvas");
    places.forEach(({ layer, head }, n) => {
      paint(canvas, data, map(layer, head), colours, THUMBNAIL);
      thumbnails[n].src = canvas.toDataURL();
    });
    paintLarge();
  });
  stands.observe(root);
  return subscriptions.end;
}

export default { render };
