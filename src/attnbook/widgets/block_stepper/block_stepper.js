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

const RIVER = { post: ["in", "add1", "norm1", "add2", "norm2"], pre: ["in", "add1", "add2"] }; // the others are branches

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

// ---- the river: a strand for each word, as broad as its vector is long, as near the others as the words are alike ----

// Through places `t` along the way, at each of which a strand has a middle and half a breadth.
function outline(points, vertical) {
  const at = (t, c) => (vertical ? [c, t] : [t, c]).map((x) => x.toFixed(2)).join(" ");
  const bank = (places, side) =>
    places
      .map(({ t, middle, half }, i) => {
        const before = places[i - 1] ?? places[i];
        const [from, to, turn] = [before.middle + side * before.half, middle + side * half, (t + before.t) / 2];
        return i ? `C${at(turn, from)} ${at(turn, to)} ${at(t, to)}` : at(t, to);
      })
      .join("");
  return `M${bank(points, -1)}L${bank([...points].reverse(), 1)}Z`;
}

const strands = () => WORDS.map(() => element("path"));

// Draws stretches of the river; each is a list of places along the way and what flows there.
function flows(paths, stretches, middle, vertical) {
  const width = (xs) => Math.min(1 - alike(xs), 1);
  const places = stretches.map((stretch) => stretch.map(({ t, xs }) => ({ t, xs, width: width(xs) })));
  paths.forEach((path, i) => {
    const along = ({ t, xs, width }) => ({ t, middle: middle + (i - 2) * 15 * width, half: 1.6 * length(xs[i]) });
    path.setAttribute("d", places.map((stretch) => outline(stretch.map(along), vertical)).join(""));
  });
}

// The whole of it, from block to block; a press on a block opens it. Below, how long the vectors are, and how alike.
function courseOf(model, subscriptions, say) {
  const [paths, here] = [strands(), element("rect", { class: "ab-here", y: 2, width: 100, height: 96, rx: 8 })];
  const picture = element("svg", { viewBox: "0 0 700 100", preserveAspectRatio: "none" }, here, ...paths);
  picture.ariaHidden = true;
  const place = slider(model, subscriptions, {
    trait: "block",
    label: say.block,
    values: [1, 2, 3, 4, 5, 6],
    show: (n) => fill(say.steps.of, { n, all: BLOCKS }),
  });
  const row = (label) => {
    const cells = Array.from({ length: BLOCKS + 1 }, () => element("td", { class: "ab-number" }));
    return { cells, node: element("tr", {}, element("th", { scope: "row" }, label), ...cells) };
  };
  const [sizes, cosines] = [row(say.stream.length), row(say.stream.alike)];
  const table = element(
    "table",
    { class: "ab-stream" },
    heading([say.stream.after, ...sizes.cells.map((_, n) => String(n))]),
    element("tbody", {}, sizes.node, cosines.node),
  );

  function draw(xs, block) {
    here.setAttribute("x", 100 * block - 50);
    flows(paths, [xs.map((x, n) => ({ t: 100 * n + 50, xs: x }))], 50, false);
    xs.forEach((x, n) => {
      sizes.cells[n].textContent = number(average(x.map(length)));
      cosines.cells[n].textContent = number(alike(x));
    });
  }
  return { node: element("div", {}, element("div", { class: "ab-course" }, place, picture), table), draw };
}

// Inside of a block: what flows on, and the two branches that leave it and return. Each part is a button.
function insideOf(model, say) {
  const buttons = Object.fromEntries(
    PARTS.post.map((part) => [part, button(say.parts[part], () => update(model, { part }))]),
  );
  const [on, past] = [strands(), strands()];
  const branches = [0, 1].map(() => element("path"));
  const groups = [
    element("g", { class: "ab-past" }, ...past),
    element("g", {}, ...on),
    element("g", { class: "ab-branches" }, ...branches),
  ];
  const picture = element("svg", { viewBox: "0 0 200 900", preserveAspectRatio: "none" }, ...groups);
  picture.ariaHidden = true;
  const node = element("div", { class: "ab-flow", role: "group", "aria-label": say.flow }, picture);

  function draw(norm, shortcut, part, found) {
    const t = (row) => 100 * row + 50;
    const order = PARTS[norm];
    const flowing = order.filter((name) => RIVER[norm].includes(name));
    const stations = flowing.map((name) => ({ t: t(order.indexOf(name)), xs: found[name] }));
    const ends = (i) => flowing[i].startsWith("add");
    const stretches = stations.slice(1).map((station, i) => [stations[i], station]);
    flows(
      past,
      stretches.filter((_, i) => ends(i + 1)),
      60,
      true,
    );
    flows(
      on,
      [
        [{ ...stations[0], t: 0 }, stations[0]],
        ...stretches.filter((_, i) => !ends(i + 1)),
        [stations.at(-1), { ...stations.at(-1), t: 900 }],
      ],
      60,
      true,
    );
    node.dataset.shortcut = shortcut;
    const returns = order.map((name, row) => (name.startsWith("add") ? row : -1)).filter((row) => row > 0);
    returns.forEach((row, n) => {
      const from = Math.max(...flowing.map((name) => order.indexOf(name)).filter((other) => other < row));
      const [start, first, last, end] = [from, from + 1, row - 1, row].map(t);
      branches[n].setAttribute(
        "d",
        `M60 ${start}C60 ${first} 140 ${start} 140 ${first}L140 ${last}C140 ${end} 60 ${last} 60 ${end}`,
      );
    });
    order.forEach((name, row) => {
      buttons[name].style.gridArea = `${row + 1} / ${flowing.includes(name) ? 1 : 2}`;
      buttons[name].setAttribute("aria-pressed", name === part);
    });
    if (node.dataset.norm !== norm) node.append(...order.map((name) => buttons[name]));
    node.dataset.norm = norm;
  }
  return { node, draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [says, shape] = [element("p", { class: "ab-says", role: "status" }), element("p", { class: "ab-hint" })];
  const [course, inside, tensor] = [courseOf(model, subscriptions, say), insideOf(model, say), tensorOf(say)];
  body(
    el,
    "blockstepper",
    course.node,
    inside.node,
    element("div", { class: "ab-shown" }, says, shape, tensor.node),
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "norm", label: say.norm, options: say.norms }),
      choice(model, subscriptions, { trait: "shortcut", label: say.shortcut, options: say.shortcuts }),
    ),
  );

  subscriptions.follow(["norm", "shortcut", "block", "part"], () => {
    const [norm, shortcut, block, part] = ["norm", "shortcut", "block", "part"].map((name) => model.get(name));
    const runs = [];
    const xs = [START];
    for (const weights of BLOCK) {
      runs.push(through(weights, xs.at(-1), norm === "pre", shortcut === "with"));
      xs.push(runs.at(-1).out);
    }
    const { found } = runs[block - 1];
    const shown = found[part];
    const isWeights = part === "weights";
    const sizes = isWeights ? [HEADS, WORDS.length, WORDS.length] : [WORDS.length, shown[0].length];
    const gaps = { shape: `(${[1, ...sizes].join(", ")})` };
    const nothing = part.startsWith("add") && shortcut === "without";
    says.textContent = nothing ? say.none : fill(say.says[part], { length: number(Math.sqrt(D)) });
    shape.textContent =
      part === "hidden" ? count(say.zeros, shown.flat().filter((x) => x === 0).length, gaps) : fill(say.shape, gaps);
    tensor.draw(isWeights ? shown.flat() : shown, isWeights);
    course.draw(xs, block);
    inside.draw(norm, shortcut, part, found);
  });
  return subscriptions.end;
}

export default { render };
