import { body, choice, element, fill, follower, heading, number, words } from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { scientific } from "../shared/sizes.js";
import { slider } from "../shared/slider.js";
import { attempt, FORMATS, SCORES } from "./formats.js";

const SHIFTS = [-20000, -9995, -50, -10, 0];
const CLOSE = 0.05; // of the line: nearer than this, keys would cover each other
function verdict({ scores, weights, isHidden }) {
  if (!weights) return "error";
  if (weights.some(Number.isNaN)) return "nan";
  if (isHidden.every(Boolean)) return new Set(weights).size > 1 ? "ignored" : "uniform";
  const leak = weights.filter((_, j) => isHidden[j]);
  if (leak.every((w) => w === 0)) return new Set(scores.slice(0, 3)).size < 3 ? "blurred" : "fine";
  return weights.every((w, j) => isHidden[j] || w < 1e-6) ? "takeover" : "leak";
}

// Integers as they are, small shares and large numbers as powers of ten.
function written(x) {
  if (!Number.isFinite(x)) return number(x);
  const size = Math.abs(x);
  return size >= 1e5 || (size > 0 && size < 1e-3) ? scientific(x) : number(x, Number.isInteger(x) ? 0 : 3);
}

// Where a number lies on a line from −∞ to 3, as a share of its length: by the size of its power of ten.
function placeOf(x) {
  if (x === -Infinity) return 0.025;
  return x > 0 ? 0.9 + x * 0.025 : 0.9 - 0.8 * Math.sqrt(Math.log10(1 - x) / Math.log10(FORMATS.bfloat16.most));
}

// Where keys are drawn that lie at some places, and how many widths of a key beside: those that are close stand side by side.
function spread(places) {
  const order = [...places.keys()].sort((a, b) => places[a] - places[b] || a - b);
  const drawn = [];
  for (let first = 0, last; first < order.length; first = last + 1) {
    last = first;
    while (last + 1 < order.length && places[order[last + 1]] - places[order[last]] < CLOSE) last++;
    const middle = (places[order[first]] + places[order[last]]) / 2;
    const start = middle < 0.1 ? 0 : (first - last) / 2; // within the line
    for (let n = first; n <= last; n++) drawn[order[n]] = [middle, start + n - first];
  }
  return drawn;
}

// The number line of a format, as far as it goes. A key is as bright as its weight; from a hidden one the weight drips.
function lane(say, name) {
  const keys = SCORES.map((_, j) => element("b", { class: "ab-key ab-weight" }, `${j + 1}`));
  const edge = element("span", { class: "ab-edge" }, written(-FORMATS[name].most));
  const line = element("div", { class: "ab-line", "aria-hidden": "true" }, edge, ...keys);
  const said = element("p", { class: "ab-verdict", role: "status" });
  line.style.setProperty("--edge", placeOf(-FORMATS[name].most));
  return {
    node: element("div", { class: "ab-lane" }, said, line),
    show(found) {
      const { masked, weights, isHidden } = found;
      const places = masked.map(placeOf);
      const drawn = spread(places);
      keys.forEach((key, j) => {
        const weight = weights?.[j] || 0;
        const [at, aside] = drawn[j];
        key.style.setProperty("--x", places[j]);
        key.style.setProperty("--at", at);
        key.style.setProperty("--aside", aside);
        key.style.setProperty("--w", weight);
        key.style.setProperty("--drop", isHidden[j] && weight ? Math.max(1 + Math.log10(weight) / 8, 0.2) : 0);
        key.classList.toggle("ab-hidden", isHidden[j]);
        key.classList.toggle("ab-fell", masked[j] === -Infinity);
      });
      said.dataset.verdict = verdict(found);
      said.textContent = fill(say.verdicts[said.dataset.verdict], { format: name });
    },
  };
}

// One format in numbers: the way from the scores to the weights, and what the hidden keys keep.
function panel(say, name) {
  const caption = `format-${Math.random().toString(36).slice(2)}`;
  const cells = SCORES.map(() => Array.from({ length: 3 }, () => element("td", { class: "ab-number" })));
  const share = element("td", { class: "ab-number" });
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
  );
  return {
    node,
    show({ scores, masked, weights, isHidden }) {
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
    },
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const formats = Object.keys(FORMATS);
  const [lanes, panels] = [lane, panel].map((part) => formats.map((name) => part(say, name)));
  const ticks = Object.entries(say.fills).filter(([value]) => value !== "lowest");
  const axis = ticks.map(([value, text]) => {
    const place = placeOf(value === "-inf" ? -Infinity : Number(value));
    return element("span", { style: `--x: ${place}` }, text);
  });
  body(
    el,
    "fillvalue",
    element(
      "div",
      { class: "ab-lanes ab-pin" },
      element("p", { class: "ab-hint" }, say.circles),
      element("div", { class: "ab-axis", "aria-hidden": "true" }, ...axis),
      ...lanes.map(({ node }) => node),
    ),
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "fill", label: say.fill, options: say.fills }),
      choice(model, subscriptions, { trait: "how", label: say.how, options: say.hows }),
      choice(model, subscriptions, { trait: "hidden", label: say.hidden, options: say.which }),
      slider(model, subscriptions, { trait: "shift", label: say.shift, values: SHIFTS, show: written }),
    ),
    folded(say.numbers, element("div", { class: "ab-panels" }, ...panels.map(({ node }) => node))),
  );

  const names = ["fill", "shift", "hidden", "how"];
  subscriptions.follow(names, () => {
    const inputs = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    formats.forEach((name, n) => {
      const found = attempt(name, inputs);
      lanes[n].show(found);
      panels[n].show(found);
    });
  });
  return subscriptions.end;
}

export default { render };
