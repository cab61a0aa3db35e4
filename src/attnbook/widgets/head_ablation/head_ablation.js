import {
  asset,
  body,
  button,
  choice,
  dot,
  element,
  fill,
  fillNodes,
  follower,
  heading,
  number,
  plus,
  update,
  softmax,
  times,
  whole,
  words,
} from "../shared/core.js";
import { normals } from "../shared/random.js";
import { networks } from "../shared/stored.js";

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

// In percent right of each of the two answers, and the loss.
function test(network, off, tests) {
  const right = [0, 0];
  let loss = 0;
  for (const one of tests) {
    const { chances } = network(one, off);
    one.answers.forEach((answer, n) => {
      right[n] += best(chances[n]) === answer;
      loss -= Math.log(chances[n][answer]);
    });
  }
  return {
    star: (100 * right[0]) / tests.length,
    dot: (100 * right[1]) / tests.length,
    loss: loss / (2 * tests.length),
  };
}

// ---- what is shown of it ----

const named = (say, h) => fill(say.head, { n: whole(h + 1) });

function weightMap(say, most) {
  const columns = Array.from({ length: LENGTH }, () => element("th", { scope: "col", translate: "no" }));
  const rows = Array.from({ length: most }, (_, h) => {
    const cells = columns.map(() => element("td", { class: "ab-weight" }));
    return { cells, node: element("tr", {}, element("th", { scope: "row" }, named(say, h)), ...cells) };
  });
  const draw = ({ letters, marks }, weights, off) => {
    columns.forEach((head, j) => {
      head.textContent = LETTERS[letters[j]] + MARKS[marks[j]];
    });
    rows.forEach(({ node, cells }, h) => {
      node.hidden = h >= weights.length;
      node.classList.toggle("ab-off", off.includes(h));
      if (node.hidden) return;
      cells.forEach((cell, j) => {
        cell.style.setProperty("--w", weights[h][j]);
        cell.textContent = number(weights[h][j]);
      });
    });
  };
  const node = element(
    "table",
    { class: "ab-map" },
    element("caption", {}, say.caption),
    element("thead", {}, element("tr", {}, element("td"), ...columns)),
    element("tbody", {}, ...rows.map((row) => row.node)),
  );
  return { node, draw };
}

function answerTable(say) {
  const rows = Object.values(say.asks).map((ask) => {
    const [said, right] = [0, 1].map(() => element("td", { class: "ab-number", translate: "no" }));
    const chance = element("td", { class: "ab-number" });
    return { said, chance, right, node: element("tr", {}, element("th", { scope: "row" }, ask), said, chance, right) };
  });
  const draw = ({ answers }, chances) =>
    rows.forEach(({ said, chance, right, node }, n) => {
      const letter = best(chances[n]);
      said.textContent = LETTERS[letter];
      chance.textContent = number(chances[n][letter]);
      right.textContent = LETTERS[answers[n]];
      node.classList.toggle("ab-wrong", letter !== answers[n]);
    });
  const { question, answer, chance, right } = say.answers;
  const node = element(
    "table",
    { class: "ab-answers" },
    heading([question, answer, chance, right]),
    element("tbody", {}, ...rows.map((row) => row.node)),
  );
  return { node, draw };
}

function testResults(say) {
  const figures = Object.entries(say.figures).map(([name, label]) => {
    const value = element("span");
    const shown = name === "loss" ? [value] : fillNodes(say.percent, { x: value });
    return { name, value, nodes: [element("dt", {}, label), element("dd", { class: "ab-number" }, ...shown)] };
  });
  const draw = (found) => {
    for (const { name, value } of figures) value.textContent = number(found[name], name === "loss" ? 3 : 1);
  };
  const node = element(
    "div",
    {},
    element("p", { class: "ab-hint" }, fill(say.tests, { n: whole(TESTS) })),
    element("dl", {}, ...figures.flatMap(({ nodes }) => nodes)),
  );
  return { node, draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const { models } = networks(await asset(model, "models"));
  const networksOf = Object.fromEntries(
    Object.entries(models).map(([heads, found]) => [heads, finder(found, Number(heads))]),
  );
  const most = Math.max(...Object.keys(models).map(Number));
  const tests = texts(0, TESTS);
  const switches = Array.from({ length: most }, (_, h) =>
    button(named(say, h), () => {
      const off = model.get("off");
      update(model, { off: off.includes(h) ? off.filter((x) => x !== h) : [...off, h] });
    }),
  );
  const [map, answers, results] = [weightMap(say, most), answerTable(say), testResults(say)];
  body(
    el,
    "ablation",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, {
        trait: "heads",
        label: say.heads,
        options: Object.fromEntries(Object.keys(models).map((n) => [n, whole(n)])),
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
    map.node,
    element("div", { class: "ab-results" }, answers.node, results.node),
  );

  subscriptions.follow(["heads", "off", "seed"], () => {
    const [heads, off, seed] = ["heads", "off", "seed"].map((trait) => model.get(trait));
    const network = networksOf[heads];
    const [shown] = texts(seed, 1);
    const { weights, chances } = network(shown, off);
    switches.forEach((one, h) => {
      one.hidden = h >= heads;
      one.setAttribute("aria-pressed", !off.includes(h));
    });
    map.draw(shown, weights, off);
    answers.draw(shown, chances);
    results.draw(test(network, off, tests));
  });
  return subscriptions.end;
}

export default { render };
