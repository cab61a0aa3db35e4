import {
  asset,
  body,
  button,
  choice,
  dot,
  element,
  follower,
  headed,
  heading,
  length,
  number,
  update,
  words,
} from "../shared/core.js";
import { whenNeeded } from "../shared/stored.js";
import { lexicon, nearestWords, wordVectors } from "../shared/lexicon.js";
import { wordField } from "../shared/word_field.js";

const TEXT = {
  en: {
    fields: { a: "This word", b: "is to this one", c: "as this one" },
    end: "is to …?",
    unknown: (word) => `“${word}” is not among the 8,000 words.`,
    tries: "Or try",
    solve: "Find the fourth word",
    fetching: "Fetching the 8,000 vectors (0.9 MB) …",
    queries: "The three words themselves are",
    options: { out: "left out", in: "kept in" },
    ranking: (a, b, c) => `Nearest to ${b} − ${a} + ${c}`,
    word: "word",
    cosine: "cosine",
    picture: "Seen on the plane through the three words. The dashed line leads from the fourth corner to the answer.",
    side: (from, to) => `from ${from} to ${to}`,
    corner: (to) => `from the fourth corner to ${to}`,
    lift: "of it, straight out of the picture",
  },
};
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

async function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const known = lexicon(headed(await asset(model, "words")).words);
  const fields = Object.entries(say.fields).map(([trait, label]) =>
    wordField(model, subscriptions, { trait, label, known, unknown: say.unknown }),
  );
  const tries = TRIES.map((text) =>
    button(text, () => {
      const [a, b, c] = text.split(" ");
      update(model, { a, b, c, asked: true });
    }),
  );
  const solve = button(say.solve, () => update(model, { asked: true }));
  const status = element("p", { class: "ab-hint", role: "status" });

  const rows = Array.from({ length: SHOWN }, () => {
    const [word, cosine, bar] = [element("th", { scope: "row" }), element("td", { class: "ab-number" }), element("i")];
    return {
      node: element("tr", {}, word, cosine, element("td", { class: "ab-bar", "aria-hidden": "true" }, bar)),
      word,
      cosine,
      bar,
    };
  });
  const caption = element("caption");
  const table = element(
    "table",
    {},
    caption,
    heading([say.word, say.cosine, ""]),
    element("tbody", {}, ...rows.map(({ node }) => node)),
  );

  const [shape, error] = ["ab-shape", "ab-error"].map((name) => element("path", { class: name }));
  const dots = ["a", "b", "c", "answer"].map((name) => ({
    name,
    dot: element("circle", { r: 4, class: `ab-${name}` }),
    text: element("text", { "text-anchor": "middle" }),
  }));
  const svg = element(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TALL}`, role: "img", "aria-label": say.picture },
    shape,
    error,
    ...dots.flatMap(({ dot: spot, text }) => [spot, text]),
  );
  const figures = Array.from({ length: 4 }, () => ({
    name: element("dt"),
    number: element("dd", { class: "ab-number" }),
  }));
  const list = element("dl", {}, ...figures.flatMap(({ name, number: value }) => [name, value]));
  const results = element(
    "div",
    { class: "ab-results" },
    choice(model, subscriptions, { trait: "queries", label: say.queries, options: say.options }),
    table,
    element("figure", {}, svg, element("figcaption", {}, say.picture), list),
  );
  const root = body(
    el,
    "analogy",
    element("div", { class: "ab-controls" }, ...fields, element("span", { class: "ab-end" }, say.end), solve),
    element("div", { class: "ab-controls ab-tries" }, element("span", { class: "ab-hint" }, say.tries), ...tries),
    status,
    results,
  );

  const fetched = whenNeeded(model, "vectors", wordVectors);
  results.hidden = true;
  async function draw() {
    const asked = model.get("asked");
    solve.hidden = asked;
    if (!asked) {
      results.hidden = true;
      return;
    }
    const vectors = await fetched(root, status, say.fetching);
    results.hidden = false;

    const names = ["a", "b", "c"].map((trait) => model.get(trait));
    const asks = names.map((word) => vectors.row(word));
    const [a, b, c] = asks.map((row) => unit(vectors.vector(row)));
    const found = nearestWords(vectors, plus(minus(b, a), c), SHOWN, model.get("queries") === "out" ? asks : []);
    caption.textContent = say.ranking(...names);
    rows.forEach((row, n) => {
      const [i, cosine] = found[n];
      row.word.textContent = vectors.list[i];
      row.cosine.textContent = number(cosine, 3);
      row.bar.style.setProperty("--w", Math.max(cosine, 0));
      row.node.classList.toggle("ab-asked", asks.includes(i));
    });

    const answer = vectors.list[found[0][0]];
    const { points, sides, off, lift } = parallelogram(a, b, c, unit(vectors.vector(found[0][0])));
    const spots = Object.values(points);
    const [left, right] = [0, 1].map((pick) =>
      pick ? Math.max(...spots.map(([x]) => x)) : Math.min(...spots.map(([x]) => x)),
    );
    const [low, high] = [0, 1].map((pick) =>
      pick ? Math.max(...spots.map(([, y]) => y)) : Math.min(...spots.map(([, y]) => y)),
    );
    const scale = Math.min((WIDE - 2 * EDGE) / (right - left || 1), (TALL - 2 * EDGE) / (high - low || 1));
    const at = ([x, y]) => [EDGE + (x - left) * scale, TALL - EDGE - (y - low) * scale];
    const to = (name) => at(points[name]).join(" ");
    shape.setAttribute("d", `M${to("a")}L${to("b")}L${to("corner")}L${to("c")}Z`);
    error.setAttribute("d", `M${to("corner")}L${to("answer")}`);
    dots.forEach(({ name, dot: spot, text }, n) => {
      const [x, y] = at(points[name]);
      spot.setAttribute("cx", x);
      spot.setAttribute("cy", y);
      text.setAttribute("x", Math.min(Math.max(x, 30), WIDE - 30));
      text.setAttribute("y", y < TALL / 2 ? y - 9 : y + 18);
      text.textContent = [...names, answer][n];
    });
    [
      [say.side(names[0], names[1]), sides[0]],
      [say.side(names[0], names[2]), sides[1]],
      [say.corner(answer), off],
      [say.lift, lift],
    ].forEach(([text, x], n) => {
      figures[n].name.textContent = text;
      figures[n].number.textContent = number(x, 2);
    });
  }

  subscriptions.follow(["a", "b", "c", "queries", "asked"], draw);
  return subscriptions.end;
}

export default { render };
