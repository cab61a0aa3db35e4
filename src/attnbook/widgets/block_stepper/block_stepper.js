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
  words,
} from "../shared/core.js";
import { motion } from "../shared/motion.js";
import { slider } from "../shared/slider.js";
import { normals } from "../shared/random.js";
import { attend, layerNorm, linear, sinusoid } from "../shared/network.js";

const WORDS = ["time", "flies", "like", "an", "arrow"];
const [D, HEADS, HIDDEN, BLOCKS] = [8, 2, 32, 6];
const PARTS = {
  post: ["in", "weights", "attention", "add1", "norm1", "hidden", "forward", "add2", "norm2"],
  pre: ["in", "norm1", "weights", "attention", "add1", "norm2", "hidden", "forward", "add2"],
};

// The others are branches.
const RIVER = { post: ["in", "add1", "norm1", "add2", "norm2"], pre: ["in", "add1", "add2"] };

function weightsOf(block) {
  const square = [D, D];
  const sizes = [square, square, square, square, [HIDDEN, D], [D, HIDDEN]];
  const draws = normals(block, 4 * D * D + 2 * D * HIDDEN);
  let next = 0;
  return sizes.map(([rows, columns]) =>
    Array.from({ length: rows }, () =>
      Float64Array.from(draws.slice(next, (next += columns)), (x) => x / Math.sqrt(columns)),
    ),
  );
}

const BLOCK = Array.from({ length: BLOCKS }, (_, n) => weightsOf(n + 1));

function attention([W_q, W_k, W_v, W_o], xs) {
  const [q, k, v] = [W_q, W_k, W_v].map((W) => xs.map((x) => linear({ weight: W }, x)));
  const looks = q.map((query) => attend(query, k, v, HEADS));
  return {
    weights: Array.from({ length: HEADS }, (_, h) => looks.map(({ weights }) => weights[h])),
    attention: looks.map(({ mixed }) => linear({ weight: W_o }, mixed)),
  };
}

function through([W_q, W_k, W_v, W_o, W_1, W_2], xs, pre, shortcut) {
  const found = { in: xs };
  const normed = () => xs.map((x) => layerNorm(x));
  const around = (n, layer) => {
    const given = pre ? (found[`norm${n}`] = normed()) : xs;
    const out = layer(given);
    xs = found[`add${n}`] = shortcut ? xs.map((x, i) => plus(x, out[i])) : out;
    if (!pre) xs = found[`norm${n}`] = normed();
  };
  around(1, (given) => Object.assign(found, attention([W_q, W_k, W_v, W_o], given)).attention);
  around(2, (given) => {
    found.hidden = given.map((x) => linear({ weight: W_1 }, x).map((number) => Math.max(number, 0)));
    return (found.forward = found.hidden.map((x) => linear({ weight: W_2 }, x)));
  });
  return { found, out: xs };
}

const START = (() => {
  const draws = normals(0, WORDS.length * D);
  return WORDS.map((_, i) => plus(sinusoid(i, D), draws.slice(i * D, (i + 1) * D)));
})();

const average = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
const alike = (xs) =>
  average(xs.flatMap((a, i) => xs.filter((_, j) => j !== i).map((b) => dot(a, b) / (length(a) * length(b)))));

