import { body, choice, dot, element, follower, heading, number, softmax, words } from "../shared/core.js";
import { stepSlider } from "../shared/steps.js";

const TEXT = {
  en: {
    scores: "Scores",
    orders: { mixed: "mixed", rising: "rising", falling: "falling", huge: "huge" },
    way: "When a larger score comes",
    ways: { rescale: "rescale", forget: "forget to", "no maximum": "no maximum" },
    block: "Keys at a time",
    step: "Blocks read:",
    of: (step, all) => `${step} of ${all}`,
    back: "Back",
    forward: "Forward",
    tape: "The keys, as they are read",
    rows: ["score", "value", "% so far", "% all at once"],
    key: "key",
    log: ["block", "max.", "factor", "sum", "output", "output / sum"],
    caption: "What is kept, and nothing else",
    start: "start",
    exact: (exact) => `All at once: ${exact}.`,
    so: (right) => (right ? " The same." : " Not the same."),
    half: " Not all keys are read yet.",
  },
};
const SCORES = {
  mixed: [1, 3, 2, 5, 0, 4, 2, 1],
  rising: [0, 1, 2, 3, 4, 5, 6, 7],
  falling: [7, 6, 5, 4, 3, 2, 1, 0],
  huge: [997, 999, 998, 1000, 995, 996, 999, 998],
};
const VALUES = [4, 0, 8, 2, 6, 10, 0, 4];
const KEYS = VALUES.length;

// After each block: the maximum, by how much what was summed is multiplied, the sum, the output not yet divided by it, and
// what each key has in the sum.
function read(scores, block, way) {
  const hasMaximum = way !== "no maximum";
  const states = [{ m: hasMaximum ? -Infinity : 0, factor: 1, sum: 0, output: 0, parts: [] }];
  for (let from = 0; from < KEYS; from += block) {
    const last = states.at(-1);
    const next = scores.slice(from, from + block);
    const m = hasMaximum ? Math.max(last.m, ...next) : 0;
    const factor = way === "rescale" ? Math.exp(last.m - m) : 1;
    const parts = [...last.parts.map((x) => x * factor), ...next.map((score) => Math.exp(score - m))];
    states.push({ m, factor, parts, sum: parts.reduce((total, x) => total + x, 0), output: dot(parts, VALUES) });
  }
  return states;
}

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const all = () => KEYS / model.get("block");
  const stops = () => Array.from({ length: all() + 1 }, (_, n) => n * model.get("block"));
  const { at, node: steps } = stepSlider(model, subscriptions, {
    trait: "read",
    label: say.step,
    back: say.back,
    forward: say.forward,
    values: stops,
    with: ["block"],
    show: (step) => say.of(step, all()),
  });
  const columns = VALUES.map((_, j) => element("th", { scope: "col" }, String(j + 1)));
  const [scores, values, soFar, atOnce] = say.rows.map(() => VALUES.map(() => element("td")));
  const tape = element(
    "table",
    { class: "ab-tape" },
    element("caption", {}, say.tape),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, say.key), ...columns)),
    element(
      "tbody",
      {},
      ...[scores, values, soFar, atOnce].map((cells, n) =>
        element("tr", {}, element("th", { scope: "row" }, say.rows[n]), ...cells),
      ),
    ),
  );
  const lines = Array.from({ length: KEYS + 1 }, (_, n) => {
    const cells = ["m", "factor", "sum", "output", "answer"].map(() => element("td", { class: "ab-number" }));
    return { cells, node: element("tr", {}, element("th", { scope: "row" }, n ? String(n) : say.start), ...cells) };
  });
  const log = element(
    "table",
    { class: "ab-log" },
    element("caption", {}, say.caption),
    heading(say.log),
    element("tbody", {}, ...lines.map(({ node }) => node)),
  );
  const verdict = element("p", { class: "ab-verdict", role: "status" });
  body(
    el,
    "online",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "scores", label: say.scores, options: say.orders }),
      choice(model, subscriptions, { trait: "way", label: say.way, options: say.ways }),
    ),
    choice(model, subscriptions, { trait: "block", label: say.block, options: { 1: "1", 2: "2", 4: "4", 8: "8" } }),
    steps,
    tape,
    log,
    verdict,
  );

  subscriptions.follow(["scores", "block", "way", "read"], () => {
    const [order, block, way, step] = [SCORES[model.get("scores")], model.get("block"), model.get("way"), at()];
    const [states, weights] = [read(order, block, way), softmax(order)];
    const { parts, sum, output } = states[step];
    order.forEach((score, j) => {
      scores[j].textContent = score;
      values[j].textContent = VALUES[j];
      for (const cell of [columns[j], scores[j], values[j]]) {
        cell.classList.toggle("ab-read", j < step * block);
        cell.classList.toggle("ab-now", Math.floor(j / block) === step - 1);
      }
      shade(soFar[j], j < parts.length ? parts[j] / sum : null);
      shade(atOnce[j], weights[j]);
    });
    lines.forEach(({ cells, node }, n) => {
      node.hidden = n > step;
      if (node.hidden) return;
      const numbers = [
        states[n].m,
        states[n].factor,
        states[n].sum,
        states[n].output,
        states[n].output / states[n].sum,
      ];
      cells.forEach((cell, i) => {
        cell.textContent = n || !i ? written(numbers[i], i ? 3 : 0) : "";
      });
      node.classList.toggle("ab-here", n === step);
    });
    const exact = dot(weights, VALUES);
    verdict.textContent =
      say.exact(number(exact, 3)) + (step < all() ? say.half : say.so(Math.abs(output / sum - exact) < 1e-9));
  });
  return subscriptions.end;
}

const written = (x, digits) => (Number.isNaN(x) ? "NaN" : x === Infinity ? "∞" : number(x, digits));

function shade(cell, weight) {
  cell.textContent = weight === null ? "" : written(100 * weight, 0);
  cell.classList.toggle("ab-weight", weight !== null && !Number.isNaN(weight));
  cell.style.setProperty("--w", weight ?? 0);
}

export default { render };
