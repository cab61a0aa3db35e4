import { body, button, element, follower, heading, large, update, slider, words } from "../shared/core.js";

const TEXT = {
  en: {
    sliders: {
      step: "Steps:",
      n: "Tokens:",
      kernel: "Kernel of the convolutions:",
      at_once: "Operations the machine can do at once:",
    },
    forward: "One step on",
    kinds: {
      recurrence: "recurrence",
      convolution: "convolution",
      dilated: "dilated convolution",
      attention: "self-attention",
    },
    lane: (name, known, n) => `${name}: ${known} of ${n} tokens know`,
    inside: ["queries, keys, values", "scores", "blends", "output"],
    layer: (now, all) => `layer ${now} of ${all}`,
    arrived: "the last token knows",
    race: "What the first token says, after so many steps",
    total: "Until the last token knows",
    heads: ["", "steps so far", "operations so far"],
    totals: ["", "steps", "operations", "moments", ""],
    sizes: [
      [1e9, "{x} billion"],
      [1e6, "{x} million"],
      [1e3, "{x} thousand"],
    ],
  },
};
const [WIDTH, MOST] = [64, 32];
const KERNELS = [2, 3, 4, 5];
const LENGTHS = Array.from({ length: MOST - 1 }, (_, i) => i + 2);
const MACHINES = [1, 1e3, 1e4, 1e5, 1e6, 1e7];

const repeat = (x, n) => Array.from({ length: n }, () => x);
const layersFor = (n, reach) => {
  let layers = 1;
  while (reach(layers) < n - 1) layers += 1;
  return layers;
};

// Of each net: the operations of every step, and how many tokens know after so many steps.
function nets(n, k, d) {
  const [product, pairs] = [2 * n * d ** 2, 2 * n ** 2 * d];
  const stack = (reach) => ({
    layers: layersFor(n, reach),
    operations_per_step: repeat(k * product, layersFor(n, reach)),
    known: (t) => Math.min(1 + (t ? reach(t) : 0), n),
  });
  return {
    recurrence: { layers: 1, operations_per_step: repeat((2 * product) / n, n), known: (t) => Math.max(t, 1) },
    convolution: stack((layers) => layers * (k - 1)),
    dilated: stack((layers) => k ** layers - 1),
    attention: { layers: 1, operations_per_step: [3 * product, pairs, pairs, product], known: (t) => (t < 4 ? 1 : n) },
  };
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const table = (caption, heads, rows) =>
    element(
      "table",
      {},
      element("caption", {}, caption),
      heading(heads),
      element(
        "tbody",
        {},
        ...rows.map(({ name, cells }) => element("tr", {}, element("th", { scope: "row" }, name), ...cells)),
      ),
    );
  const numbers = (many) => Array.from({ length: many }, () => element("td", { class: "ab-number" }));
  const lanes = Object.entries(say.kinds).map(([kind, name]) => {
    const [tokens, label, note] = [
      Array.from({ length: MOST }, () => element("i")),
      element("span", {}, name),
      element("span", { class: "ab-hint" }),
    ];
    const strip = element("div", { class: "ab-strip", role: "img" }, ...tokens);
    const bar = element("td", { class: "ab-bar" }, element("i"));
    return {
      kind,
      name,
      tokens,
      note,
      strip,
      bar,
      node: element("div", { class: "ab-lane" }, element("p", {}, label, note), strip),
      now: numbers(2),
      total: numbers(3),
    };
  });
  const stops = {
    step: () => Array.from({ length: longest() + 1 }, (_, i) => i),
    n: LENGTHS,
    kernel: KERNELS,
    at_once: MACHINES,
  };
  const all = () => nets(model.get("n"), model.get("kernel"), WIDTH);
  const longest = () => Math.max(...Object.values(all()).map(({ operations_per_step }) => operations_per_step.length));
  const control = (trait, more) =>
    slider(model, subscriptions, { trait, label: say.sliders[trait], values: stops[trait], ...more });
  body(
    el,
    "race",
    element(
      "div",
      { class: "ab-controls" },
      control("n"),
      control("kernel"),
      control("step", { with: ["n", "kernel"] }),
      button(say.forward, () => update(model, { step: Math.min(model.get("step"), longest() - 1) + 1 })),
    ),
    element("div", { class: "ab-lanes" }, ...lanes.map(({ node }) => node)),
    table(
      say.race,
      say.heads,
      lanes.map(({ name, now }) => ({ name, cells: now })),
    ),
    element("div", { class: "ab-controls ab-machine" }, control("at_once", { show: (x) => x.toLocaleString("en") })),
    table(
      say.total,
      say.totals,
      lanes.map(({ name, total, bar }) => ({ name, cells: [...total, bar] })),
    ),
  );

  subscriptions.follow(["n", "kernel", "step", "at_once"], () => {
    const [n, step, atOnce] = ["n", "step", "at_once"].map((trait) => model.get(trait));
    const found = all();
    const time = ({ operations_per_step }) =>
      sum(operations_per_step.map((operations) => Math.ceil(operations / atOnce)));
    const slowest = Math.max(...Object.values(found).map(time));
    const fastest = Math.min(...Object.values(found).map(time));
    for (const { kind, name, tokens, note, strip, now, total, bar } of lanes) {
      const { layers, operations_per_step, known } = found[kind];
      const done = Math.min(step, operations_per_step.length);
      const know = known(done);
      tokens.forEach((token, i) => {
        token.hidden = i >= n;
        token.classList.toggle("ab-knows", i < know);
      });
      strip.setAttribute("aria-label", say.lane(name, know, n));
      const under = operations_per_step.length / layers; // steps of one layer
      const layer = done ? say.layer(Math.ceil(done / under), layers) : "";
      note.textContent = know === n ? say.arrived : kind === "attention" && done ? say.inside[done - 1] : layer;
      now[0].textContent = `${done}`;
      now[1].textContent = large(sum(operations_per_step.slice(0, done)), say.sizes);
      [operations_per_step.length, sum(operations_per_step), time(found[kind])].forEach((x, i) => {
        total[i].textContent = large(x, say.sizes);
      });
      bar.style.setProperty("--w", time(found[kind]) / slowest);
      bar.parentElement.classList.toggle("ab-first", time(found[kind]) === fastest);
    }
  });
  return subscriptions.end;
}

export default { render };
