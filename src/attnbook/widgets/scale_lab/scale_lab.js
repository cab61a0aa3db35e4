import { body, button, element, fill, follower, number, update, softmax, words } from "../shared/core.js";
import { SCALES, slider } from "../shared/slider.js";
import { normals } from "../shared/random.js";

const [QUERIES, KEYS, WIDEST] = [32, 64, 1024];
const WIDTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const SIZES = [0.25, 0.5, 1, 1.5, 2, 3, 4];
const [REACH, BINS] = [8, 33]; // the outermost bins hold what lies beyond

const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
const sum = (numbers, f) => numbers.reduce((total, x) => total + f(x), 0);
const entropy = (p) => -sum(p, (x) => (x > 0 ? x * Math.log(x) : 0));
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)]; // the lower one, as in torch

function dots(draws, width, size) {
  const row = (i) => i * WIDEST;
  return Array.from({ length: QUERIES }, (_, i) =>
    Array.from({ length: KEYS }, (_, j) => {
      let total = 0;
      for (let c = 0; c < width; c++) total += draws[row(i) + c] * draws[row(QUERIES + j) + c];
      return total * size * size;
    }),
  );
}

function summary(scores) {
  const weights = scores.map(softmax);
  const all = scores.flat();
  const middle = mean(all);
  const jacobian = weights.map((p) => {
    // of diag(p) - p pᵀ
    const squares = sum(p, (x) => x * x);
    return Math.sqrt(Math.max(0, squares - 2 * sum(p, (x) => x ** 3) + squares ** 2));
  });
  return {
    scores: all,
    weights: weights[0],
    spread: Math.sqrt(mean(all.map((x) => (x - middle) ** 2))),
    largest: mean(weights.map((p) => Math.max(...p))),
    entropy: mean(weights.map(entropy)),
    gradient: median(jacobian),
  };
}

function histogram(scores) {
  const counts = Array.from({ length: BINS }, () => 0);
  for (const x of scores) counts[Math.min(Math.max(Math.floor(((x + REACH) / (2 * REACH)) * BINS), 0), BINS - 1)]++;
  return counts;
}

// The largest in the middle, the others by size to its right and left: light that spreads, or doesn't.
function aroundTheLargest(weights) {
  const [left, right] = [[], []];
  weights.toSorted((a, b) => a - b).forEach((w, n) => (n % 2 ? right : left).push(w));
  return [...left, ...right.toReversed()];
}

function picture(name, label, viewBox, ...parts) {
  const options = { viewBox, preserveAspectRatio: "none", role: "img", "aria-label": label, class: `ab-${name}` };
  return element("svg", options, ...parts);
}

// Bars in a row, drawn once; of its height each shows the share --w.
function bars(n) {
  const nodes = Array.from({ length: n }, (_, i) => element("rect", { x: i + 0.1, width: 0.8, height: 40 }));
  return { nodes, show: (shares) => nodes.forEach((bar, i) => bar.style.setProperty("--w", shares[i])) };
}

// How the light of one query falls on the keys, how much a score can still move it, and what the scores are.
function panel(title, say) {
  const [light, histogramBars] = [bars(KEYS), bars(BINS)];
  const cone = element("div", { class: "ab-cone" });
  const lit = picture("weights", say.weights, `0 0 ${KEYS} 40`, ...light.nodes);
  const values = {};
  const figure = (svg, caption, names) => {
    const lines = names.flatMap((name) => {
      values[name] = element("dd", { class: "ab-number", "data-number": name });
      return [element("dt", {}, fill(say.numbers[name], { most: number(Math.log(KEYS)) })), values[name]];
    });
    return element("div", { class: "ab-figure" }, svg, element("p", {}, caption), element("dl", {}, ...lines));
  };
  const node = element(
    "div",
    { role: "group", class: "ab-panel", "aria-label": title },
    element("p", { class: "ab-title" }, title),
    figure(element("div", { class: "ab-light" }, cone, lit), say.weights, ["largest", "entropy", "gradient"]),
    figure(picture("histogram", say.histogram, `0 0 ${BINS} 40`, ...histogramBars.nodes), say.histogram, ["spread"]),
  );
  return {
    node,
    show(result) {
      const counts = histogram(result.scores);
      const most = Math.max(...counts);
      light.show(aroundTheLargest(result.weights));
      histogramBars.show(counts.map((n) => n / most));
      cone.style.setProperty("--wide", Math.exp(entropy(result.weights)) / KEYS);
      for (const name in values) values[name].textContent = number(result[name], name === "spread" ? 2 : 3);
    },
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const panels = Object.keys(SCALES).map((scale) => [scale, panel(say.panels[scale], say)]);
  body(
    el,
    "scalelab",
    element("div", { class: "ab-panels" }, ...panels.map(([, { node }]) => node)),
    element(
      "div",
      { class: "ab-controls" },
      slider(model, subscriptions, { trait: "width", label: say.width, values: WIDTHS }),
      slider(model, subscriptions, { trait: "size", label: say.size, values: SIZES }),
    ),
    button(say.again, () => update(model, { seed: model.get("seed") + 1 })),
  );

  let draws;
  subscriptions.follow(["seed"], () => {
    draws = normals(model.get("seed"), (QUERIES + KEYS) * WIDEST);
  });
  subscriptions.follow(["seed", "width", "size"], () => {
    const width = model.get("width");
    const scores = dots(draws, width, model.get("size"));
    for (const [scale, { show }] of panels) {
      const divisor = SCALES[scale](width);
      show(summary(scores.map((row) => row.map((x) => x / divisor))));
    }
  });
  return subscriptions.end;
}

export default { render };
