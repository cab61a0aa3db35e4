import { asset, body, element, follower, headed, number, update, slider, words } from "../shared/core.js";
import { whenNeeded } from "../shared/stored.js";
import { lexicon, nearestWords, wordVectors } from "../shared/lexicon.js";
import { wordField } from "../shared/word_field.js";

const TEXT = {
  en: {
    search: "Find a word",
    unknown: (word) => `“${word}” is not among the 8,000 words.`,
    zoom: "Zoom",
    map: "Map of 8,000 words. Arrows move it, plus and minus zoom.",
    ask: "Type a word, or press a dot.",
    fetching: "Fetching the 8,000 vectors (0.9 MB) …",
    nearest: (word) => `Nearest to ${word}`,
    kept: (n) => ["Of these ten, the flat map keeps ", n, " among its own ten nearest."],
    go: (word) => `Go to ${word}`,
  },
};
const [NEAR, LABELS, TALL] = [10, 40, 0.8]; // neighbours, names on the map, its height as a share of its width
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24];

// word_map.bin: a line of JSON, then two 16-bit numbers for each word
function readMap(bytes) {
  const { words: text, start } = headed(bytes);
  return { ...lexicon(text), places: Float64Array.from(new Int16Array(bytes, start), (step) => step / 32767) };
}

const clamp = (value, most) => Math.min(Math.max(value, -most), most);

