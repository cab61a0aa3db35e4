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

// Points of a thumbnail's side, tokens that find room beside a map, letters that find room on two lines, rows of a list,
// buttons, layers in one block; a strand's shades, and the first to be seen where it is not framed.
const [THUMBNAIL, FEW, LINES, ROWS, BEST, SHALLOW, SHADES, BRIGHT] = [48, 20, 170, 4, 5, 16, 10, 3];
const WEIGHTS = Float64Array.from({ length: 256 }, (_, step) => (step / 255) ** 2);

// The maps of a text, packed as in __init__.py. A map is the steps of its rows, one after the other; of a causal one, what
// is seen.
async function unpacked(tokens, queries, maps, heads, causal) {
  const zipped = Uint8Array.from(atob(maps), (letter) => letter.charCodeAt(0));
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = bytes.length / heads;
  const start = (i) => (causal ? (i * (i + 1)) / 2 : i * tokens.length);
  const width = (i) => (causal ? i + 1 : tokens.length);
  return {
    tokens,
    queries,
    maps: [...Array(heads).keys()].map((n) => bytes.subarray(n * size, (n + 1) * size)),
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

const names = (side, kind) =>
  element("div", { class: `ab-names ab-${kind}`, translate: "no", "aria-hidden": "true" }, ...spans(side));

// Which of so many rows or columns of a picture a pointer is over.
function under(picture, { clientX, clientY }, down, across) {
  const { left, top, width, height } = picture.getBoundingClientRect();
  const part = (from, size, count) => Math.min(Math.floor((Math.max(from, 0) / size) * count), count - 1);
  return [part(clientY - top, height, down), part(clientX - left, width, across)];
}

const sizes = (across, down) => `--across: ${across}; --down: ${down}`;

// The chosen map, with a band over the row of the token that is pointed at.
function largeMap(label, { tokens, queries }, named, point) {
  const canvas = element("canvas", { role: "img", "aria-label": label });
  const row = element("i", { class: "ab-band ab-row" });
  const picture = element("div", { class: "ab-picture" }, canvas, row);
  point(picture, (event) => under(picture, event, queries.length, tokens.length));
  const few = (side) => (named && side.length <= FEW ? side : []);
  const parts = [names(few(tokens), "above"), names(few(queries), "left"), picture];
  return { node: element("div", { class: "ab-large", style: sizes(tokens.length, queries.length) }, ...parts), canvas };
}

// A part of the map of a long text, as large as finds room with names.
function closeUp(label, { tokens, queries, width, start }) {
  const [down, across] = [queries, tokens].map((side) => Math.min(side.length, FEW));
  const canvas = element("canvas", { role: "img", "aria-label": label, width: across, height: down });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(across, down);
  const points = new Uint32Array(image.data.buffer);
  const [above, left] = [names(tokens.slice(0, across), "above"), names(queries.slice(0, down), "left")];
  const row = element("i", { class: "ab-band ab-row" });
  const picture = element("div", { class: "ab-picture" }, canvas, row);
  const node = element("div", { class: "ab-large ab-near", style: sizes(across, down) }, above, left, picture);
  const from = (at, shown, all) => Math.min(Math.max(at - Math.floor(shown / 2), 0), all - shown);
  const name = ({ children }, side) => side.forEach((token, n) => (children[n].textContent = visible(token)));
  return {
    node,
    show(steps, colours, i, j) {
      const [top, first] = [from(i, down, queries.length), from(j, across, tokens.length)];
      for (let n = 0; n < points.length; n++) {
        const [y, x] = [top + Math.floor(n / across), first + (n % across)];
        points[n] = x < width(y) ? colours[steps[start(y) + x]] : 0;
      }
      pen.putImageData(image, 0, 0);
      name(left, queries.slice(top, top + down));
      name(above, tokens.slice(first, first + across));
      node.style.setProperty("--at", i - top);
      const [high, wide] = [queries.length, tokens.length];
      const inset = [top / high, 1 - (first + across) / wide, 1 - (top + down) / high, first / wide];
      return inset.map((part) => `${100 * part}%`).join(" ");
    },
  };
}

// All layers at once: a line for each token, and a strand from a token to each that looks at it, as bright as the weight
// in that head of the layer which is lit most there.
function flow(label, { tokens, weight, width }, layers, heads, point, press) {
  const L = tokens.length;
  const shades = (name) =>
    [...Array(SHADES + 1).keys()].map((n) => element("path", { class: name, style: `--w: ${n / SHADES}` }));
  const [all, framed] = [shades("ab-strand"), shades("ab-strand ab-framed")];
  const few = L > FEW ? [] : tokens;
  const lines = element("path", { class: "ab-line", d: few.map((_, i) => `M0 ${i}H${layers.length}`).join("") });
  const view = {
    viewBox: `0 -0.5 ${layers.length} ${L}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": label,
  };
  const row = element("i", { class: "ab-band ab-row" });
  const picture = element("div", { class: "ab-picture" }, element("svg", view, lines, ...all, ...framed), row);
  let [light, least] = [[], 0];
  const draw = (paths, rows, faintest) => {
    const strands = paths.map(() => "");
    for (let layer = 0; layer < layers.length; layer++) {
      const lit = [...Array(heads).keys()]
        .map((head) => layer * heads + head)
        .filter((n) => light[n] * SHADES >= faintest);
      for (const i of rows)
        for (let j = least; j < width(i); j++) {
          let most = 0;
          for (const n of lit) most = Math.max(most, weight(n, i, j) * light[n]);
          const shade = Math.floor(most * SHADES);
          if (shade >= faintest) strands[shade] += `M${layer} ${j}L${layer + 1} ${i}`;
        }
    }
    paths.forEach((path, n) => path.setAttribute("d", strands[n]));
  };
  point(picture, (event) => [under(picture, event, L, 1)[0]]);
  picture.addEventListener("click", (event) => {
    const [token, half] = under(picture, event, L, 2 * layers.length);
    const layer = Math.max(((half + 1) >> 1) - 1, 0);
    let most = 1 / SHADES;
    let chosen = {};
    for (let head = 0; head < heads; head++)
      for (let j = least; j < width(token); j++) {
        const bright = weight(layer * heads + head, token, j) * light[layer * heads + head];
        if (bright >= most) [chosen, most] = [{ layer, head }, bright];
      }
    press(chosen);
  });
  const parts = [names(layers, "layers"), names(few, "left"), picture];
  return {
    node: element("div", { class: "ab-large ab-flow", style: sizes(layers.length, L) }, ...parts),
    // Most heads rest on the first token: strands to it would hide the others.
    draw(lit, first) {
      [light, least] = [lit, first || L === 1 ? 0 : 1];
      draw(all, [...tokens.keys()], BRIGHT);
    },
    frame: (i) => draw(framed, [i], 1),
  };
}

// Tokens as a text, each lit by a weight; `point` makes them something to point at.
function textOf(tokens, lit, point) {
  const parts = spans(tokens, lit ? { class: "ab-weight" } : {});
  // A long one scrolls, by keys too.
  const long = tokens.join("  ").length > LINES;
  const node = element("p", { class: long ? "ab-text ab-long" : "ab-text", translate: "no" }, ...parts);
  if (long) node.tabIndex = 0;
  if (point) point(node, ({ target }) => [parts.indexOf(target)]);
  // Few tokens change their level, and only those are drawn anew.
  const light = (name, weights) =>
    parts.forEach(({ style }, n) => {
      const level = weights[n].toFixed(2);
      if (style.getPropertyValue(name) !== level) style.setProperty(name, level);
    });
  const choose = (n, scroll) => {
    parts.forEach((part, m) => part.classList.toggle("ab-chosen", m === n));
    if (scroll) node.scrollTop = parts[n].offsetTop - node.offsetTop - node.clientHeight / 2;
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
        [visible(tokens[j]), `(${whole(j)})`, number(weights[j])].forEach(
          (text, column) => (cells[column].textContent = text),
        );
        cells[2].style.setProperty("--w", weights[j]);
      });
    },
  };
}

// All that is shown of one text, and of how the chosen head reads it.
function reading(say, data, { label, compared, layers, heads, point, press }) {
  const { tokens, queries, maps, weight, own } = data;
  const large = largeMap(label, data, !compared, point);
  const near = !compared && Math.max(tokens.length, queries.length) > FEW && closeUp(say.near, data);
  const strands = own ? flow(say.flow, data, layers, heads, point, press) : null;
  const frame = near && element("i", { class: "ab-band ab-frame" });
  if (near) large.node.lastChild.append(frame);
  const single = element("div", { class: "ab-maps" }, large.node, ...(near ? [near.node] : []));
  const asking = textOf(queries, own, point);
  const asked = own ? asking : textOf(tokens, true);
  const [looks, lookers] = [largest(tokens, say.asks, "attn-query"), largest(queries, say.asked, "attn-key")];
  let colours;
  return {
    maps: [single],
    flows: strands ? [strands.node] : [],
    texts: new Set([asking.node, asked.node]),
    lists: own && !compared ? [looks.node, lookers.node] : [looks.node],
    paint(head, given) {
      colours = given;
      paint(large.canvas, data, maps[head], colours, Infinity);
    },
    light: strands?.draw,
    show(head, [token, column], { all, scroll }) {
      const at = Math.min(token, queries.length - 1);
      const given = tokens.map((_, j) => weight(head, at, j));
      const taken = queries.map((_, i) => weight(head, i, at));
      for (const part of [large, strands]) part?.node.style.setProperty("--at", at);
      asking.choose(at, scroll);
      asked.light("--w", given);
      looks.show(queries[at], given);
      if (own) asking.light("--back", taken);
      lookers.show(queries[at], taken);
      if (all) strands.frame(at);
      if (!near || !colours) return;
      // Many heads rest on the first token; where else they look most is of interest.
      const most = given.reduce((best, w, j) => (j && w > given[best] ? j : best), tokens.length > 1 ? 1 : 0);
      frame.style.inset = near.show(maps[head], colours, at, column ?? most);
    },
  };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [layers, heads, shares, causal] = ["layers", "heads", "shares", "causal"].map((name) => model.get(name));
  const count = layers.length * heads;
  const texts = [
    ["tokens", "queries", "maps"],
    ["other_tokens", "other_tokens", "other_maps"],
  ].map((names) => names.map((name) => model.get(name)));
  const compared = texts[1][0].length > 0;
  if (!compared) texts.pop();
  const all = await Promise.all(texts.map((text) => unpacked(...text, count, causal)));
  const place = (n) => ({ layer: Math.floor(n / heads), head: n % heads });
  const named = (text, n, share) => fill(text, { layer: layers[place(n).layer], head: whole(n % heads), share });

  const press = (changes) => update(model, changes);
  // A mouse that moves over something shows a token, a press keeps it.
  let pointed = null;
  const point = (node, find) => {
    const to = (place) => {
      if (place?.[0] === -1 || String(place) === String(pointed)) return;
      pointed = place;
      showToken();
    };
    node.addEventListener("pointermove", (event) => event.pointerType === "mouse" && to(find(event)));
    node.addEventListener("pointerleave", () => to(null));
    node.addEventListener("click", (event) => {
      const [token] = find(event);
      if (token >= 0) press({ token });
    });
  };
  const readings = all.map((data, n) => {
    const label = say.maps[compared ? n + 1 : 0];
    return reading(say, data, { label, compared, layers, heads, point, press });
  });
  const part = (name) => readings.flatMap((each) => [...each[name]]);

  const table = grid({
    label: say.grid,
    rows: layers,
    columns: [...Array(heads).keys()].map(whole),
    at: [0, 0],
    move: (layer, head) => press({ layer, head }),
    press: () => {},
  });
  const cells = table.cells.flat();
  cells.forEach((cell, n) => {
    // Hundreds of canvases would be as many layers to compose.
    cell.append(element("img", { alt: "" }));
    cell.ariaLabel = named(say.here, n);
  });
  // Many layers stand in two blocks, where there is room; the second has the heads' names once more.
  const long = all[0].tokens.length > FEW;
  const deep = layers.length > SHALLOW && !long;
  table.node.prepend(element("caption", {}, say.grid));
  const top = table.columns[0].parentNode;
  if (deep)
    top.append(...Array.from(top.children, (name) => Object.assign(name.cloneNode(true), { ariaHidden: "true" })));
  const box = element("div", { class: "ab-heads" }, table.node);

  const best = cells.slice(0, BEST).map((_, n) => button("", () => press(place(order[n]))));
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
  tries.hidden = filter.lastChild.hidden = !options.length;
  const values = [...Array(Math.max(...all.map(({ queries }) => queries.length))).keys()];
  const token = slider(model, subscriptions, { trait: "token", label: say.token, values });
  const views = choice(model, subscriptions, { trait: "view", label: say.view, options: say.views });
  views.hidden = !all[0].own;
  const hint = (text) => element("p", { class: "ab-hint" }, text);
  const maps = element("div", { class: "ab-maps" }, ...part("maps"));
  const flows = element("div", { class: "ab-flows" }, hint(say.strands), ...part("flows"));
  const root = body(
    el,
    "browser",
    element("div", { class: "ab-texts" }, ...part("texts")),
    filter,
    element(
      "div",
      {
        class: `ab-main ab-${deep ? "deep" : long ? "two" : "few"}`,
        style: `--heads: ${heads}; --layers: ${layers.length}; --half: ${Math.ceil(layers.length / 2)}`,
      },
      box,
      maps,
      flows,
      element("div", { class: "ab-lists" }, ...part("lists")),
    ),
    element(
      "div",
      { class: "ab-controls" },
      token,
      views,
      element("div", { class: "ab-hints" }, hint(say.light), tries),
    ),
  );

  let here, colours, order;
  const strands = () => model.get("view") === "strands";
  function showToken() {
    const how = { all: strands(), scroll: pointed === null };
    for (const each of readings) each.show(here, pointed ?? [model.get("token")], how);
  }
  // How much of each head is lit. Texts that differ by a word differ little: the most different head is the brightest.
  function lit() {
    const kind = model.get("kind");
    const share = shares[kind] ?? cells.map(() => 1);
    const most = (kind === "different" && Math.max(...share)) || 1;
    return share.map((part) => part / most);
  }
  const paintLarge = () => colours && readings.forEach((each) => each.paint(here, colours));
  subscriptions.follow(["view", "kind"], () => {
    if (strands()) for (const each of readings) each.light(lit(), model.get("kind") === "first");
  });
  subscriptions.follow(["layer", "head", "kind", "view"], () => {
    const kind = model.get("kind");
    const light = lit();
    const share = shares[kind] ?? light;
    here = Math.min(model.get("layer") * heads + model.get("head"), count - 1);
    cells.forEach((cell, n) => {
      cell.ariaSelected = n === here;
      cell.style.setProperty("--share", light[n]);
    });
    order = [...share.keys()].sort((a, b) => share[b] - share[a]);
    order.slice(0, BEST).forEach((head, n) => {
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
    all[0].maps.forEach((steps, n) => {
      paint(canvas, all[0], steps, colours, THUMBNAIL);
      cells[n].firstChild.src = canvas.toDataURL();
    });
    paintLarge();
    showToken();
  });
  stands.observe(root);
  return subscriptions.end;
}

export default { render };
