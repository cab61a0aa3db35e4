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
  number,
  plus,
  update,
  softmax,
  times,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { beams } from "../shared/beams.js";
import { normals } from "../shared/random.js";
import { stored } from "../shared/stored.js";

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
// `parts` is what each head adds to the scores of both answers.
function finder(found, heads) {
  const width = found.query[0].length / heads;
  const per = (x) => Array.from({ length: heads }, (_, h) => x.slice(h * width, (h + 1) * width));
  const query = per(times(found.attention.query.weight, found.query[0]));
  const keys = found.marks.weight.map((mark) => per(times(found.attention.key.weight, mark)));
  const values = found.letters.weight.map((letter) => per(times(found.attention.value.weight, letter)));
  const output = found.attention.output.weight.map(per);
  return ({ letters, marks }, off) => {
    const weights = query.map((q, h) => softmax(marks.map((mark) => dot(q, keys[mark][h]) / Math.sqrt(q.length))));
    const parts = weights.map((row, h) => {
      const share = off.includes(h) ? 0 : 1;
      const blended = row.map((weight, j) => values[letters[j]][h].map((x) => share * weight * x)).reduce(plus);
      return times(
        found.answers.weight,
        output.map((line) => dot(line[h], blended)),
      );
    });
    const scores = parts.reduce(plus, found.answers.bias);
    const of = (n, x) => x.slice(n * LETTERS.length, (n + 1) * LETTERS.length);
    return {
      weights,
      parts: parts.map((part) => [of(0, part), of(1, part)]),
      chances: [0, 1].map((n) => softmax(of(n, scores))),
    };
  };
}

const best = (chances) => chances.indexOf(Math.max(...chances));

// How much of the light of an answer comes from each head: its share in what lifts the letter said above the mean.
function lightOf(parts, chances, n) {
  const said = best(chances[n]);
  const lifts = parts.map((part) => Math.max(part[n][said] - part[n].reduce((a, b) => a + b) / LETTERS.length, 0));
  const all = lifts.reduce((a, b) => a + b) || 1;
  return lifts.map((lift) => (chances[n][said] * lift) / all);
}

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
  return { right: right.map((n) => (100 * n) / tests.length), loss: loss / (2 * tests.length) };
}

// ---- what is shown of it ----

const named = (say, h) => fill(say.head, { n: whole(h + 1) });

function weightMap(say, most) {
  const columns = Array.from({ length: LENGTH }, () => element("th", { scope: "col", translate: "no" }));
  const rows = Array.from({ length: most }, (_, h) => {
    const cells = columns.map(() => element("td", { class: "ab-weight" }));
    const head = element("th", { scope: "row" }, named(say, h));
    return { cells, node: element("tr", { class: `ab-head-${h}` }, head, ...cells) };
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

function answersOf(say) {
  const answers = Object.values(say.asks).map((ask) => {
    const [lamp, right] = [verbatim("", { class: "ab-lamp ab-weight" }), verbatim("")];
    const [chance, share] = [element("span"), element("span")];
    const node = element(
      "div",
      { class: "ab-answer" },
      element("p", { class: "ab-hint" }, ask),
      lamp,
      element("p", {}, ...fillNodes(say.said, { chance, right })),
      element("p", { class: "ab-hint" }, ...fillNodes(say.right, { x: share, n: whole(TESTS) })),
    );
    return { node, lamp, chance, right, share };
  });
  const draw = (text, chances, shares) =>
    answers.forEach(({ node, lamp, chance, right, share }, n) => {
      const said = best(chances[n]);
      lamp.textContent = LETTERS[said];
      lamp.style.setProperty("--w", chances[n][said]);
      chance.textContent = number(chances[n][said]);
      right.textContent = LETTERS[text.answers[n]];
      share.textContent = number(shares[n], 1);
      node.classList.toggle("ab-wrong", said !== text.answers[n]);
    });
  return { nodes: answers.map(({ node }) => node), lamps: answers.map(({ lamp }) => lamp), draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const { parts: models } = stored(await asset(model, "models"));
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
  switches.forEach((one, h) => one.classList.add("ab-switch", `ab-head-${h}`));
  const tiles = Array.from({ length: LENGTH }, () => verbatim("", { class: "ab-weight" }));
  const [light, map, answers, loss] = [beams(), weightMap(say, most), answersOf(say), element("span")];
  body(
    el,
    "ablation",
    element("p", { class: "ab-asked" }, say.asked),
    element(
      "div",
      { class: "ab-scene" },
      light.node,
      element("div", { class: "ab-tiles", "aria-hidden": "true" }, ...tiles),
      element("div", { class: "ab-switches", role: "group", "aria-label": say.on }, ...switches),
      element("div", { class: "ab-answers" }, ...answers.nodes),
    ),
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, {
        trait: "heads",
        label: say.heads,
        options: Object.fromEntries(Object.keys(models).map((n) => [n, whole(n)])),
        with: { off: [] },
      }),
      button(say.another, () => update(model, { seed: model.get("seed") + 1 })),
      element("p", { class: "ab-hint ab-loss" }, ...fillNodes(say.loss, { n: whole(TESTS), x: loss })),
    ),
    map.node,
  );

  subscriptions.follow(["heads", "off", "seed"], () => {
    const [heads, off, seed] = ["heads", "off", "seed"].map((trait) => model.get(trait));
    const network = networksOf[heads];
    const [shown] = texts(seed, 1);
    const { weights, parts, chances } = network(shown, off);
    const found = test(network, off, tests);
    map.node.style.setProperty("--heads", heads);
    switches.forEach((one, h) => {
      one.hidden = h >= heads;
      one.setAttribute("aria-pressed", !off.includes(h));
    });
    const lit = weights.map((row, h) => row.map((weight) => (off.includes(h) ? 0 : weight)));
    tiles.forEach((tile, j) => {
      tile.textContent = LETTERS[shown.letters[j]];
      tile.dataset.mark = MARKS[shown.marks[j]];
      tile.style.setProperty("--w", Math.max(...lit.map((row) => row[j])));
    });
    map.draw(shown, weights, off);
    answers.draw(shown, chances, found.right);
    loss.textContent = number(found.loss, 3);
    const lights = [0, 1].map((n) => lightOf(parts, chances, n));
    const beam = (h) => (to, weight) => ({ from: switches[h], to, weight, kind: `ab-head-${h}` });
    light.draw(
      lit.flatMap((row, h) => [
        ...row.map((weight, j) => beam(h)(tiles[j], weight)),
        ...answers.lamps.map((lamp, n) => beam(h)(lamp, lights[n][h])),
      ]),
    );
  });
  return subscriptions.end;
}

export default { render };
