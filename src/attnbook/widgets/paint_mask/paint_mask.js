import {
  body,
  button,
  choice,
  element,
  fill,
  follower,
  largestOf,
  listed,
  number,
  update,
  softmax,
  verbatim,
  words,
} from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { scientific } from "../shared/sizes.js";
import { TEMPERATURES, slider } from "../shared/slider.js";
import { grid } from "../shared/cells.js";
import { fingerPainting, painter } from "../shared/painting.js";

// What PyTorch 2.13 and d2l 1.0.3 answer for a query with nothing to attend to, among M keys. (Tests ask them.)
const EMPTY = {
  book: () => 0,
  softmax: () => NaN,
  sdpa: () => 0,
  mha: () => NaN,
  mhaOutput: () => 0,
  d2l: (M) => 1 / M,
  d2lHalf: () => NaN,
};

const cellsWhere = (L, is) =>
  [...Array(L * L).keys()].map((c) => [Math.floor(c / L), c % L]).filter(([i, j]) => is(i, j));
const PRESETS = {
  nothing: () => false,
  causal: (i, j) => j > i,
  padding: (i, j, pads) => pads.includes(j),
  both: (i, j, pads) => j > i || pads.includes(j),
  row: (i, j, pads, L) => i === Math.min(1, L - 1),
};
const total = (row) => row.reduce((a, b) => a + b, 0);

function compute(model) {
  const blocked = new Set(model.get("blocked").map(String));
  const [hide, temperature] = [model.get("hide"), model.get("temperature")];
  const isHidden = (i, j) => blocked.has(`${i},${j}`);
  const filled = { before: -Infinity, zero: 0 }[hide];
  const scores = model
    .get("scores_LM")
    .map((row, i) => row.map((x, j) => (filled !== undefined && isHidden(i, j) ? filled : x)));
  const scaled = scores.map((row) => row.map((x) => x / temperature));
  const exps = scaled.map((row) => row.map(Math.exp));
  const weights = scaled.map(softmax).map((row, i) => row.map((w, j) => (hide === "after" && isHidden(i, j) ? 0 : w)));
  return { scores, exps, weights, isHidden };
}

