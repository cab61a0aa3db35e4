import {
  body,
  button,
  element,
  fill,
  follower,
  number,
  update,
  SCALES,
  slider,
  softmax,
  words,
} from "../shared/core.js";
import { normals } from "../shared/random.js";

const [QUERIES, KEYS, WIDEST] = [32, 64, 1024];
const WIDTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const SIZES = [0.25, 0.5, 1, 1.5, 2, 3, 4];
const [REACH, BINS] = [8, 33]; // the outermost bins hold what lies beyond

const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
const sum = (numbers, f) => numbers.reduce((total, x) => total + f(x), 0);
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
    entropy: mean(weights.map((p) => -sum(p, (x) => (x > 0 ? x * Math.log(x) : 0)))),
    gradient: median(jacobian),
  };
}

function histogram(scores) {
  const counts = Array.from({ length: BINS }, () => 0);
  for (const x of scores) counts[Math.min(Math.max(Math.floor(((x + REACH) / (2 * REACH)) * BINS), 0), BINS - 1)]++;
  return counts;
}

// Bars in a row, drawn once and then only resized; the height of the picture stands for `top`.
function bars(label, n) {
  const step = 100 / n;
  const nodes = Array.from({ length: n }, (_, i) => element("rect", { x: i * step, width: step * 0.86 }));
  const node = element(
    "svg",
    { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": label },
    ...nodes,
  );
  return {
    node: element("figure", {}, node, element("figcaption", {}, label)),
    show(numbers, top) {
      nodes.forEach((bar, i) => {
        const height = (numbers[i] / top) * 40;
        bar.setAttribute("height", height);
        bar.setAttribute("y", 40 - height);
      });
    },
  };
}

const NUMBERS = ["spread", "largest", "entropy", "gradient"];

function panel(title, say) {
  const histogramBars = bars(say.histogram, BINS);
  const weightBars = bars(say.weights, KEYS);
  const most = number(Math.log(KEYS));
  const values = NUMBERS.map((name) => [name, element("dd", { class: "ab-number", "data-number": name })]);
  const node = element(
    "div",
    { role: "group", class: "ab-panel", "aria-label": title },
    element("p", { class: "ab-title" }, title),
    histogramBars.node,
    weightBars.node,
    element(
      "dl",
      {},
      ...values.flatMap(([name, value]) => [element("dt", {}, fill(say.numbers[name], { most })), value]),
    ),
  );
  return {
    node,
    show(result) {
      const counts = histogram(result.scores);
      histogramBars.show(counts, Math.max(...counts));
      weightBars.show(result.weights, 1);
      for (const [name, value] of values) value.textContent = number(result[name], name === "spread" ? 2 : 3);
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
    element(
      "div",
      { class: "ab-controls" },
      slider(model, subscriptions, { trait: "width", label: say.width, values: WIDTHS }),
      slider(model, subscriptions, { trait: "size", label: say.size, values: SIZES }),
      button(say.again, () => update(model, { seed: model.get("seed") + 1 })),
    ),
    element("div", { class: "ab-panels" }, ...panels.map(([, { node }]) => node)),
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
