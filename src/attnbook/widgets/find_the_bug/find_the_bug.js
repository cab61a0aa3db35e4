import {
  body,
  button,
  choice,
  count,
  dot,
  element,
  fill,
  follower,
  heading,
  number,
  update,
  softmax,
  verbatim,
  words,
} from "../shared/core.js";
import { glide } from "../shared/glide.js";
import { normals } from "../shared/random.js";

const KINDS = ["right", "batch", "none"];
const WORDS = ["dog", "bites", "man", "cat", "hears", "rain"];
const [WIDTH, BRIGHT] = [4, 2]; // numbers of a vector; the size of a number that is as bright as can be
const place = (i) => [Math.sin(i), Math.cos(i), Math.sin(i / 100), Math.cos(i / 100)];
const ADDED = { right: (text, at) => place(at), batch: (text) => place(text), none: () => [0, 0, 0, 0] };

const batchOf = (wordsSwapped, textsSwapped) => {
  const texts = [wordsSwapped ? [2, 1, 0] : [0, 1, 2], [3, 4, 5]];
  return textsSwapped ? texts.reverse() : texts;
};

function encode(batch, kind, seed) {
  const vectors = normals(100 + seed, WORDS.length * WIDTH);
  return batch.map((text, b) => {
    const x = text.map((word, at) => ADDED[kind](b, at).map((place, n) => vectors[word * WIDTH + n] + place));
    return x.map((query) => {
      const weights = softmax(x.map((key) => dot(query, key) / Math.sqrt(WIDTH)));
      return query.map((_, n) =>
        dot(
          weights,
          x.map((value) => value[n]),
        ),
      );
    });
  });
}

const orderOf = (seed) => {
  const draws = [...normals(seed, KINDS.length)];
  return draws
    .map((_, j) => j)
    .sort((i, j) => draws[i] - draws[j])
    .map((j) => KINDS[j]);
};

// A word and what it becomes: four numbers as colours, above as they were and below as they are, and the first as a number.
function piece(word) {
  const [before, now] = [0, 0].map(() => Array.from({ length: WIDTH }, () => element("i")));
  const output = element("span", { class: "ab-number" });
  const colours = element("span", { class: "ab-colours", "aria-hidden": "true" }, ...before, ...now);
  const paint = (strip, numbers) =>
    strip.forEach((part, n) => part.style.setProperty("--s", Math.max(-1, Math.min(1, numbers[n] / BRIGHT))));
  return {
    node: element("span", { class: "ab-piece" }, verbatim(word), colours, output),
    show(was, is) {
      paint(before, was);
      paint(now, is);
      output.textContent = number(is[0]);
      const isMoved = is.some((x, n) => Math.abs(x - was[n]) > 1e-9);
      this.node.classList.toggle("ab-moved", isMoved);
      return isMoved;
    },
  };
}

// An encoder: what comes out for each word, what is known of it, and the reader's guess.
function encoder(model, subscriptions, say, trait) {
  const pieces = WORDS.map(piece);
  const cells = [0, 1].map(() => [0, 1, 2].map(() => element("td")));
  const [moved, was] = ["changed", "was"].map((name) => element("p", { class: `ab-hint ab-${name}`, role: "status" }));
  const rows = cells.map((row, b) =>
    element("tr", {}, element("th", { scope: "row" }, fill(say.text, { n: b + 1 })), ...row),
  );
  const table = element(
    "table",
    {},
    element("caption", {}, say.names[trait]),
    heading(["", ...[1, 2, 3].map((n) => fill(say.place, { n }))]),
    element("tbody", {}, ...rows),
  );
  const guess = choice(model, subscriptions, {
    trait,
    label: say.is[trait],
    options: say.kinds,
    with: { revealed: false },
  });
  return { trait, pieces, cells, moved, was, node: element("div", { class: "ab-panel" }, table, moved, guess, was) };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const swaps = Object.entries(say.swap).map(([trait, label]) => {
    const key = button(label, () => update(model, { [trait]: !model.get(trait) }));
    return { trait, key };
  });
  const encoders = Object.keys(say.names).map((trait) => encoder(model, subscriptions, say, trait));
  const verdict = element("p", { class: "ab-verdict", role: "status" });
  const swapped = element("span", {}, say.swapped);
  body(
    el,
    "bug",
    element("p", {}, say.question),
    element(
      "div",
      { class: "ab-bench" },
      element("div", { class: "ab-controls ab-tries ab-swaps" }, ...swaps.map(({ key }) => key)),
      element("div", { class: "ab-encoders" }, ...encoders.map(({ node }) => node)),
      element("p", { class: "ab-hint" }, say.note, " ", swapped),
    ),
    element(
      "div",
      { class: "ab-controls ab-tries" },
      button(say.check, () => update(model, { revealed: true })),
      button(say.again, () =>
        update(model, {
          seed: model.get("seed") + 1,
          words_swapped: false,
          texts_swapped: false,
          a: "",
          b: "",
          c: "",
          revealed: false,
        }),
      ),
      verdict,
    ),
  );

  subscriptions.follow(["seed", "words_swapped", "texts_swapped", "a", "b", "c", "revealed"], () => {
    for (const { trait, key } of swaps) key.setAttribute("aria-pressed", model.get(trait));
    swapped.style.visibility = swaps.some(({ trait }) => model.get(trait)) ? "" : "hidden";
    const batch = batchOf(model.get("words_swapped"), model.get("texts_swapped"));
    const seed = model.get("seed");
    const order = orderOf(seed);
    const every = encoders.flatMap(({ pieces }) => pieces.map(({ node }) => node));
    glide(every, () => {
      for (const { cells, pieces } of encoders) {
        batch.forEach((text, b) => text.forEach((word, at) => cells[b][at].append(pieces[word].node)));
      }
    });
    encoders.forEach(({ trait, pieces, moved, was }, n) => {
      const [before, now] = [batchOf(false, false), batch].map((texts) => encode(texts, order[n], seed).flat());
      const changed = batch.flat().filter((word, at) => pieces[word].show(before[word], now[at])).length;
      moved.textContent = count(say.moved, changed);
      was.dataset.kind = model.get("revealed") && model.get(trait) !== order[n] ? order[n] : "";
      was.textContent = say.was[was.dataset.kind] ?? "";
    });
    const right = encoders.filter(({ trait }, n) => model.get(trait) === order[n]).length;
    verdict.textContent = !model.get("revealed") ? "" : right === 3 ? say.allRight : count(say.verdict, right);
  });
  return subscriptions.end;
}

export default { render };
