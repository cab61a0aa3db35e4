import { body, button, choice, element, follower, grid, number, painter, put, scientific, slider, softmax, words } from "./core.js";

const TEXT = {
  en: {
    presets: "Hide",
    nothing: "nothing",
    causal: "what comes later",
    padding: "padding",
    both: "both",
    row: "a whole row",
    hide: "How",
    ways: { before: "−∞ before softmax", zero: "0 before softmax", after: "0 after softmax" },
    temperature: "Temperature T",
    scores: "1. scores s",
    exps: "2. e^(s/T)",
    weights: "3. weights: ÷ sum",
    sum: "sum",
    paint: "Press a score, or sweep over several, to hide it or bring it back. Rows ask, columns are asked.",
    empty: (names) => `Nothing left to attend to: ${names.join(", ")}. What each code answers for such a row:`,
    code: "code",
    codes: {
      book: "this book",
      softmax: "softmax of −∞",
      sdpa: "F.sdpa",
      mha: "nn.MHA, need_weights=True",
      mhaOutput: "nn.MHA, need_weights=False",
      d2l: "d2l, float32",
      d2lHalf: "d2l, float16",
    },
  },
};
const TEMPERATURES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10];
// What PyTorch 2.13 and d2l 1.0.3 answer for a query with nothing to attend to, among M keys. (Tests ask them.)
const EMPTY = { book: () => 0, softmax: () => NaN, sdpa: () => 0, mha: () => NaN, mhaOutput: () => 0, d2l: (M) => 1 / M, d2lHalf: () => NaN };

const cellsWhere = (L, is) => [...Array(L * L).keys()].map((c) => [Math.floor(c / L), c % L]).filter(([i, j]) => is(i, j));
const total = (row) => row.reduce((a, b) => a + b, 0);

function compute(model) {
  const blocked = new Set(model.get("blocked").map(String));
  const [hide, temperature] = [model.get("hide"), model.get("temperature")];
  const isHidden = (i, j) => blocked.has(`${i},${j}`);
  const filled = { before: -Infinity, zero: 0 }[hide];
  const scores = model.get("scores_LM").map((row, i) => row.map((x, j) => (filled !== undefined && isHidden(i, j) ? filled : x)));
  const scaled = scores.map((row) => row.map((x) => x / temperature));
  const exps = scaled.map((row) => row.map(Math.exp));
  const weights = scaled.map(softmax).map((row, i) => row.map((w, j) => (hide === "after" && isHidden(i, j) ? 0 : w)));
  return { scores, exps, weights, isHidden };
}

const short = (x) => (x >= 1000 || (x > 0 && x < 0.005) ? scientific(x) : number(x, x < 10 ? 2 : 1));

function render({ model, el }) {
  const say = words(TEXT, el);
  const life = follower(model);
  const tokens = model.get("tokens");
  const pads = model.get("pads");
  const L = tokens.length;

  const presets = {
    nothing: () => false,
    causal: (i, j) => j > i,
    padding: (i, j) => pads.includes(j),
    both: (i, j) => j > i || pads.includes(j),
    row: (i) => i === Math.min(1, L - 1),
  };
  const scores = grid({ label: say.scores, rows: tokens, columns: tokens, at: [0, 0], move: () => {}, press: painter(model, "blocked") });
  scores.node.classList.add("ab-paints");

  const table = (caption, extra) => {
    const cells = tokens.map(() => tokens.map(() => element("td")));
    const sums = tokens.map(() => element("td", { class: "ab-sum" }));
    const head = (text, scope, name) => element("th", { scope, class: name }, text);
    const node = element("table", {}, element("caption", {}, caption),
      element("thead", {}, element("tr", {}, element("td"), ...tokens.map((token) => head(token, "col", "attn-key")), head(extra, "col", "ab-sum"))),
      element("tbody", {}, ...cells.map((row, i) => element("tr", {}, head(tokens[i], "row", "attn-query"), ...row, sums[i]))));
    return { node: element("div", { class: "ab-scroll" }, node), cells, sums };
  };
  const exps = table(say.exps, say.sum);
  const weights = table(say.weights, say.sum);

  const note = element("p", { class: "ab-hint", role: "status" });
  const answers = element("div", { class: "ab-wide" }, element("table", { class: "ab-answers" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, say.code), ...tokens.map((token) => element("th", { scope: "col", class: "attn-key" }, token)))),
    element("tbody", {}, ...Object.entries(EMPTY).map(([code, answer]) => element("tr", {}, element("th", { scope: "row" }, say.codes[code]),
      ...tokens.map(() => element("td", {}, number(answer(L)))))))));

  const root = body(el, "paintmask",
    element("div", { class: "ab-controls" },
      element("div", { class: "ab-control", role: "group", "aria-label": say.presets }, element("span", { class: "ab-label", "aria-hidden": "true" }, say.presets),
        element("div", { class: "ab-presets" }, ...Object.entries(presets).map(([name, is]) => button(say[name], () => put(model, { blocked: cellsWhere(L, is) }))))),
      choice(model, life, { trait: "hide", label: say.hide, options: say.ways }),
      slider(model, life, { trait: "temperature", label: say.temperature, values: TEMPERATURES })),
    element("div", { class: "ab-steps" },
      element("div", {}, element("p", { class: "ab-caption", "aria-hidden": "true" }, say.scores), scores.node),
      exps.node, weights.node),
    element("p", { class: "ab-hint" }, say.paint), note, answers);
  root.classList.toggle("ab-long", L > 4);

  life.follow(["scores_LM", "blocked", "hide", "temperature"], () => {
    const found = compute(model);
    const largest = Math.max(...found.scores.flat().map(Math.abs).filter(Number.isFinite), 1e-9);
    tokens.forEach((_, i) => {
      tokens.forEach((_, j) => {
        const [score, exp, weight] = [scores.cells[i][j], exps.cells[i][j], weights.cells[i][j]];
        score.textContent = number(found.scores[i][j], 1);
        score.classList.add("ab-signed");
        score.style.setProperty("--s", Number.isFinite(found.scores[i][j]) ? found.scores[i][j] / largest : 0);
        exp.textContent = short(found.exps[i][j]);
        weight.textContent = number(found.weights[i][j]);
        weight.classList.add("ab-weight");
        weight.style.setProperty("--w", found.weights[i][j]);
        for (const cell of [score, exp, weight]) cell.classList.toggle("ab-blocked", found.isHidden(i, j));
      });
      exps.sums[i].textContent = short(total(found.exps[i]));
      weights.sums[i].textContent = number(total(found.weights[i]));
      weights.sums[i].classList.toggle("ab-off", Math.abs(total(found.weights[i]) - 1) > 1e-9);
    });
    const empty = tokens.filter((_, i) => tokens.every((_, j) => found.isHidden(i, j)));
    note.textContent = empty.length ? say.empty(empty) : "";
    answers.hidden = !empty.length;
  });
  return life.end;
}

export default { render };
