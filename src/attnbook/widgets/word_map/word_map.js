import {
  asset,
  body,
  element,
  fill,
  fillNodes,
  follower,
  headed,
  number,
  plain,
  slider,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { lexicon, nearestWords, wordVectors } from "../shared/lexicon.js";
import { whenNeeded } from "../shared/stored.js";
import { wordField } from "../shared/word_field.js";

const [NEAR, LABELS, TALL] = [10, 40, 0.8]; // neighbours, names on the map, its height as a share of its width
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24];

const clamp = (x) => Math.min(Math.max(x, -1), 1);

// word_map.bin: a line of JSON, then two 16-bit numbers for each word
function readMap(bytes) {
  const { words: text, start } = headed(bytes);
  const known = lexicon(text);
  const steps = new Int16Array(bytes, start);
  return { ...known, places: known.list.map((_, i) => [steps[2 * i] / 32767, steps[2 * i + 1] / 32767]) };
}

// The n rows whose places are closest to a place.
function closest({ places }, [x, y], n) {
  const far = places.map(([px, py], i) => [(px - x) ** 2 + (py - y) ** 2, i]);
  return far
    .sort((a, b) => a[0] - b[0])
    .slice(0, n)
    .map(([, i]) => i);
}

// The rows whose names can be written on the map where they cover no other, and where: those in `near` come first.
function legible({ list, places }, near, { x, y, zoom }, wide) {
  const written = [];
  for (const i of [...near, ...list.keys()]) {
    if (written.length === LABELS) break;
    const [px, py] = [((places[i][0] - x) * zoom + 1) * (wide / 2), ((places[i][1] - y) * zoom + TALL) * (wide / 2)];
    const half = list[i].length * 3.7 + 4;
    const inside = px >= half && px <= wide - half && py >= 14 && py <= wide * TALL - 14;
    const covers = (other) => Math.abs(other.px - px) < other.half + half && Math.abs(other.py - py) < 17;
    if (inside && !written.some(covers)) written.push({ i, px, py, half });
  }
  return written;
}

// All words as dots, some of them with their names; `mark` is told the rows of the chosen word and its neighbours.
function chart(model, map, label) {
  const path = (name, d = "") => element("path", { class: name, d, "vector-effect": "non-scaling-stroke" });
  const at = (i) => map.places[i].join(" ");
  const dots = (rows) => rows.map((i) => `M${at(i)}h0`).join("");
  const [lines, marks] = [path("ab-lines"), path("ab-marks")];
  const svg = element(
    "svg",
    { tabindex: 0, role: "application", "aria-label": label, preserveAspectRatio: "none" },
    path("ab-dots", dots([...map.list.keys()])),
    lines,
    marks,
  );
  const labels = Array.from({ length: LABELS }, () => element("span"));
  const names = element("div", { "aria-hidden": "true", translate: "no" }, ...labels);
  const node = element("div", { class: "ab-view" }, svg, names);
  let near = [];

  const draw = () => {
    const [x, y, zoom] = ["x", "y", "zoom"].map((trait) => model.get(trait));
    svg.setAttribute("viewBox", [x - 1 / zoom, y - TALL / zoom, 2 / zoom, (2 * TALL) / zoom].join(" "));
    svg.style.touchAction = zoom > 1 ? "none" : "pan-y";
    svg.style.setProperty("--dot", `${1.5 + Math.sqrt(zoom)}px`);
    const wide = node.clientWidth || 600;
    const written = legible(map, near, { x, y, zoom }, wide);
    labels.forEach((text, n) => {
      text.hidden = n >= written.length;
      if (text.hidden) return;
      const { i, px, py } = written[n];
      text.textContent = map.list[i];
      text.style.left = `${(100 * px) / wide}%`;
      text.style.top = `${(100 * py) / (wide * TALL)}%`;
      text.className = i === near[0] ? "ab-chosen" : near.includes(i) ? "ab-neighbour" : "";
    });
  };
  const mark = (rows) => {
    near = rows;
    const [word, ...neighbours] = near;
    lines.setAttribute("d", neighbours.map((i) => `M${at(word)}L${at(i)}`).join(""));
    marks.setAttribute("d", dots(near));
    draw();
  };
  return { node, svg, draw, mark };
}

