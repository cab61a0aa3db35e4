import { body, element, fillNodes, follower, heading, number, update, verbatim, words } from "../shared/core.js";
import { clamp, handle, put } from "../shared/dragging.js";

const [WIDE, HIGH, ACROSS, UP, EDGE] = [6, 4.5, 26, 21, 9]; // keys from -6 to 6, scores from -4.5 to 4.5; and in the picture
const ENDS = { q: 3, w1: 2, w2: 2, k: 6 }; // each goes from minus this to this, in halves
const GRIPS = { w1: 5.5, w2: 3.7 }; // the keys at which the curves can be grabbed
const KEYS = Array.from({ length: 97 }, (_, i) => i / 8 - WIDE);

const at = (k, score) => [k * ACROSS, -score * UP];
// A name beside a place on the axis: below it on the right half, above it on the left, where no curve passes.
function beside(text, x, isRight) {
  const [dx, dy, anchor] = isRight ? ["0.2em", "1.5em", "start"] : ["-0.2em", "-0.6em", "end"];
  put(text, { x, y: 0, dx, dy, "text-anchor": anchor });
}

// A handle for a trait, with its name and value beside it; `pulled` says which value belongs to a place.
function grip(model, say, trait, pulled) {
  const goTo = (x) => update(model, { [trait]: clamp(Math.round(2 * x) / 2, -ENDS[trait], ENDS[trait]) });
  const { node, put: hold } = handle(
    say.handles[trait],
    16,
    (across, down) =>
      goTo(pulled((across - 0.5) * (2 * WIDE + (2 * EDGE) / ACROSS), (0.5 - down) * (2 * HIGH + (2 * EDGE) / UP))),
    (right, up) => goTo(model.get(trait) + (right || up) / 2),
  );
  const dot = element("circle", { class: `ab-grip ab-of-${trait}`, r: 5 });
  const text = element("text", { class: `ab-of-${trait}`, "text-anchor": "middle", translate: "no" });
  const draw = (k, score, lift = score < 0 ? 17 : -8) => {
    // away from the axis
    const [x, y] = at(k, score);
    const value = number(model.get(trait), 1);
    put(dot, { cx: x, cy: y });
    if (trait === "q") beside(text, x, k >= 0);
    else put(text, { x: clamp(x, -WIDE * ACROSS + 8, WIDE * ACROSS - 8), y: y + lift });
    text.textContent = `${say.names[trait]} ${value}`;
    hold(x, y, model.get(trait), value);
  };
  return { nodes: [dot, text, node], draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const labels = { first: verbatim("w₁ tanh(k + q)"), second: verbatim("w₂ tanh(k − q)"), ...say.sums };
  const names = Object.keys(labels);
  const sample = (name) =>
    element(
      "svg",
      { viewBox: "0 0 30 8", class: "ab-sample", "aria-hidden": "true" },
      element("path", { class: `ab-${name}`, d: "M0 4H30" }),
    );
  const curves = Object.fromEntries(names.map((name) => [name, element("path", { class: `ab-${name}` })]));
  // At the key, what each unit adds, and where that ends; and the dot product.
  const [line, one, other] = ["ab-here", "ab-first ab-part", "ab-second ab-part"].map((name) =>
    element("line", { class: name }),
  );
  const dots = Object.fromEntries(["dot", "sum"].map((name) => [name, element("circle", { class: `ab-at-${name}` })]));
  const mirrored = element("circle", { class: "ab-mirrored", cy: 0, r: 4 });
  const minus = element("text", { class: "ab-of-q", translate: "no" }, "−q");
  const grips = {
    k: grip(model, say, "k", (k) => k),
    q: grip(model, say, "q", (k) => k),
    w1: grip(model, say, "w1", (_, score) => score),
    w2: grip(model, say, "w2", (_, score) => score),
  };
  const [right, bottom] = at(WIDE, -HIGH);
  const svg = element(
    "svg",
    {
      viewBox: [-right - EDGE, -bottom - EDGE, 2 * (right + EDGE), 2 * (bottom + EDGE)].join(" "),
      role: "group",
      "aria-label": say.picture,
      class: "ab-plot",
    },
    element("path", { class: "ab-axes", d: `M${-right} 0H${right}M0 ${-bottom}V${bottom}` }),
    ...[-WIDE, WIDE].map((k) => element("text", { x: k * ACROSS, y: 11, "text-anchor": "middle" }, number(k, 0))),
    ...[-4, -2, 2, 4].map((score) =>
      element("text", { x: -4, y: 3 - score * UP, "text-anchor": "end" }, number(score, 0)),
    ),
    element("text", { x: right, y: 24, "text-anchor": "end" }, say.axes.key),
    element("text", { x: 5, y: 4 - bottom }, say.axes.score),
    line,
    curves.dot,
    curves.first,
    curves.second,
    curves.sum,
    one,
    other,
    mirrored,
    minus,
    dots.dot,
    dots.sum,
    ...Object.values(grips).flatMap(({ nodes }) => nodes),
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
      element("p", { class: "ab-hint" }, say.hint),
    ),
  );

  subscriptions.follow(["q", "k", "w1", "w2"], () => {
    const [q, here, w1, w2] = ["q", "k", "w1", "w2"].map((name) => model.get(name));
    const scores = (k) => {
      const [first, second] = [w1 * Math.tanh(k + q), w2 * Math.tanh(k - q)];
      return { first, second, sum: first + second, dot: q * k };
    };
    const all = KEYS.map((k) => [k, scores(k)]);
    for (const name of names)
      curves[name].setAttribute("d", `M${all.map(([k, score]) => at(k, score[name]).join(" ")).join("L")}`);
    const found = scores(here);
    const units = { first: number(Math.tanh(here + q)), second: number(Math.tanh(here - q)), sum: "", dot: "" };
    for (const {
      name,
      cells: [unit, score],
    } of rows) {
      unit.textContent = units[name];
      score.textContent = number(found[name]);
    }
    const [x, middle] = at(here, found.first);
    const [, end] = at(here, found.sum);
    put(line, { x1: x, x2: x, y1: -bottom, y2: bottom });
    put(one, { x1: x - 2, x2: x - 2, y1: 0, y2: middle });
    put(other, { x1: x + 2, x2: x + 2, y1: middle, y2: end });
    mirrored.setAttribute("cx", -q * ACROSS);
    beside(minus, -q * ACROSS, q < 0);
    for (const [name, dot] of Object.entries(dots)) put(dot, { cx: x, cy: at(here, found[name])[1], r: 5 });
    grips.q.draw(q, 0);
    grips.k.draw(here, -HIGH + 0.4, -8);
    for (const [name, curve] of Object.entries({ w1: "first", w2: "second" }))
      grips[name].draw(GRIPS[name], scores(GRIPS[name])[curve]);
    key.textContent = number(here, 1);
  });
  return subscriptions.end;
}

export default { render };
