import { body, choice, element, follower, heading, number, scientific, slider, words } from "../shared/core.js";

const TEXT = {
  en: {
    fill: "Hide a score by",
    fills: { 0: "0", "-10": "−10", "-1e4": "−10⁴", "-1e9": "−10⁹", lowest: "lowest finite", "-inf": "−∞" },
    how: "The number is",
    hows: { write: "written over it", add: "added to it" },
    hidden: "Hidden keys",
    which: { two: "the last two", all: "all five" },
    shift: "Add to every score first:",
    heads: ["key", "score", "masked", "weight"],
    leak: "hidden keys get",
    verdicts: {
      error: "PyTorch raises an error: this format has no such number.",
      nan: "NaN. The row is lost, and soon everything it touches.",
      ignored: "every key is hidden, and the weights are those of no mask at all.",
      uniform: "every key is hidden, and every key gets the same share.",
      takeover: "the hidden keys took everything.",
      leak: "it leaks. The hidden keys keep a share.",
      fine: "hidden, with a weight of exactly 0.",
      blurred: "hidden. But this format can't tell the shifted scores apart.",
    },
  },
};
const SCORES = [2, 1, 0, 3, 1];
const SHIFTS = [-20000, -9995, -50, -10, 0];
// Binary digits after the leading one, the smallest exponent, and the largest number.
const FORMATS = {
  float32: { digits: 23, least: -126, most: 3.4028234663852886e38 },
  bfloat16: { digits: 7, least: -126, most: 3.3895313892515355e38 },
  float16: { digits: 10, least: -14, most: 65504 },
};

// The nearest number that a format has; halfway, the even one; too large, infinity.
export function rounded(x, { digits, least, most }) {
  if (!Number.isFinite(x) || x === 0) return x;
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), least) - digits);
  const steps = Math.round(x / step);
  const even = Math.abs((x / step) % 1) === 0.5 ? 2 * Math.round(x / step / 2) : steps;
  return Math.abs(even * step) > most ? Math.sign(x) * Infinity : even * step;
}

// As PyTorch does on a CPU: sums and products are rounded to the format, a softmax runs in float32 and is rounded at its end.
export function attempt(formatName, { fill, shift, hidden, how }) {
  const format = FORMATS[formatName];
  const round = (x) => rounded(x, format);
  const value = { lowest: -format.most, "-inf": -Infinity }[fill] ?? Number(fill);
  const isHidden = SCORES.map((_, j) => hidden === "all" || j > 2);
  const scores = SCORES.map((x) => round(x + shift));
  const tooLow = how === "write" && !Number.isFinite(round(value)) && Number.isFinite(value);
  const masked = scores.map((x, j) =>
    how === "add" ? round(x + round((isHidden[j] ? 1 : 0) * value)) : isHidden[j] ? round(value) : x,
  );
  const top = masked.some(Number.isNaN) ? NaN : Math.max(...masked);
  const powers = masked.map((x) => Math.fround(Math.exp(Math.fround(x - top))));
  const sum = Math.fround(powers.reduce((a, b) => a + b, 0));
  return { scores, masked, weights: tooLow ? null : powers.map((p) => round(Math.fround(p / sum))), isHidden };
}

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

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const panels = Object.keys(FORMATS).map((name) => {
    const cells = SCORES.map(() => Array.from({ length: 3 }, () => element("td", { class: "ab-number" })));
    const leak = element("td", { class: "ab-number" });
    const said = element("p", { class: "ab-verdict", role: "status" });
    const node = element(
      "div",
      { role: "group", class: "ab-panel", "aria-label": name },
      element(
        "table",
        {},
        element("caption", {}, name),
        heading(say.heads),
        element(
          "tbody",
          {},
          ...cells.map((row, j) =>
            element("tr", {}, element("th", { scope: "row", class: "attn-key" }, `${j + 1}`), ...row),
          ),
        ),
        element("tfoot", {}, element("tr", {}, element("th", { scope: "row", colspan: 3 }, say.leak), leak)),
      ),
      said,
    );
    return { name, cells, leak, said, node };
  });
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
    element("div", { class: "ab-panels" }, ...panels.map(({ node }) => node)),
  );

  subscriptions.follow(["fill", "shift", "hidden", "how"], () => {
    const inputs = Object.fromEntries(["fill", "shift", "hidden", "how"].map((name) => [name, model.get(name)]));
    for (const { name, cells, leak, said } of panels) {
      const found = attempt(name, inputs);
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
      const share = weights?.filter((_, j) => isHidden[j]).reduce((a, b) => a + b, 0);
      leak.textContent = weights ? written(share) : "–";
      const what = verdict(found);
      said.textContent = `${name}: ${say.verdicts[what]}`;
      said.classList.toggle("ab-good", what === "fine");
    }
  });
  return subscriptions.end;
}

export default { render };
