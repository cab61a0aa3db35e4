import { body, choice, dot, element, fill, follower, heading, number, softmax, words } from "../shared/core.js";
import { motion } from "../shared/motion.js";
import { stepSlider } from "../shared/steps.js";

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

// What is known of each key: a column for each, `columns` are their heads.
function tapeOf(say) {
  const columns = VALUES.map((_, j) => element("th", { scope: "col" }, String(j + 1)));
  const rows = Object.entries(say.rows).map(([name, label]) => ({
    name,
    label,
    cells: VALUES.map(() => element("td")),
  }));
  const bars = (name) =>
    rows
      .find((row) => row.name === name)
      .cells.map((cell) => {
        const [bar, text] = [element("i"), element("span")];
        cell.append(bar, text);
        return { cell, text };
      });
  const factor = element("b");
  const lines = rows.map(({ name, label, cells }) => {
    const head = element("th", { scope: "row" }, label);
    if (name === "part") head.append(factor);
    return element("tr", { class: `ab-${name}` }, head, ...cells);
  });
  const node = element(
    "table",
    { class: "ab-tape ab-pin" },
    element("caption", {}, say.tape),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, say.key), ...columns)),
    element("tbody", {}, ...lines),
  );
  const cells = Object.fromEntries(rows.map((row) => [row.name, row.cells]));
  return { node, columns, factor, ...cells, heights: bars("score"), shares: bars("part") };
}

// What is kept after each block, a line for each, which is empty until the block is read.
function logOf(say) {
  const lines = Array.from({ length: KEYS + 1 }, (_, n) => {
    const cells = ["m", "factor", "sum", "output", "answer"].map(() => element("td", { class: "ab-number" }));
    return { cells, node: element("tr", {}, element("th", { scope: "row" }, n ? String(n) : say.start), ...cells) };
  });
  const node = element(
    "table",
    { class: "ab-log" },
    element("caption", {}, say.caption),
    heading(Object.values(say.log)),
    element("tbody", {}, ...lines.map(({ node }) => node)),
  );
  return { node, lines };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const all = () => KEYS / model.get("block");
  const stops = () => Array.from({ length: all() + 1 }, (_, n) => n * model.get("block"));
  const { at, node: steps } = stepSlider(model, subscriptions, {
    trait: "read",
    label: say.step,
    back: say.steps.back,
    forward: say.steps.forward,
    values: stops,
    with: ["block"],
    show: (n) => fill(say.steps.of, { n, all: all() }),
  });
  const [tape, log] = [tapeOf(say), logOf(say)];
  const film = motion(say.motion, say.happens);
  const verdict = element("p", { class: "ab-verdict", role: "status" });
  body(
    el,
    "online",
    tape.node,
    element(
      "div",
      { class: "ab-controls ab-time" },
      steps,
      choice(model, subscriptions, { trait: "block", label: say.block, options: { 1: "1", 2: "2", 4: "4", 8: "8" } }),
      film.node,
    ),
    verdict,
    log.node,
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "scores", label: say.scores, options: say.orders }),
      choice(model, subscriptions, { trait: "way", label: say.way, options: say.ways }),
    ),
  );

  let seen = at();
  subscriptions.follow(["scores", "block", "way", "read"], () => {
    const [order, block, way, step] = [SCORES[model.get("scores")], model.get("block"), model.get("way"), at()];
    const [states, weights] = [read(order, block, way), softmax(order)];
    const { parts, sum, output } = states[step];
    const [low, high] = [Math.min(...order) - 1, Math.max(...order)];
    const height = (score) => (score - low) / (high - low);
    const last = states[Math.max(step - 1, 0)];
    const level = (m) => (Number.isFinite(m) ? height(Math.max(m, low)) : 0);
    tape.node.toggleAttribute("data-line", step > 0 && way !== "no maximum");
    tape.node.style.setProperty("--m", level(states[step].m));
    tape.node.style.setProperty("--was", level(last.m));
    const shrinks = states[step].factor < 1 && step > 1;
    tape.factor.textContent = shrinks ? fill(say.times, { x: number(states[step].factor, 3) }) : "";
    order.forEach((score, j) => {
      tape.heights[j].text.textContent = score;
      tape.heights[j].cell.style.setProperty("--h", height(score));
      const isNew = Math.floor(j / block) === step - 1;
      const [now, before] = [parts[j] ?? 0, isNew ? parts[j] : (last.parts[j] ?? 0)];
      tape.shares[j].cell.style.setProperty("--h", Math.min(now, 1)); // an overflow fills all there is
      tape.shares[j].cell.style.setProperty("--was", Math.min(before, 1));
      tape.shares[j].cell.classList.toggle("ab-shrinks", shrinks && j in last.parts);
      tape.value[j].textContent = VALUES[j];
      for (const cell of [tape.columns[j], tape.score[j], tape.part[j], tape.value[j]]) {
        cell.classList.toggle("ab-read", j < step * block);
        cell.classList.toggle("ab-now", isNew);
      }
      shade(tape.soFar[j], j < parts.length ? parts[j] / sum : null);
      shade(tape.atOnce[j], weights[j]);
    });
    log.lines.forEach(({ cells, node }, n) => {
      node.hidden = n > all();
      if (node.hidden) return;
      const { m, factor, sum, output } = states[n];
      [m, factor, sum, output, output / sum].forEach((x, i) => {
        cells[i].textContent = n <= step && (n || !i) ? number(x, i ? 3 : 0) : "";
      });
      node.classList.toggle("ab-here", n === step);
    });
    const exact = dot(weights, VALUES);
    const is = step < all() ? "early" : Math.abs(output / sum - exact) < 1e-9 ? "same" : "different";
    verdict.dataset.verdict = is;
    if (step > seen) film.play();
    seen = step;
    verdict.textContent = fill(say.verdict[is], { exact: number(exact, 3) });
  });
  return subscriptions.end;
}

function shade(cell, weight) {
  cell.textContent = weight === null ? "" : number(100 * weight, 0);
  cell.classList.toggle("ab-weight", weight !== null && !Number.isNaN(weight));
  cell.style.setProperty("--w", weight ?? 0);
}

export default { render };
