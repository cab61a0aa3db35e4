import {
  asset,
  body,
  choice,
  element,
  fillNodes,
  follower,
  heading,
  largestOf,
  listed,
  number,
  plain,
  update,
  SCALES,
  slider,
  softmax,
  TEMPERATURES,
  times,
  verbatim,
  words,
} from "../shared/core.js";
import { grid, painter } from "../shared/cells.js";
import { wordVectors } from "../shared/lexicon.js";

const MOST = 10;

// An unknown word has the zero vector.
function vocabulary(bytes) {
  const { row, width, vector } = wordVectors(bytes);
  const has = (word) => row(word) !== undefined;
  return { has, vector: (word) => (has(word) ? Array.from(vector(row(word))) : new Array(width).fill(0)) };
}

function compute(model, known) {
  const tokens = model.get("tokens");
  const given = ["q_LK", "k_LK", "v_LV"].map((name) => model.get(name));
  const [q, k, v] = given.map((rows) => (rows.length ? rows : tokens.map(known.vector)));
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
  const weights = masked.map(softmax);
  const columns = v[0].map((_, c) => v.map((value) => value[c]));
  return { scores, scaled, masked, weights, output: weights.map((row) => times(columns, row)) };
}

const short = (x) => number(x, Math.abs(x) < 9.995 ? 2 : 1);

function tint(cell, x, largest, isWeight) {
  cell.classList.toggle("ab-weight", isWeight);
  cell.classList.toggle("ab-signed", !isWeight);
  cell.style.setProperty(isWeight ? "--w" : "--s", isWeight ? x : x === -Infinity ? 0 : x / largest);
}

