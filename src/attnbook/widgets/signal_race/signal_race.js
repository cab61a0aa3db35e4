import { body, button, element, fill, fillNodes, follower, heading, update, whole, words } from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { large } from "../shared/sizes.js";
import { slider } from "../shared/slider.js";

const [WIDTH, MOST] = [64, 32];
const KERNELS = [2, 3, 4, 5];
const LENGTHS = Array.from({ length: MOST - 1 }, (_, i) => i + 2);
const MACHINES = [1, 1e3, 1e4, 1e5, 1e6, 1e7];
const PACE = 400; // milliseconds for a step of the race

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

const timeOn = (atOnce, { operations_per_step }) =>
  sum(operations_per_step.map((operations) => Math.ceil(operations / atOnce)));

// One kind of net: its lane, and its cells in the table of the totals.
function racer(kind, say) {
  const name = say.kinds[kind];
  const tokens = Array.from({ length: MOST }, () => element("i"));
  const strip = element("div", { class: "ab-strip", role: "img" }, ...tokens);
  const note = element("span", { class: "ab-hint" });
  const [steps, operations] = [0, 0].map(() => element("span", { class: "ab-number" }));
  const soFar = element("span", { class: "ab-hint" }, ...fillNodes(say.soFar, { steps, operations }));
  const total = Array.from({ length: 3 }, () => element("td", { class: "ab-number" }));
  const bar = element("td", { class: "ab-bar" }, element("i"));

  function explain(n, done, know, { layers, operations_per_step }) {
    const layer = Math.ceil((done * layers) / operations_per_step.length);
    const says = {
      arrived: () => say.arrived,
      start: () => "",
      inside: () => say.inside[done - 1],
      layer: () => fill(say.layer, { now: whole(layer), all: whole(layers) }),
    };
    const what = know === n ? "arrived" : done === 0 ? "start" : kind === "attention" ? "inside" : "layer";
    Object.assign(note.dataset, { note: what, layer, layers });
    note.textContent = says[what]();
  }

  return {
    kind,
    lane: element("div", { class: "ab-lane" }, element("p", {}, element("b", {}, name), note, soFar), strip),
    total: { name, cells: [...total, bar] },
    show(n, step, net) {
      const all = net.operations_per_step;
      const done = Math.min(step, all.length);
      const know = net.known(done);
      tokens.forEach((token, i) => {
        token.hidden = i >= n;
        token.classList.toggle("ab-knows", i < know);
      });
      strip.dataset.know = know;
      strip.setAttribute("aria-label", fill(say.lane, { name, known: whole(know), n: whole(n) }));
      explain(n, done, know, net);
      steps.textContent = whole(done);
      operations.textContent = large(sum(all.slice(0, done)), say.sizes);
      strip.classList.toggle("ab-arrived", know === n);
    },
    showTotal(net, time, fastest, slowest) {
      const all = net.operations_per_step;
      [all.length, sum(all), time].forEach((x, i) => {
        total[i].textContent = large(x, say.sizes);
      });
      bar.style.setProperty("--w", time / slowest);
      bar.parentElement.classList.toggle("ab-first", time === fastest);
    },
  };
}

function table(caption, heads, rows) {
  const lines = rows.map(({ name, cells }) => element("tr", {}, element("th", { scope: "row" }, name), ...cells));
  return element("table", {}, element("caption", {}, caption), heading(heads), element("tbody", {}, ...lines));
}

// A button that lets the race run, step by step, until the slowest is there. Pressed again, it holds it, as do the other
// ways to go through the steps as soon as they are touched.
function starter(model, say, last) {
  let running = null;
  const stop = () => {
    clearInterval(running);
    running = null;
    node.textContent = say.start;
  };
  const node = button(say.start, () => {
    if (running) return stop();
    node.textContent = say.stop;
    if (model.get("step") >= last()) update(model, { step: 0 });
    running = setInterval(() => {
      update(model, { step: model.get("step") + 1 });
      if (model.get("step") >= last()) stop();
    }, PACE);
  });
  node.classList.add("ab-start");
  node.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches; // then one goes step by step
  return { node, stop };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const all = () => nets(model.get("n"), model.get("kernel"), WIDTH);
  const longest = () => Math.max(...Object.values(all()).map(({ operations_per_step }) => operations_per_step.length));
  const racers = Object.keys(all()).map((kind) => racer(kind, say));
  const start = starter(model, say, longest);
  const stops = {
    step: () => Array.from({ length: longest() + 1 }, (_, i) => i),
    n: LENGTHS,
    kernel: KERNELS,
    at_once: MACHINES,
  };
  const control = (trait, more) =>
    slider(model, subscriptions, { trait, label: say.sliders[trait], values: stops[trait], ...more });
  const forward = button(say.forward, () => {
    start.stop();
    update(model, { step: Math.min(model.get("step"), longest() - 1) + 1 });
  });
  const step = control("step", { with: ["n", "kernel"] });
  for (const event of ["pointerdown", "input"]) step.addEventListener(event, start.stop);
  const machine = folded(
    say.machine,
    element("div", { class: "ab-controls" }, control("kernel"), control("at_once", { show: whole })),
    table(
      say.total,
      say.totals,
      racers.map(({ total }) => total),
    ),
  );
  body(
    el,
    "race",
    element(
      "div",
      { class: "ab-lanes ab-pin" },
      element("p", { class: "ab-hint" }, say.lights),
      ...racers.map(({ lane }) => lane),
    ),
    element("div", { class: "ab-controls" }, start.node, forward, step, control("n")),
    machine,
  );

  subscriptions.follow(["n", "kernel", "step", "at_once"], () => {
    const [n, step, atOnce] = ["n", "step", "at_once"].map((trait) => model.get(trait));
    const found = all();
    const times = racers.map(({ kind }) => timeOn(atOnce, found[kind]));
    racers.forEach(({ kind, show, showTotal }, i) => {
      show(n, step, found[kind]);
      showTotal(found[kind], times[i], Math.min(...times), Math.max(...times));
    });
  });
  subscriptions.follow(["at_once"], () => {
    if (model.get("at_once") < MACHINES.at(-1)) machine.open = true;
  });
  return () => {
    start.stop();
    subscriptions.end();
  };
}

export default { render };
