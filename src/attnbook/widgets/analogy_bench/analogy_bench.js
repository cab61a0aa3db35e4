import {
  asset,
  body,
  button,
  choice,
  dot,
  element,
  fill,
  follower,
  headed,
  heading,
  length,
  number,
  update,
  verbatim,
  words,
} from "../shared/core.js";
import { whenNeeded } from "../shared/needed.js";
import { lexicon, wordVectors } from "../shared/lexicon.js";
import { nearestWords } from "../shared/nearest.js";
import { wordField } from "../shared/word_field.js";

const FIELDS = ["a", "b", "c"];
const TRIES = [
  "man woman king",
  "france paris japan",
  "big bigger cold",
  "walk walked play",
  "cat cats child",
  "doctor hospital teacher",
];
const SHOWN = 8;
const [WIDE, TALL, EDGE] = [320, 225, 36];
const AWAITED = { a: [0, 0], b: [0.4, 1], corner: [1.9, 1], c: [1.5, 0], answer: [1.9, 1] }; // as one hopes it will be

const minus = (a, b) => Float64Array.from(a, (x, i) => x - b[i]);
const plus = (a, b) => Float64Array.from(a, (x, i) => x + b[i]);
const times = (a, s) => Float64Array.from(a, (x) => x * s);
const unit = (a) => times(a, 1 / (length(a) || 1));

// The plane through the unit vectors of a, b and c, seen from above with a at its origin, and the words near the corner.
function parallelogram(a, b, c, near) {
  const corner = plus(minus(b, a), c);
  const across = unit(minus(c, a));
  const up = unit(minus(minus(b, a), times(across, dot(minus(b, a), across))));
  const place = (x) => [dot(minus(x, a), across), dot(minus(x, a), up)];
  const [answer, ...others] = near;
  const points = { a: place(a), b: place(b), c: place(c), corner: place(corner), answer: place(answer) };
  const off = length(minus(answer, corner));
  const flat = Math.hypot(points.answer[0] - points.corner[0], points.answer[1] - points.corner[1]);
  return {
    points,
    others: others.map(place),
    sides: [length(minus(b, a)), length(minus(c, a))],
    off,
    lift: Math.sqrt(Math.max(off ** 2 - flat ** 2, 0)),
  };
}

// A row for each of the words that are nearest.
function ranked(say) {
  const rows = Array.from({ length: SHOWN }, () => {
    const word = element("th", { scope: "row", translate: "no" });
    const [cosine, bar] = [element("td", { class: "ab-number" }), element("i")];
    const bars = element("td", { class: "ab-bar", "aria-hidden": "true" }, bar);
    return { node: element("tr", {}, word, cosine, bars), word, cosine, bar };
  });
  const body = element("tbody", {}, ...rows.map(({ node }) => node));
  const draw = (found) => {
    rows.forEach((row, n) => {
      const { word, cosine, asked } = found[n];
      row.word.textContent = word;
      row.cosine.textContent = number(cosine, 3);
      row.bar.style.setProperty("--w", Math.max(cosine, 0));
      row.node.classList.toggle("ab-asked", asked);
    });
  };
  return { node: element("table", {}, heading([say.word, say.cosine, ""]), body), draw };
}

// A function from points to where they are in the picture, all of them in sight.
function framed(points) {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, low] = [Math.min(...xs), Math.min(...ys)];
  const [wide, tall] = [Math.max(...xs) - left, Math.max(...ys) - low];
  const scale = Math.min((WIDE - 2 * EDGE) / (wide || 1), (TALL - 2 * EDGE) / (tall || 1));
  return ([x, y]) => [EDGE + (x - left) * scale, TALL - EDGE - (y - low) * scale];
}

// An arrow from one point to another.
function arrow([x, y], [to_x, to_y]) {
  const far = Math.hypot(to_x - x, to_y - y) || 1;
  const [along, aside] = [((to_x - x) / far) * 9, ((to_y - y) / far) * 9];
  const barb = (side) => `L${to_x - along + (side * aside) / 2} ${to_y - aside - (side * along) / 2}`;
  return `M${x} ${y}L${to_x} ${to_y}${barb(1)}M${to_x} ${to_y}${barb(-1)}`;
}