// A field for the words. The word that asked asks on, if it is still there.
function wordField(model, label) {
  const input = element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const field = {
    node: element("div", { class: "ab-control ab-tokens" }, element("label", {}, label, input)),
    tooMany: false,
    show(tokens) {
      input.value = tokens.join(" ");
    },
  };
  input.addEventListener("change", () => {
    const typed = input.value.match(/[\p{L}\p{N}'’-]+/gu) ?? model.get("tokens");
    const tokens = typed.slice(0, MOST);
    const asker = model.get("tokens")[model.get("query")];
    field.tooMany = typed.length > MOST;
    update(model, {
      tokens,
      blocked: [],
      query: Math.max(tokens.indexOf(asker), 0),
      length: Math.min(model.get("length"), tokens.length),
    });
    field.show(tokens);
  });
  return field;
}

// What has to be said of the words and the mask; each sentence is shown while it holds.
function hints(say) {
  const strangers = verbatim("");
  const nodes = Object.entries(say).map(([name, text]) =>
    element("p", { class: "ab-hint", "data-hint": name }, ...fillNodes(text, { words: strangers })),
  );
  return {
    nodes,
    show(tooMany, unknown, paints) {
      const holds = { tooMany, unknown: unknown.length > 0, paint: paints };
      strangers.textContent = listed(unknown);
      for (const node of nodes) node.hidden = !holds[node.dataset.hint];
    },
  };
}

// What the token that asks gets of each key, and the output. The values are shown where they are given, and short.
function answers(say, tokens, values, width) {
  const rows = tokens.map((token, j) => {
    const [score, masked, weight] = [0, 0, 0].map(() => element("td"));
    const bar = element("td", { class: "ab-bar", "aria-hidden": "true" }, element("i"));
    const value = values.length ? [element("td", { class: "attn-value" }, listed(values[j].map(plain)))] : [];
    const key = element("th", { scope: "row", class: "attn-key", translate: "no" }, token);
    return { node: element("tr", {}, key, score, masked, weight, bar, ...value), score, masked, weight, bar };
  });
  const asker = verbatim("", { class: "attn-query" });
  const heads = heading(values.length ? say.heads : say.heads.slice(0, -1));
  const numbers = Array.from({ length: width }, () => element("span", { class: "ab-number" }));
  const empty = element("p", { class: "ab-hint" }, say.empty);
  return {
    nodes: [
      element(
        "table",
        {},
        element("caption", {}, ...fillNodes(say.asks, { word: asker })),
        heads,
        element("tbody", {}, ...rows.map(({ node }) => node)),
      ),
      element("p", { class: "attn-value" }, say.output),
      element("div", { class: "ab-output" }, ...numbers),
      empty,
    ],
    show({ scores, masked, weights, output }, query) {
      asker.textContent = tokens[query];
      rows.forEach((row, j) => {
        row.score.textContent = short(scores[query][j]);
        row.masked.textContent = short(masked[query][j]);
        row.weight.textContent = number(weights[query][j], 3);
        row.bar.style.setProperty("--w", weights[query][j]);
      });
      const most = largestOf(output[query]);
      numbers.forEach((node, c) => {
        node.textContent = short(output[query][c]);
        tint(node, output[query][c], most, false);
      });
      empty.hidden = weights[query].some((w) => w > 0);
    },
  };
}

function showGrid({ cells, heads }, steps, stage, query) {
  const largest = largestOf(steps[stage].flat());
  cells.forEach((line, i) =>
    line.forEach((cell, j) => {
      const x = steps[stage][i][j];
      const isBlocked = steps.masked[i][j] === -Infinity;
      cell.textContent = short(x);
      tint(cell, x, largest, stage === "weights");
      cell.classList.toggle("ab-blocked", isBlocked && (stage === "masked" || stage === "weights"));
    }),
  );
  heads.forEach((head, i) => {
    head.parentNode.classList.toggle("ab-chosen", i === query);
    head.parentNode.setAttribute("aria-selected", i === query);
  });
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const ownVectors = model.get("q_LK").length > 0;
  const known = ownVectors ? null : vocabulary(await asset(model, "vocabulary"));

  const field = wordField(model, say.tokens);
  field.node.hidden = ownVectors;
  const length = slider(model, subscriptions, {
    trait: "length",
    label: say.length,
    with: ["tokens"],
    values: () => [...Array(model.get("tokens").length + 1).keys()],
  });
  const hint = hints(say.hints);
  const picture = element("div", { class: "ab-scroll" });
  const row = element("div", { class: "ab-row" });
  const root = body(
    el,
    "heatmap",
    element(
      "div",
      { class: "ab-picture" },
      field.node,
      choice(model, subscriptions, { trait: "stage", label: say.stage, options: say.stages }),
      picture,
      ...hint.nodes,
    ),
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "mask", label: say.mask, options: say.masks }),
      length,
      choice(model, subscriptions, { trait: "scale", label: say.scale, options: say.scales }),
      slider(model, subscriptions, { trait: "temperature", label: say.temperature, values: TEMPERATURES }),
    ),
    row,
  );

  const paint = painter(model, "blocked");
  let table, answer;

  function build(tokens) {
    field.show(tokens);
    table = grid({
      label: say.grid,
      rows: tokens,
      columns: tokens,
      at: [Math.min(model.get("query"), tokens.length - 1), 0],
      move: (i) => update(model, { query: i }),
      press: (i, j, first) => {
        if (model.get("mask") === "paint") paint(i, j, first);
      },
    });
    picture.replaceChildren(table.node);
    root.classList.toggle("ab-long", tokens.length > 6);
    const values = model.get("v_LV");
    answer = answers(say, tokens, values, (values[0] ?? known.vector(tokens[0])).length);
    row.replaceChildren(...answer.nodes);
  }

  subscriptions.follow(["tokens", "mask", "length", "blocked", "scale", "temperature", "query", "stage"], () => {
    const [tokens, mask, stage] = ["tokens", "mask", "stage"].map((name) => model.get(name));
    if (String(table?.heads.map((head) => head.textContent)) !== String(tokens)) build(tokens);
    const query = Math.min(model.get("query"), tokens.length - 1);
    const strangers = ownVectors ? [] : tokens.filter((token) => !known.has(token));
    hint.show(field.tooMany, strangers, mask === "paint");
    length.hidden = mask !== "padding";
    table.node.classList.toggle("ab-paints", mask === "paint");
    const steps = compute(model, known);
    showGrid(table, steps, stage, query);
    answer.show(steps, query);
  });
  return subscriptions.end;
}

export default { render };
