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
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { slider } from "../shared/slider.js";
import { lexicon, wordVectors } from "../shared/lexicon.js";
import { nearestWords } from "../shared/nearest.js";
import { whenNeeded } from "../shared/needed.js";
import { wordField } from "../shared/word_field.js";

const [NEAR, LABELS, ROOM, DEEPEST] = [10, 40, 6000, 24]; // neighbours, names in sight, pixels for each, the largest zoom
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16, DEEPEST];
const CLASSES = [8000, 1800, 400, 60]; // so many of the commonest words are so bright, or brighter

const clamp = (x, least = -1, most = 1) => Math.min(Math.max(x, least), most);

// word_map.bin: a line of JSON, then two 16-bit numbers for each word
function readMap(bytes) {
  const { words: text, part, start } = headed(bytes);
  const known = lexicon(text);
  const steps = new Int16Array(bytes, start);
  return { ...known, part, places: known.list.map((_, i) => [steps[2 * i] / 32767, steps[2 * i + 1] / 32767]) };
}

// The n rows whose places are closest to a place.
function closest({ places }, [x, y], n) {
  const far = places.map(([px, py], i) => [(px - x) ** 2 + (py - y) ** 2, i]);
  return far
    .sort((a, b) => a[0] - b[0])
    .slice(0, n)
    .map(([, i]) => i);
}

// The rows whose names can be written where they cover no other, and where: those in `near` come first.
function legible({ list, places }, near, { x, y, zoom }, wide, tall) {
  const written = [];
  const unit = (zoom * wide) / 2;
  const most = Math.min(Math.round((wide * tall) / ROOM), LABELS);
  for (const i of [...near, ...list.keys()]) {
    if (written.length === most) break;
    const [px, py] = [(places[i][0] - x) * unit + wide / 2, (places[i][1] - y) * unit + tall / 2 - 11];
    const half = list[i].length * 3.8 + 5;
    const inside = px >= half && px <= wide - half && py >= 12 && py <= tall - 12;
    const covers = (other) => Math.abs(other.px - px) < other.half + half && Math.abs(other.py - py) < 24;
    if (inside && !written.some(covers)) written.push({ i, px, py, half });
  }
  return written;
}

// An arch over the sky, from one place to another.
function arch([x, y], [to_x, to_y]) {
  const high = Math.hypot(to_x - x, to_y - y) / 4;
  return `M${x} ${y}Q${(x + to_x) / 2} ${(y + to_y) / 2 - high} ${to_x} ${to_y}`;
}

// All words as stars, some of them with their names; `mark` is told the chosen word and its neighbours, with cosines.
function chart(model, map, label) {
  const path = (name, d = "") => element("path", { class: name, d, "vector-effect": "non-scaling-stroke" });
  const dots = (rows) => rows.map((i) => `M${map.places[i].join(" ")}h0`).join("");
  const stars = CLASSES.map(() => path("ab-stars"));
  const shine = () => {
    const all = [...map.list.keys()];
    stars.forEach((each, n) => each.setAttribute("d", dots(all.slice(CLASSES[n + 1] ?? 0, CLASSES[n]))));
  };
  shine();
  stars.forEach((each, n) => each.style.setProperty("--bright", n + 1));
  const arches = Array.from({ length: NEAR }, () => path("ab-arch"));
  const marks = path("ab-marks");
  const svg = element("svg", { tabindex: 0, role: "application", "aria-label": label }, ...stars, ...arches, marks);
  const labels = Array.from({ length: LABELS }, () => element("span"));
  const sky = element("div", {}, svg, element("div", { "aria-hidden": "true", translate: "no" }, ...labels));
  const node = element("div", { class: "ab-view" }, sky);
  let near = [];

  const seen = () => ({ x: model.get("x"), y: model.get("y"), zoom: model.get("zoom") });
  const draw = () => {
    const { x, y, zoom } = seen();
    const [wide, tall] = [node.clientWidth || 600, node.clientHeight || 400];
    const [w, h] = [2 / zoom, (2 * tall) / wide / zoom];
    svg.setAttribute("viewBox", [x - w / 2, y - h / 2, w, h].join(" "));
    svg.style.setProperty("--star", `${(1 + 0.45 * Math.sqrt(zoom)) * Math.min(wide / 600, 1)}px`);
    const written = legible(map, near, { x, y, zoom }, wide, tall);
    labels.forEach((text, n) => {
      text.hidden = n >= written.length;
      if (text.hidden) return;
      const { i, px, py } = written[n];
      text.textContent = map.list[i];
      text.style.translate = `calc(${px}px - 50%) calc(${py}px - 50%)`;
      text.className = i === near[0] ? "ab-chosen" : near.includes(i) ? "ab-neighbour" : "";
    });
  };
  const mark = (row, found) => {
    near = row === undefined ? [] : [row, ...found.map(([i]) => i)];
    marks.setAttribute("d", dots(near));
    arches.forEach((line, n) => {
      line.style.setProperty("--w", found[n]?.[1] ?? 0);
      line.setAttribute("d", found[n] ? arch(map.places[row], map.places[found[n][0]]) : "");
    });
    draw();
  };
  const fly = (from) => {
    const to = seen();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const way = ["x", "y"].map((name) => `${((to[name] - from[name]) * from.zoom * node.clientWidth) / 2}px`);
    sky.animate([{ transform: `translate(${way}) scale(${from.zoom / to.zoom})` }, { transform: "none" }], {
      duration: 300,
      easing: "ease-in-out",
    });
  };
  new ResizeObserver(draw).observe(node);
  return { node, svg, seen, shine, draw, mark, fly };
}

