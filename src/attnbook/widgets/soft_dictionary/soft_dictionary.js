import {
  body,
  choice,
  dot,
  element,
  fill,
  follower,
  heading,
  listed,
  number,
  softmax,
  update,
  verbatim,
  words,
} from "../shared/core.js";
import { slider } from "../shared/slider.js";
import { clamp, handle, put } from "../shared/dragging.js";

const STEP = 0.25;
const TEMPERATURES = [0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];
const [SIDE, UNIT, EDGE] = [10, 20, 12]; // the map is 10 by 10, each 20 wide
const FIELD = Array.from({ length: 25 }, (_, i) => i / 2 - 1); // where the field is computed, over the edges of the map

const at = ([x, y]) => [x * UNIT, (SIDE - y) * UNIT];
// A function from a place to the scores and weights of all stations there.
function asking(model) {
  const [keys, measure, temperature] = ["keys_MK", "score", "temperature"].map((trait) => model.get(trait));
  const near = (key, place) => -((key[0] - place[0]) ** 2 + (key[1] - place[1]) ** 2);
  return (place) => {
    const scores = keys.map((key) => (measure === "dot" ? dot(key, place) : near(key, place)));
    return { scores, weights: softmax(scores.map((score) => score / temperature)) };
  };
}

// The answers at all places, as light.
function field() {
  const places = FIELD.flatMap((y) => FIELD.map((x) => [x, y]));
  const cells = places.map((place) => {
    const [x, y] = at(place);
    return element("rect", { x: x - UNIT / 4, y: y - UNIT / 4, width: UNIT / 2, height: UNIT / 2 });
  });
  const draw = (answerAt, values) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    places.forEach((place, i) =>
      cells[i].style.setProperty("--w", ((answerAt(place) - least) / (most - least || 1)).toFixed(3)),
    );
  };
  return { node: element("g", { class: "ab-field" }, ...cells), draw };
}

// What there is of a station: a row of the table, and on the map a point with its name and a beam to the query.
function station(say, name) {
  const [score, weight, value] = ["ab-number", "ab-number ab-weight", "ab-number attn-value"].map((kind) =>
    element("td", { class: kind }),
  );
  const beam = element("line", { class: "ab-pull" });
  const point = element("circle", { class: "ab-key", r: 4.5 });
  const text = element("text", { class: "ab-station", "text-anchor": "middle" });
  const head = element("th", { scope: "row", class: "attn-key" }, say.stations[name] ?? verbatim(name));
  const row = element("tr", {}, head, score, weight, value);
  const draw = (found) => {
    const [[x, y], [left, top]] = [at(found.query), at(found.key)];
    put(beam, { x1: x, y1: y, x2: left, y2: top, "stroke-width": 12 * found.weight });
    put(point, { cx: left, cy: top });
    put(text, { x: left, y: top - 9 });
    text.textContent = fill(say.point, { name: say.stations[name] ?? name, x: number(found.value, 0) });
    score.textContent = number(found.score);
    weight.textContent = number(found.weight);
    weight.style.setProperty("--w", found.weight);
    value.textContent = fill(say.degrees, { x: number(found.value, 1) });
  };
  return { beam, point, text, row, draw };
}

// The query, which one drags over the map.
function traveller(model, say) {
  const goTo = (...place) => {
    const [x, y] = place.map((far) => clamp(STEP * Math.round(far / STEP), 0, SIDE));
    update(model, { x, y });
  };
  const share = (part) => (part * (SIDE * UNIT + 2 * EDGE) - EDGE) / UNIT;
  const grip = handle(
    say.query,
    20,
    (across, down) => goTo(share(across), SIDE - share(down)),
    (right, up) => goTo(model.get("x") + STEP * right, model.get("y") + STEP * up),
  );
  const spot = element("circle", { class: "ab-query", r: 7 });
  const text = element("text", { class: "ab-answer", "text-anchor": "middle" });
  const draw = (query, answer, keys) => {
    const [x, y] = at(query);
    // How far a text at a place is from the stations and their names.
    const room = ([across, down]) =>
      Math.min(...keys.map(at).map(([left, top]) => Math.max(Math.abs(across - left) / 3, Math.abs(down - top + 8))));
    const inside = clamp(x, 22, SIDE * UNIT - 22);
    const spots = [
      ...(y > SIDE * UNIT - 30 ? [] : [[inside, y + 30]]),
      ...(y < 30 ? [] : [[inside, y - 24]]),
      [x < (SIDE * UNIT) / 2 ? x + 36 : x - 36, y + 6],
    ];
    const free = spots.find((place) => room(place) > 16) ?? spots.reduce((a, b) => (room(b) > room(a) ? b : a));
    put(spot, { cx: x, cy: y });
    put(text, { x: free[0], y: free[1] });
    text.textContent = answer;
    const place = ["x", "y"].map((name, i) => fill(say[name], { x: number(query[i]) }));
    grip.put(x, y, query[0], listed(place));
  };
  return { nodes: [spot, text, grip.node], draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const stations = model.get("names").map((name) => station(say, name));
  const [light, query] = [field(), traveller(model, say)];
  const size = SIDE * UNIT + 2 * EDGE;
  const map = element(
    "svg",
    { class: "ab-pin", viewBox: [-EDGE, -EDGE, size, size].join(" "), role: "group", "aria-label": say.picture },
    light.node,
    ...stations.map(({ beam }) => beam),
    ...stations.flatMap(({ point, text }) => [point, text]),
    ...query.nodes,
  );
  const [exact, soft] = [element("dd"), element("dd", { class: "ab-number attn-value" })];
  const heads = heading([say.station, say.score, say.weight, say.value]);
  body(
    el,
    "softdictionary",
    map,
    element(
      "div",
      {},
      element("dl", {}, element("dt", {}, say.soft), soft, element("dt", {}, say.exact), exact),
      element("table", {}, heads, element("tbody", {}, ...stations.map(({ row }) => row))),
    ),
    element(
      "div",
      { class: "ab-controls" },
      slider(model, subscriptions, { trait: "temperature", label: say.temperature, values: TEMPERATURES }),
      choice(model, subscriptions, { trait: "score", label: say.measure, options: say.measures }),
    ),
  );

  subscriptions.follow(["keys_MK", "values_M", "temperature", "score"], () => {
    const [ask, values] = [asking(model), model.get("values_M")];
    light.draw((place) => dot(ask(place).weights, values), values);
  });
  subscriptions.follow(["keys_MK", "values_M", "x", "y", "temperature", "score"], () => {
    const place = [model.get("x"), model.get("y")];
    const [keys, values] = [model.get("keys_MK"), model.get("values_M")];
    const { scores, weights } = asking(model)(place);
    stations.forEach(({ draw }, j) =>
      draw({ query: place, key: keys[j], value: values[j], score: scores[j], weight: weights[j] }),
    );
    const degrees = (x) => fill(say.degrees, { x: number(x, 1) });
    const here = keys.findIndex((key) => key.every((x, i) => x === place[i]));
    exact.dataset.says = here < 0 ? "nothing" : "station";
    exact.textContent = here < 0 ? say.nothing : degrees(values[here]);
    soft.textContent = degrees(dot(weights, values));
    query.draw(place, soft.textContent, keys);
  });
  return subscriptions.end;
}

export default { render };
