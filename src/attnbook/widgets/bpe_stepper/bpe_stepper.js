import {
  asset,
  body,
  choice,
  count,
  element,
  fill,
  follower,
  headed,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { merged, shownToken, wordsOf } from "../shared/pairs.js";
import { stepSlider } from "../shared/steps.js";

const [LONGEST, LISTED] = [160, 8];
const BETWEEN = "\u{10000}"; // two tokens: it is no byte

// How often each pair occurs, as [[first, second], count].
function counted(tokens) {
  const counts = new Map();
  for (const word of tokens)
    for (let i = 1; i < word.length; i++) {
      const key = word[i - 1] + BETWEEN + word[i];
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  return [...counts].map(([key, n]) => [key.split(BETWEEN), n]);
}

const less = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// Of the pairs in a text those that can be merged, the next of them first: by how often, or by rank.
const often = (pairs) =>
  pairs.filter(([, n]) => n > 1).sort(([a, n], [b, m]) => m - n || less(a[0], b[0]) || less(a[1], b[1]));
const ranked = (ranks) => (pairs) =>
  pairs
    .filter(([pair]) => ranks.has(pair.join(BETWEEN)))
    .sort(([a], [b]) => ranks.get(a.join(BETWEEN)) - ranks.get(b.join(BETWEEN)));

// The text before each merge and after the last.
function stepsOf(text, order) {
  const found = [];
  for (let tokens = wordsOf(text); ;) {
    const pairs = order(counted(tokens));
    found.push({ tokens, pairs, size: tokens.flat().length });
    if (!pairs.length) return found;
    tokens = tokens.map((word) => merged(word, pairs[0][0]));
  }
}

// A colour for each token of more than a byte, the same wherever it occurs.
function dress(chip, token) {
  let hash = 0;
  for (const byte of token) hash = (hash * 31 + byte.charCodeAt(0)) % 360;
  chip.textContent = shownToken(token);
  chip.style.setProperty("--hue", (hash * 137) % 360);
  chip.classList.toggle("ab-made", token.length > 1);
}

// A box of chips: there are as many as were ever needed, and the others are hidden.
function chipsIn(box) {
  const chips = [];
  const grow = (n) => {
    while (chips.length < n) {
      chips.push(verbatim("", { class: "ab-chip" }));
      box.append(chips.at(-1));
    }
  };
  const draw = (tokens) => {
    chips.forEach((chip, i) => {
      chip.hidden = i >= tokens.length;
      if (!chip.hidden) dress(chip, tokens[i]);
    });
    return chips;
  };
  return { grow, draw };
}

// How many tokens are left after each merge, a bar each, and at which of them we are.
function fallOf(say) {
  const bars = [];
  const node = element("div", { class: "ab-fall", role: "img", "aria-label": say.fell });
  const grow = (n) => {
    while (bars.length < n) node.append((bars[bars.length] = element("i")));
  };
  const draw = (steps, at) =>
    bars.forEach((bar, n) => {
      bar.hidden = n >= steps.length;
      bar.style.setProperty("--w", bar.hidden ? 0 : steps[n].size / steps[0].size);
      bar.classList.toggle("ab-here", n === at);
    });
  return { node, grow, draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const ranks = new Map(headed(await asset(model, "pairs")).merges.map((pair, rank) => [pair.join(BETWEEN), rank]));
  const orders = { own: often, book: ranked(ranks) };
  const [text, made] = [element("p", { class: "ab-text" }), element("p", { class: "ab-text" })];
  const [chips, own] = [chipsIn(text), chipsIn(made)];
  const fall = fallOf(say);
  let steps;
  subscriptions.follow(["text", "source"], () => {
    steps = stepsOf(model.get("text"), orders[model.get("source")]);
    chips.grow(steps[0].size);
    own.grow(steps.length);
    fall.grow(steps.length);
  });
  const { at, node: stepping } = stepSlider(model, subscriptions, {
    trait: "step",
    label: say.step,
    back: say.steps.back,
    forward: say.steps.forward,
    values: () => [...steps.keys()],
    with: ["text", "source"],
    show: (step) => fill(say.steps.of, { n: whole(step), all: whole(steps.length - 1) }),
  });
  const field = element("textarea", { rows: 2, spellcheck: "false", maxlength: LONGEST });
  field.addEventListener("input", () => field.value && update(model, { text: field.value, step: 0 }));
  const [size, known, end] = [0, 0, 0].map(() => element("p", { role: "status" }));
  const caption = element("caption");
  const rows = Array.from({ length: LISTED }, () => {
    const [name, times] = [element("th", { scope: "row", translate: "no" }), element("td", { class: "ab-number" })];
    return { name, times, node: element("tr", {}, name, times) };
  });
  body(
    el,
    "bpe",
    element(
      "div",
      { class: "ab-controls" },
      element("div", { class: "ab-control" }, element("label", {}, say.field, field)),
      choice(model, subscriptions, { trait: "source", label: say.source, options: say.sources, with: { step: 0 } }),
    ),
    element("div", { class: "ab-given ab-pin" }, text, size, fall.node),
    stepping,
    element("div", { class: "ab-pairs" }, element("table", {}, caption, ...rows.map(({ node }) => node)), end),
    element("div", { class: "ab-known" }, known, made),
  );

  subscriptions.follow(["text"], () => {
    if (field.value !== model.get("text")) field.value = model.get("text");
  });
  subscriptions.follow(["text", "source", "step"], () => {
    const [n, source] = [at(), model.get("source")];
    const { tokens, pairs } = steps[n];
    const parts = chips.draw(tokens.flat());
    let place = 0;
    for (const word of tokens) {
      let left = false; // of the pair that is merged next
      word.forEach((token, j) => {
        const right = left;
        left = !right && token === pairs[0]?.[0][0] && word[j + 1] === pairs[0][0][1];
        const part = parts[place++];
        part.classList.toggle("ab-first", !j);
        part.classList.toggle("ab-left", left);
        part.classList.toggle("ab-right", right);
      });
    }
    own.draw(steps.slice(0, n).map((step) => step.pairs[0][0].join("")));
    caption.textContent = say.could[source];
    rows.forEach(({ name, times, node }, i) => {
      node.hidden = i >= pairs.length;
      if (node.hidden) return;
      const [pair, occurs] = pairs[i];
      name.textContent = pair.map(shownToken).join(" + ");
      times.textContent = whole(occurs);
      node.style.setProperty("--w", occurs / Math.max(...pairs.map(([, times]) => times)));
    });
    end.textContent = pairs.length ? "" : say.end[source];
    size.textContent = `${count(say.tokens, tokens.flat().length)} ${count(say.bytes, steps[0].size)}`;
    known.textContent = fill(say.known[source], { n: whole(source === "own" ? n : ranks.size) });
    fall.draw(steps, n);
  });
  return subscriptions.end;
}

export default { render };
