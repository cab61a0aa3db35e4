import { body, dot, element, fill, follower, listed, number, softmax, update, whole, words } from "../shared/core.js";
import { slider } from "../shared/slider.js";
import { clamp, handle, put } from "../shared/dragging.js";

const WIDTHS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 5, 100];
const [WIDE, HIGH] = [5, 6]; // x from 0 to 5, y from 0 to 6
const [ACROSS, UP, EDGE, ABOVE] = [80, 56, 14, 34]; // in the picture: a step of x, a step of y, the room around and above
const ROWS = 21;
const CURVE = 101;
const PLACES = Array.from({ length: CURVE }, (_, i) => (WIDE * i) / (CURVE - 1));

const tenth = (x, most) => clamp(Math.round(10 * x) / 10, 0, most);
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
const at = (x, y) => [x * ACROSS, (HIGH - y) * UP];
const through = (curve) => `M${PLACES.map((x) => at(x, curve(x)).join(" ")).join("L")}`;
// The chosen point, or the last where there are fewer.
const chosenOf = (model) => Math.min(model.get("chosen"), model.get("points").length - 1);

// A function of where the query is and, if a point must not look at itself, of which point that is.
function weighing(points, width) {
  return (x, skip = -1) =>
    softmax(points.map(([key], k) => (k === skip ? -Infinity : -((x - key) ** 2) / (2 * width ** 2))));
}

// Points in the light of the query, the curve through them, and the answer that the light brings together.
function plot(model, say) {
  const [w, h] = [WIDE * ACROSS + 2 * EDGE, HIGH * UP + ABOVE + EDGE];
  const xAt = (across) => (across * w - EDGE) / ACROSS;
  const yAt = (down) => HIGH - (down * h - ABOVE) / UP;
  const points = model.get("points").map((_, j) => {
    const move = (x, y) =>
      update(model, {
        chosen: j,
        points: model.get("points").map((point, k) => (k === j ? [tenth(x, WIDE), tenth(y, HIGH)] : point)),
      });
    const here = () => model.get("points")[j];
    return {
      seen: element("circle", { class: "ab-point" }),
      beam: element("line", { class: "ab-beam" }),
      grip: handle(
        fill(say.point, { n: whole(j + 1) }),
        18,
        (across, down) => move(xAt(across), yAt(down)),
        (right, up) => move(here()[0] + right / 10, here()[1] + up / 10),
      ),
    };
  });
  const ask = (x) => update(model, { query: tenth(x, WIDE) });
  const lamp = handle(
    say.query,
    22,
    (across) => ask(xAt(across)),
    (right, up) => ask(model.get("query") + (right || up) / 10),
  );
  const [bell, curve] = ["ab-bell", "ab-curve"].map((name) => element("path", { class: name }));
  const line = element("line", { class: "ab-asked", y1: -ABOVE / 2, y2: HIGH * UP });
  const [light, answer] = [
    ["ab-lamp", 8],
    ["ab-answer", 6],
  ].map(([name, r]) => element("circle", { class: name, r }));
  light.setAttribute("cy", -ABOVE / 2);
  const text = element("text");
  const node = element(
    "svg",
    { class: "ab-pin", viewBox: [-EDGE, -ABOVE, w, h].join(" "), role: "group", "aria-label": say.picture },
    bell,
    element("path", { class: "ab-axes", d: `M0 0V${HIGH * UP}H${WIDE * ACROSS}` }),
    line,
    ...points.map(({ beam }) => beam),
    curve,
    ...points.map(({ seen }) => seen),
    answer,
    text,
    ...[0, WIDE].map((x) =>
      element("text", { class: "ab-end", x: x * ACROSS, y: HIGH * UP + 13, "text-anchor": "middle" }, whole(x)),
    ),
    light,
    ...points.map(({ grip }) => grip.node),
    lamp.node,
  );
  const draw = ({ found, answerAt, query, width, shares, chosen }) => {
    node.style.setProperty("--at", `${(100 * (query * ACROSS + EDGE)) / w}%`);
    node.style.setProperty("--wide", `${(100 * width * ACROSS) / w}%`);
    bell.setAttribute("d", `${through((x) => Math.exp(-((x - query) ** 2) / (2 * width ** 2)))}V${HIGH * UP}H0Z`);
    curve.setAttribute(
      "d",
      through((x) => answerAt(x)),
    );
    const [x, y] = at(query, answerAt(query));
    put(line, { x1: x, x2: x });
    put(answer, { cx: x, cy: y });
    // Its number stands where the curve does not go.
    const side = x > WIDE * ACROSS - 60 ? -1 : 1;
    const rises = answerAt(query + 0.1) > answerAt(query);
    put(text, { x: x + 12 * side, y: rises === side > 0 ? y + 24 : y - 12, "text-anchor": side > 0 ? "start" : "end" });
    text.textContent = number(answerAt(query));
    light.setAttribute("cx", x);
    lamp.put(x, -ABOVE / 2, query, number(query, 1));
    points.forEach(({ seen, beam, grip }, j) => {
      const [cx, cy] = at(...found[j]);
      put(seen, { cx, cy, r: 4 + 6 * shares[j] });
      seen.style.setProperty("--w", shares[j]);
      seen.classList.toggle("ab-chosen", j === chosen);
      put(beam, { x1: cx, y1: cy, x2: x, y2: y, "stroke-width": 9 * shares[j] });
      const place = ["x", "y"].map((name, i) => fill(say.at[name], { x: number(found[j][i], 1) }));
      grip.put(cx, cy, found[j][1], listed(place));
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

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const picture = plot(model, say);
  const heat = heatMap(say.heat, model.get("points").length);
  const values = ["answer", "error", "own"].map((name) => [name, element("dd", { class: "ab-number" })]);
  body(
    el,
    "kernel",
    picture.node,
    heat.node,
    element("dl", {}, ...values.map(([name, value]) => element("div", {}, element("dt", {}, say[name]), value))),
    slider(model, subscriptions, { trait: "width", label: say.width, values: WIDTHS }),
  );

  subscriptions.follow(["points", "width", "query", "chosen"], () => {
    const [found, width, query] = ["points", "width", "query"].map((trait) => model.get(trait));
    const y = found.map((point) => point[1]);
    const weights = weighing(found, width);
    const answerAt = (x, skip) => dot(weights(x, skip), y);
    picture.draw({ found, answerAt, query, width, shares: weights(query), chosen: chosenOf(model) });
    heat.draw({ weights, query });
    const error = mean(found.map(([x], j) => (answerAt(x) - y[j]) ** 2));
    const own = mean(found.map(([x], j) => (answerAt(x, j) - y[j]) ** 2));
    const numbers = { answer: answerAt(query), error, own };
    for (const [name, value] of values) value.textContent = number(numbers[name]);
  });
  return subscriptions.end;
}

export default { render };
