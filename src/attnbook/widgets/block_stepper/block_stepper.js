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

// A tensor as a table of as many rows and columns as it may have, and with the length of each row.
function tensorOf(say) {
  const columns = Array.from({ length: HIDDEN }, () => element("th", { scope: "col", translate: "no" }));
  const last = element("th", { scope: "col" }, say.length);
  const lines = Array.from({ length: HEADS * WORDS.length }, () => {
    const [head, cells] = [element("th", { scope: "row" }), columns.map(() => element("td"))];
    const size = element("td", { class: "ab-number ab-length" });
    return { head, cells, size, node: element("tr", {}, head, ...cells, size) };
  });
  const node = element(
    "table",
    { class: "ab-tensor" },
    element("thead", {}, element("tr", {}, element("td"), ...columns, last)),
    element("tbody", {}, ...lines.map(({ node }) => node)),
  );

  // Weights come head by head, and know of no length.
  function draw(numbers, isWeights) {
    const [wide, largest] = [numbers[0].length, largestOf(numbers.flat())];
    node.classList.toggle("ab-wide", wide === HIDDEN);
    columns.forEach((head, j) => {
      head.hidden = j >= wide;
      head.textContent = isWeights ? (WORDS[j] ?? "") : `${j + 1}`;
    });
    last.hidden = isWeights;
    lines.forEach(({ head, cells, size, node }, i) => {
      node.hidden = i >= numbers.length;
      if (node.hidden) return;
      const word = WORDS[i % WORDS.length];
      head.textContent = isWeights ? fill(say.head, { n: Math.floor(i / WORDS.length) + 1, word }) : word;
      head.translate = isWeights;
      size.hidden = isWeights;
      size.textContent = number(length(numbers[i]));
      cells.forEach((cell, j) => {
        cell.hidden = j >= wide;
        if (!cell.hidden) show(cell, numbers[i][j], largest, isWeights);
      });
    });
  }
  return { node, draw };
}

function show(cell, x, largest, isWeight) {
  cell.className = isWeight ? "ab-weight" : "ab-signed";
  cell.style.setProperty(isWeight ? "--w" : "--s", isWeight ? x : x / largest);
  cell.textContent = number(x, isWeight ? 2 : 1);
}

// The vectors between the blocks: how long they are, and how alike.
function streamOf(say) {
  const rows = Array.from({ length: BLOCKS + 1 }, (_, n) => {
    const [size, cosine] = [0, 0].map(() => element("td", { class: "ab-number" }));
    const [head, bar] = [element("th", { scope: "row" }, String(n)), element("i")];
    const node = element("tr", {}, head, size, element("td", { class: "ab-bar", "aria-hidden": "true" }, bar), cosine);
    return { size, bar, cosine, node };
  });
  const node = element(
    "table",
    { class: "ab-stream" },
    element("caption", {}, say.caption),
    heading([say.stream.after, say.stream.length, "", say.stream.alike]),
    element("tbody", {}, ...rows.map(({ node }) => node)),
  );

  function draw(xs, block) {
    const sizes = xs.map((x) => average(x.map(length)));
    rows.forEach(({ size, bar, cosine, node }, n) => {
      size.textContent = number(sizes[n]);
      bar.style.setProperty("--w", sizes[n] / Math.max(...sizes));
      cosine.textContent = number(alike(xs[n]));
      node.classList.toggle("ab-here", n === block);
    });
  }
  return { node, draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const buttons = Object.fromEntries(
    PARTS.post.map((part) => [part, button(say.parts[part], () => update(model, { part }))]),
  );
  const flow = element("div", { class: "ab-flow", role: "group", "aria-label": say.flow });
  const [says, shape] = [element("p", { class: "ab-says", role: "status" }), element("p", { class: "ab-hint" })];
  const [tensor, stream] = [tensorOf(say), streamOf(say)];
  body(
    el,
    "blockstepper",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "norm", label: say.norm, options: say.norms }),
      choice(model, subscriptions, { trait: "shortcut", label: say.shortcut, options: say.shortcuts }),
    ),
    slider(model, subscriptions, {
      trait: "block",
      label: say.block,
      values: [1, 2, 3, 4, 5, 6],
      show: (n) => fill(say.steps.of, { n, all: BLOCKS }),
    }),
    element("p", { class: "ab-hint" }, say.flow),
    flow,
    says,
    shape,
    element("div", { class: "ab-scroll" }, tensor.node),
    stream.node,
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
    const sizes = isWeights ? [HEADS, WORDS.length, WORDS.length] : [WORDS.length, shown[0].length];
    const gaps = { shape: `(${[1, ...sizes].join(", ")})` };
    const nothing = part.startsWith("add") && shortcut === "without";
    says.textContent = nothing ? say.none : fill(say.says[part], { length: number(Math.sqrt(D)) });
    shape.textContent =
      part === "hidden" ? count(say.zeros, shown.flat().filter((x) => x === 0).length, gaps) : fill(say.shape, gaps);
    tensor.draw(isWeights ? shown.flat() : shown, isWeights);
    stream.draw(xs, block);
  });
  return subscriptions.end;
}

export default { render };