// Moving about: by dragging, pinching, and with arrows, plus and minus. `press` is told the place of a press that is no
// drag. A single finger scrolls the page.
function steer(model, { svg, seen }, press) {
  const held = new Map(); // the places of the pointers that are down
  let way = 0; // how far they have come
  // The middle between two of them, and how far they are apart.
  const grip = () => {
    const [[x, y], [other_x, other_y] = [x, y]] = held.values();
    return [(x + other_x) / 2, (y + other_y) / 2, Math.hypot(x - other_x, y - other_y) || 1];
  };
  // How far on the map a point of the screen is from the middle of what is seen.
  const offset = ([x, y], zoom) => {
    const { left, top, width, height } = svg.getBoundingClientRect();
    return [x - left - width / 2, y - top - height / 2].map((far) => far / ((zoom * width) / 2));
  };
  const goBy = (x, y, more) => update(model, { x: clamp(model.get("x") + x), y: clamp(model.get("y") + y), ...more });
  // What was held in one grip comes under another.
  const move = (from, to) => {
    const { zoom: was } = seen();
    const zoom = clamp(Math.round((100 * was * to[2]) / from[2]) / 100, 1, DEEPEST);
    const [before, after] = [offset(from, was), offset(to, zoom)];
    goBy(before[0] - after[0], before[1] - after[1], { zoom });
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    way = held.size ? Infinity : 0;
    held.set(event.pointerId, [event.clientX, event.clientY]);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    const from = grip();
    held.set(event.pointerId, [event.clientX, event.clientY]);
    const to = grip();
    way += Math.hypot(to[0] - from[0], to[1] - from[1]);
    const drags = event.pointerType !== "touch" && seen().zoom > 1;
    if (drags || held.size > 1) move(from, to);
  });
  svg.addEventListener("pointerup", (event) => {
    const { x, y, zoom } = seen();
    const [right, down] = offset([event.clientX, event.clientY], zoom);
    if (way < 6) press([x + right, y + down]);
  });
  svg.addEventListener("lostpointercapture", (event) => held.delete(event.pointerId));
  svg.addEventListener("touchstart", (event) => event.touches.length > 1 && event.preventDefault(), { passive: false });
  svg.addEventListener("keydown", (event) => {
    const { zoom } = seen();
    const step = 0.25 / zoom;
    const by = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    const turns = { "+": 1, "=": 1, "-": -1 }[event.key];
    if (by) goBy(...by);
    else if (turns) {
      const stop = ZOOMS.findIndex((stop) => stop >= zoom) + turns;
      update(model, { zoom: ZOOMS[clamp(stop, 0, ZOOMS.length - 1)] });
    } else return;
    event.preventDefault();
  });
}

// The words that are really near, each a button that goes there, and how many of them are near on the map, too.
function ranking(say, map, goTo) {
  const title = element("p", { class: "ab-title" });
  const answers = Array.from({ length: NEAR }, () => {
    const [name, cosine] = [verbatim(""), element("span", { class: "ab-number" })];
    const go = element("button", { type: "button", class: "ab-link" }, name);
    go.addEventListener("click", () => goTo(map.row(name.textContent)));
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
      name.textContent = map.list[found[n][0]];
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
  const map = readMap(await asset(model, "map", "first."));
  // From the commonest words, with which the map starts, to all of them; who asks for another one meanwhile waits.
  const grow = (bytes) => {
    if (!map.part) return;
    Object.assign(map, readMap(bytes));
    view.shine();
    view.draw();
  };
  const read = whenNeeded(model, "map", grow);
  const complete = () => read(root);
  const view = chart(model, map, say.map);
  const place = (row) => {
    const [x, y] = map.places[row].map((at) => clamp(at));
    return { x, y, zoom: Math.max(model.get("zoom"), 6) };
  };
  const near = ranking(say, map, (row) => update(model, { word: map.list[row], ...place(row) }));
  const status = element("p", { class: "ab-hint", role: "status" });
  steer(model, view, async (here) => {
    if (map.part) await complete();
    update(model, { word: map.list[closest(map, here, 1)[0]] });
  });
  const show = (x) => fill(say.magnified, { x: plain(x) });
  const root = body(
    el,
    "wordmap",
    view.node,
    element(
      "div",
      { class: "ab-controls" },
      wordField(model, subscriptions, { trait: "word", label: say.search, known: map, more: place, complete }),
      slider(model, subscriptions, { trait: "zoom", label: say.zoom, values: ZOOMS, show }),
    ),
    element("div", { class: "ab-near" }, near.node, status, element("p", { class: "ab-hint ab-fingers" }, say.fingers)),
  );

  const fetched = whenNeeded(model, "vectors", wordVectors);
  subscriptions.follow(["word"], async () => {
    const [word, from] = [model.get("word"), view.seen()];
    queueMicrotask(() => view.fly(from)); // to where the word is, which is told next
    if (word && map.part) await complete();
    const row = map.row(word);
    const vectors = row === undefined ? null : await fetched(root, status, say.lexicon.fetching);
    if (word !== model.get("word")) return; // another was chosen meanwhile, and is drawn
    near.node.hidden = !vectors;
    status.textContent = vectors ? "" : say.ask;
    if (!vectors) {
      view.mark(undefined, []);
      return;
    }
    const found = nearestWords(vectors, vectors.vector(row), NEAR, [row]);
    const rows = found.map(([i]) => i);
    near.draw(word, found, closest(map, map.places[row], NEAR + 1).filter((i) => rows.includes(i)).length);
    view.mark(row, found);
  });
  subscriptions.follow(["x", "y", "zoom"], view.draw);
  if (map.part) asset(model, "map").then(grow, () => {}); // where it failed, it is asked for again when it is needed
  return subscriptions.end;
}

export default { render };
