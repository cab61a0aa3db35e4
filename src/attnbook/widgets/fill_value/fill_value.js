import { body, choice, element, fill, follower, heading, number, scientific, slider, words } from "../shared/core.js";
import { attempt, FORMATS, SCORES } from "./formats.js";

const SHIFTS = [-20000, -9995, -50, -10, 0];
function verdict({ scores, weights, isHidden }) {
  if (!weights) return "error";
  if (weights.some(Number.isNaN)) return "nan";
  if (isHidden.every(Boolean)) return new Set(weights).size > 1 ? "ignored" : "uniform";
  const leak = weights.filter((_, j) => isHidden[j]);
  if (leak.every((w) => w === 0)) return new Set(scores.slice(0, 3)).size < 3 ? "blurred" : "fine";
  return weights.every((w, j) => isHidden[j] || w < 1e-6) ? "takeover" : "leak";
}

// Whole numbers as they are, small shares and large numbers as powers of ten.
function written(x) {
  if (!Number.isFinite(x)) return number(x);
  const size = Math.abs(x);
  return size >= 1e5 || (size > 0 && size < 1e-3) ? scientific(x) : number(x, Number.isInteger(x) ? 0 : 3);
}

// One format: the way from the scores to the weights, what the hidden keys keep, and a verdict.
function panel(say, name) {
  const caption = `format-${Math.random().toString(36).slice(2)}`;
  const cells = SCORES.map(() => Array.from({ length: 3 }, () => element("td", { class: "ab-number" })));
  const share = element("td", { class: "ab-number" });
  const said = element("p", { class: "ab-verdict", role: "status" });
  const node = element(
    "div",
    { role: "group", class: "ab-panel", "aria-labelledby": caption },
    element(
      "table",
      {},
      element("caption", { id: caption, translate: "no" }, name),
      heading(say.heads),
      element(
        "tbody",
        {},
        ...cells.map((row, j) =>
          element("tr", {}, element("th", { scope: "row", class: "attn-key" }, `${j + 1}`), ...row),
        ),
      ),
      element("tfoot", {}, element("tr", {}, element("th", { scope: "row", colspan: 3 }, say.share), share)),
    ),
    said,
  );
  return {
    node,
    show(found) {
      const { scores, masked, weights, isHidden } = found;
      cells.forEach(([score, after, weight], j) => {
        const isBad = !weights || Number.isNaN(weights[j]);
        score.textContent = written(scores[j]);
        after.textContent = weights ? written(masked[j]) : "–";
        weight.textContent = weights ? written(weights[j]) : "–";
        weight.classList.toggle("ab-weight", !isBad);
        weight.style.setProperty("--w", isBad ? 0 : weights[j]);
        score.parentNode.classList.toggle("ab-hidden", isHidden[j]);
      });
      const kept = weights?.filter((_, j) => isHidden[j]).reduce((a, b) => a + b, 0);
      share.textContent = weights ? written(kept) : "–";
      said.dataset.verdict = verdict(found);
      said.textContent = fill(say.verdicts[said.dataset.verdict], { format: name });
    },
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const panels = Object.keys(FORMATS).map((name) => [name, panel(say, name)]);
  body(
    el,
    "fillvalue",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "fill", label: say.fill, options: say.fills }),
      choice(model, subscriptions, { trait: "how", label: say.how, options: say.hows }),
      choice(model, subscriptions, { trait: "hidden", label: say.hidden, options: say.which }),
      slider(model, subscriptions, { trait: "shift", label: say.shift, values: SHIFTS, show: written }),
    ),
    element("div", { class: "ab-panels" }, ...panels.map(([, { node }]) => node)),
  );

  const names = ["fill", "shift", "hidden", "how"];
  subscriptions.follow(names, () => {
    const inputs = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    for (const [name, { show }] of panels) show(attempt(name, inputs));
  });
  return subscriptions.end;
}

export default { render };
