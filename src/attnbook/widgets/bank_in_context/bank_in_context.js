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
  number,
  softmax,
  times,
  update,
  verbatim,
  words,
} from "../shared/core.js";
import { lexicon, nearestWords, wordVectors } from "../shared/lexicon.js";
import { networks, whenNeeded } from "../shared/stored.js";
import { wordField } from "../shared/word_field.js";

const TRIES = [
  // and the place of the word that asks
  ["the bank of the river", 1],
  ["the bank gave her another loan", 1],
  ["the player hit the ball with the bat", 7],
  ["the bat flew in the dark cave the bank gave her another loan", 1],
];
const TRAY = ["river", "water", "boat", "money", "loan", "customer", "sat", "the"];
const [MOST, SHOWN, FAR] = [14, 5, 30]; // words in a line, words in a ranking, how far from the line is out of it

// A word that can be carried elsewhere; `drop` is told where. A press that carries it nowhere is a press.
function carry(chip, { press, drop }) {
  let from = null;
  let carried = false;
  const end = () => {
    chip.style.translate = "";
    chip.classList.remove("ab-carried");
  };
  chip.addEventListener("pointerdown", (event) => {
    carried = false;
    if (!event.isPrimary || event.button !== 0) return;
    from = [event.clientX, event.clientY];
    chip.setPointerCapture(event.pointerId);
  });
  chip.addEventListener("pointermove", (event) => {
    if (!chip.hasPointerCapture(event.pointerId)) return;
    const [x, y] = [event.clientX - from[0], event.clientY - from[1]];
    carried ||= Math.hypot(x, y) > 8;
    chip.classList.toggle("ab-carried", carried);
    if (carried) chip.style.translate = `${x}px ${y}px`;
  });
  chip.addEventListener("pointerup", (event) => {
    if (!chip.hasPointerCapture(event.pointerId)) return;
    end();
    if (carried) drop(event.clientX, event.clientY);
  });
  chip.addEventListener("pointercancel", end);
  chip.addEventListener("click", (event) => {
    if (!carried || event.detail === 0) press();
  }); // 0: by a key
}

const chip = (word, kind = "") =>
  element("button", { type: "button", class: `ab-button ab-chip ${kind}`, translate: "no" }, word);

// The sentence, and what can be done to it: wherever the word that asks goes, it asks on.
function sentence(model) {
  const now = () => [model.get("tokens"), Math.min(model.get("place"), model.get("tokens").length - 1)];
  const edit = (change) => {
    const [tokens, place] = now();
    const line = tokens.map((word, i) => ({ word, asks: i === place }));
    change(line);
    if (!line.length || line.length > MOST) return;
    const asks = line.findIndex((each) => each.asks);
    const last = line.length - 1;
    update(model, { tokens: line.map(({ word }) => word), place: asks < 0 ? Math.min(place, last) : asks });
  };
  return {
    now,
    insert: (word, to = MOST) => edit((line) => line.splice(to, 0, { word })),
    remove: (from) => edit((line) => line.splice(from, 1)),
    move: (from, to) => edit((line) => line.splice(Math.max(to, 0), 0, ...line.splice(from, 1))),
  };
}

// The words of the sentence in a line: one that is pressed asks; each can be dragged elsewhere, or out.
function wordLine(label, { now, move, remove }, ask) {
  const chips = Array.from({ length: MOST }, () => chip(""));
  const node = element("div", { class: "ab-line", role: "group", "aria-label": label }, ...chips);
  // How many words of the line stand before a point, or null if it is far from the line.
  const before = (x, y, but) => {
    const box = node.getBoundingClientRect();
    if (y < box.top - FAR || y > box.bottom + FAR || x < box.left - FAR || x > box.right + FAR) return null;
    const places = chips.filter((each) => each !== but && !each.hidden).map((each) => each.getBoundingClientRect());
    const [top, bottom] = [Math.min(...places.map((at) => at.top)), Math.max(...places.map((at) => at.bottom))];
    const inside = Math.min(Math.max(y, top), bottom);
    const comes = (at) => at.bottom < inside || (at.top <= inside && (at.left + at.right) / 2 < x);
    return places.filter(comes).length;
  };
  chips.forEach((each, i) =>
    carry(each, {
      press: () => ask(i),
      drop: (x, y) => {
        const to = before(x, y, each);
        if (to === null) remove(i);
        else move(i, to);
      },
    }),
  );
  const draw = () => {
    const [tokens, place] = now();
    chips.forEach((each, i) => {
      each.hidden = i >= tokens.length;
      each.textContent = tokens[i] ?? "";
      each.setAttribute("aria-pressed", i === place);
    });
  };
  return { node, before, draw, focus: () => chips[now()[1]].focus() };
}

// A word to put in: pressed, it goes to the end of the line; dragged, anywhere into it.
function offer(word, { insert }, line) {
  const node = chip(word, "ab-tray");
  carry(node, {
    press: () => insert(node.textContent),
    drop: (x, y) => {
      const to = line.before(x, y);
      if (to !== null) insert(node.textContent, to);
    },
  });
  return node;
}

// The scores and weights of the words x for the one that asks, and what it becomes: by the vectors themselves, or by what
// a reader's matrices make of them.
function look(x, place, reader) {
  const by = (part) => (reader ? x.map((word) => times(reader[`${part}.weight`], word)) : x);
  const [queries, keys, values] = ["query", "key", "value"].map(by);
  const scale = reader ? Math.sqrt(keys[0].length) : 1;
  const scores = keys.map((key) => dot(key, queries[place]) / scale);
  const weights = softmax(scores);
  const column = (n) => values.map((value) => value[n]);
  return { scores, weights, became: Float64Array.from(values[0], (_, n) => dot(weights, column(n))) };
}