const short = (x) => (x >= 1000 || (x > 0 && x < 0.005) ? scientific(x) : number(x, x < 10 ? 2 : 1));

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const cellsOf = (name) => {
    const [L, pads] = [model.get("tokens").length, model.get("pads")];
    return cellsWhere(L, (i, j) => PRESETS[name](i, j, pads, L));
  };
  const presets = Object.keys(PRESETS).map((name) => [
    name,
    button(say.preset[name], () => update(model, { blocked: cellsOf(name) })),
  ]);
  const picture = element("div", { class: "ab-picture" });
  const steps = element("div", { class: "ab-steps" });
  const note = element("p", { class: "ab-hint", role: "status" });
  const answers = element("table", { class: "ab-answers" });
  body(
    el,
    "paintmask",
    picture,
    fingerPainting(say, picture),
    element(
      "div",
      { class: "ab-controls" },
      element(
        "div",
        { class: "ab-control", role: "group", "aria-label": say.presets },
        element("span", { class: "ab-label", "aria-hidden": "true" }, say.presets),
        element("div", { class: "ab-presets" }, ...presets.map(([, node]) => node)),
      ),
      choice(model, subscriptions, { trait: "hide", label: say.hide, options: say.ways }),
      slider(model, subscriptions, { trait: "temperature", label: say.temperature, values: TEMPERATURES }),
    ),
    folded(say.steps, steps),
    note,
    answers,
  );

  const paint = painter(model, "blocked");
  let scores, shares, exps, weights;
  const head = (text, scope, name) => element("th", { scope, class: name }, text);
  const tokenHead = (token, scope, name) => element("th", { scope, class: name, translate: "no" }, token);

  function table(tokens, caption, name) {
    const cells = tokens.map(() => tokens.map(() => element("td", { class: name })));
    const sums = tokens.map(() => element("td", { class: "ab-sum" }));
    const node = element(
      "table",
      {},
      element("caption", {}, caption),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("td"),
          ...tokens.map((token) => tokenHead(token, "col", "attn-key")),
          head(say.sum, "col", "ab-sum"),
        ),
      ),
      element(
        "tbody",
        {},
        ...cells.map((row, i) => element("tr", {}, tokenHead(tokens[i], "row", "attn-query"), ...row, sums[i])),
      ),
    );
    return { node, cells, sums };
  }

  // Of each row a bar of light: the wider a part, the larger the share. To press one hides its score.
  function bars(tokens) {
    const parts = tokens.map((_, i) =>
      tokens.map((token, j) => {
        const part = element("span", { class: "ab-weight", translate: "no", style: `--n: ${token.length}` }, token);
        part.addEventListener("click", () => paint(i, j, true));
        return part;
      }),
    );
    const lines = parts.flatMap((line, i) => [
      element("b", { class: "attn-query", translate: "no" }, tokens[i]),
      element("div", { class: "ab-share" }, ...line),
    ]);
    return { parts, node: element("div", { class: "ab-shares", "aria-hidden": "true" }, ...lines) };
  }

  function build(tokens) {
    const power = verbatim("e");
    power.append(element("sup", {}, "s/T"));
    scores = grid({ label: say.scores, rows: tokens, columns: tokens, at: [0, 0], move: () => {}, press: paint });
    scores.node.classList.add("ab-paints");
    for (const cell of scores.cells.flat()) cell.classList.add("ab-signed");
    shares = bars(tokens);
    exps = table(tokens, power, "");
    weights = table(tokens, say.weights, "ab-weight");
    picture.replaceChildren(element("p", { class: "ab-caption" }, say.paint), scores.node, shares.node);
    steps.replaceChildren(exps.node, weights.node);
    answers.replaceChildren(
      element(
        "thead",
        {},
        element("tr", {}, head(say.code, "col", ""), ...tokens.map((token) => tokenHead(token, "col", "attn-key"))),
      ),
      element(
        "tbody",
        {},
        ...Object.entries(EMPTY).map(([code, answer]) =>
          element(
            "tr",
            {},
            head(say.codes[code], "row", ""),
            ...tokens.map(() => element("td", {}, number(answer(tokens.length)))),
          ),
        ),
      ),
    );
  }

  subscriptions.follow(["tokens", "scores_LM", "pads", "blocked", "hide", "temperature"], () => {
    const tokens = model.get("tokens");
    if (model.get("scores_LM").length !== tokens.length) return; // one is set, and the other will be
    if (String(scores?.heads.map((cell) => cell.textContent)) !== String(tokens)) build(tokens);
    const found = compute(model);
    const largest = largestOf(found.scores.flat());
    const places = [...tokens.keys()];
    for (const i of places) {
      for (const j of places) {
        const [score, exp, weight] = [scores.cells[i][j], exps.cells[i][j], weights.cells[i][j]];
        score.textContent = number(found.scores[i][j], 1);
        score.style.setProperty("--s", Number.isFinite(found.scores[i][j]) ? found.scores[i][j] / largest : 0);
        score.setAttribute("aria-selected", found.isHidden(i, j));
        exp.textContent = short(found.exps[i][j]);
        weight.textContent = number(found.weights[i][j]);
        for (const node of [weight, shares.parts[i][j]]) node.style.setProperty("--w", found.weights[i][j]);
        score.classList.toggle("ab-struck", found.isHidden(i, j) && Number.isFinite(found.scores[i][j]));
        for (const cell of [score, exp, weight]) cell.classList.toggle("ab-blocked", found.isHidden(i, j));
      }
      exps.sums[i].textContent = short(total(found.exps[i]));
      weights.sums[i].textContent = number(total(found.weights[i]));
      weights.sums[i].classList.toggle("ab-off", Math.abs(total(found.weights[i]) - 1) > 1e-9);
    }
    const hidden = String([...model.get("blocked")].sort());
    for (const [name, node] of presets) node.setAttribute("aria-pressed", String(cellsOf(name).sort()) === hidden);
    const empty = places.filter((i) => places.every((j) => found.isHidden(i, j)));
    note.textContent = empty.length ? fill(say.empty, { tokens: listed(empty.map((i) => tokens[i])) }) : "";
    answers.hidden = !empty.length;
  });
  return subscriptions.end;
}

export default { render };
