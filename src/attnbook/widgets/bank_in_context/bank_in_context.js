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
  number,
  update,
  softmax,
  times,
  words,
} from "../shared/core.js";
import { networks, whenNeeded } from "../shared/stored.js";
import { lexicon, nearestWords, wordVectors } from "../shared/lexicon.js";
import { wordField } from "../shared/word_field.js";

const TEXT = {
  en: {
    tries: "Or try",
    sentence: "The sentence",
    how: "Press a word, and it is the one that asks. Drag words to where you want them, or out of the line.",
    left: "Move it left",
    right: "Move it right",
    out: "Take it out",
    tray: "Put in",
    field: "Any other word",
    full: "The line is full. Take a word out first.",
    unknown: (word) => `“${word}” is not among the 8,000 words.`,
    matrices: "Queries, keys and values are",
    options: { none: "the words", learned: "the words × learned matrices" },
    ask: (word) => `Let “${word}” look around`,
    fetching: "Fetching the 8,000 vectors (0.9 MB) …",
    weights: (word) => `What “${word}” looks at`,
    heads: ["word", "score", "weight", ""],
    alone: (word) => `Nearest to “${word}” alone`,
    became: "Nearest to what it becomes",
    columns: ["word", "cosine"],
  },
};
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

async function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const known = lexicon(headed(await asset(model, "words")).words);
  const sentence = () => [model.get("tokens"), Math.min(model.get("place"), model.get("tokens").length - 1)];

  // The word at `from`, or a new one, goes before the one at `to`; the word that asks asks on.
  const insert = (word, to) => {
    const [tokens, place] = sentence();
    if (tokens.length < MOST) update(model, { tokens: tokens.toSpliced(to, 0, word), place: place + (to <= place) });
  };
  const remove = (from) => {
    const [tokens, place] = sentence();
    if (from < tokens.length && tokens.length > 1)
      update(model, { tokens: tokens.toSpliced(from, 1), place: Math.min(place - (from < place), tokens.length - 2) });
  };
  const move = (from, to) => {
    const [tokens, place] = sentence();
    if (from >= tokens.length || to < 0 || to >= tokens.length) return;
    const order = tokens.map((_, i) => i);
    order.splice(to, 0, ...order.splice(from, 1));
    update(model, { tokens: order.map((i) => tokens[i]), place: order.indexOf(place) });
  };

  const chips = Array.from({ length: MOST }, () => element("button", { type: "button", class: "ab-button ab-chip" }));
  const line = element("div", { class: "ab-line", role: "group", "aria-label": say.sentence }, ...chips);
  // How many words of the line stand before a point, or null if it is far from the line.
  const before = (x, y, but) => {
    const box = line.getBoundingClientRect();
    if (y < box.top - FAR || y > box.bottom + FAR || x < box.left - FAR || x > box.right + FAR) return null;
    const places = chips.filter((chip) => chip !== but && !chip.hidden).map((chip) => chip.getBoundingClientRect());
    const inside = Math.min(
      Math.max(y, Math.min(...places.map(({ top }) => top))),
      Math.max(...places.map(({ bottom }) => bottom)),
    );
    return places.filter(({ top, bottom, left, right }) => bottom < inside || (top <= inside && (left + right) / 2 < x))
      .length;
  };
  chips.forEach((chip, i) =>
    carry(chip, {
      press: () => update(model, { place: i }),
      drop: (x, y) => {
        const to = before(x, y, chip);
        if (to === null) remove(i);
        else move(i, to);
      },
    }),
  );
  const tray = [...TRAY, ""].map((word) => {
    const chip = element("button", { type: "button", class: "ab-button ab-chip ab-tray" }, word);
    carry(chip, {
      press: () => insert(chip.textContent, model.get("tokens").length),
      drop: (x, y) => {
        const to = before(x, y);
        if (to !== null) insert(chip.textContent, to);
      },
    });
    return chip;
  });
  const extra = tray.at(-1);
  const field = wordField(model, subscriptions, {
    trait: "extra",
    label: say.field,
    known,
    unknown: say.unknown,
    more: (row) => {
      const [tokens] = sentence();
      return tokens.length < MOST ? { tokens: [...tokens, known.list[row]] } : {};
    },
  });
  const tries = TRIES.map(([text, place]) => button(text, () => update(model, { tokens: text.split(" "), place })));
  const moves = [
    [say.left, () => move(sentence()[1], sentence()[1] - 1)],
    [say.right, () => move(sentence()[1], sentence()[1] + 1)],
    [say.out, () => remove(sentence()[1])],
  ];
  const ask = button("", () => {
    update(model, { asked: true });
    chips[sentence()[1]].focus(); // this button is gone now
  });
  const full = element("p", { class: "ab-hint", role: "status" });
  const status = element("p", { class: "ab-hint", role: "status" });

  const rows = Array.from({ length: MOST }, () => {
    const [word, score, weight, bar] = [
      element("th", { scope: "row" }),
      ...["ab-number", "ab-number", "ab-bar"].map((kind) => element("td", { class: kind })),
    ];
    bar.append(element("i"));
    return { word, score, weight, bar, node: element("tr", {}, word, score, weight, bar) };
  });
  const [weighing, first, second] = [0, 0, 0].map(() => element("caption"));
  second.textContent = say.became;
  const rankings = [first, second].map((caption) => {
    const lines = Array.from({ length: SHOWN }, () => [
      element("th", { scope: "row" }),
      element("td", { class: "ab-number" }),
    ]);
    return {
      lines,
      node: element(
        "table",
        { class: "ab-near" },
        caption,
        heading(say.columns),
        element("tbody", {}, ...lines.map((cells) => element("tr", {}, ...cells))),
      ),
    };
  });
  const results = element(
    "div",
    { class: "ab-results" },
    element(
      "table",
      { class: "ab-look" },
      weighing,
      heading(say.heads),
      element("tbody", {}, ...rows.map(({ node }) => node)),
    ),
    element("div", { class: "ab-rankings" }, ...rankings.map(({ node }) => node)),
  );
  const root = body(
    el,
    "bank",
    element("div", { class: "ab-controls ab-tries" }, element("span", { class: "ab-hint" }, say.tries), ...tries),
    line,
    element("p", { class: "ab-hint" }, say.how),
    element("div", { class: "ab-controls ab-tries" }, ...moves.map(([text, press]) => button(text, press))),
    element("div", { class: "ab-controls ab-tries" }, element("span", { class: "ab-hint" }, say.tray), ...tray, field),
    full,
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "matrices", label: say.matrices, options: say.options }),
      ask,
    ),
    status,
    results,
  );

  const fetched = whenNeeded(model, "vectors", wordVectors);
  const trained = whenNeeded(model, "learned", (bytes) => networks(bytes).models.reader);
  results.hidden = true;
  async function draw() {
    const [tokens, place] = sentence();
    chips.forEach((chip, i) => {
      chip.hidden = i >= tokens.length;
      chip.textContent = tokens[i] ?? "";
      chip.setAttribute("aria-pressed", i === place);
    });
    extra.textContent = model.get("extra");
    extra.hidden = !model.get("extra");
    full.textContent = tokens.length === MOST ? say.full : "";
    ask.textContent = say.ask(tokens[place]);
    ask.hidden = model.get("asked");
    if (!model.get("asked")) {
      results.hidden = true;
      return;
    }
    const reader = await trained(root, status, say.fetching);
    const vectors = await fetched(root, status, say.fetching);
    if (!model.get("asked")) return;
    show(reader, vectors);
    results.hidden = false;
  }
  function show(reader, vectors) {
    const [tokens, place] = sentence();
    const x = tokens.map((word) => vectors.vector(vectors.row(word)));
    const by = (part) =>
      model.get("matrices") === "learned" ? x.map((word) => times(reader[`${part}.weight`], word)) : x;
    const [queries, keys, values] = ["query", "key", "value"].map(by);
    const scale = model.get("matrices") === "learned" ? Math.sqrt(keys[0].length) : 1;
    const scores = keys.map((key) => dot(key, queries[place]) / scale);
    const weights = softmax(scores);
    const became = Float64Array.from(values[0], (_, n) =>
      dot(
        weights,
        values.map((value) => value[n]),
      ),
    );

    weighing.textContent = say.weights(tokens[place]);
    rows.forEach(({ word, score, weight, bar, node }, i) => {
      node.hidden = i >= tokens.length;
      if (node.hidden) return;
      word.textContent = tokens[i];
      score.textContent = number(scores[i]);
      weight.textContent = number(weights[i]);
      bar.style.setProperty("--w", weights[i]);
      node.classList.toggle("ab-asks", i === place);
    });
    first.textContent = say.alone(tokens[place]);
    rankings.forEach(({ lines }, n) => {
      nearestWords(vectors, [x[place], became][n], SHOWN).forEach(([row, cosine], i) => {
        lines[i][0].textContent = vectors.list[row];
        lines[i][1].textContent = number(cosine);
      });
    });
  }
  subscriptions.follow(["tokens", "place", "extra", "matrices", "asked"], draw);
  return subscriptions.end;
}

export default { render };