function weightTable(say) {
  const rows = Array.from({ length: MOST }, () => {
    const word = element("th", { scope: "row", translate: "no" });
    const [score, weight, bar] = ["ab-number", "ab-number", "ab-bar"].map((kind) => element("td", { class: kind }));
    bar.append(element("i"));
    return { word, score, weight, bar, node: element("tr", {}, word, score, weight, bar) };
  });
  const caption = element("caption");
  const node = element(
    "table",
    { class: "ab-look" },
    caption,
    heading([say.word, say.score, say.weight, ""]),
    element("tbody", {}, ...rows.map((row) => row.node)),
  );
  const draw = (tokens, place, { scores, weights }) => {
    caption.textContent = fill(say.weights, { word: tokens[place] });
    rows.forEach(({ word, score, weight, bar, node: row }, i) => {
      row.hidden = i >= tokens.length;
      if (row.hidden) return;
      word.textContent = tokens[i];
      score.textContent = number(scores[i]);
      weight.textContent = number(weights[i]);
      bar.style.setProperty("--w", weights[i]);
      row.classList.toggle("ab-asks", i === place);
    });
  };
  return { node, draw };
}

// The words nearest to a vector, with their cosines.
function ranking(say) {
  const lines = Array.from({ length: SHOWN }, () => [
    element("th", { scope: "row", translate: "no" }),
    element("td", { class: "ab-number" }),
  ]);
  const caption = element("caption");
  const node = element(
    "table",
    { class: "ab-near" },
    caption,
    heading([say.word, say.cosine]),
    element("tbody", {}, ...lines.map((cells) => element("tr", {}, ...cells))),
  );
  const draw = (text, vectors, to) => {
    caption.textContent = text;
    nearestWords(vectors, to, SHOWN).forEach(([row, cosine], i) => {
      lines[i][0].textContent = vectors.list[row];
      lines[i][1].textContent = number(cosine);
    });
  };
  return { node, draw };
}

// What the word that asks looks at, and the words nearest to it alone and to what it becomes.
function answer(say) {
  const [weighing, alone, became] = [weightTable(say), ranking(say), ranking(say)];
  const rankings = element("div", { class: "ab-rankings" }, alone.node, became.node);
  const draw = (tokens, place, vectors, reader) => {
    const x = tokens.map((word) => vectors.vector(vectors.row(word)));
    const found = look(x, place, reader);
    weighing.draw(tokens, place, found);
    alone.draw(fill(say.alone, { word: tokens[place] }), vectors, x[place]);
    became.draw(say.became, vectors, found.became);
  };
  return { node: element("div", { class: "ab-results" }, weighing.node, rankings), draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const known = lexicon(headed(await asset(model, "words")).words);
  const text = sentence(model);
  const line = wordLine(say.sentence, text, (place) => update(model, { place }));
  const offers = [...TRAY, ""].map((word) => offer(word, text, line));
  const extra = offers.at(-1); // the word of the field
  const field = wordField(model, subscriptions, {
    trait: "extra",
    label: say.field,
    known,
    more: (row) => {
      const [tokens] = text.now();
      return tokens.length < MOST ? { tokens: [...tokens, known.list[row]] } : {};
    },
  });
  const tries = TRIES.map(([tokens, place]) =>
    button(verbatim(tokens), () => update(model, { tokens: tokens.split(" "), place })),
  );
  const act = (label, change) => button(label, () => change(text.now()[1]));
  const ask = button("", () => {
    update(model, { asked: true });
    line.focus(); // this button is gone now
  });
  const full = element("p", { class: "ab-hint", role: "status" });
  const status = element("p", { class: "ab-hint", role: "status" });
  const results = answer(say);
  const row = (...parts) => element("div", { class: "ab-controls ab-tries" }, ...parts);
  const hint = (words) => element("span", { class: "ab-hint" }, words);
  const root = body(
    el,
    "bank",
    row(hint(say.tries), ...tries),
    line.node,
    element("p", { class: "ab-hint" }, say.how),
    row(
      act(say.left, (place) => text.move(place, place - 1)),
      act(say.right, (place) => text.move(place, place + 1)),
      act(say.out, text.remove),
    ),
    row(hint(say.tray), ...offers, field),
    full,
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "matrices", label: say.matrices, options: say.made }),
      ask,
    ),
    status,
    results.node,
  );

  const fetched = whenNeeded(model, "vectors", wordVectors);
  const trained = whenNeeded(model, "learned", (bytes) => networks(bytes).models.reader);
  results.node.hidden = true;
  subscriptions.follow(["tokens", "place", "extra", "matrices", "asked"], async () => {
    line.draw();
    extra.textContent = model.get("extra");
    extra.hidden = !model.get("extra");
    const isFull = text.now()[0].length === MOST;
    full.toggleAttribute("data-full", isFull);
    full.textContent = isFull ? say.full : "";
    ask.textContent = fill(say.ask, { word: text.now()[0][text.now()[1]] });
    ask.hidden = model.get("asked");
    const reader = model.get("asked") && (await trained(root, status, say.lexicon.fetching));
    const vectors = model.get("asked") && (await fetched(root, status, say.lexicon.fetching));
    results.node.hidden = !model.get("asked"); // which may have changed meanwhile
    if (results.node.hidden) return;
    results.draw(...text.now(), vectors, model.get("matrices") === "learned" ? reader : null);
  });
  return subscriptions.end;
}

export default { render };
