import {
  body,
  button,
  choice,
  dot,
  element,
  follower,
  heading,
  largestOf,
  length,
  number,
  plus,
  update,
  slider,
  softmax,
  times,
  words,
} from "../shared/core.js";
import { normals } from "../shared/random.js";
import { layerNorm, sinusoid, split } from "../shared/layers.js";

const TEXT = {
  en: {
    norm: "LayerNorm",
    norms: { post: "after each sum (post)", pre: "before each layer (pre)" },
    shortcut: "Shortcuts",
    shortcuts: { with: "with", without: "without" },
    block: "Block:",
    of: (block) => `${block} of 6`,
    flow: "Press a part, in the order in which data flows",
    parts: {
      in: "input",
      norm1: "norm 1",
      weights: "weights",
      attention: "attention",
      add1: "sum 1",
      norm2: "norm 2",
      hidden: "hidden layer",
      forward: "feed-forward",
      add2: "sum 2",
    },
    says: {
      in: "What this block is given: a vector of 8 numbers for each word.",
      norm1: "Each vector by itself: mean 0, size 1. Eight numbers of size 1 have length √8 = 2.83.",
      weights: "Self-attention, two heads: how much each word (row) looks at each (column). Rows add up to 1.",
      attention: "What attention has made of it: for each word a mix of all words, after the output matrix.",
      add1: "Shortcut: what went in, plus what attention has made of it.",
      norm2: "Again each vector by itself: mean 0, size 1.",
      hidden: "Inside feed-forward: 32 numbers a word, no word knows of another. ReLU has made 0 of all below 0.",
      forward: "Back to 8 numbers a word.",
      add2: "Shortcut: what went in, plus what feed-forward has made of it.",
    },
    none: "Without a shortcut nothing is added: this is the layer's output again.",
    shape: (shape, zeros) => `Shape (${shape.join(", ")})${zeros ? `, ${zeros} zeros` : ""}.`,
    length: "length",
    row: (head, word) => `${head ? `head ${head}: ` : ""}${word}`,
    column: (n) => `${n + 1}`,
    stream: ["after block", "mean length", "", "how alike the words are"],
    caption: "The vectors between the blocks",
  },
};
const WORDS = ["time", "flies", "like", "an", "arrow"];
const [D, HEADS, HIDDEN, BLOCKS] = [8, 2, 32, 6];
const PARTS = {
  post: ["in", "weights", "attention", "add1", "norm1", "hidden", "forward", "add2", "norm2"],
  pre: ["in", "norm1", "weights", "attention", "add1", "norm2", "hidden", "forward", "add2"],
};

function weightsOf(block) {
  const sizes = [
    [D, D],
    [D, D],
    [D, D],
    [D, D],
    [HIDDEN, D],
    [D, HIDDEN],
  ];
  const draws = normals(
    block,
    sizes.reduce((sum, [rows, columns]) => sum + rows * columns, 0),
  );
  let next = 0;
  return sizes.map(([rows, columns]) =>
    Array.from({ length: rows }, () => Array.from(draws.slice(next, (next += columns)), (x) => x / Math.sqrt(columns))),
  );
}

const BLOCK = Array.from({ length: BLOCKS }, (_, n) => weightsOf(n + 1));

function attend([W_q, W_k, W_v, W_o], xs) {
  const [q, k, v] = [W_q, W_k, W_v].map((W) => xs.map((x) => split(times(W, x), HEADS)));
  const weights = Array.from({ length: HEADS }, (_, h) =>
    q.map((query) => softmax(k.map((key) => dot(query[h], key[h]) / Math.sqrt(D / HEADS)))),
  );
  const joined = xs.map((_, i) =>
    weights.flatMap((head, h) =>
      v[0][h].map((_, n) =>
        dot(
          head[i],
          v.map((value) => value[h][n]),
        ),
      ),
    ),
  );
  return { weights, attention: joined.map((x) => times(W_o, x)) };
}

function through([W_q, W_k, W_v, W_o, W_1, W_2], xs, pre, shortcut) {
  const found = { in: xs };
  const around = (n, layer) => {
    const given = pre ? (found[`norm${n}`] = xs.map(layerNorm)) : xs;
    const out = layer(given);
    xs = found[`add${n}`] = shortcut ? xs.map((x, i) => plus(x, out[i])) : out;
    if (!pre) xs = found[`norm${n}`] = xs.map(layerNorm);
  };
  around(1, (given) => Object.assign(found, attend([W_q, W_k, W_v, W_o], given)).attention);
  around(2, (given) => {
    found.hidden = given.map((x) => times(W_1, x).map((number) => Math.max(number, 0)));
    return (found.forward = found.hidden.map((x) => times(W_2, x)));
  });
  return { found, out: xs };
}

const START = (() => {
  const draws = normals(0, WORDS.length * D);
  return WORDS.map((_, i) => plus(Array.from(draws.slice(i * D, (i + 1) * D)), sinusoid(i, D)));
})();

