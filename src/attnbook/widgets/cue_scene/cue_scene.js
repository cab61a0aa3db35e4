import { body, dot, element, follower, heading, number, softmax, verbatim, words } from "../shared/core.js";
import { slider } from "../shared/slider.js";

const LEVELS = Array.from({ length: 17 }, (_, i) => i / 2);
const MOST = 48; // the light on a thing that has all of the gaze
const [STEP, MIDDLE] = [60, 50]; // each thing stands in a field of this width, at this height

const path = (d, kind = "ab-outline") => element("path", { d, class: kind });
const person = (coat, ...more) => [
  path("M0 -26a7 7 0 1 1 .1 0Z"),
  path("M-11 24V-8Q-11 -18 0 -18T11 -8V24Z", coat),
  ...more,
];
const THINGS = {
  newspaper: () => [
    path("M-20 -16H14V16H-20ZM14 -10H20V12Q20 16 14 16"),
    path("M-15 -10H9M-15 -4H-4M-15 2H-4M-15 8H-4M1 -4H9V8H1Z"),
  ],
  paper: () => [path("M-13 -18H7L13 -12V18H-13Z"), path("M-8 -8H8M-8 -1H8M-8 6H3")],
  "red cup": () => [
    path("M-14 -12H12V8Q12 16 2 16H-4Q-14 16 -14 8Z", "ab-outline ab-loud"),
    path("M12 -6Q22 -6 22 1T12 8"),
    path("M-8 -18q3 -4 0 -8M0 -18q3 -4 0 -8"),
  ],
  notebook: () => [path("M-14 -18H14V18H-14Z"), path("M-18 -12H-10M-18 -4H-10M-18 4H-10M-18 12H-10")],
  book: () => [
    path("M0 -12Q-10 -18 -22 -14V14Q-10 10 0 16Q10 10 22 14V-14Q10 -18 0 -12V16"),
    path("M-17 -8Q-10 -10 -5 -7M-17 -2Q-10 -4 -5 -1M17 -8Q10 -10 5 -7M17 -2Q10 -4 5 -1"),
  ],
  umbrella: () => person("ab-outline", path("M-20 -28Q0 -52 20 -28ZM0 -44V-14")),
  "green coat": () => person("ab-outline ab-coat"),
  "running child": () => [
    path("M2 -8a5 5 0 1 1 .1 0Z"),
    path("M-5 10L0 -6L8 2L16 -2M0 2L8 12L4 24M-1 4L-10 14L-18 10"),
  ],
  friend: () => person("ab-outline ab-coat", path("M10 -10L20 -30M17 -34L20 -30L25 -33")),
  phone: () => person("ab-outline", path("M11 -6L17 -14M14 -22H20V-13H14Z")),
};

function pictured(label, names) {
  const places = names.map((_, j) => STEP * (j + 0.5));
  const lights = places.map((cx) => element("circle", { class: "ab-gaze", cx, cy: MIDDLE }));
  const things = names.map((name, j) =>
    element("g", { transform: `translate(${places[j]} ${MIDDLE})` }, ...(THINGS[name]?.() ?? [])),
  );
  const attributes = { viewBox: `0 0 ${STEP * names.length} ${2 * MIDDLE}`, role: "img", "aria-label": label };
  return { lights, things, node: element("svg", attributes, ...lights, ...things) };
}

// The query's two numbers, and below them a row for each thing.
function lookup(say, names) {
  const asks = [0, 1].map(() => element("td", { class: "ab-number attn-query" }));
  const rows = names.map((name) => {
    const numbers = Array.from({ length: 4 }, () => element("td", { class: "ab-number" }));
    const bar = element("td", { class: "ab-bar" }, element("i"));
    const head = element("th", { scope: "row", class: "attn-key" }, say.things[name] ?? verbatim(name));
    return { numbers, bar, node: element("tr", {}, head, ...numbers, bar) };
  });
  const asking = element(
    "tr",
    { class: "ab-asks" },
    element("th", { scope: "row", class: "attn-query" }, say.query),
    ...asks,
    ...[0, 1, 2].map(() => element("td")),
  );
  const heads = heading(["", say.outstanding, say.fits, say.score, say.weight, ""]);
  return {
    asks,
    rows,
    node: element("table", {}, heads, element("tbody", {}, asking, ...rows.map(({ node }) => node))),
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [scene, names] = [model.get("scene"), model.get("names")];
  const picture = pictured(say.pictures[scene], names);
  const table = lookup(say, names);
  const level = (trait, label) =>
    slider(model, subscriptions, { trait, label, values: LEVELS, show: (x) => number(x, 1) });
  body(
    el,
    "cuescene",
    picture.node,
    element("div", { class: "ab-controls" }, level("salience", say.salience), level("wish", say.wishes[scene])),
    table.node,
  );

  subscriptions.follow(["keys_MK", "salience", "wish"], () => {
    const query = [model.get("salience"), model.get("wish")];
    const keys = model.get("keys_MK");
    const scores = keys.map((key) => dot(key, query));
    const weights = softmax(scores);
    table.asks.forEach((cell, c) => {
      cell.textContent = number(query[c], 1);
    });
    table.rows.forEach(({ numbers, bar }, j) => {
      const texts = [...keys[j].map((x) => number(x, 1)), number(scores[j]), number(weights[j])];
      numbers.forEach((cell, c) => {
        cell.textContent = texts[c];
      });
      bar.style.setProperty("--w", weights[j]);
      picture.lights[j].setAttribute("r", MOST * Math.sqrt(weights[j])); // the area is the share
      picture.things[j].style.setProperty("opacity", 0.35 + (0.65 * weights[j]) / Math.max(...weights));
    });
  });
  return subscriptions.end;
}

export default { render };
