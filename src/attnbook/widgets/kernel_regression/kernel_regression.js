import { body, dot, element, follower, number, update, slider, softmax, words } from "../shared/core.js";
import { draggable } from "../shared/dragging.js";

const TEXT = {
  en: {
    picture:
      "Points, and the curve that attention draws through them. Points can be dragged; a vertical line marks the query.",
    heat: "Weights: each row is a query from x = 0 (top) to 5, each column a point. The framed row is nearest to the query.",
    width: "Width of the kernel:",
    query: "Query x:",
    chosen: "Point to move:",
    height: "its value y:",
    answer: "answer at the query",
    error: "mean squared error at the points",
    own: "the same, each point without itself",
  },
};
const WIDTHS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 5, 100];
const QUERIES = Array.from({ length: 51 }, (_, i) => i / 10);
const HEIGHTS = Array.from({ length: 61 }, (_, i) => i / 10);
const [WIDE, HIGH, UNIT] = [5, 6, 40]; // x from 0 to 5, y from 0 to 6
const ROWS = 21;
const CURVE = 101;
const EDGE = 12;

const tenth = (x, most) => Math.min(Math.max(Math.round(10 * x) / 10, 0), most);
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const M = model.get("points").length;
  const at = (x, y) => [x * UNIT, (HIGH - y) * UNIT];
  const curve = element("path", { class: "ab-curve" });
  const line = element("line", { class: "ab-asked", y1: 0, y2: HIGH * UNIT });
  const answer = element("circle", { class: "ab-answer", r: 5 });
  const [w, h] = [WIDE * UNIT + 2 * EDGE, HIGH * UNIT + 2 * EDGE];
  const points = Array.from({ length: M }, (_, j) => {
    const seen = element("circle", { class: "ab-point", r: 5 });
    const reach = element("circle", { class: "ab-tip", r: 14 });
    draggable(reach, (across, down) => {
      const moved = [tenth((across * w - EDGE) / UNIT, WIDE), tenth(HIGH - (down * h - EDGE) / UNIT, HIGH)];
      update(model, { chosen: j, points: model.get("points").map((point, k) => (k === j ? moved : point)) });
    });
    return { seen, reach };
  });
  const svg = element(
    "svg",
    { viewBox: [-EDGE, -EDGE, w, h].join(" "), role: "img", "aria-label": say.picture },
    element("path", { class: "ab-axes", d: `M0 0V${HIGH * UNIT}H${WIDE * UNIT}` }),
    line,
    curve,
    ...points.map(({ seen }) => seen),
    answer,
    ...points.map(({ reach }) => reach),
  );
  const cells = Array.from({ length: ROWS }, () =>
    Array.from({ length: M }, () => element("i", { class: "ab-weight" })),
  );
  const lines = cells.map((row) => element("div", {}, ...row));
  const heat = element("div", { class: "ab-heat", role: "img", "aria-label": say.heat }, ...lines);
  const values = ["answer", "error", "own"].map((name) => [name, element("dd", { class: "ab-number" })]);

  // The height of the chosen point, as a trait of its own would be.
  const height = element("input", { type: "range", min: 0, max: HEIGHTS.length - 1, step: 1 });
  const says = element("span", { class: "ab-value", "aria-hidden": "true" });
  height.addEventListener("input", () => {
    const j = Math.min(model.get("chosen"), M - 1);
    update(model, { points: model.get("points").map(([x, y], k) => [x, k === j ? HEIGHTS[height.value] : y]) });
  });
  body(
    el,
    "kernel",
    element("div", { class: "ab-views" }, svg, element("figure", {}, heat, element("figcaption", {}, say.heat))),
    element(
      "div",
      { class: "ab-controls" },
      slider(model, subscriptions, { trait: "width", label: say.width, values: WIDTHS }),
      slider(model, subscriptions, { trait: "query", label: say.query, values: QUERIES, show: (x) => number(x, 1) }),
      slider(model, subscriptions, {
        trait: "chosen",
        label: say.chosen,
        values: [...Array(M).keys()],
        show: (j) => `${j + 1}`,
      }),
      element("div", { class: "ab-control" }, element("label", {}, `${say.height} `, says, height)),
    ),
    element("dl", {}, ...values.flatMap(([name, value]) => [element("dt", {}, say[name]), value])),
  );

  subscriptions.follow(["points", "width", "query", "chosen"], () => {
    const found = model.get("points");
    const [width, query] = [model.get("width"), model.get("query")];
    const y = found.map((point) => point[1]);
    const weights = (x, skip = -1) =>
      softmax(found.map(([key], k) => (k === skip ? -Infinity : -((x - key) ** 2) / (2 * width ** 2))));
    const path = Array.from({ length: CURVE }, (_, i) => (WIDE * i) / (CURVE - 1)).map((x) =>
      at(x, dot(weights(x), y)).join(" "),
    );
    curve.setAttribute("d", `M${path.join("L")}`);
    const mine = weights(query);
    const [x, top] = at(query, dot(mine, y));
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    answer.setAttribute("cx", x);
    answer.setAttribute("cy", top);
    const chosen = Math.min(model.get("chosen"), M - 1);
    points.forEach(({ seen, reach }, j) => {
      const [px, py] = at(...found[j]);
      for (const part of [seen, reach]) {
        part.setAttribute("cx", px);
        part.setAttribute("cy", py);
      }
      seen.setAttribute("r", 4 + 6 * mine[j]);
      seen.classList.toggle("ab-chosen", j === chosen);
    });
    cells.forEach((row, i) => {
      const share = weights((WIDE * i) / (ROWS - 1));
      row.forEach((cell, j) => cell.style.setProperty("--w", share[j]));
      lines[i].classList.toggle("ab-here", i === Math.round((query / WIDE) * (ROWS - 1)));
    });
    const error = (skips) => mean(found.map(([x0, y0], j) => (dot(weights(x0, skips ? j : -1), y) - y0) ** 2));
    const numbers = { answer: dot(mine, y), error: error(false), own: error(true) };
    for (const [name, value] of values) value.textContent = number(numbers[name]);
    height.value = Math.round(found[chosen][1] * 10);
    says.textContent = number(found[chosen][1], 1);
    height.setAttribute("aria-valuetext", number(found[chosen][1], 1));
  });
  return subscriptions.end;
}

export default { render };
