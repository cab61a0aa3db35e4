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
import { whenNeeded } from "../shared/stored.js";
import { lexicon, nearestWords, wordVectors } from "../shared/lexicon.js";
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
const [WIDE, TALL, EDGE] = [320, 220, 34];

const minus = (a, b) => Float64Array.from(a, (x, i) => x - b[i]);
const plus = (a, b) => Float64Array.from(a, (x, i) => x + b[i]);
const times = (a, s) => Float64Array.from(a, (x) => x * s);
const unit = (a) => times(a, 1 / (length(a) || 1));

// The plane through the unit vectors of a, b and c, seen from above with a at its origin.
function parallelogram(a, b, c, answer) {
  const corner = plus(minus(b, a), c);
  const across = unit(minus(c, a));
  const up = unit(minus(minus(b, a), times(across, dot(minus(b, a), across))));
  const place = (x) => [dot(minus(x, a), across), dot(minus(x, a), up)];
  const points = { a: place(a), b: place(b), c: place(c), corner: place(corner), answer: place(answer) };
  const off = length(minus(answer, corner));
  const flat = Math.hypot(points.answer[0] - points.corner[0], points.answer[1] - points.corner[1]);
  return {
    points,
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
  const caption = element("caption");
  const body = element("tbody", {}, ...rows.map(({ node }) => node));
  const draw = ({ asked, found, isAsked }) => {
    caption.textContent = fill(say.ranking, asked);
    rows.forEach((row, n) => {
      const { word, cosine } = found[n];
      row.word.textContent = word;
      row.cosine.textContent = number(cosine, 3);
      row.bar.style.setProperty("--w", Math.max(cosine, 0));
      row.node.classList.toggle("ab-asked", isAsked(word));
    });
  };
  return { node: element("table", {}, caption, heading([say.word, say.cosine, ""]), body), draw };
}

// A function from points to where they are in the picture, all of them in sight.
function framed(points) {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, low] = [Math.min(...xs), Math.min(...ys)];
  const [wide, tall] = [Math.max(...xs) - left, Math.max(...ys) - low];
  const scale = Math.min((WIDE - 2 * EDGE) / (wide || 1), (TALL - 2 * EDGE) / (tall || 1));
  return ([x, y]) => [EDGE + (x - left) * scale, TALL - EDGE - (y - low) * scale];
}

// The parallelogram, and where the answer is instead of its fourth corner.
function picture(label) {
  const [shape, error] = ["ab-shape", "ab-error"].map((name) => element("path", { class: name }));
  const dots = [...FIELDS, "answer"].map((name) => ({
    name,
    spot: element("circle", { r: 4, class: `ab-${name}` }),
    text: element("text", { "text-anchor": "middle", translate: "no" }),
  }));
  const node = element(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TALL}`, role: "img", "aria-label": label },
    shape,
    error,
    ...dots.flatMap(({ spot, text }) => [spot, text]),
  );
  const draw = (points, names) => {
    const at = framed(Object.values(points));
    const to = (name) => at(points[name]).join(" ");
    shape.setAttribute("d", `M${to("a")}L${to("b")}L${to("corner")}L${to("c")}Z`);
    error.setAttribute("d", `M${to("corner")}L${to("answer")}`);
    for (const { name, spot, text } of dots) {
      const [x, y] = at(points[name]);
      spot.setAttribute("cx", x);
      spot.setAttribute("cy", y);
      text.setAttribute("x", Math.min(Math.max(x, 30), WIDE - 30));
      text.setAttribute("y", y < TALL / 2 ? y - 9 : y + 18);
      text.textContent = names[name];
    }
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
  const status = element("p", { class: "ab-hint", role: "status" });
  const [ranking, plane, figures] = [ranked(say), picture(say.picture), lengths(say)];
  const results = element(
    "div",
    { class: "ab-results" },
    choice(model, subscriptions, { trait: "queries", label: say.queries, options: say.kept }),
    ranking.node,
    element("figure", {}, plane.node, element("figcaption", {}, say.picture), figures.node),
  );
  const root = body(
    el,
    "analogy",
    element("div", { class: "ab-controls" }, ...fields, element("span", { class: "ab-end" }, say.end), solve),
    element("div", { class: "ab-controls ab-tries" }, element("span", { class: "ab-hint" }, say.tries), ...tries),
    status,
    results,
  );

  results.hidden = true;
  const fetched = whenNeeded(model, "vectors", wordVectors);
  subscriptions.follow([...FIELDS, "queries", "asked"], async () => {
    solve.hidden = model.get("asked");
    const vectors = model.get("asked") ? await fetched(root, status, say.lexicon.fetching) : null;
    results.hidden = !model.get("asked"); // which may have changed meanwhile
    if (results.hidden) return;

    const asked = Object.fromEntries(FIELDS.map((trait) => [trait, model.get(trait)]));
    const rows = Object.values(asked).map((word) => vectors.row(word));
    const [a, b, c] = rows.map((row) => unit(vectors.vector(row)));
    const left = model.get("queries") === "out" ? rows : [];
    const nearest = nearestWords(vectors, plus(minus(b, a), c), SHOWN, left);
    const found = nearest.map(([row, cosine]) => ({ word: vectors.list[row], cosine }));
    ranking.draw({ asked, found, isAsked: (word) => rows.includes(vectors.row(word)) });
    const names = { ...asked, answer: found[0].word };
    const { points, ...measures } = parallelogram(a, b, c, unit(vectors.vector(nearest[0][0])));
    plane.draw(points, names);
    figures.draw(measures, names);
  });
  return subscriptions.end;
}

export default { render };
