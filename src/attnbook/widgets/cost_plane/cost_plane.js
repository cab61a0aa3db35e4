import {
  body,
  button,
  choice,
  element,
  fill,
  fillNodes,
  follower,
  heading,
  number,
  plain,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { large } from "../shared/sizes.js";
import { nearestStop, slider } from "../shared/slider.js";
import { clamp, draggable, handle, put } from "../shared/dragging.js";

const MODELS = {
  base: [64, 512, 8],
  "BERT base": [512, 768, 12],
  "GPT-2": [1024, 768, 12],
  "GPT-3": [2048, 12288, 96],
  "Llama 3.1 8B": [131072, 4096, 32],
};
// Where their names stand, if not at the right.
const NAMES = {
  base: ["middle", 3, 18],
  "BERT base": ["end", -8, -4],
  "GPT-3": ["end", -9, 4],
  "Llama 3.1 8B": ["end", -9, 4],
};
const powers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => 2 ** (from + i));
const STOPS = {
  n: powers(4, 20),
  d: powers(4, 14),
  heads: [...powers(0, 3), 12, ...powers(4, 6), 96, 128],
  kernel: [3, 5, 9, 17, 33],
};
const [LEFT, RIGHT, LOW, HIGH, UNIT, TALLER] = [4, 20, 4, 14, 24, 21]; // powers of two, each so wide and so high
const [MARGIN, FOOT, TOP] = [50, 20, 8];
const TICKS = {
  n: { 4: "16", 8: "256", 12: "4 k", 16: "64 k", 20: "1 M" },
  d: { 6: "64", 8: "256", 10: "1 k", 12: "4 k", 14: "16 k" },
};
const [WIDE, TALL] = [(RIGHT - LEFT) * UNIT, (HIGH - LOW) * TALLER];
const TRAITS = ["n", "d", "heads", "kernel", "against", "projections", "pairs"];

// Where n and d lie in the picture.
const at = (n, d) => [(Math.log2(n) - LEFT) * UNIT, (HIGH - Math.log2(d)) * TALLER];

const given = (model) => Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));

// Of the others the operations for each n d².
const factors = (kernel) => ({ recurrence: 4, gru: 12, lstm: 16, convolution: 2 * kernel });

// Of attention the operations for each n² d: a score and a blend of all pairs, or of half of them.
const factorOf = (pairs) => (pairs === "half" ? 2 : 4);

// The n / d at which attention needs as many operations as the other; 0 or less where it always needs more.
const slopeOf = ({ kernel, against, projections, pairs }) =>
  (factors(kernel)[against] - (projections === "in" ? 8 : 0)) / factorOf(pairs);

// Of each kind of layer the operations and the numbers kept.
function compute({ n, d, heads, kernel, against, projections, pairs }) {
  const counted = projections === "in";
  const both = factorOf(pairs) * n ** 2 * d; // scores and blends
  const weights = Math.floor((heads * n ** 2 * factorOf(pairs)) / 4);
  const kept = { recurrence: (2 * n + 1) * d, gru: 8 * n * d, lstm: 8 * n * d, convolution: (n + kernel - 1) * d };
  const others = Object.entries(factors(kernel)).map(([kind, factor]) => [kind, [factor * n * d ** 2, kept[kind]]]);
  const attention = [both + (counted ? 8 * n * d ** 2 : 0), 5 * n * d + weights];
  const costs = { attention, ...Object.fromEntries(others) };
  const half = 8 / factorOf(pairs); // the n / d at which scores and blends are half of attention
  return { both, weights, costs, slope: slopeOf({ kernel, against, projections, pairs }), half, counted };
}

