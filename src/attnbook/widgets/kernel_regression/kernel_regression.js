import { body, dot, element, follower, number, slider, softmax, update, whole, words } from "../shared/core.js";
import { draggable } from "../shared/dragging.js";

const WIDTHS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 5, 100];
const QUERIES = Array.from({ length: 51 }, (_, i) => i / 10);
const HEIGHTS = Array.from({ length: 61 }, (_, i) => i / 10);
const [WIDE, HIGH, UNIT] = [5, 6, 40]; // x from 0 to 5, y from 0 to 6
const ROWS = 21;
const CURVE = 101;
const EDGE = 12;

const tenth = (x, most) => Math.min(Math.max(Math.round(10 * x) / 10, 0), most);
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

const at = (x, y) => [x * UNIT, (HIGH - y) * UNIT];

// The chosen point, or the last where there are fewer.
const chosenOf = (model) => Math.min(model.get("chosen"), model.get("points").length - 1);

// A function of where the query is and, if a point must not look at itself, of which point that is.
function weighing(points, width) {
  return (x, skip = -1) =>
    softmax(points.map(([key], k) => (k === skip ? -Infinity : -((x - key) ** 2) / (2 * width ** 2))));
}

// The points, which can be dragged, the curve through them, and the answer on the line of the query.
function plot(model, label) {
  const [w, h] = [WIDE * UNIT + 2 * EDGE, HIGH * UNIT + 2 * EDGE];
  const points = model.get("points").map((_, j) => {
    const seen = element("circle", { class: "ab-point", r: 5 });
    const reach = element("circle", { class: "ab-tip", r: 14 });
    draggable(reach, (across, down) => {
      const moved = [tenth((across * w - EDGE) / UNIT, WIDE), tenth(HIGH - (down * h - EDGE) / UNIT, HIGH)];
      update(model, { chosen: j, points: model.get("points").map((point, k) => (k === j ? moved : point)) });
    });
    return { seen, reach };
  });
  const curve = element("path", { class: "ab-curve" });
  const line = element("line", { class: "ab-asked", y1: 0, y2: HIGH * UNIT });
  const answer = element("circle", { class: "ab-answer", r: 5 });
  const node = element(
    "svg",
    { viewBox: [-EDGE, -EDGE, w, h].join(" "), role: "img", "aria-label": label },
    element("path", { class: "ab-axes", d: `M0 0V${HIGH * UNIT}H${WIDE * UNIT}` }),
    line,
    curve,
    ...points.map(({ seen }) => seen),
    answer,
    ...points.map(({ reach }) => reach),
  );
  const putAt = (circle, [x, y]) => {
    circle.setAttribute("cx", x);
    circle.setAttribute("cy", y);
  };
  const draw = ({ found, answerAt, query, shares, chosen }) => {
    const places = Array.from({ length: CURVE }, (_, i) => (WIDE * i) / (CURVE - 1));
    curve.setAttribute("d", `M${places.map((x) => at(x, answerAt(x)).join(" ")).join("L")}`);
    const [x, y] = at(query, answerAt(query));
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    putAt(answer, [x, y]);
    points.forEach(({ seen, reach }, j) => {
      for (const part of [seen, reach]) putAt(part, at(...found[j]));
      seen.setAttribute("r", 4 + 6 * shares[j]);
      seen.classList.toggle("ab-chosen", j === chosen);
    });
  };
  return { node, draw };
}

// Weights as colours, a row for each of some queries.
function heatMap(label, M) {
  const cells = Array.from({ length: ROWS }, () =>
    Array.from({ length: M }, () => element("i", { class: "ab-weight" })),
  );
  const lines = cells.map((row) => element("div", {}, ...row));
  const node = element(
    "figure",
    {},
    element("div", { class: "ab-heat", role: "img", "aria-label": label }, ...lines),
    element("figcaption", {}, label),
  );
  const draw = ({ weights, query }) => {
    cells.forEach((row, i) => {
      const shares = weights((WIDE * i) / (ROWS - 1));
      row.forEach((cell, j) => cell.style.setProperty("--w", shares[j]));
      lines[i].classList.toggle("ab-here", i === Math.round((query / WIDE) * (ROWS - 1)));
    });
  };
  return { node, draw };
}

// The height of the chosen point, as if it were a trait of its own.
function heightSlider(model, label) {
  const input = element("input", { type: "range", min: 0, max: HEIGHTS.length - 1, step: 1 });
  const says = element("span", { class: "ab-value", "aria-hidden": "true" });
  input.addEventListener("input", () => {
    const chosen = chosenOf(model);
    update(model, { points: model.get("points").map(([x, y], k) => [x, k === chosen ? HEIGHTS[input.value] : y]) });
  });
  const draw = (y) => {
    input.value = Math.round(y * 10);
    says.textContent = number(y, 1);
    input.setAttribute("aria-valuetext", number(y, 1));
  };
  return { node: element("div", { class: "ab-control" }, element("label", {}, `${label} `, says, input)), draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const M = model.get("points").length;
  const picture = plot(model, say.picture);
  const heat = heatMap(say.heat, M);
  const height = heightSlider(model, say.height);
  const values = ["answer", "error", "own"].map((name) => [name, element("dd", { class: "ab-number" })]);
  const stops = [...Array(M).keys()];
  body(
    el,
    "kernel",
    element("div", { class: "ab-views" }, picture.node, heat.node),
    element(
      "div",
      { class: "ab-controls" },
      slider(model, subscriptions, { trait: "width", label: say.width, values: WIDTHS }),
      slider(model, subscriptions, { trait: "query", label: say.query, values: QUERIES, show: (x) => number(x, 1) }),
      slider(model, subscriptions, { trait: "chosen", label: say.chosen, values: stops, show: (j) => whole(j + 1) }),
      height.node,
    ),
    element("dl", {}, ...values.flatMap(([name, value]) => [element("dt", {}, say[name]), value])),
  );

  subscriptions.follow(["points", "width", "query", "chosen"], () => {
    const [found, query, chosen] = [model.get("points"), model.get("query"), chosenOf(model)];
    const y = found.map((point) => point[1]);
    const weights = weighing(found, model.get("width"));
    const answerAt = (x, skip) => dot(weights(x, skip), y);
    picture.draw({ found, answerAt, query, shares: weights(query), chosen });
    heat.draw({ weights, query });
    height.draw(y[chosen]);
    const error = mean(found.map(([x], j) => (answerAt(x) - y[j]) ** 2));
    const own = mean(found.map(([x], j) => (answerAt(x, j) - y[j]) ** 2));
    const numbers = { answer: answerAt(query), error, own };
    for (const [name, value] of values) value.textContent = number(numbers[name]);
  });
  return subscriptions.end;
}

export default { render };
