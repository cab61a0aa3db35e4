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

// Points of a thumbnail's side, tokens that find room beside the map, letters that find room on two lines, rows of a list,
// buttons, levels of light on a token, and layers in one block.
const [THUMBNAIL, FEW, LINES, ROWS, BEST, LEVELS, SHALLOW] = [48, 24, 170, 4, 5, 50, 16];
const WEIGHTS = Float64Array.from({ length: 256 }, (_, step) => (step / 255) ** 2);

// The maps of a text, packed as in __init__.py. A map is the steps of its rows, one after the other; of a causal one, what
// is seen.
function unpacked(tokens, queries, maps, heads, causal) {
  const bytes = Uint8Array.from(atob(maps), (letter) => letter.charCodeAt(0));
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
  };
}

function separates(token) {
  const bare = token.replace(/^[Ġ▁Ċ \n\t]+|[Ġ▁Ċ \n\t]+$/gu, "");
  return !/[\p{L}\p{N}]/u.test(bare) || /^(<.*>|\[.*\])$/su.test(bare);
}

// As in __init__.py: for each kind and each map, the share of attention that goes where a head of the kind would look.
function kindsOf({ tokens, width, start, maps }) {
  const parts = tokens.map(separates);
  const there = {
    previous: (i, j) => j === i - 1,
    same: (i, j) => tokens[j] === tokens[i],
    first: (i, j) => j === 0 && i > 0,
    separator: (_, j) => parts[j],
    induction: (i, j) => j > 0 && j < i && tokens[j - 1] === tokens[i],
  };
  const shares = (is) => {
    const rows = tokens.map((_, i) => tokens.flatMap((_, j) => (j < width(i) && is(i, j) ? start(i) + j : [])));
    const [places, asking] = [rows.flat(), rows.filter((row) => row.length).length || 1];
    return maps.map((steps) => places.reduce((sum, place) => sum + WEIGHTS[steps[place]], 0) / asking);
  };
  return Object.fromEntries(Object.entries(there).map(([kind, is]) => [kind, shares(is)]));
}

