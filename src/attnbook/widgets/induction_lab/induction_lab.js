import {
  asset,
  body,
  button,
  choice,
  element,
  fill,
  follower,
  number,
  plus,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { slider } from "../shared/slider.js";
import { beams } from "../shared/beams.js";
import { normals } from "../shared/random.js";
import { stored } from "../shared/stored.js";
import { copier } from "./copier.js";

const [LETTERS, SHORTEST, LONGEST, TESTS] = ["abcdefghijklmnopqrstuvwxyz", 3, 12, 100];
const MARKED = 0.5; // a score from which a head has a name

const best = (numbers) => numbers.indexOf(Math.max(...numbers));
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
const twice = (once) => [...once, ...once];
const idsOf = (text) => [...text].map((letter) => LETTERS.indexOf(letter));

// As in induction_lab.py.
function drawn(seed, n, texts = 1) {
  const letters = Array.from(normals(seed, n * texts), (x) => Math.floor(Math.abs(x) * 1000) % LETTERS.length);
  return Array.from({ length: texts }, (_, i) => letters.slice(n * i, n * (i + 1)));
}

// Whether each letter of the second time but its first is said.
const hits = (letters, { chances }) =>
  letters.slice(1).map((letter, i) => best(chances[letters.length + i]) === letter);

// Of each head the mean weight on the letter before, and on what followed last time.
function scoresOf(weights, n) {
  const back = weights.slice(1).map((row, i) => row[i]);
  const followed = weights.slice(n, -1).map((row, i) => row[i + 1]);
  return [mean(back), mean(followed)];
}

// The letters, what was said of each before it was read, and beams between those that ask and are asked.
function sceneOf(say, point) {
  const columns = Array.from({ length: 2 * LONGEST }, (_, i) => {
    const [letter, guess] = [verbatim("", { class: "ab-letter" }), verbatim("", { class: "ab-weight" })];
    const node = element("div", {}, letter, guess);
    node.addEventListener("click", () => point(i + 1));
    return { node, letter, guess };
  });
  const light = beams();
  const line = element("div", { class: "ab-line", role: "img" }, ...columns.map(({ node }) => node));
  const draw = (letters, chances, at, looks) => {
    const n = letters.length / 2;
    line.style.setProperty("--n", letters.length);
    line.setAttribute("aria-label", say.lines);
    columns.forEach(({ node, letter, guess }, i) => {
      node.hidden = i >= letters.length;
      if (node.hidden) return;
      const said = i ? best(chances[i - 1]) : -1;
      node.className = i < n ? "ab-once" : i === n ? "ab-again" : said === letters[i] ? "ab-right" : "ab-wrong";
      node.classList.toggle("ab-asks", i === at);
      letter.textContent = LETTERS[letters[i]];
      guess.textContent = LETTERS[said] ?? "";
      guess.style.setProperty("--w", i ? chances[i - 1][said] : 0);
    });
    light.draw(
      looks.flatMap(({ from, row, kind }) =>
        row.map((weight, j) => ({ from: columns[from].letter, to: columns[j].letter, weight, kind })),
      ),
    );
  };
  return {
    node: element("div", { class: "ab-scene ab-pin" }, light.node, line, element("small", {}, say.says)),
    draw,
  };
}

// A head: its switch, its map, two scores, and the name that they give it.
function cardOf(say, index, press) {
  const cells = [];
  const map = element("div", { class: "ab-cells", "aria-hidden": "true" });
  for (let i = 0; i < 2 * LONGEST; i++)
    for (let j = 0; j <= i; j++) cells.push(element("i", { class: "ab-weight", style: `grid-area:${i + 1}/${j + 1}` }));
  const row = element("b");
  map.append(...cells, row);
  const kind = element("p", { class: "ab-kind" });
  const bars = ["back", "followed"].map((score) => {
    const value = element("span", { class: "ab-number" });
    return { value, node: element("p", { class: "ab-score" }, element("span", {}, say[score]), value) };
  });
  press.classList.add("ab-switch");
  const node = element("div", { class: `ab-head ab-head-${index}` }, press, map, kind, ...bars.map((bar) => bar.node));
  const draw = (weights, scores, at, on) => {
    const n = weights.length;
    map.style.setProperty("--n", n);
    row.style.gridArea = `${at + 1}/1/auto/-1`;
    let next = 0;
    for (let i = 0; i < 2 * LONGEST; i++)
      for (let j = 0; j <= i; j++) {
        const cell = cells[next++];
        cell.hidden = i >= n;
        if (i < n) cell.style.setProperty("--w", weights[i][j]);
      }
    const marked = scores.findIndex((score) => score >= MARKED);
    const is = on ? (["previous", "induction"][marked] ?? "neither") : "off";
    node.dataset.is = is;
    kind.textContent = say.kinds[is];
    press.setAttribute("aria-pressed", on);
    bars.forEach(({ value, node: bar }, i) => {
      value.textContent = number(scores[i]);
      bar.style.setProperty("--w", scores[i]);
    });
  };
  return { node, draw };
}

// A field that takes what letters there are in it.
function fieldOf(model, subscriptions, say) {
  const field = element("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const show = () => (field.value = model.get("text"));
  field.addEventListener("change", () => {
    const text = field.value
      .toLowerCase()
      .replace(/[^a-z]/g, "")
      .slice(0, LONGEST);
    if (text.length >= SHORTEST) update(model, { text });
    show();
  });
  subscriptions.follow(["text"], show);
  return element(
    "div",
    { class: "ab-control" },
    element("label", {}, fill(say.field, { least: SHORTEST, most: LONGEST }), field),
  );
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const { parts, heads } = stored(await asset(model, "models"));
  const most = heads * Object.keys(parts).length;
  const indices = [...Array(most).keys()];
  const read = Object.fromEntries(Object.entries(parts).map(([layers, own]) => [layers, copier(own, heads)]));
  const letters = () => twice(idsOf(model.get("text")));
  const at = () => Math.min(model.get("at"), letters().length - 1) - 1;
  const scene = sceneOf(say, (place) => update(model, { at: Math.min(place, letters().length - 1) }));
  const named = (index) =>
    fill(say.head, { layer: whole(Math.floor(index / heads) + 1), head: whole((index % heads) + 1) });
  const cards = indices.map((index) =>
    cardOf(
      say,
      index,
      button(named(index), () => {
        const off = model.get("off");
        update(model, { off: off.includes(index) ? off.filter((x) => x !== index) : [...off, index] });
      }),
    ),
  );
  const [looked, right] = [0, 0].map(() => element("p", { role: "status" }));
  const hint = element("p", { class: "ab-hint" }, say.press);
  body(
    el,
    "induction",
    element(
      "div",
      { class: "ab-controls" },
      fieldOf(model, subscriptions, say),
      button(say.another, () => {
        const seed = model.get("seed") + 1;
        const [other] = drawn(seed, model.get("text").length);
        update(model, { seed, text: other.map((id) => LETTERS[id]).join("") });
      }),
      choice(model, subscriptions, { trait: "layers", label: say.layers, options: { 1: whole(1), 2: whole(2) } }),
      slider(model, subscriptions, {
        trait: "at",
        label: say.place,
        values: () =>
          letters()
            .slice(1)
            .map((_, i) => i + 1),
        with: ["text"],
        show: () => fill(say.asks, { n: whole(at() + 1), letter: LETTERS[letters()[at()]] }),
      }),
    ),
    scene.node,
    element("div", { class: "ab-said" }, looked, hint),
    element("div", { class: "ab-heads" }, ...cards.map(({ node }) => node)),
    right,
  );

  let [run, scores, share] = [null, [], 0];
  subscriptions.follow(["text", "layers", "off"], () => {
    const [text, layers, off] = ["text", "layers", "off"].map((trait) => model.get(trait));
    run = read[layers](letters(), off);
    const others = drawn(0, text.length, TESTS).map((one) => ({ one, found: read[layers](twice(one), off) }));
    scores = others
      .map(({ found }) => found.weights.map((weights) => scoresOf(weights, text.length)))
      .reduce((a, b) => a.map((head, i) => plus(head, b[i])))
      .map((head) => head.map((x) => x / TESTS));
    share = mean(others.flatMap(({ one, found }) => hits(one, found).map(Number)));
  });
  subscriptions.follow(["text", "layers", "off", "at"], () => {
    const [text, layers, off] = ["text", "layers", "off"].map((trait) => model.get(trait));
    const [place, top] = [at(), (layers - 1) * heads];
    const look = (index, from) => ({ from, kind: `ab-head-${index}`, row: run.weights[index][from] });
    const on = (index) => index < layers * heads && !off.includes(index);
    const upper = indices.filter((index) => on(index) && index >= top);
    const found = best(upper.map((index) => run.weights[index][place]).reduce(plus, new Array(place + 1).fill(0)));
    const lower = upper.length ? indices.filter((index) => on(index) && index < top) : [];
    const looks = [...upper.map((index) => look(index, place)), ...lower.map((index) => look(index, found))];
    hint.style.visibility = off.some((index) => index < layers * heads) ? "hidden" : "visible";
    scene.draw(letters(), run.chances, place, looks);
    cards.forEach(({ node, draw }, index) => {
      node.hidden = index >= layers * heads;
      if (!node.hidden) draw(run.weights[index], scores[index], place, on(index));
    });
    const guess = best(run.chances[place]);
    looked.textContent = fill(say.looked, {
      letter: LETTERS[letters()[place]],
      guess: LETTERS[guess],
      chance: number(run.chances[place][guess]),
    });
    const own = hits(idsOf(text), run);
    right.textContent = fill(say.right, {
      right: whole(own.filter(Boolean).length),
      all: whole(own.length),
      n: whole(TESTS),
      share: number(100 * share, 0),
    });
  });
  return subscriptions.end;
}

export default { render };