const average = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
const alike = (xs) =>
  average(xs.flatMap((a, i) => xs.filter((_, j) => j !== i).map((b) => dot(a, b) / (length(a) * length(b)))));

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const buttons = Object.fromEntries(
    Object.keys(say.parts).map((part) => [part, button(say.parts[part], () => update(model, { part }))]),
  );
  const flow = element("div", { class: "ab-flow", role: "group", "aria-label": say.flow });
  const [says, shape] = [element("p", { class: "ab-says", role: "status" }), element("p", { class: "ab-hint" })];
  const columns = Array.from({ length: HIDDEN }, () => element("th", { scope: "col" }));
  const last = element("th", { scope: "col" }, say.length);
  const lines = Array.from({ length: HEADS * WORDS.length }, () => {
    const [head, cells, size] = [
      element("th", { scope: "row" }),
      columns.map(() => element("td")),
      element("td", { class: "ab-number ab-length" }),
    ];
    return { head, cells, size, node: element("tr", {}, head, ...cells, size) };
  });
  const tensor = element(
    "table",
    { class: "ab-tensor" },
    element("thead", {}, element("tr", {}, element("td"), ...columns, last)),
    element("tbody", {}, ...lines.map(({ node }) => node)),
  );
  const rows = Array.from({ length: BLOCKS + 1 }, (_, n) => {
    const [size, bar, cosine] = [
      element("td", { class: "ab-number" }),
      element("i"),
      element("td", { class: "ab-number" }),
    ];
    return {
      size,
      bar,
      cosine,
      node: element(
        "tr",
        {},
        element("th", { scope: "row" }, String(n)),
        size,
        element("td", { class: "ab-bar", "aria-hidden": "true" }, bar),
        cosine,
      ),
    };
  });
  const stream = element(
    "table",
    { class: "ab-stream" },
    element("caption", {}, say.caption),
    heading(say.stream),
    element("tbody", {}, ...rows.map(({ node }) => node)),
  );
  body(
    el,
    "blockstepper",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "norm", label: say.norm, options: say.norms }),
      choice(model, subscriptions, { trait: "shortcut", label: say.shortcut, options: say.shortcuts }),
    ),
    slider(model, subscriptions, { trait: "block", label: say.block, values: [1, 2, 3, 4, 5, 6], show: say.of }),
    element("p", { class: "ab-hint" }, say.flow),
    flow,
    says,
    shape,
    element("div", { class: "ab-scroll" }, tensor),
    stream,
  );

  subscriptions.follow(["norm"], () => flow.append(...PARTS[model.get("norm")].map((part) => buttons[part])));
  subscriptions.follow(["norm", "shortcut", "block", "part"], () => {
    const [norm, shortcut, block, part] = ["norm", "shortcut", "block", "part"].map((name) => model.get(name));
    const runs = [];
    const xs = [START];
    for (const weights of BLOCK) {
      runs.push(through(weights, xs.at(-1), norm === "pre", shortcut === "with"));
      xs.push(runs.at(-1).out);
    }
    for (const [name, key] of Object.entries(buttons)) key.setAttribute("aria-pressed", name === part);
    const { [part]: shown } = runs[block - 1].found;
    const isWeights = part === "weights";
    const numbers = isWeights ? shown.flat() : shown;
    const wide = numbers[0].length;
    says.textContent = part.startsWith("add") && shortcut === "without" ? say.none : say.says[part];
    shape.textContent = say.shape(
      isWeights ? [1, HEADS, WORDS.length, WORDS.length] : [1, WORDS.length, wide],
      part === "hidden" ? numbers.flat().filter((x) => x === 0).length : 0,
    );
    tensor.classList.toggle("ab-wide", wide === HIDDEN);
    const largest = largestOf(numbers.flat());
    columns.forEach((head, j) => {
      head.hidden = j >= wide;
      head.textContent = isWeights ? (WORDS[j] ?? "") : say.column(j);
    });
    last.hidden = isWeights;
    lines.forEach(({ head, cells, size, node }, i) => {
      node.hidden = i >= numbers.length;
      if (node.hidden) return;
      head.textContent = say.row(isWeights ? Math.floor(i / WORDS.length) + 1 : 0, WORDS[i % WORDS.length]);
      size.hidden = isWeights;
      size.textContent = number(length(numbers[i]));
      cells.forEach((cell, j) => {
        cell.hidden = j >= wide;
        if (cell.hidden) return;
        const x = numbers[i][j];
        cell.className = isWeights ? "ab-weight" : "ab-signed";
        cell.style.setProperty(isWeights ? "--w" : "--s", isWeights ? x : x / largest);
        cell.textContent = number(x, isWeights ? 2 : 1);
      });
    });
    const sizes = xs.map((x) => average(x.map(length)));
    rows.forEach(({ size, bar, cosine, node }, n) => {
      size.textContent = number(sizes[n]);
      bar.style.setProperty("--w", sizes[n] / Math.max(...sizes));
      cosine.textContent = number(alike(xs[n]));
      node.classList.toggle("ab-here", n === block);
    });
  });
  return subscriptions.end;
}

export default { render };