// For each head the share of attention that is elsewhere in the other text, place by place.
function differences(one, other) {
  const [least, most] = [Math.min, Math.max].map((of) => of(one.tokens.length, other.tokens.length));
  return one.maps.map((_, n) => {
    let apart = 0;
    for (let i = 0; i < least; i++)
      for (let j = 0; j < most && (j < one.width(i) || j < other.width(i)); j++)
        apart += Math.abs(one.weight(n, i, j) - other.weight(n, i, j));
    return apart / 2 / least;
  });
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
function largeMap(label, { tokens, queries }, own, named, point) {
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

// A table of the tokens with the largest of some weights, as far as there is anything to see.
function largest(tokens, text, kind) {
  const word = verbatim("", { class: kind });
  const rows = tokens.slice(0, ROWS).map(() => {
    const cells = [
      element("th", { scope: "row", translate: "no" }),
      element("td"),
      element("td", { class: "ab-weight" }),
    ];
    return { cells, node: element("tr", {}, ...cells) };
  });
  const caption = element("caption", {}, ...fillNodes(text, { word }));
  return {
    node: element("table", {}, caption, ...rows.map((row) => row.node)),
    show(token, weights) {
      word.textContent = visible(token);
      const order = [...weights.keys()].filter((j) => weights[j] >= 0.005).sort((a, b) => weights[b] - weights[a]);
      rows.forEach(({ cells, node }, n) => {
        const j = order[n];
        const none = j === undefined;
        node.classList.toggle("ab-none", none);
        const texts = none ? ["", "", ""] : [visible(tokens[j]), whole(j), number(weights[j])];
        texts.forEach((text, column) => (cells[column].textContent = text));
        cells[2].style.setProperty("--w", none ? "" : weights[j]);
      });
    },
  };
}

// All that is shown of one text, and of how the chosen head reads it.
function reading(say, data, label, named, point) {
  const { tokens, queries, weight } = data;
  const own = String(queries) === String(tokens);
  const large = largeMap(label, data, own, named, point);
  const asking = textOf(queries, own, point);
  const asked = own ? asking : textOf(tokens, true);
  const [looks, lookers] = [largest(tokens, say.asks, "attn-query"), largest(queries, say.asked, "attn-key")];
  return {
    data,
    own,
    large,
    texts: own ? [asking.node] : [asking.node, asked.node],
    looks: looks.node,
    lookers: lookers.node,
    show(head, token, scroll) {
      const at = Math.min(token, queries.length - 1);
      const given = tokens.map((_, j) => weight(head, at, j));
      large.node.style.setProperty("--at", at);
      asking.choose(at, scroll);
      asked.light("--w", given);
      looks.show(queries[at], given);
      if (!own) return;
      const taken = queries.map((_, i) => weight(head, i, at));
      asking.light("--back", taken);
      lookers.show(queries[at], taken);
    },
  };
}

// ---- a picture to take along ----

// A map with the names of its tokens, as a part of a drawing.
function drawing({ tokens, queries }, canvas) {
  const cell = tokens.length > 128 ? 4 : Math.max(14, 400 / tokens.length);
  const size = Math.min(cell * 0.8, 14);
  const room = (side) => Math.max(...side.map((token) => visible(token).length)) * size * 0.65 + 8;
  const [left, above, across, down] = [room(queries), room(tokens), cell * tokens.length, cell * queries.length];
  const middle = (n) => (n + 0.5) * cell + size / 3;
  const name = (token, transform) => element("text", { transform }, visible(token));
  const image = document.createElementNS("http://www.w3.org/2000/svg", "image");
  const box = { x: left, y: above, width: across, height: down, preserveAspectRatio: "none", href: canvas.toDataURL() };
  for (const [key, value] of Object.entries(box)) image.setAttribute(key, value);
  image.setAttribute("style", "image-rendering: pixelated");
  const columns = tokens.map((token, n) => name(token, `translate(${left + middle(n)} ${above - 4}) rotate(-90)`));
  const rows = queries.map((token, n) => name(token, `translate(0 ${above + middle(n)})`));
  const node = element("g", { "font-size": size }, image, ...columns, ...rows);
  return { node, width: left + across, height: above + down };
}

// Drawings side by side below a title, as the text of an SVG.
function svg(title, drawings, ink, paper) {
  const [gap, top] = [16, 40];
  let width = gap;
  for (const each of drawings) {
    each.node.setAttribute("transform", `translate(${width} ${top})`);
    width += each.width + gap;
  }
  const height = top + Math.max(...drawings.map((each) => each.height)) + gap;
  const heading = element("text", { x: gap, y: 26, "font-size": 15 }, title);
  const ground = element("rect", { width, height, fill: paper });
  const attributes = { viewBox: `0 0 ${width} ${height}`, width, height, fill: ink, "font-family": "sans-serif" };
  const node = element("svg", attributes, ground, heading, ...drawings.map((each) => each.node));
  return `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(node))}`;
}

// The same in points, twice as many as it is wide.
async function png(address) {
  const image = element("img", { src: address });
  await image.decode();
  const canvas = element("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL();
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const get = (name) => model.get(name);
  const [layers, heads, compared] = [get("layers"), get("heads"), get("other_tokens").length > 0];
  const count = layers.length * heads;
  const first = unpacked(get("tokens"), get("queries"), get("maps"), count, get("causal"));
  const texts = [first];
  if (compared) texts.push(unpacked(get("other_tokens"), get("other_tokens"), get("other_maps"), count, get("causal")));
  const place = (n) => ({ layer: Math.floor(n / heads), head: n % heads });
  const named = (text, n, share) => {
    const { layer, head } = place(n);
    return fill(text, { layer: layers[layer], head: whole(head), share });
  };

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
  const readings = texts.map((data, n) => reading(say, data, compared ? say.maps[n] : say.map, !compared, point));
  const [{ own, lookers }] = readings;

  const shares = { ...(own ? kindsOf(first) : {}), ...get("own_kinds") };
  if (compared) shares.different = differences(...texts);
  const kinds = Object.keys(shares);

  const table = grid({
    label: say.grid,
    rows: layers,
    columns: Array.from({ length: heads }, (_, head) => whole(head)),
    at: [0, 0],
    move: (layer, head) => update(model, { layer, head }),
    press: () => {},
  });
  const cells = table.cells.flat();
  const thumbnails = cells.map((cell, n) => {
    // Hundreds of canvases would be as many layers to compose.
    const image = element("img", { alt: "" });
    cell.append(image);
    cell.setAttribute("aria-label", named(say.here, n));
    return image;
  });
  const best = cells.slice(0, BEST).map(() => {
    const node = button("", () => update(model, place(node.head)));
    return node;
  });
  const tries = element("div", { class: "ab-controls ab-tries", role: "group", "aria-label": say.strongest }, ...best);
  const title = element("b");
  const likes = kinds.map(() => element("b", { class: "ab-weight" }));
  const options = kinds.map((kind, n) => {
    const name = say.kinds[kind] ?? verbatim(kind);
    return [kind, element("span", {}, name, " ", likes[n])];
  });
  const filter = choice(model, subscriptions, {
    trait: "kind",
    label: kinds.length ? element("span", {}, ...fillNodes(say.kind, { head: title })) : title,
    options: Object.fromEntries([["all", say.kinds.all], ...options]),
  });
  filter.lastChild.hidden = !kinds.length;
  const values = Array.from({ length: Math.max(...texts.map(({ queries }) => queries.length)) }, (_, n) => n);
  const token = slider(model, subscriptions, { trait: "token", label: say.token, values, show: whole });
  const files = ["svg", "png"].map((kind) => button(say.save[kind], () => save(kind)));
  const takes = element("div", { class: "ab-tries", role: "group", "aria-label": say.take }, ...files);
  const lists = readings.map(({ looks }) => looks);
  if (own && !compared) lists.push(lookers);
  const maps = readings.map(({ large }) => large.node);
  const again = [element("td"), ...table.columns.map((column) => column.cloneNode(true))];
  for (const name of again) name.setAttribute("aria-hidden", "true");
  table.columns[0].parentNode.append(...again);
  const box = element("div", { class: "ab-heads ab-scroll" }, table.node);
  // Many layers stand in two blocks, where there is room; the second has the heads' names once more.
  const deep = layers.length > SHALLOW;
  const style = `--heads: ${heads}; --layers: ${layers.length}; --half: ${Math.ceil(layers.length / 2)}`;
  const root = body(
    el,
    "browser",
    filter,
    tries,
    element("div", { class: "ab-texts" }, ...readings.flatMap((each) => each.texts)),
    element("div", { class: "ab-controls" }, token, element("p", { class: "ab-hint" }, say.light), takes),
    element(
      "div",
      { class: `ab-main ${deep ? "ab-deep" : ""}`, style },
      box,
      element("div", { class: "ab-maps" }, ...maps),
      element("div", { class: "ab-lists" }, ...lists),
    ),
  );

  let here, colours;
  function showToken() {
    const at = pointed ?? get("token");
    for (const each of readings) each.show(here, at, pointed === null);
  }
  const paintLarge = () =>
    colours && readings.forEach(({ data, large }) => paint(large.canvas, data, data.maps[here], colours, Infinity));
  subscriptions.follow(["layer", "head", "kind"], () => {
    const kind = get("kind");
    const share = shares[kind];
    // Texts that differ by a word differ little: the most different head is the brightest.
    const bright = kind === "different" ? Math.max(...share) || 1 : 1;
    here = Math.min(get("layer") * heads + get("head"), count - 1);
    cells.forEach((cell, n) => {
      cell.ariaSelected = n === here;
      cell.style.setProperty("--share", share ? share[n] / bright : 1);
    });
    show(cells[here]);
    tries.hidden = !share;
    const order = share && [...share.keys()].sort((a, b) => share[b] - share[a]);
    if (share)
      best.forEach((node, n) => {
        node.head = order[n];
        node.ariaPressed = order[n] === here;
        node.textContent = named(say.best, order[n], number(share[order[n]]));
      });
    title.textContent = named(say.here, here);
    kinds.forEach((kind, n) => {
      likes[n].textContent = number(shares[kind][here]);
      likes[n].style.setProperty("--w", shares[kind][here]);
    });
    paintLarge();
    showToken();
  });
  subscriptions.follow(["token"], showToken);

  // Scrolls the heads, and not the page.
  function show(cell) {
    const [seen, wanted] = [box, cell].map((node) => node.getBoundingClientRect());
    if (wanted.top < seen.top + wanted.height || wanted.bottom > seen.bottom)
      box.scrollTop += (wanted.top + wanted.bottom - seen.top - seen.bottom) / 2;
  }

  async function save(kind) {
    const style = getComputedStyle(root);
    const drawings = readings.map(({ data, large }) => drawing(data, large.canvas));
    const address = svg(named(say.here, here), drawings, style.color, style.getPropertyValue("--ab-paper"));
    const { layer, head } = place(here);
    const download = `layer-${layers[layer]}-head-${head}.${kind}`;
    element("a", { download, href: kind === "png" ? await png(address) : address }).click();
  }

  // In a notebook the widget is made before it stands on the page, where its colours are.
  const stands = new ResizeObserver(() => {
    stands.disconnect();
    colours = palette(root);
    const canvas = element("canvas");
    first.maps.forEach((steps, n) => {
      paint(canvas, first, steps, colours, THUMBNAIL);
      thumbnails[n].src = canvas.toDataURL();
    });
    paintLarge();
  });
  stands.observe(root);
  return subscriptions.end;
}

export default { render };