// The plane with its lines and models, and the dot that the reader drags.
function plane(model, say) {
  const text = (x, y, words, kind = "middle") => element("text", { x, y, "text-anchor": kind, translate: "no" }, words); // a number or a formula
  const rules = [
    ...powers(LEFT, RIGHT).map((n) => [...at(n, 2 ** LOW), ...at(n, 2 ** HIGH)]),
    ...powers(LOW, HIGH).map((d) => [...at(2 ** LEFT, d), ...at(2 ** RIGHT, d)]),
  ];
  const [shade, border, half] = ["shade", "border", "half"].map((name) => element("path", { class: `ab-${name}` }));
  const [dot, cross] = [element("circle", { class: "ab-dot", r: 6 }), element("path", { class: "ab-cross" })];
  const grip = element("circle", { class: "ab-tip ab-grip", r: 14 });
  const lights = Object.entries(MODELS).map(([name, [n, d, heads]]) => {
    const [cx, cy] = at(n, d);
    const [side, dx, dy] = NAMES[name] ?? ["start", 9, 4];
    const label = text(cx + dx, cy + dy, say.short[name] ?? name, side);
    const light = element("g", { class: "ab-light" }, element("circle", { class: "ab-model", r: 4, cx, cy }), label);
    light.addEventListener("click", () => update(model, { n, d, heads }));
    return light;
  });
  const [halfLabel, label] = [text(0, 0, "", "start"), text(0, 0, "", "start")];
  const [less, more] = [
    [5, 30, "start"],
    [WIDE - 5, 136, "end"],
  ].map(([x, y, side], i) => element("text", { x, y, "text-anchor": side, class: "ab-side" }, say.sides[i]));
  const inside = element(
    "svg",
    { width: WIDE, height: TALL },
    element("rect", { width: WIDE, height: TALL, class: "ab-ground" }),
    shade,
    ...rules.map(([x1, y1, x2, y2]) => element("line", { x1, y1, x2, y2 })),
    half,
    border,
    cross,
    halfLabel,
    label,
    less,
    more,
    ...lights,
  );
  const size = [WIDE + MARGIN + 14, TALL + FOOT + TOP];
  const ticks = [
    ...Object.entries(TICKS.n).map(([power, name]) => text(at(2 ** power, 1)[0], TALL + 16, name)),
    ...Object.entries(TICKS.d).map(([power, name]) => text(-5, at(1, 2 ** power)[1] + 4, name, "end")),
  ];
  const [across, upwards] = [text(0, TALL + 16, ""), text(-5, 0, "", "end")]; // n and d, where they stand on the scales
  for (const value of [across, upwards]) value.classList.add("ab-here");
  // The dot follows the pointer from one line to the next.
  const onScale = (share, whole, margin, unit, from, to) =>
    2 ** clamp(from + Math.round((share * whole - margin) / unit), from, to);
  const beside = (trait, by) => {
    const [stops, now] = [STOPS[trait], model.get(trait)];
    return by ? stops[clamp(nearestStop(stops, now) + by, 0, stops.length - 1)] : now;
  };
  const tip = handle(
    say.dot,
    18,
    (x, y) =>
      update(model, {
        n: onScale(x, size[0], MARGIN, UNIT, LEFT, RIGHT),
        d: 2 ** (HIGH + LOW) / onScale(y, size[1], TOP, TALLER, LOW, HIGH),
      }),
    (right, up) => update(model, { n: beside("n", right), d: beside("d", up) }),
  );
  const node = element(
    "svg",
    { class: "ab-pin", viewBox: [-MARGIN, -TOP, ...size].join(" "), role: "group", "aria-label": say.picture },
    inside,
    ...ticks,
    across,
    upwards,
    text(WIDE - 5, TALL - 6, "n →", "end"),
    text(5, 14, "d ↑", "start"),
    grip,
    dot,
    tip.node,
  );

  // The border follows it, too: to the kernel that moves it nearest to the pointer.
  draggable(grip, (across, down) => {
    const [x, y] = [(across * size[0] - MARGIN) / UNIT + LEFT, HIGH - (down * size[1] - TOP) / TALLER];
    const slopes = STOPS.kernel.map((kernel) => slopeOf({ ...given(model), kernel }));
    const kernel = nearestStop(
      slopes.map((slope) => (slope > 0 ? Math.log2(slope) : -Infinity)),
      x - y,
    );
    update(model, { kernel: STOPS.kernel[kernel] });
  });

  const line = (ratio) => `M${[LOW, HIGH].map((power) => at(2 ** power * ratio, 2 ** power).join(" ")).join("L")}`; // n = ratio d
  return {
    node,
    show({ n, d, against }, { slope, half: ratio, counted }) {
      shade.setAttribute("d", slope > 0 ? `${line(slope)}H${2 * WIDE}V${TALL}Z` : `M0 0H${WIDE}V${TALL}H0Z`);
      border.setAttribute("d", slope > 0 ? line(slope) : "");
      const [x, y] = at(2 ** 5.5 * Math.max(slope, 1), 2 ** 5);
      label.setAttribute("x", x + 6);
      label.setAttribute("y", y);
      label.textContent = slope > 0 ? `n = ${slope === 1 ? "" : `${plain(slope)} `}d` : "";
      const [gripX, gripY] = at(2 ** 7 * slope, 2 ** 7);
      grip.setAttribute("cx", gripX || 0);
      grip.setAttribute("cy", gripY || 0);
      for (const side of [less, more]) side.toggleAttribute("hidden", slope <= 0); // else a sentence says it
      grip.toggleAttribute("hidden", slope <= 0 || against !== "convolution");
      half.setAttribute("d", line(ratio));
      half.toggleAttribute("hidden", !counted);
      const [halfX, halfY] = at(2 ** 13.6 * ratio, 2 ** 13.2);
      halfLabel.setAttribute("x", halfX);
      halfLabel.setAttribute("y", halfY);
      halfLabel.textContent = `n = ${ratio} d`;
      halfLabel.toggleAttribute("hidden", !counted);
      const [cx, cy] = at(n, d);
      put(dot, { cx, cy });
      tip.put(cx, cy, n, fill(say.at, { n: whole(n), d: whole(d) }));
      cross.setAttribute("d", `M0 ${cy}H${cx}V${TALL}`);
      put(across, { x: Math.min(cx, WIDE - 24) });
      put(upwards, { y: cy + 4 });
      [across.textContent, upwards.textContent] = [n, d].map(whole);
      const near = { n: Math.log2(n), d: Math.log2(d) };
      const all = [
        ["n", 1.5],
        ["d", 1.1],
      ].flatMap(([trait, room]) => Object.keys(TICKS[trait]).map((power) => Math.abs(power - near[trait]) < room));
      ticks.forEach((tick, i) => tick.toggleAttribute("hidden", all[i])); // makes room for what the dot says
    },
  };
}

