import {
  body,
  choice,
  dot,
  element,
  fill,
  follower,
  heading,
  number,
  slider,
  softmax,
  update,
  verbatim,
  words,
} from "../shared/core.js";
import { draggable } from "../shared/dragging.js";

const STEPS = Array.from({ length: 41 }, (_, i) => i / 4);
const TEMPERATURES = [0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];
const [SIDE, UNIT, EDGE] = [10, 20, 20]; // the map is 10 by 10, each 20 wide

const at = ([x, y]) => [x * UNIT, (SIDE - y) * UNIT];

// What there is of a station: a row of the table, and on the map a point with its name and a line to the query.
function station(say, name) {
  const [score, weight, bar, value] = ["ab-number", "ab-number", "ab-bar", "ab-number attn-value"].map((kind) =>
    element("td", { class: kind }),
  );
  bar.append(element("i"));
  const line = element("line", { class: "ab-pull" });
  const point = element("circle", { class: "ab-key", r: 5 });
  const text = element("text", { "text-anchor": "middle" });
  const head = element("th", { scope: "row", class: "attn-key" }, say.stations[name] ?? verbatim(name));
  const row = element("tr", {}, head, score, weight, bar, value);
  const draw = (found) => {
    const [[x, y], [left, top]] = [at(found.query), at(found.key)];
    for (const [part, place] of [
      [line, { x1: x, y1: y, x2: left, y2: top }],
      [point, { cx: left, cy: top }],
      [text, { x: left, y: top - 9 }],
    ]) {
      for (const [trait, here] of Object.entries(place)) part.setAttribute(trait, here);
    }
    text.textContent = fill(say.point, { name: say.stations[name] ?? name, x: number(found.value, 0) });
    line.setAttribute("stroke-width", 12 * found.weight);
    score.textContent = number(found.score);
    weight.textContent = number(found.weight);
    bar.style.setProperty("--w", found.weight);
    value.textContent = fill(say.degrees, { x: number(found.value, 1) });
  };
  return { line, point, text, row, draw };
}

// The map, and the query that is dragged over it.
function mapped(model, label, stations) {
  const query = element("circle", { class: "ab-query", r: 6 });
  const reach = element("circle", { class: "ab-tip", r: 16 });
  const size = SIDE * UNIT + 2 * EDGE;
  const quarter = (share) => Math.min(Math.max(Math.round(4 * ((share * size - EDGE) / UNIT)) / 4, 0), SIDE);
  draggable(reach, (across, down) => update(model, { x: quarter(across), y: SIDE - quarter(down) }));
  const node = element(
    "svg",
    { viewBox: [-EDGE, -EDGE, size, size].join(" "), role: "img", "aria-label": label },
    element("rect", { width: SIDE * UNIT, height: SIDE * UNIT, class: "ab-map" }),
    ...stations.map(({ line }) => line),
    ...stations.flatMap(({ point, text }) => [point, text]),
    query,
    reach,
  );
  const moveTo = (place) => {
    const [x, y] = at(place);
    for (const part of [query, reach]) {
      part.setAttribute("cx", x);
      part.setAttribute("cy", y);
    }
  };
  return { node, moveTo };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const stations = model.get("names").map((name) => station(say, name));
  const map = mapped(model, say.picture, stations);
  const [exact, soft] = [element("dd"), element("dd", { class: "ab-number attn-value" })];
  const controls = [
    slider(model, subscriptions, { trait: "x", label: say.x, values: STEPS, show: (x) => number(x) }),
    slider(model, subscriptions, { trait: "y", label: say.y, values: STEPS, show: (x) => number(x) }),
    slider(model, subscriptions, { trait: "temperature", label: say.temperature, values: TEMPERATURES }),
    choice(model, subscriptions, { trait: "score", label: say.measure, options: say.measures }),
  ];
  const heads = heading([say.station, say.score, say.weight, "", say.value]);
  body(
    el,
    "softdictionary",
    map.node,
    element(
      "div",
      {},
      element("div", { class: "ab-controls" }, ...controls),
      element("table", {}, heads, element("tbody", {}, ...stations.map(({ row }) => row))),
      element("dl", {}, element("dt", {}, say.exact), exact, element("dt", {}, say.soft), soft),
    ),
  );

  subscriptions.follow(["keys_MK", "values_M", "x", "y", "temperature", "score"], () => {
    const query = [model.get("x"), model.get("y")];
    const [keys, values] = [model.get("keys_MK"), model.get("values_M")];
    const near = (key) => -((key[0] - query[0]) ** 2 + (key[1] - query[1]) ** 2);
    const scores = keys.map((key) => (model.get("score") === "dot" ? dot(key, query) : near(key)));
    const weights = softmax(scores.map((s) => s / model.get("temperature")));
    map.moveTo(query);
    stations.forEach(({ draw }, j) =>
      draw({ query, key: keys[j], value: values[j], score: scores[j], weight: weights[j] }),
    );
    const degrees = (x) => fill(say.degrees, { x: number(x, 1) });
    const here = keys.findIndex((key) => near(key) === 0);
    exact.toggleAttribute("data-nothing", here < 0);
    exact.textContent = here < 0 ? say.nothing : degrees(values[here]);
    soft.textContent = degrees(dot(weights, values));
  });
  return subscriptions.end;
}

export default { render };
