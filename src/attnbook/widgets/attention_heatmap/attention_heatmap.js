import {
  asset,
  body,
  choice,
  element,
  fillNodes,
  follower,
  largestOf,
  listed,
  number,
  plain,
  plus,
  update,
  softmax,
  times,
  verbatim,
  words,
} from "../shared/core.js";
import { SCALES, TEMPERATURES, slider } from "../shared/slider.js";
import { folded } from "../shared/folded.js";
import { beams } from "../shared/beams.js";
import { motion } from "../shared/motion.js";
import { grid } from "../shared/cells.js";
import { fingerPainting, painter } from "../shared/painting.js";
import { wordVectors } from "../shared/lexicon.js";

// Words to compute with, and tokens of a grid that does not scroll.
const MOST = 10;

// An unknown word has the zero vector.
function vocabulary(bytes) {
  const { row, part, width, vector } = wordVectors(bytes);
  const has = (word) => row(word) !== undefined;
  const rows = (words) => words.map((word) => (has(word) ? Array.from(vector(row(word))) : Array(width).fill(0)));
  return { has, part, vectors: rows };
}

function compute(model, known) {
  const tokens = model.get("tokens");
  const weights = model.get("weights")[model.get("head")];
  if (weights) return { weights, masked: weights };
  const [q, k, v] = ["q_LK", "k_LK", "v_LV"].map((name) => known?.vectors(tokens) ?? model.get(name));
  const blocked = new Set(model.get("blocked").map(String));
  const sees = {
    none: () => true,
    padding: (i, j) => j < model.get("length"),
    causal: (i, j) => j <= i,
    paint: (i, j) => !blocked.has(`${i},${j}`),
  }[model.get("mask")];
  const divisor = SCALES[model.get("scale")](q[0].length) * model.get("temperature");
  const scores = q.map((a) => times(k, a));
  const scaled = scores.map((row) => row.map((x) => x / divisor));
  const masked = scaled.map((row, i) => row.map((x, j) => (sees(i, j) ? x : -Infinity)));
  return { scores, scaled, masked, weights: masked.map(softmax), v };
}

const sign = (node, x, largest) => node.style.setProperty("--s", x === -Infinity ? 0 : x / largest);

// The row that asks, unrolled: a weight for each value, and what they add up to. Given values are short, and written.
function sumOf(say, tokens, values, written) {
  const width = values[0].length;
  const strip = (name) => {
    const parts = Array.from({ length: width }, () => element("span", { class: "ab-signed" }));
    return { parts, node: element("div", { class: `ab-strip ${name}`, style: `--n: ${width}` }, ...parts) };
  };
  const weights = tokens.map(() => element("td", { class: "ab-weight" }));
  const addends = tokens.map(() => strip("attn-value"));
  if (written) values.forEach((row, j) => row.forEach((x, c) => addends[j].parts[c].append(plain(x))));
  const rows = tokens.map((token, j) => {
    const key = element("th", { scope: "row", class: "attn-key", translate: "no" }, token);
    return element("tr", {}, key, weights[j], element("td", {}, addends[j].node));
  });
  const word = verbatim("", { class: "attn-query" });
  const output = strip("ab-output");
  return {
    weights,
    nodes: [
      element("table", {}, element("caption", {}, ...fillNodes(say.asks, { word })), ...rows),
      element("div", { class: "ab-total" }, element("b", {}, say.output), output.node),
    ],
    show(row, v, token) {
      word.textContent = token;
      const products = row.map((w, j) => v[j].map((x) => w * x));
      const total = products.reduce(plus);
      const most = largestOf([...products, total].flat());
      row.forEach((w, j) => {
        weights[j].textContent = number(w);
        weights[j].style.setProperty("--w", w);
        addends[j].parts.forEach((part, c) => sign(part, products[j][c], most));
      });
      output.parts.forEach((part, c) => {
        part.textContent = number(total[c]);
        sign(part, total[c], most);
      });
    },
  };
}

// A weight is carried here, beside its key, from its cell.
function carry(from, to) {
  const [start, end] = [from, to.previousSibling].map((node) => node.getBoundingClientRect());
  to.style.cssText += `--x: ${start.x - end.right}px; --y: ${start.y - end.y}px`;
}