// Moving about: by dragging and with arrows, plus and minus. `press` is told the place of a press that is no drag.
function steer(model, svg, press) {
  const move = (dx, dy) => update(model, { x: clamp(model.get("x") + dx), y: clamp(model.get("y") + dy) });
  let held = null; // where the pointer was, and how far it has come
  svg.addEventListener("pointerdown", (event) => {
    if (!event.isPrimary || event.button !== 0) return;
    held = { x: event.clientX, y: event.clientY, way: 0 };
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held || !event.isPrimary) return;
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    held = { x: event.clientX, y: event.clientY, way: held.way + Math.abs(dx) + Math.abs(dy) };
    const { a, d } = svg.getScreenCTM(); // pixels for each unit of the map
    if (model.get("zoom") > 1) move(-dx / a, -dy / d);
  });
  svg.addEventListener("pointerup", (event) => {
    if (held?.way < 6) {
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      press([x, y]);
    }
    held = null;
  });
  svg.addEventListener("pointercancel", () => {
    held = null;
  });
  svg.addEventListener("keydown", (event) => {
    const step = 0.25 / model.get("zoom");
    const way = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    const turns = { "+": 1, "=": 1, "-": -1 }[event.key];
    if (way) move(...way);
    else if (turns) {
      const stop = ZOOMS.findIndex((zoom) => zoom >= model.get("zoom")) + turns;
      update(model, { zoom: ZOOMS[Math.min(Math.max(stop, 0), ZOOMS.length - 1)] });
    } else return;
    event.preventDefault();
  });
}

// The words that are really near, each a button that goes there, and how many of them are near on the map, too.
function ranking(say, { list, row }, goTo) {
  const title = element("p", { class: "ab-title" });
  const answers = Array.from({ length: NEAR }, () => {
    const [name, cosine] = [verbatim(""), element("span", { class: "ab-number" })];
    const go = element("button", { type: "button", class: "ab-link" }, name);
    go.addEventListener("click", () => goTo(row(name.textContent)));
    return { node: element("li", {}, go, " ", cosine), go, name, cosine };
  });
  const kept = element("span", { class: "ab-kept ab-number" });
  const node = element(
    "div",
    {},
    title,
    element("ol", {}, ...answers.map(({ node: answer }) => answer)),
    element("p", { class: "ab-hint" }, ...fillNodes(say.kept, { n: kept })),
  );
  const draw = (word, found, onMap) => {
    title.textContent = fill(say.nearest, { word });
    answers.forEach(({ go, name, cosine }, n) => {
      name.textContent = list[found[n][0]];
      go.setAttribute("aria-label", fill(say.go, { word: name.textContent }));
      cosine.textContent = number(found[n][1], 3);
    });
    kept.textContent = whole(onMap);
  };
  return { node, draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const map = readMap(await asset(model, "map"));
  const view = chart(model, map, say.map);
  const place = (row) => {
    const [x, y] = map.places[row].map(clamp);
    return { x, y, zoom: Math.max(model.get("zoom"), 6) };
  };
  const near = ranking(say, map, (row) => update(model, { word: map.list[row], ...place(row) }));
  const status = element("p", { class: "ab-hint", role: "status" });
  steer(model, view.svg, (here) => update(model, { word: map.list[closest(map, here, 1)[0]] }));
  const show = (x) => fill(say.magnified, { x: plain(x) });
  const root = body(
    el,
    "wordmap",
    element(
      "div",
      { class: "ab-controls" },
      wordField(model, subscriptions, { trait: "word", label: say.search, known: map, more: place }),
      slider(model, subscriptions, { trait: "zoom", label: say.zoom, values: ZOOMS, show }),
    ),
    view.node,
    element("div", { class: "ab-near" }, near.node, status),
  );

  const fetched = whenNeeded(model, "vectors", wordVectors);
  subscriptions.follow(["word"], async () => {
    const word = model.get("word");
    const row = map.row(word);
    const vectors = row === undefined ? null : await fetched(root, status, say.lexicon.fetching);
    if (word !== model.get("word")) return; // another was chosen meanwhile, and is drawn
    near.node.hidden = !vectors;
    status.textContent = vectors ? "" : say.ask;
    if (!vectors) {
      view.mark([]);
      return;
    }
    const found = nearestWords(vectors, vectors.vector(row), NEAR, [row]);
    const rows = found.map(([i]) => i);
    near.draw(word, found, closest(map, map.places[row], NEAR + 1).filter((i) => rows.includes(i)).length);
    view.mark([row, ...rows]);
  });
  subscriptions.follow(["x", "y", "zoom"], view.draw);
  return subscriptions.end;
}

export default { render };
