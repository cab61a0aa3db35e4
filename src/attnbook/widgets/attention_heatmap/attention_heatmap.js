import {
  asset,
  body,
  choice,
  dot,
  element,
  follower,
  heading,
  largestOf,
  number,
  update,
  SCALES,
  slider,
  softmax,
  TEMPERATURES,
  words,
} from "../shared/core.js";
import { grid, painter } from "../shared/cells.js";
import { wordVectors } from "../shared/lexicon.js";

const TEXT = {
  en: {
    tokens: "Words (up to 10)",
    tooMany: "Only the first ten words are used.",
    unknown: (list) =>
      `Not among the 4,000 words: ${list.join(", ")}. An unknown word gets the zero vector: it asks for nothing.`,
    mask: "Mask",
    masks: { none: "none", padding: "padding", causal: "causal", paint: "paint" },
    paint: "Press a cell, or sweep over several, to block and unblock.",
    length: "Real words, the rest is padding:",
    scale: "Divide scores by",
    scales: { none: "nothing", sqrt: "√d", d: "d" },
    temperature: "Temperature",
    stage: "Show",
    stages: { scores: "scores", scaled: "scaled", masked: "masked", weights: "weights" },
    grid: "Rows are queries, columns are keys",
    asks: (word) => [word, " asks"],
    key: "key",
    score: "q·k",
    masked: "masked",
    weight: "weight",
    value: "value",
    output: "output = Σ weight × value",
    empty: "Nothing to attend to: all weights and the output are zero.",
  },
};
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
  const scores = q.map((a) => k.map((b) => dot(a, b)));
  const scaled = scores.map((row) => row.map((x) => x / divisor));
  const masked = scaled.map((row, i) => row.map((x, j) => (sees(i, j) ? x : -Infinity)));
  const weights = masked.map(softmax);
  const output = weights.map((row) =>
    v[0].map((_, c) =>
      dot(
        row,
        v.map((value) => value[c]),
      ),
    ),
  );
  return { scores, scaled, masked, weights, output };
}

const short = (x) => number(x, Math.abs(x) < 9.995 ? 2 : 1);

function tint(cell, x, largest, isWeight) {
  cell.classList.toggle("ab-weight", isWeight);
  cell.classList.toggle("ab-signed", !isWeight);
  cell.style.setProperty(isWeight ? "--w" : "--s", isWeight ? x : x === -Infinity ? 0 : x / largest);
}

async function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const ownVectors = model.get("q_LK").length > 0;
  const known = ownVectors ? null : vocabulary(await asset(model, "vocabulary"));

  const field = element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  let tooMany = false;
  field.addEventListener("change", () => {
    const typed = field.value.match(/[\p{L}\p{N}'’-]+/gu) ?? model.get("tokens");
    const tokens = typed.slice(0, MOST);
    const asker = model.get("tokens")[model.get("query")];
    tooMany = typed.length > MOST;
    update(model, {
      tokens,
      blocked: [],
      query: Math.max(tokens.indexOf(asker), 0),
      length: Math.min(model.get("length"), tokens.length),
    });
    field.value = tokens.join(" ");
  });
  const typing = element("div", { class: "ab-control ab-tokens" }, element("label", {}, say.tokens, field));
  typing.hidden = ownVectors;
  const length = slider(model, subscriptions, {
    trait: "length",
    label: say.length,
    with: ["tokens"],
    values: () => [...Array(model.get("tokens").length + 1).keys()],
  });
  const hint = element("p", { class: "ab-hint" });
  const picture = element("div", { class: "ab-scroll" });
  const row = element("div", { class: "ab-row" });
  const root = body(
    el,
    "heatmap",
    element(
      "div",
      { class: "ab-picture" },
      typing,
      choice(model, subscriptions, { trait: "stage", label: say.stage, options: say.stages }),
      picture,
      hint,
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
  let table, answers, asker, numbers, note;

  function build() {
    const tokens = model.get("tokens");
    field.value = tokens.join(" ");
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
    const values = model.get("v_LV"); // short enough to show, where they are given
    answers = tokens.map((token, j) => {
      const [score, masked, weight] = [1, 2, 3].map(() => element("td"));
      const bar = element("td", { class: "ab-bar", "aria-hidden": "true" }, element("i"));
      const value = ownVectors ? [element("td", { class: "attn-value" }, values[j].join(", "))] : [];
      return {
        node: element(
          "tr",
          {},
          element("th", { scope: "row", class: "attn-key" }, token),
          score,
          masked,
          weight,
          bar,
          ...value,
        ),
        score,
        masked,
        weight,
        bar,
      };
    });
    asker = element("span", { class: "attn-query" });
    const title = element("caption", {}, ...say.asks(asker));
    const heads = [say.key, say.score, say.masked, say.weight, "", ...(ownVectors ? [say.value] : [])];
    numbers = (values[0] ?? known.vector(tokens[0])).map(() => element("span", { class: "ab-number" }));
    note = element("p", { class: "ab-hint" }, say.empty);
    row.replaceChildren(
      element("table", {}, title, heading(heads), element("tbody", {}, ...answers.map((answer) => answer.node))),
      element("p", { class: "attn-value" }, say.output),
      element("div", { class: "ab-output" }, ...numbers),
      note,
    );
  }

  function draw() {
    const tokens = model.get("tokens");
    if (table.heads.length !== tokens.length || table.heads.some((head, i) => head.textContent !== tokens[i])) build();
    const [mask, stage, query] = [
      model.get("mask"),
      model.get("stage"),
      Math.min(model.get("query"), tokens.length - 1),
    ];
    const strangers = ownVectors ? [] : tokens.filter((token) => !known.has(token));
    hint.textContent = [
      tooMany && say.tooMany,
      strangers.length && say.unknown(strangers),
      mask === "paint" && say.paint,
    ]
      .filter(Boolean)
      .join(" ");
    hint.hidden = !hint.textContent;
    length.hidden = mask !== "padding";
    table.node.classList.toggle("ab-paints", mask === "paint");

    const steps = compute(model, known);
    const largest = largestOf(steps[stage].flat());
    table.cells.forEach((line, i) =>
      line.forEach((cell, j) => {
        const x = steps[stage][i][j];
        cell.textContent = short(x);
        tint(cell, x, largest, stage === "weights");
        cell.classList.toggle(
          "ab-blocked",
          steps.masked[i][j] === -Infinity && (stage === "masked" || stage === "weights"),
        );
      }),
    );
    table.heads.forEach((head, i) => {
      head.parentNode.classList.toggle("ab-chosen", i === query);
      head.parentNode.setAttribute("aria-selected", i === query);
    });

    asker.textContent = tokens[query];
    answers.forEach((answer, j) => {
      answer.score.textContent = short(steps.scores[query][j]);
      answer.masked.textContent = short(steps.masked[query][j]);
      answer.weight.textContent = number(steps.weights[query][j], 3);
      answer.bar.style.setProperty("--w", steps.weights[query][j]);
    });
    const most = largestOf(steps.output[query]);
    numbers.forEach((node, c) => {
      node.textContent = short(steps.output[query][c]);
      tint(node, steps.output[query][c], most, false);
    });
    note.hidden = steps.weights[query].some((w) => w > 0);
  }

  build();
  subscriptions.follow(["tokens", "mask", "length", "blocked", "scale", "temperature", "query", "stage"], draw);
  return subscriptions.end;
}

export default { render };
