import { body, choice, count, element, fill, fillNodes, follower, whole, words } from "../shared/core.js";
import { large } from "../shared/sizes.js";
import { slider } from "../shared/slider.js";
import { motion } from "../shared/motion.js";
import { stepSlider } from "../shared/steps.js";
import { folded } from "../shared/folded.js";

const WORDS = ["the", "cat", "sat", "on", "the", "mat", "and", "slept"];
const N = WORDS.length;
const ALL = Array.from({ length: N }, (_, i) => i);
const KV_HEADS = { MHA: 32, GQA: 8, MQA: 1 };
const [LAYERS, WIDTH, BYTES] = [32, 128, 2];
const MODEL = 8_030_261_248 * BYTES; // what the parameters weigh; the meter ends at twice as much
const LENGTHS = Array.from({ length: 12 }, (_, i) => 2 ** (i + 6));

// How many tokens are known after each step: the prompt in chunks, then one by one.
function endsOf(prompt, chunk) {
  const ends = [];
  for (let end = chunk; end < prompt; end += chunk) ends.push(end);
  for (let end = prompt; end <= N; end++) ends.push(end);
  return ends;
}

// Two shelves with a place for each word; below them who asks whom, a row and a column for each word.
function mapOf(say) {
  const data = { translate: "no" };
  const heads = WORDS.map((word) => element("th", { scope: "col", ...data }, element("span", {}, word)));
  const lines = WORDS.map((word) => {
    const [head, cells] = [element("th", { scope: "row", ...data }, word), ALL.map(() => element("td"))];
    return { cells, node: element("tr", {}, head, ...cells) };
  });
  const shelves = Object.entries(say.shelves).map(([kind, name]) => {
    const [head, places] = [element("th", { scope: "row" }, name), ALL.map(() => element("td"))];
    return { places, node: element("tr", { class: `ab-${kind}` }, head, ...places) };
  });
  const node = element(
    "table",
    { class: "ab-map ab-pin" },
    element("caption", {}, say.map),
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", { class: "ab-shelves" }, ...shelves.map(({ node }) => node)),
    element("tbody", {}, ...lines.map(({ node }) => node)),
  );
  return { node, lines, shelves };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const ends = () => endsOf(model.get("prompt"), model.get("chunk"));
  const { at, node: steps } = stepSlider(model, subscriptions, {
    trait: "step",
    label: say.step,
    back: say.steps.back,
    forward: say.steps.forward,
    values: () => ends().map((_, i) => i + 1),
    with: ["prompt", "chunk"],
    show: (step) => fill(say.steps.of, { n: step + 1, all: ends().length }),
  });
  const tokens = (trait) =>
    slider(model, subscriptions, {
      trait,
      label: say[trait],
      values: ALL.map((i) => i + 1),
      show: (n) => count(say.tokens, n),
    });
  const film = motion(say.motion, say.happens);
  steps.append(film.node);
  const { node: map, lines, shelves } = mapOf(say);
  const [now, sum, wrong] = [0, 0, 0].map(() => element("p", { role: "status" }));
  const bytes = element("span", { class: "ab-value" });
  const own = element("span");
  const meter = element("div", { class: "ab-bar ab-meter", "aria-hidden": "true" }, element("i"), own);
  own.textContent = fill(say.model, { bytes: large(MODEL, say.bytes) });
  const controls = (...parts) => element("div", { class: "ab-controls" }, ...parts);
  body(
    el,
    "cachestepper",
    map,
    element(
      "div",
      { class: "ab-beside" },
      steps,
      now,
      sum,
      wrong,
      choice(model, subscriptions, { trait: "cache", label: say.cache, options: say.caches }),
      folded(
        say.otherwise,
        controls(tokens("prompt"), tokens("chunk")),
        choice(model, subscriptions, { trait: "align", label: say.align, options: say.aligns }),
      ),
    ),
    folded(
      say.more,
      element("p", { role: "status" }, ...fillNodes(say.weighs, { bytes })),
      meter,
      controls(
        choice(model, subscriptions, { trait: "heads", label: say.heads, options: say.kinds }),
        slider(model, subscriptions, { trait: "tokens", label: say.length, values: LENGTHS, show: whole }),
      ),
    ),
  );

  let seen = at();
  subscriptions.follow(["cache", "align", "prompt", "chunk", "step"], () => {
    const [kept, last, stops, step] = [model.get("cache") === "with", model.get("align") === "last", ends(), at()];
    const end = stops[step];
    const start = kept ? (stops[step - 1] ?? 0) : 0;
    const since = (i) => (kept ? (stops.findLast((stop) => stop <= i) ?? 0) : 0); // the step that computed a row began here
    const sees = (i, j) => j <= (last ? i : i - since(i));
    let [scores, off] = [0, 0];
    for (const { places } of shelves) {
      places.forEach((spot, j) => {
        const is = j >= end ? "later" : j < start ? "kept" : "now";
        spot.className = `ab-${is}`;
        spot.setAttribute("aria-label", say.place[is]);
      });
    }
    lines.forEach(({ cells, node }, i) => {
      node.classList.toggle("ab-later", i >= end);
      cells.forEach((cell, j) => {
        const computed = i >= start && i < end && sees(i, j);
        const isOff = i < end && sees(i, j) !== j <= i;
        const is = computed ? "now" : i < start && sees(i, j) ? "kept" : "never";
        cell.className = `ab-${is}`;
        cell.classList.toggle("ab-off", isOff);
        cell.setAttribute("aria-label", say.cell[is]);
        scores += computed;
        off += isOff;
      });
    });
    if (step > seen) film.play();
    seen = step;
    const [with_, without] = [end, stops.slice(0, step + 1).reduce((total, n) => total + n, 0)];
    now.textContent = fill(say.now, { rows: count(say.rows, end - start), scores: count(say.scores, scores) });
    sum.textContent = kept
      ? count(say.sum.with, with_, { instead: without })
      : count(say.sum.without, without, { instead: with_ });
    wrong.textContent = off ? count(say.wrong, off) : say.right;
  });
  subscriptions.follow(["heads", "tokens"], () => {
    const numbers = 2 * model.get("tokens") * LAYERS * KV_HEADS[model.get("heads")] * WIDTH;
    bytes.textContent = large(numbers * BYTES, say.bytes);
    meter.style.setProperty("--w", Math.min(1, (numbers * BYTES) / MODEL / 2));
  });
  return subscriptions.end;
}

export default { render };
