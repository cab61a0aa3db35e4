import {
  body,
  button,
  choice,
  element,
  follower,
  heading,
  large,
  number,
  update,
  slider,
  words,
} from "../shared/core.js";
import { draggable } from "../shared/dragging.js";

const TEXT = {
  en: {
    picture:
      "Length n from 16 to a million to the right, width d from 16 to 16,384 upwards, both doubling at every line. A dot, one layer, can be dragged. The shaded part is where self-attention needs more operations than the other.",
    sliders: { n: "Tokens n:", d: "Width d:", heads: "Heads h:", kernel: "Kernel k of the convolution:" },
    against: "Compare with",
    others: { recurrence: "recurrence", convolution: "convolution" },
    projections: "The four projections are",
    counted: { in: "counted", out: "left out" },
    tries: "Or go to",
    rows: { attention: "self-attention", recurrence: "recurrence", convolution: (k) => `convolution, k = ${k}` },
    heads: ["", "operations", "numbers kept"],
    half: "n = 2 d",
    line: (slope) => `n = ${slope} d`,
    never: "Here the other needs fewer operations everywhere.",
    shares: "Scores and blends, of all operations of self-attention",
    ratio: {
      recurrence: "Self-attention, compared with the recurrence",
      convolution: "Self-attention, compared with the convolution",
    },
    weights: "The weights of all heads, h n², in single precision",
    times: (x) => `${x >= 1000 ? large(x, SIZES) : x >= 0.1 ? number(x) : x.toPrecision(2)} times the operations`,
  },
};
const SIZES = [
  [1e15, "{x} quadrillion"],
  [1e12, "{x} trillion"],
  [1e9, "{x} billion"],
  [1e6, "{x} million"],
  [1e3, "{x} thousand"],
];
const BYTES = [
  [1e15, "{x} PB"],
  [1e12, "{x} TB"],
  [1e9, "{x} GB"],
  [1e6, "{x} MB"],
  [1e3, "{x} kB"],
];
const MODELS = {
  "base Transformer, a sentence": [64, 512, 8],
  "BERT base": [512, 768, 12],
  "GPT-2": [1024, 768, 12],
  "GPT-3": [2048, 12288, 96],
  "Llama 3.1 8B": [131072, 4096, 32],
};
const powers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => 2 ** (from + i));
const STOPS = {
  n: powers(4, 20),
  d: powers(4, 14),
  heads: [...powers(0, 3), 12, ...powers(4, 6), 96, 128],
  kernel: [3, 5, 9, 17, 33],
};
const [LEFT, RIGHT, LOW, HIGH, UNIT] = [4, 20, 4, 14, 24]; // powers of two, each so wide
const [MARGIN, FOOT, TOP] = [38, 34, 8];
const TICKS = {
  n: { 4: "16", 8: "256", 12: "4 k", 16: "64 k", 20: "1 M" },
  d: { 4: "16", 6: "64", 8: "256", 10: "1 k", 12: "4 k", 14: "16 k" },
};

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const [wide, tall] = [(RIGHT - LEFT) * UNIT, (HIGH - LOW) * UNIT];
  const at = (n, d) => [(Math.log2(n) - LEFT) * UNIT, (HIGH - Math.log2(d)) * UNIT];
  const rules = [
    ...powers(LEFT, RIGHT).map((n) => [...at(n, 2 ** LOW), ...at(n, 2 ** HIGH)]),
    ...powers(LOW, HIGH).map((d) => [...at(2 ** LEFT, d), ...at(2 ** RIGHT, d)]),
  ];
  const path = (name) => element("path", { class: name });
  const [shade, border, half, dot, reach] = [
    path("ab-shade"),
    path("ab-border"),
    path("ab-half"),
    element("circle", { class: "ab-dot", r: 7 }),
    element("circle", { class: "ab-tip", r: 20 }),
  ];
  const text = (x, y, words, kind = "middle") => element("text", { x, y, "text-anchor": kind }, words);
  const [halfLabel, label] = [text(...at(2 ** 14.6, 2 ** 13.2), say.half, "start"), text(0, 0, "", "start")];
  const inside = element(
    "svg",
    { width: wide, height: tall },
    element("rect", { width: wide, height: tall, class: "ab-ground" }),
    shade,
    ...rules.map(([x1, y1, x2, y2]) => element("line", { x1, y1, x2, y2 })),
    half,
    border,
    halfLabel,
    label,
    ...Object.values(MODELS).map(([n, d]) =>
      element("circle", { class: "ab-model", r: 3.5, cx: at(n, d)[0], cy: at(n, d)[1] }),
    ),
  );
  const size = [wide + MARGIN + 14, tall + FOOT + TOP];
  const svg = element(
    "svg",
    { viewBox: [-MARGIN, -TOP, ...size].join(" "), role: "img", "aria-label": say.picture },
    inside,
    ...Object.entries(TICKS.n).map(([power, name]) => text(at(2 ** power, 1)[0], tall + 14, name)),
    ...Object.entries(TICKS.d).map(([power, name]) => text(-5, at(1, 2 ** power)[1] + 4, name, "end")),
    text(wide / 2, tall + 29, "n →"),
    text(-MARGIN + 2, tall / 2, "d ↑", "start"),
    dot,
    reach,
  );
  // The dot follows the pointer from one line to the next.
  const onScale = (share, whole, margin, from, to) =>
    2 ** Math.min(Math.max(from + Math.round((share * whole - margin) / UNIT), from), to);
  draggable(reach, (across, down) =>
    update(model, {
      n: onScale(across, size[0], MARGIN, LEFT, RIGHT),
      d: 2 ** (HIGH + LOW) / onScale(down, size[1], TOP, LOW, HIGH),
    }),
  );

  const control = (trait) =>
    slider(model, subscriptions, {
      trait,
      label: say.sliders[trait],
      values: STOPS[trait],
      show: (x) => x.toLocaleString("en"),
    });
  const rows = Object.fromEntries(
    Object.keys(say.rows).map((kind) => {
      const [head, cells] = [
        element("th", { scope: "row" }),
        Array.from({ length: 2 }, () => element("td", { class: "ab-number" })),
      ];
      return [kind, { head, cells, node: element("tr", {}, head, ...cells) }];
    }),
  );
  const [shareOf, ratio, weights] = [0, 0, 0].map(() => element("dd", { class: "ab-number" }));
  const ratioName = element("dt");
  const never = element("p", { class: "ab-hint" }, say.never);
  const tries = Object.entries(MODELS).map(([name, [n, d, heads]]) =>
    button(name, () => update(model, { n, d, heads })),
  );
  body(
    el,
    "plane",
    element("div", { class: "ab-controls ab-tries" }, element("span", { class: "ab-hint" }, say.tries), ...tries),
    element(
      "div",
      { class: "ab-two" },
      element("div", {}, svg, never),
      element(
        "div",
        { class: "ab-controls" },
        ...["n", "d", "heads", "kernel"].map(control),
        choice(model, subscriptions, { trait: "against", label: say.against, options: say.others }),
        choice(model, subscriptions, { trait: "projections", label: say.projections, options: say.counted }),
      ),
    ),
    element("table", {}, heading(say.heads), element("tbody", {}, ...Object.values(rows).map(({ node }) => node))),
    element(
      "dl",
      {},
      element("dt", {}, say.shares),
      shareOf,
      ratioName,
      ratio,
      element("dt", {}, say.weights),
      weights,
    ),
  );

  subscriptions.follow(["n", "d", "heads", "kernel", "against", "projections"], () => {
    const [n, d, heads, k, against, projections] = ["n", "d", "heads", "kernel", "against", "projections"].map(
      (trait) => model.get(trait),
    );
    const counted = projections === "in";
    const pairs = 4 * n ** 2 * d;
    const costs = {
      attention: [pairs + (counted ? 8 * n * d ** 2 : 0), 5 * n * d + heads * n ** 2],
      recurrence: [4 * n * d ** 2, (2 * n + 1) * d],
      convolution: [2 * k * n * d ** 2, (n + k - 1) * d],
    };
    for (const [kind, { head, cells, node }] of Object.entries(rows)) {
      head.textContent = kind === "convolution" ? say.rows[kind](k) : say.rows[kind];
      costs[kind].forEach((x, i) => {
        cells[i].textContent = large(x, SIZES);
      });
      node.classList.toggle("ab-chosen", kind === against || kind === "attention");
    }
    const slope = ((against === "recurrence" ? 4 : 2 * k) - (counted ? 8 : 0)) / 4;
    const line = (ratio) => `M${[LOW, HIGH].map((power) => at(2 ** power * ratio, 2 ** power).join(" ")).join("L")}`; // n = ratio d
    shade.setAttribute("d", slope > 0 ? `${line(slope)}H${2 * wide}V${tall}Z` : `M0 0H${wide}V${tall}H0Z`);
    border.setAttribute("d", slope > 0 ? line(slope) : "");
    half.setAttribute("d", line(2));
    const [x, y] = at(2 ** 5.5 * Math.max(slope, 1), 2 ** 5);
    label.setAttribute("x", x + 6);
    label.setAttribute("y", y);
    label.textContent = slope > 0 ? say.line(slope) : "";
    half.toggleAttribute("hidden", !counted);
    halfLabel.toggleAttribute("hidden", !counted);
    never.hidden = slope > 0;
    for (const part of [dot, reach]) {
      part.setAttribute("cx", at(n, d)[0]);
      part.setAttribute("cy", at(n, d)[1]);
    }
    shareOf.textContent = `${number((100 * pairs) / costs.attention[0], 1)} %`;
    ratioName.textContent = say.ratio[against];
    ratio.textContent = say.times(costs.attention[0] / costs[against][0]);
    weights.textContent = large(4 * heads * n ** 2, BYTES);
  });
  return subscriptions.end;
}

export default { render };