// The parallelogram: the step from a to b slides over to c, and the words that are near where it lands light up.
function picture(label) {
  const [shape, error, step, slid] = ["shape", "error", "step", "step ab-slid"].map((name) =>
    element("path", { class: `ab-${name}` }),
  );
  const star = (name) => ({
    name,
    spot: element("circle", { class: `ab-${name}` }),
    text: element("text", { class: `ab-${name}`, "text-anchor": "middle", translate: "no" }),
  });
  const dots = [...FIELDS, "answer"].map(star);
  const stars = Array.from({ length: SHOWN - 1 }, () => star("other"));
  const corner = element("circle", { class: "ab-corner" });
  const node = element(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TALL}`, role: "img", "aria-label": label },
    shape,
    step,
    slid,
    error,
    corner,
    ...[...stars, ...dots].flatMap(({ spot, text }) => [spot, text]),
  );
  const beside = ([x, y]) => [Math.min(Math.max(x, 30), WIDE - 30), y < TALL / 2 ? y - 10 : y + 19];
  const put = ({ spot, text }, place, name) => {
    const [[cx, cy], [x, y]] = [place, beside(place)];
    for (const [node, traits] of [
      [spot, { cx, cy }],
      [text, { x, y }],
    ])
      for (const [trait, value] of Object.entries(traits)) node.setAttribute(trait, value);
    text.textContent = name;
  };
  const slide = (from, to) => {
    slid.style.transition = "none";
    slid.setAttribute("d", from);
    slid.getBoundingClientRect(); // it starts from there
    slid.style.transition = "";
    slid.setAttribute("d", to);
  };
  // `names` may lack an answer: then it waits.
  const draw = (points, names, others = []) => {
    const at = framed(Object.values(points));
    const placed = Object.fromEntries(Object.entries(points).map(([name, point]) => [name, at(point)]));
    const to = (name) => placed[name].join(" ");
    shape.setAttribute("d", `M${to("a")}L${to("b")}L${to("corner")}L${to("c")}Z`);
    error.setAttribute("d", `M${to("corner")}L${to("answer")}`);
    const taken = arrow(placed.a, placed.b);
    if (!names.answer || step.getAttribute("d") !== taken)
      slide(taken, names.answer ? arrow(placed.c, placed.corner) : taken);
    step.setAttribute("d", taken);
    corner.setAttribute("cx", placed.corner[0]);
    corner.setAttribute("cy", placed.corner[1]);
    for (const dot of dots) {
      const isAnswer = dot.name !== "answer" && names[dot.name] === names.answer;
      put(dot, placed[dot.name], isAnswer ? "" : (names[dot.name] ?? "?"));
    }
    const written = Object.values(placed).flatMap((place) => [place, beside(place)]);
    const covered = ([x, y]) => written.some(([px, py]) => Math.abs(px - x) < 42 && Math.abs(py - y) < 13);
    stars.forEach((each, n) => {
      const { point, word, cosine, asked } = others[n] ?? { asked: true };
      for (const node of [each.spot, each.text]) node.toggleAttribute("hidden", asked);
      if (asked) return;
      const place = at(point);
      each.spot.style.setProperty("--w", cosine);
      put(each, place, covered(beside(place)) ? "" : word);
      written.push(place, beside(place));
    });
  };
  return { node, draw };
}

// How long the sides are, and how far the answer is from the fourth corner.
function lengths(say) {
  const figures = Array.from({ length: 4 }, () => ({
    name: element("dt"),
    value: element("dd", { class: "ab-number" }),
  }));
  const draw = ({ sides, off, lift }, { a, b, c, answer }) => {
    const found = [
      [fill(say.side, { from: a, to: b }), sides[0]],
      [fill(say.side, { from: a, to: c }), sides[1]],
      [fill(say.corner, { to: answer }), off],
      [say.lift, lift],
    ];
    figures.forEach(({ name, value }, n) => {
      const [text, x] = found[n];
      name.textContent = text;
      value.textContent = number(x);
    });
  };
  return { node: element("dl", {}, ...figures.flatMap(({ name, value }) => [name, value])), draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const known = lexicon(headed(await asset(model, "words")).words);
  const fields = FIELDS.map((trait) => wordField(model, subscriptions, { trait, label: say[trait], known }));
  const tries = TRIES.map((text) =>
    button(verbatim(text), () => {
      const [a, b, c] = text.split(" ");
      update(model, { a, b, c, asked: true });
    }),
  );
  const solve = button(say.solve, () => update(model, { asked: true }));
  const solved = verbatim("", { class: "ab-solved" });
  const status = element("p", { class: "ab-hint", role: "status" });
  const title = element("p", { class: "ab-title" });
  const [ranking, plane, figures] = [ranked(say), picture(say.picture), lengths(say)];
  const kept = choice(model, subscriptions, { trait: "queries", label: say.queries, options: say.kept });
  const ranks = element("div", { class: "ab-ranks" }, title, ranking.node);
  const dashed = element("p", { class: "ab-hint" }, say.dashed);
  const measures = element("div", { class: "ab-measures" }, kept, dashed, figures.node);
  const root = body(
    el,
    "analogy",
    element("figure", { class: "ab-pin" }, plane.node, element("figcaption", {}, say.picture)),
    element(
      "div",
      { class: "ab-words" },
      element("div", { class: "ab-controls" }, ...fields),
      element("div", { class: "ab-controls ab-asks" }, element("span", {}, say.end), solve, solved),
      element("div", { class: "ab-controls ab-tries" }, element("span", { class: "ab-hint" }, say.tries), ...tries),
      status,
    ),
    ranks,
    measures,
  );

  const show = (found) => {
    root.toggleAttribute("data-waiting", !found);
    solve.hidden = model.get("asked");
    for (const node of [solved, ranks, measures]) node.hidden = !found;
  };
  show(false);
  const fetched = whenNeeded(model, "vectors", wordVectors);
  subscriptions.follow([...FIELDS, "queries", "asked"], async () => {
    const asked = () => Object.fromEntries(FIELDS.map((trait) => [trait, model.get(trait)]));
    title.textContent = fill(say.ranking, asked());
    if (!model.get("asked") || root.hasAttribute("data-waiting")) {
      show(false);
      plane.draw(AWAITED, asked());
    }
    const vectors = model.get("asked") && (await fetched(root, status, say.lexicon.fetching));
    if (!vectors || !model.get("asked")) return; // which may have changed meanwhile

    show(true);
    const rows = FIELDS.map((trait) => vectors.row(model.get(trait)));
    const [a, b, c] = rows.map((row) => unit(vectors.vector(row)));
    const left = model.get("queries") === "out" ? rows : [];
    const nearest = nearestWords(vectors, plus(minus(b, a), c), SHOWN, left);
    const found = nearest.map(([row, cosine]) => ({ word: vectors.list[row], cosine, asked: rows.includes(row) }));
    solved.textContent = found[0].word;
    ranking.draw(found);
    const names = { ...asked(), answer: found[0].word };
    const near = nearest.map(([row]) => unit(vectors.vector(row)));
    const { points, others, ...measures } = parallelogram(a, b, c, near);
    const stars = others.map((point, n) => ({ point, ...found[n + 1] }));
    plane.draw(points, names, stars);
    figures.draw(measures, names);
  });
  return subscriptions.end;
}

export default { render };
