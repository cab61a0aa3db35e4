import {
  body,
  element,
  fillNodes,
  follower,
  heading,
  number,
  update,
  slider,
  verbatim,
  words,
} from "../shared/core.js";
import { draggable } from "../shared/dragging.js";

const halves = (least, most) => Array.from({ length: 2 * (most - least) + 1 }, (_, i) => least + i / 2);
const STOPS = { q: halves(-3, 3), w1: halves(-2, 2), w2: halves(-2, 2), k: halves(-6, 6) };
const [WIDE, HIGH, UNIT] = [6, 4.5, 26]; // keys from -6 to 6, scores from -4.5 to 4.5
const CURVE = 97;
const REACH = 18; // how near to the line a finger may be

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const at = (k, score) => [k * UNIT, -score * UNIT];
  const labels = { first: verbatim("w₁ tanh(k + q)"), second: verbatim("w₂ tanh(k − q)"), ...say.sums };
  const names = Object.keys(labels);
  const sample = (name) =>
    element(
      "svg",
      { viewBox: "0 0 30 8", class: "ab-sample", "aria-hidden": "true" },
      element("path", { class: `ab-${name}`, d: "M0 4H30" }),
    );
  const curves = Object.fromEntries(names.map((name) => [name, element("path", { class: `ab-${name}` })]));
  const line = element("line", { class: "ab-here", y1: -HIGH * UNIT, y2: HIGH * UNIT });
  const dots = Object.fromEntries(
    ["sum", "dot"].map((name) => [name, element("circle", { class: `ab-at-${name}`, r: 5 })]),
  );
  const reach = element("rect", { class: "ab-tip", y: -HIGH * UNIT, width: 2 * REACH, height: 2 * HIGH * UNIT });
  draggable(reach, (across) =>
    update(model, { k: Math.min(Math.max(Math.round(4 * WIDE * (across - 0.5)) / 2, -WIDE), WIDE) }),
  );
  const svg = element(
    "svg",
    {
      viewBox: [-WIDE, -HIGH, 2 * WIDE, 2 * HIGH].map((x) => x * UNIT).join(" "),
      role: "img",
      "aria-label": say.picture,
      class: "ab-plot",
    },
    element("path", { class: "ab-axes", d: `M${-WIDE * UNIT} 0H${WIDE * UNIT}M0 ${-HIGH * UNIT}V${HIGH * UNIT}` }),
    ...[-6, -3, 3, 6].map((k) => element("text", { x: 0.97 * k * UNIT, y: 14, "text-anchor": "middle" }, number(k, 0))),
    ...[-4, -2, 2, 4].map((score) =>
      element("text", { x: -6, y: 4 - score * UNIT, "text-anchor": "end" }, number(score, 0)),
    ),
    element("text", { x: 5.9 * UNIT, y: -6, "text-anchor": "end" }, say.axes.key),
    element("text", { x: 6, y: 12 - HIGH * UNIT }, say.axes.score),
    line,
    curves.dot,
    curves.first,
    curves.second,
    curves.sum,
    dots.dot,
    dots.sum,
    reach,
  );

  const key = element("span");
  const rows = names.map((name) => {
    const cells = [0, 1].map(() => element("td", { class: "ab-number" }));
    return {
      name,
      cells,
      node: element("tr", {}, element("th", { scope: "row" }, sample(name), labels[name]), ...cells),
    };
  });
  body(
    el,
    "tanh",
    element(
      "div",
      { class: "ab-controls" },
      ...Object.entries(say.sliders).map(([trait, label]) =>
        slider(model, subscriptions, { trait, label, values: STOPS[trait], show: (x) => number(x, 1) }),
      ),
    ),
    element(
      "div",
      { class: "ab-views" },
      svg,
      element(
        "div",
        {},
        element(
          "table",
          {},
          element("caption", {}, ...fillNodes(say.caption, { k: key })),
          heading([say.heads.curve, verbatim("tanh"), say.heads.times]),
          element("tbody", {}, ...rows.map(({ node }) => node)),
        ),
      ),
    ),
  );

  subscriptions.follow(["q", "k", "w1", "w2"], () => {
    const [q, here, w1, w2] = ["q", "k", "w1", "w2"].map((name) => model.get(name));
    const scores = (k) => {
      const [first, second] = [w1 * Math.tanh(k + q), w2 * Math.tanh(k - q)];
      return { first, second, sum: first + second, dot: q * k };
    };
    const path = Array.from({ length: CURVE }, (_, i) => (2 * WIDE * i) / (CURVE - 1) - WIDE).map((k) => [
      k,
      scores(k),
    ]);
    for (const name of names)
      curves[name].setAttribute("d", `M${path.map(([k, score]) => at(k, score[name]).join(" ")).join("L")}`);
    const found = scores(here);
    const units = { first: number(Math.tanh(here + q)), second: number(Math.tanh(here - q)), sum: "", dot: "" };
    for (const {
      name,
      cells: [unit, score],
    } of rows) {
      unit.textContent = units[name];
      score.textContent = number(found[name]);
    }
    const [x] = at(here, 0);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    reach.setAttribute("x", x - REACH);
    for (const [name, dot] of Object.entries(dots)) {
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", at(here, found[name])[1]);
    }
    key.textContent = number(here, 1);
  });
  return subscriptions.end;
}

export default { render };