function showGrid({ cells, heads, columns }, steps, stage, query) {
  const largest = largestOf(steps[stage].flat());
  cells.forEach((line, i) =>
    line.forEach((cell, j) => {
      const x = steps[stage][i][j];
      const isBlocked = steps.masked[i][j] === -Infinity;
      cell.textContent = number(x);
      cell.className = stage === "weights" ? "ab-weight" : "ab-signed";
      cell.classList.toggle("ab-blocked", isBlocked && /masked|weights/.test(stage));
      cell.style.setProperty("--w", x);
      sign(cell, x, largest);
    }),
  );
  heads.forEach((head, i) => {
    head.parentNode.classList.toggle("ab-chosen", i === query);
    head.parentNode.ariaSelected = i === query;
  });
  columns.forEach(({ firstChild }, j) => {
    firstChild.className = "ab-weight";
    firstChild.style.setProperty("--full", steps.weights[query][j]);
  });
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  // Weights that are given, and whose rows may have names of their own.
  const heads = model.get("weights");
  const queries = model.get("queries");
  const ownVectors = heads.length + model.get("q_LK").length > 0;
  const read = async (part) => vocabulary(await asset(model, "vocabulary", part));
  let known = ownVectors ? null : await read("first.");
  const lacks = () => known?.part && !model.get("tokens").every(known.has);

  const field = element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const control = element("div", { class: "ab-control" }, element("label", {}, say.tokens, field));
  control.hidden = ownVectors;
  field.addEventListener("change", () => {
    const tokens = (field.value.match(/[\p{L}\p{N}'’-]+/gu) ?? model.get("tokens")).slice(0, MOST);
    // The word that asked asks on, if it is still there.
    const query = Math.max(tokens.indexOf(model.get("tokens")[model.get("query")]), 0);
    update(model, { tokens, blocked: [], query, length: Math.min(model.get("length"), tokens.length) });
    field.value = tokens.join(" ");
  });
  const length = slider(model, subscriptions, {
    trait: "length",
    label: say.length,
    with: ["tokens"],
    values: () => [...Array(model.get("tokens").length + 1).keys()],
  });
  const strangers = verbatim("");
  const hints = Object.entries(say.hints).map(([name, text]) =>
    element("p", { class: "ab-hint", "data-hint": name }, ...fillNodes(text, { words: strangers })),
  );
  const pick = (trait, options = say[`${trait}s`]) =>
    choice(model, subscriptions, { trait, label: say[trait], options });
  const film = motion(say.motion, say.happens);
  const sharpness = folded(
    say.sharpness,
    element(
      "div",
      { class: "ab-controls" },
      pick("scale"),
      slider(model, subscriptions, { trait: "temperature", label: say.temperature, values: TEMPERATURES }),
    ),
  );
  const controls = heads.length
    ? heads.slice(1, 2).map(() => pick("head", { ...Object.keys(heads) }))
    : [control, pick("stage"), pick("mask"), length, sharpness];
  const light = beams();
  const picture = element("div", { class: "ab-scroll ab-pin" });
  const finger = fingerPainting(say, picture);
  const row = element("div", { class: "ab-row" });
  row.hidden = heads.length;
  const root = body(
    el,
    "heatmap",
    picture,
    row,
    finger,
    element("div", { class: "ab-controls" }, ...controls),
    ...hints,
  );
  const paint = painter(model, "blocked");
  let table, sum, asked;

  function build(rows, tokens, query, values) {
    field.value = tokens.join(" ");
    table = grid({
      label: say.grid,
      rows,
      columns: tokens,
      at: [query, 0],
      move: (i) => update(model, { query: i }),
      press: (...spot) => model.get("mask") === "paint" && paint(...spot),
    });
    if (rows === tokens)
      table.columns.forEach((head, j) => head.addEventListener("click", () => update(model, { query: j })));
    picture.replaceChildren(light.node, table.node);
    root.classList.toggle("ab-long", tokens.length > 6);
    const letters = Math.max(...tokens.map((token) => token.length));
    root.classList.toggle("ab-wide", tokens.length * (letters + 2) > 36); // for a phone
    root.classList.toggle("ab-many", rows !== tokens || tokens.length > MOST);
    if (row.hidden) return;
    sum = sumOf(say, tokens, values, ownVectors);
    row.replaceChildren(...sum.nodes, film.node);
  }

  const draw = () => {
    root.ariaBusy = lacks() ? "true" : null;
    if (lacks()) {
      read().then(
        (all) => {
          known = all;
          draw();
        },
        // The next change tries again.
        () => (root.ariaBusy = null),
      );
      return;
    }
    const [tokens, mask, stage] = ["tokens", "mask", "stage"].map((name) => model.get(name));
    const rows = queries.length ? queries : tokens;
    const query = Math.min(model.get("query"), rows.length - 1);
    const steps = compute(model, known);
    if (String(table?.columns.map((head) => head.textContent)) !== String(tokens)) build(rows, tokens, query, steps.v);
    const paints = mask === "paint";
    const unknown = ownVectors ? [] : tokens.filter((token) => !known.has(token));
    const weights = steps.weights[query];
    strangers.textContent = listed(unknown);
    [unknown.length, paints, !weights.some(Boolean), heads.length].forEach((holds, n) => (hints[n].hidden = !holds));
    length.hidden = mask !== "padding";
    finger.hidden = !paints;
    table.node.classList.toggle("ab-paints", paints);
    showGrid(table, steps, stage, query);
    const from = table.columns[query];
    light.draw(table.columns.map((to, j) => ({ from: from ?? to, to, weight: Math.sqrt(weights[j]) })));
    if (row.hidden) return;
    sum.show(weights, steps.v, tokens[query]);
    if ((asked ?? query) !== query) {
      sum.weights.forEach((to, j) => carry(table.cells[query][j], to));
      film.play();
    }
    asked = query;
  };
  subscriptions.follow(
    ["tokens", "weights", "head", "mask", "length", "blocked", "scale", "temperature", "query", "stage"],
    draw,
  );
  return subscriptions.end;
}

export default { render };
