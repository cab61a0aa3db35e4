import {
  body,
  choice,
  dot,
  element,
  follower,
  heading,
  number,
  update,
  slider,
  softmax,
  words,
} from "../shared/core.js";
import { draggable } from "../shared/dragging.js";

const TEXT = {
  en: {
    picture:
      "A map with weather stations, each with its degrees. A dot, the query, can be dragged among them; a line to each station is as strong as its weight.",
    x: "East:",
    y: "North:",
    temperature: "Softmax temperature:",
    score: "Score of a station",
    scores: { near: "−distance²", dot: "dot product" },
    heads: ["station", "score", "weight", "", "value"],
    exact: "A dictionary answers",
    soft: "The soft dictionary answers",
    none: "nothing",
    degrees: (x) => `${number(x, 1)} °C`,
  },
};
const STEPS = Array.from({ length: 41 }, (_, i) => i / 4);
const TEMPERATURES = [0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];
const [SIDE, UNIT, EDGE] = [10, 20, 20]; // the map is 10 by 10, each 20 wide

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const at = ([x, y]) => [x * UNIT, (SIDE - y) * UNIT];
  const stations = model.get("names").map((name) => {
    const cells = ["ab-number", "ab-number", "ab-bar", "ab-number attn-value"].map((kind) =>
      element("td", { class: kind }),
    );
    cells[2].append(element("i"));
    return {
      name,
      cells,
      line: element("line", { class: "ab-pull" }),
      point: element("circle", { class: "ab-key", r: 5 }),
      text: element("text", { "text-anchor": "middle" }),
      row: element("tr", {}, element("th", { scope: "row", class: "attn-key" }, name), ...cells),
    };
  });
  const query = element("circle", { class: "ab-query", r: 6 });
  const reach = element("circle", { class: "ab-tip", r: 16 });
  const size = SIDE * UNIT + 2 * EDGE;
  const svg = element(
    "svg",
    { viewBox: [-EDGE, -EDGE, size, size].join(" "), role: "img", "aria-label": say.picture },
    element("rect", { width: SIDE * UNIT, height: SIDE * UNIT, class: "ab-map" }),
    ...stations.map(({ line }) => line),
    ...stations.flatMap(({ point, text }) => [point, text]),
    query,
    reach,
  );
  const quarter = (share) => Math.min(Math.max(Math.round(4 * ((share * size - EDGE) / UNIT)) / 4, 0), SIDE);
  draggable(reach, (across, down) => update(model, { x: quarter(across), y: SIDE - quarter(down) }));

  const [exact, soft] = [element("dd"), element("dd", { class: "ab-number attn-value" })];
  body(
    el,
    "softdictionary",
    svg,
    element(
      "div",
      {},
      element(
        "div",
        { class: "ab-controls" },
        slider(model, subscriptions, { trait: "x", label: say.x, values: STEPS, show: (x) => number(x) }),
        slider(model, subscriptions, { trait: "y", label: say.y, values: STEPS, show: (x) => number(x) }),
        slider(model, subscriptions, { trait: "temperature", label: say.temperature, values: TEMPERATURES }),
        choice(model, subscriptions, { trait: "score", label: say.score, options: say.scores }),
      ),
      element("table", {}, heading(say.heads), element("tbody", {}, ...stations.map(({ row }) => row))),
      element("dl", {}, element("dt", {}, say.exact), exact, element("dt", {}, say.soft), soft),
    ),
  );

  subscriptions.follow(["keys_MK", "values_M", "x", "y", "temperature", "score"], () => {
    const place = [model.get("x"), model.get("y")];
    const keys = model.get("keys_MK");
    const values = model.get("values_M");
    const near = (key) => -((key[0] - place[0]) ** 2 + (key[1] - place[1]) ** 2);
    const scores = keys.map((key) => (model.get("score") === "dot" ? dot(key, place) : near(key)));
    const weights = softmax(scores.map((s) => s / model.get("temperature")));
    const [x, y] = at(place);
    for (const part of [query, reach]) {
      part.setAttribute("cx", x);
      part.setAttribute("cy", y);
    }
    stations.forEach(({ name, cells: [score, weight, bar, value], line, point, text }, j) => {
      const [left, top] = at(keys[j]);
      for (const [part, traits] of [
        [line, { x2: left, y2: top }],
        [point, { cx: left, cy: top }],
        [text, { x: left, y: top - 9 }],
      ]) {
        for (const [trait, x] of Object.entries(traits)) part.setAttribute(trait, x);
      }
      text.textContent = `${name} ${number(values[j], 0)}°`;
      value.textContent = say.degrees(values[j]);
      score.textContent = number(scores[j]);
      weight.textContent = number(weights[j]);
      bar.style.setProperty("--w", weights[j]);
      line.setAttribute("x1", x);
      line.setAttribute("y1", y);
      line.setAttribute("stroke-width", 12 * weights[j]);
    });
    const here = keys.findIndex((key) => near(key) === 0);
    exact.textContent = here < 0 ? say.none : say.degrees(values[here]);
    soft.textContent = say.degrees(dot(weights, values));
  });
  return subscriptions.end;
}

export default { render };