// A tensor as a table of as many rows and columns as it may have, and with the length of each row.
function tensorOf(say) {
  const columns = Array.from({ length: HIDDEN }, () => element("th", { scope: "col", translate: "no" }));
  const last = element("th", { scope: "col", class: "ab-length" }, say.length);
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
    node.classList.toggle("ab-heads", isWeights);
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
      head.className = `ab-strand-${i % WORDS.length}`;
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

// Where a stretch passes at `t`: around `middle`, with so much of a gap between strands that are not alike at all.
const pass = (t, xs, middle = 32, gap = 12) => {
  const apart = gap * Math.min(1 - alike(xs), 1);
  return xs.map((x, i) => ({ t, middle: middle + (i - 2) * apart, half: 1.25 * length(x) }));
};

// What flows stays what it is for most of the way.
const held = (from, to, share = 0.6) =>
  from.map((place, i) => ({ ...place, t: place.t + share * (to[i].t - place.t) }));

const at = (...point) => point.map((x) => x.toFixed(2)).join(" ");

// The two banks of a strand through these places.
function outline(places) {
  const bank = (points, side) =>
    points
      .map(({ t, middle, half }, i) => {
        const before = points[i - 1] ?? points[i];
        const [from, to, turn] = [before.middle + side * before.half, middle + side * half, (t + before.t) / 2];
        return i ? `C${at(turn, from)} ${at(turn, to)} ${at(t, to)}` : at(t, to);
      })
      .join("");
  return `M${bank(places, -1)}L${bank([...places].reverse(), 1)}Z`;
}

const strands = () => WORDS.map((_, i) => element("path", { class: `ab-strand-${i}` }));

function flows(paths, stretches) {
  paths.forEach((path, i) => {
    path.setAttribute("d", stretches.map((stretch) => outline(stretch.map((place) => place[i]))).join(""));
  });
}

const river = (box, ...children) => {
  const picture = element("svg", { viewBox: box, preserveAspectRatio: "none" }, element("g", {}, ...children));
  picture.ariaHidden = true;
  return picture;
};

// The whole of it, from block to block; a press on a block opens it. Below, how long the vectors are, and how alike.
function courseOf(model, subscriptions, say) {
  const [paths, here] = [strands(), element("rect", { class: "ab-here", y: 1, width: 100, height: 62, rx: 6 })];
  const picture = river("0 0 700 64", here, ...paths);
  const place = slider(model, subscriptions, {
    trait: "block",
    label: say.block,
    values: BLOCK.map((_, n) => n + 1),
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
  const node = element("div", { class: "ab-whole" }, element("div", { class: "ab-course" }, place, picture), table);

  function draw(xs, block) {
    node.style.setProperty("--block", block);
    here.setAttribute("x", 100 * block - 50);
    flows(paths, [xs.map((x, n) => pass(100 * n + 50, x))]);
    xs.forEach((x, n) => {
      sizes.cells[n].textContent = number(average(x.map(length)));
      cosines.cells[n].textContent = number(alike(x));
    });
  }
  return { node, draw };
}

// Inside of a block: what flows on, and the two branches that leave it and return. Each part is a button.
function insideOf(model, say) {
  const buttons = Object.fromEntries(
    PARTS.post.map((part) => [part, button(say.parts[part], () => update(model, { part }))]),
  );
  const [on, past, branches] = [strands(), strands(), strands()];
  const here = element("rect", { class: "ab-here", width: "11.1", height: 100 });
  const gates = element("path", { class: "ab-gates" });
  const looks = WORDS.flatMap(strands); // of each word at each
  const groups = { branches, looks, past, on };
  const layers = Object.entries(groups).map(([name, parts]) => element("g", { class: `ab-${name}` }, ...parts));
  const picture = river("0 0 100 100", here, ...layers, gates);
  const node = element("div", { class: "ab-flow ab-pin", role: "group", "aria-label": say.flow }, picture);

  function draw(norm, shortcut, part, found) {
    const order = PARTS[norm];
    const isRiver = (name) => RIVER[norm].includes(name);
    const t = (name) => ((order.indexOf(name) + 0.5) * 100) / 9;
    const flowing = order.filter(isRiver);
    const stations = flowing.map((name) => pass(t(name), found[name]));
    const stretch = (to) => [stations[to - 1], held(stations[to - 1], stations[to]), stations[to]];
    const ends = (isSum) => flowing.map((_, n) => n).filter((n) => n && flowing[n].startsWith("add") === isSum);
    flows(past, ends(true).map(stretch));
    flows(on, [
      [pass(0, found.in), stations[0]],
      ...ends(false).map(stretch),
      [stations.at(-1), pass(100, found[flowing.at(-1)])],
    ]);

    // A branch is what the layer was given, then what it has made of it.
    const given = norm === "pre" ? "norm1" : "in";
    const inside = (name) => pass(t(name), found[name === "weights" ? given : name], 82, 6);
    const branch = (to) => {
      const between = order.slice(order.indexOf(flowing[to - 1]) + 1, order.indexOf(flowing[to]));
      return [stations[to - 1], ...between.map(inside), stations[to]];
    };
    flows(branches, ends(true).map(branch));
    const [from, to] = ["weights", "attention"].map(inside);
    looks.forEach((look, n) => {
      const [i, j] = [Math.floor(n / WORDS.length), n % WORDS.length];
      look.setAttribute("d", `M${at(from[j].t, from[j].middle)}L${at(to[i].t, to[i].middle)}`);
      look.style.setProperty("--w", average(found.weights.map((head) => head[i][j])));
    });
    const squeezed = ["norm1", "norm2"].flatMap((name) =>
      isRiver(name) ? stations[flowing.indexOf(name)] : inside(name),
    );
    const jaws = ({ t, middle, half }) => [-half, half].map((side) => `M${at(t - 1.5, middle + side)}h3`).join("");
    gates.setAttribute("d", squeezed.map(jaws).join(""));
    here.setAttribute("x", (t(part) - 50 / 9).toFixed(2));

    node.dataset.shortcut = shortcut;
    order.forEach((name, row) => {
      buttons[name].style.setProperty("--at", row + 1);
      buttons[name].classList.toggle("ab-aside", !isRiver(name));
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
  const film = motion(say.motion, say.happens);
  body(
    el,
    "blockstepper",
    course.node,
    inside.node,
    element("div", { class: "ab-shown" }, element("div", {}, says, shape), tensor.node),
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "norm", label: say.norm, options: say.norms }),
      choice(model, subscriptions, { trait: "shortcut", label: say.shortcut, options: say.shortcuts }),
      film.node,
    ),
  );

  let seen;
  subscriptions.follow(["norm", "shortcut", "block", "part"], () => {
    const [norm, shortcut, block, part] = ["norm", "shortcut", "block", "part"].map((name) => model.get(name));
    const runs = [];
    const xs = [START];
    for (const weights of BLOCK) {
      runs.push(through(weights, xs.at(-1), norm === "pre", shortcut === "with"));
      xs.push(runs.at(-1).out);
    }
    const { found } = runs[block - 1];
    const isWeights = part === "weights";
    const shown = (isWeights ? found[part].flat() : found[part]).map((row) => Array.from(row));
    const sizes = isWeights ? [HEADS, WORDS.length, WORDS.length] : [WORDS.length, shown[0].length];
    const gaps = { shape: `(${[1, ...sizes].join(", ")})` };
    const nothing = part.startsWith("add") && shortcut === "without";
    says.textContent = nothing ? say.none : fill(say.says[part], { length: number(Math.sqrt(D)) });
    shape.textContent =
      part === "hidden" ? count(say.zeros, shown.flat().filter((x) => x === 0).length, gaps) : fill(say.shape, gaps);
    tensor.node.style.setProperty("--at", PARTS[norm].indexOf(part) + 1);
    tensor.draw(shown, isWeights);
    course.draw(xs, block);
    inside.draw(norm, shortcut, part, found);
    const flow = `${[norm, shortcut, block]}`;
    if ((seen ?? flow) !== flow) film.play();
    seen = flow;
  });
  return subscriptions.end;
}

export default { render };