// What each kind of layer costs at the dot.
function table(say) {
  const kernel = element("span");
  const rows = Object.keys(say.rows).map((kind) => {
    const cells = [0, 0].map(() => element("td", { class: "ab-number" }));
    const head = element("th", { scope: "row" }, ...fillNodes(say.rows[kind], { k: kernel }));
    return { kind, cells, node: element("tr", {}, head, ...cells) };
  });
  return {
    node: element("table", {}, heading(say.heads), element("tbody", {}, ...rows.map(({ node }) => node))),
    show(k, against, costs) {
      kernel.textContent = whole(k);
      const most = Math.max(costs.attention[0], costs[against][0]);
      for (const { kind, cells, node } of rows) {
        node.hidden = kind !== "attention" && kind !== against;
        node.style.setProperty("--w", costs[kind][0] / most);
        costs[kind].forEach((x, i) => {
          cells[i].textContent = large(x, say.sizes);
        });
      }
    },
  };
}

// What follows from the costs: the share of the pairs, the comparison, and what the weights weigh.
function figures(say) {
  const [share, times, weights] = [0, 0, 0].map(() => element("span"));
  const name = element("dt");
  const figure = (...parts) => element("dd", { class: "ab-number" }, ...parts);
  return {
    answer: element("dl", {}, name, figure(...fillNodes(say.times, { x: times }))),
    node: element(
      "dl",
      {},
      element("dt", {}, say.shares),
      figure(...fillNodes(say.share, { x: share })),
      element("dt", {}, say.weights),
      figure(weights),
    ),
    show({ against }, { both, weights: all, costs }) {
      const [own, other] = [costs.attention[0], costs[against][0]];
      const ratio = own / other;
      share.textContent = number((100 * both) / own, 1);
      name.textContent = say.ratio[against];
      times.textContent =
        ratio >= 1000 ? large(ratio, say.sizes) : ratio >= 0.1 ? number(ratio) : plain(ratio.toPrecision(2));
      weights.textContent = large(4 * all, say.bytes);
    },
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [picture, costs, numbers] = [plane(model, say), table(say), figures(say)];
  const never = element("p", { class: "ab-hint" }, say.never);
  const tries = Object.entries(MODELS).map(([name, [n, d, heads]]) =>
    button(say.models[name] ?? verbatim(name), () => update(model, { n, d, heads })),
  );
  const [heads, kernel] = ["heads", "kernel"].map((trait) =>
    slider(model, subscriptions, { trait, label: say.sliders[trait], values: STOPS[trait], show: whole }),
  );
  kernel.classList.add("ab-kernel-size");
  const root = body(
    el,
    "plane",
    element("div", { class: "ab-plot" }, picture.node, element("div", { class: "ab-figures" }, never, numbers.answer)),
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "against", label: say.against, options: say.others }),
      choice(model, subscriptions, { trait: "projections", label: say.projections, options: say.counted }),
      kernel,
    ),
    costs.node,
    folded(
      say.more,
      element(
        "div",
        { class: "ab-controls" },
        choice(model, subscriptions, { trait: "pairs", label: say.pairs, options: say.computed }),
        heads,
        element("div", { class: "ab-controls ab-tries", role: "group", "aria-label": say.tries }, ...tries),
      ),
      numbers.node,
    ),
  );

  subscriptions.follow(TRAITS, () => {
    const now = given(model);
    const found = compute(now);
    picture.show(now, found);
    costs.show(now.kernel, now.against, found.costs);
    numbers.show(now, found);
    never.hidden = found.slope > 0;
    root.dataset.against = now.against;
  });
  return subscriptions.end;
}

export default { render };