async function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const map = readMap(await asset(model, "map"));
  const place = (i) => [map.places[2 * i], map.places[2 * i + 1]];
  const path = (name, d = "") => element("path", { class: name, d, "vector-effect": "non-scaling-stroke" });

  const lines = path("ab-lines");
  const marks = path("ab-marks");
  const svg = element(
    "svg",
    { tabindex: 0, role: "application", "aria-label": say.map, preserveAspectRatio: "none" },
    path("ab-dots", map.list.map((_, i) => `M${place(i).join(" ")}h0`).join("")),
    lines,
    marks,
  );
  const labels = Array.from({ length: LABELS }, () => element("span"));
  const view = element("div", { class: "ab-view" }, svg, element("div", { "aria-hidden": "true" }, ...labels));

  const goTo = (i) => ({ x: clamp(place(i)[0], 1), y: clamp(place(i)[1], 1), zoom: Math.max(model.get("zoom"), 6) });
  const title = element("p", { class: "ab-title" });
  const answers = Array.from({ length: NEAR }, () => {
    const go = element("button", { type: "button", class: "ab-link" });
    go.addEventListener("click", () => update(model, { word: go.textContent, ...goTo(map.row(go.textContent)) }));
    const cosine = element("span", { class: "ab-number" });
    return { node: element("li", {}, go, " ", cosine), go, cosine };
  });
  const list = element("ol", {}, ...answers.map(({ node }) => node));
  const kept = element("span", { class: "ab-kept ab-number" });
  const note = element("p", { class: "ab-hint" }, ...say.kept(kept));
  const status = element("p", { class: "ab-hint", role: "status" });
  const root = body(
    el,
    "wordmap",
    element(
      "div",
      { class: "ab-controls" },
      wordField(model, subscriptions, {
        trait: "word",
        label: say.search,
        known: map,
        unknown: say.unknown,
        more: goTo,
      }),
      slider(model, subscriptions, { trait: "zoom", label: say.zoom, values: ZOOMS, show: (x) => `×${x}` }),
    ),
    view,
    element("div", { class: "ab-near" }, title, list, note, status),
  );

  // ---- moving about ----

  const size = () => view.clientWidth || 600;
  const move = (dx, dy) => update(model, { x: clamp(model.get("x") + dx, 1), y: clamp(model.get("y") + dy, 1) });
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
    if (model.get("zoom") > 1) move((-2 * dx) / size() / model.get("zoom"), (-2 * dy) / size() / model.get("zoom"));
  });
  svg.addEventListener("pointerup", (event) => {
    if (held?.way < 6) choose(event);
    held = null;
  });
  svg.addEventListener("pointercancel", () => {
    held = null;
  });
  svg.addEventListener("keydown", (event) => {
    const step = 0.25 / model.get("zoom");
    const steps = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[
      event.key
    ];
    const zooms = { "+": 1, "=": 1, "-": -1 }[event.key];
    if (steps) move(...steps);
    else if (zooms)
      update(model, {
        zoom: ZOOMS[Math.min(Math.max(ZOOMS.findIndex((z) => z >= model.get("zoom")) + zooms, 0), ZOOMS.length - 1)],
      });
    else return;
    event.preventDefault();
  });

  function choose(event) {
    const box = view.getBoundingClientRect();
    const zoom = model.get("zoom");
    const [x, y] = [
      model.get("x") + ((2 * (event.clientX - box.left)) / box.width - 1) / zoom,
      model.get("y") + (((2 * (event.clientY - box.top)) / box.height - 1) * TALL) / zoom,
    ];
    update(model, { word: map.list[closest(x, y, 1)[0]] });
  }

  function closest(x, y, n) {
    const far = map.list.map((_, i) => [(map.places[2 * i] - x) ** 2 + (map.places[2 * i + 1] - y) ** 2, i]);
    return far
      .sort((a, b) => a[0] - b[0])
      .slice(0, n)
      .map(([, i]) => i);
  }

  // ---- what is shown ----

  let near = []; // rows of the chosen word and its neighbours

  function drawMap() {
    const [x, y, zoom] = ["x", "y", "zoom"].map((name) => model.get(name));
    svg.setAttribute("viewBox", [x - 1 / zoom, y - TALL / zoom, 2 / zoom, (2 * TALL) / zoom].join(" "));
    svg.style.touchAction = zoom > 1 ? "none" : "pan-y";
    svg.style.setProperty("--dot", `${1.5 + Math.sqrt(zoom)}px`);
    const [wide, tall] = [size(), size() * TALL];
    const taken = [];
    const write = (i, label) => {
      // where it covers no other name
      const [px, py] = [(((place(i)[0] - x) * zoom + 1) * wide) / 2, (((place(i)[1] - y) * zoom + TALL) * wide) / 2];
      const half = map.list[i].length * 3.7 + 4;
      if (px < half || px > wide - half || py < 14 || py > tall - 14) return false;
      if (taken.some(([a, b, h]) => Math.abs(a - px) < h + half && Math.abs(b - py) < 17)) return false;
      taken.push([px, py, half]);
      label.textContent = map.list[i];
      label.style.left = `${(100 * px) / wide}%`;
      label.style.top = `${(100 * py) / tall}%`;
      label.className = i === near[0] ? "ab-chosen" : near.includes(i) ? "ab-neighbour" : "";
      return true;
    };
    let used = 0;
    for (const i of [...near, ...map.list.keys()]) {
      if (used === LABELS) break;
      if (write(i, labels[used])) used++;
    }
    labels.forEach((label, i) => {
      label.hidden = i >= used;
    });
  }

  const fetched = whenNeeded(model, "vectors", wordVectors);
  async function drawWord() {
    const word = model.get("word");
    const row = map.row(word);
    const vectors = row === undefined ? null : await fetched(root, status, say.fetching);
    if (word !== model.get("word")) return; // another was chosen meanwhile, and is drawn
    status.textContent = row === undefined ? say.ask : "";
    for (const part of [title, list, note]) part.hidden = row === undefined;
    const found = row === undefined ? [] : nearestWords(vectors, vectors.vector(row), NEAR, [row]);
    near = row === undefined ? [] : [row, ...found.map(([i]) => i)];
    title.textContent = say.nearest(word);
    found.forEach(([i, cosine], n) => {
      answers[n].go.textContent = map.list[i];
      answers[n].go.setAttribute("aria-label", say.go(map.list[i]));
      answers[n].cosine.textContent = number(cosine, 3);
    });
    if (row !== undefined)
      kept.textContent = closest(...place(row), NEAR + 1).filter((i) => i !== row && near.includes(i)).length;
    lines.setAttribute("d", found.map(([i]) => `M${place(row).join(" ")}L${place(i).join(" ")}`).join(""));
    marks.setAttribute("d", near.map((i) => `M${place(i).join(" ")}h0`).join(""));
    drawMap();
  }

  subscriptions.follow(["word"], drawWord);
  subscriptions.follow(["x", "y", "zoom"], drawMap);
  return subscriptions.end;
}

export default { render };
