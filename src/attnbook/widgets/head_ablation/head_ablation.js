import {
  asset,
  body,
  button,
  choice,
  dot,
  element,
  follower,
  heading,
  number,
  plus,
  update,
  softmax,
  times,
  words,
} from "../shared/core.js";
import { normals } from "../shared/random.js";
import { networks } from "../shared/stored.js";

const TEXT = {
  en: {
    heads: "A network with so many heads",
    head: (h) => `head ${h + 1}`,
    on: "Heads that are on",
    another: "Another text",
    caption: "Where each head looks: rows are heads, columns the letters of the text with their marks",
    answers: ["question", "answer", "chance", "it is"],
    asks: { star: "Under ★", dot: "Under ●" },
    tests: (n) => `Over ${n} texts:`,
    figures: { star: "right under ★", dot: "right under ●", loss: "loss" },
  },
};
const [LETTERS, MARKS, LENGTH, TESTS] = ["abcdefgh", ["", "★", "●"], 8, 200];

// As in head_ablation.py: letters, and the two places that are marked.
function text(draws) {
  const [first, second] = [draws.slice(0, LENGTH), draws.slice(LENGTH, 2 * LENGTH)];
  const places = [second.indexOf(Math.max(...second)), second.indexOf(Math.min(...second))];
  const letters = Array.from(first, (x) => Math.floor(Math.abs(x) * 1000) % LETTERS.length);
  return { letters, marks: letters.map((_, j) => places.indexOf(j) + 1), answers: places.map((j) => letters[j]) };
}

function texts(seed, count) {
  const draws = normals(seed, 2 * LENGTH * count);
  return Array.from({ length: count }, (_, i) => text(draws.subarray(2 * LENGTH * i, 2 * LENGTH * (i + 1))));
}

// The network, as in data/marks.py: one query; keys are marks, values letters. Nothing is left of a head that is off.
function finder(found, heads) {
  const per = (x) =>
    Array.from({ length: heads }, (_, h) => x.slice((h * x.length) / heads, ((h + 1) * x.length) / heads));
  const query = per(times(found["attention.query.weight"], found.query[0][0]));
  const keys = found["marks.weight"].map((mark) => per(times(found["attention.key.weight"], mark)));
  const values = found["letters.weight"].map((letter) => per(times(found["attention.value.weight"], letter)));
  return ({ letters, marks }, off) => {
    const weights = query.map((q, h) => softmax(marks.map((mark) => dot(q, keys[mark][h]) / Math.sqrt(q.length))));
    const joined = weights.flatMap((row, h) =>
      query[h].map((_, i) =>
        off.includes(h)
          ? 0
          : dot(
              row,
              letters.map((letter) => values[letter][h][i]),
            ),
      ),
    );
    const scores = plus(
      times(found["answers.weight"], times(found["attention.output.weight"], joined)),
      found["answers.bias"],
    );
    return { weights, chances: [0, 1].map((n) => softmax(scores.slice(n * LETTERS.length, (n + 1) * LETTERS.length))) };
  };
}

const best = (chances) => chances.indexOf(Math.max(...chances));

async function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const { models } = networks(await asset(model, "models"));
  const networksOf = Object.fromEntries(
    Object.entries(models).map(([heads, found]) => [heads, finder(found, Number(heads))]),
  );
  const most = Math.max(...Object.keys(models).map(Number));
  const tests = texts(0, TESTS);

  const switches = Array.from({ length: most }, (_, h) =>
    button(say.head(h), () => {
      const off = model.get("off");
      update(model, { off: off.includes(h) ? off.filter((x) => x !== h) : [...off, h] });
    }),
  );
  const columns = Array.from({ length: LENGTH }, () => element("th", { scope: "col" }));
  const rows = Array.from({ length: most }, (_, h) => {
    const cells = columns.map(() => element("td", { class: "ab-weight" }));
    return { cells, node: element("tr", {}, element("th", { scope: "row" }, say.head(h)), ...cells) };
  });
  const map = element(
    "table",
    { class: "ab-map" },
    element("caption", {}, say.caption),
    element("thead", {}, element("tr", {}, element("td"), ...columns)),
    element("tbody", {}, ...rows.map(({ node }) => node)),
  );
  const asks = Object.values(say.asks).map((ask) => {
    const cells = Array.from({ length: 3 }, () => element("td", { class: "ab-number" }));
    return { cells, node: element("tr", {}, element("th", { scope: "row" }, ask), ...cells) };
  });
  const answers = element(
    "table",
    { class: "ab-answers" },
    heading(say.answers),
    element("tbody", {}, ...asks.map(({ node }) => node)),
  );
  const figures = Object.entries(say.figures).map(([name, label]) => [
    name,
    element("dt", {}, label),
    element("dd", { class: "ab-number" }),
  ]);
  body(
    el,
    "ablation",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, {
        trait: "heads",
        label: say.heads,
        options: Object.fromEntries(Object.keys(models).map((n) => [n, n])),
        with: { off: [] },
      }),
      element(
        "div",
        { class: "ab-control", role: "group", "aria-label": say.on },
        element("span", { class: "ab-hint", "aria-hidden": "true" }, say.on),
        element("div", { class: "ab-switches" }, ...switches),
      ),
      button(say.another, () => update(model, { seed: model.get("seed") + 1 })),
    ),
    map,
    element(
      "div",
      { class: "ab-results" },
      answers,
      element(
        "div",
        {},
        element("p", { class: "ab-hint" }, say.tests(TESTS)),
        element("dl", {}, ...figures.flatMap(([, name, value]) => [name, value])),
      ),
    ),
  );

  subscriptions.follow(["heads", "off", "seed"], () => {
    const [heads, off, seed] = ["heads", "off", "seed"].map((trait) => model.get(trait));
    const network = networksOf[heads];
    const [shown] = texts(seed, 1);
    const { weights, chances } = network(shown, off);
    columns.forEach((head, j) => {
      head.textContent = LETTERS[shown.letters[j]] + MARKS[shown.marks[j]];
    });
    rows.forEach(({ node, cells }, h) => {
      switches[h].hidden = node.hidden = h >= heads;
      switches[h].setAttribute("aria-pressed", !off.includes(h));
      node.classList.toggle("ab-off", off.includes(h));
      if (node.hidden) return;
      cells.forEach((cell, j) => {
        cell.style.setProperty("--w", weights[h][j]);
        cell.textContent = number(weights[h][j]);
      });
    });
    asks.forEach(({ node, cells: [said, chance, right] }, n) => {
      const letter = best(chances[n]);
      said.textContent = LETTERS[letter];
      chance.textContent = number(chances[n][letter]);
      right.textContent = LETTERS[shown.answers[n]];
      node.classList.toggle("ab-wrong", letter !== shown.answers[n]);
    });
    const right = [0, 0];
    let loss = 0;
    for (const test of tests) {
      const { chances: found } = network(test, off);
      test.answers.forEach((answer, n) => {
        right[n] += best(found[n]) === answer;
        loss -= Math.log(found[n][answer]);
      });
    }
    const found = {
      star: number((100 * right[0]) / TESTS, 1),
      dot: number((100 * right[1]) / TESTS, 1),
      loss: number(loss / (2 * TESTS), 3),
    };
    for (const [name, , value] of figures) value.textContent = name === "loss" ? found[name] : `${found[name]} %`;
  });
  return subscriptions.end;
}

export default { render };
