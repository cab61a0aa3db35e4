import {
  asset,
  body,
  button,
  choice,
  element,
  fill,
  follower,
  headed,
  number,
  plus,
  softmax,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { slider } from "../shared/slider.js";
import { encoder, shownToken } from "../shared/pairs.js";
import { uniform } from "../shared/random.js";
import { whenNeeded } from "../shared/needed.js";
import { drawn, filtered, writer } from "./writer.js";

const [CONTEXT, MOST, LONGEST, SHOWN, PAUSE] = [128, 96, 120, 10, 180];
const STOPS = {
  temperature: [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.5, 2],
  top_k: [1, 2, 3, 5, 10, 20, 50, 100, 512],
  top_p: [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
  seed: Array.from({ length: 20 }, (_, i) => i + 1),
};

// What stands in the small file with which a page starts: the step after the first prompt.
function firstStep(bytes) {
  const { prompt, heads, N, start } = headed(bytes);
  const numbers = new Float32Array(bytes, start);
  const L = (numbers.length - N) / heads;
  const weights = Array.from({ length: heads }, (_, h) => Array.from(numbers.subarray(N + h * L, N + (h + 1) * L)));
  return { prompt, L, step: { scores: Array.from(numbers.subarray(0, N)), weights } };
}

// The text, a box for each token, lit as the one in the frame looks at it.
function pageOf(tokens, point) {
  const boxes = Array.from({ length: CONTEXT }, (_, i) => {
    const box = verbatim("");
    box.addEventListener("click", () => point(i));
    return box;
  });
  const node = element("p", { class: "ab-page" }, ...boxes);
  const draw = (ids, given, at, weights) =>
    boxes.forEach((box, i) => {
      box.hidden = i >= ids.length;
      if (box.hidden) return;
      box.textContent = shownToken(tokens[ids[i]]).replace(/·/g, " ").replace(/⏎/g, "⏎\n");
      box.className = weights[i] === undefined ? "" : "ab-weight";
      box.classList.toggle("ab-own", i >= given);
      box.classList.toggle("ab-asks", i === at);
      box.style.setProperty("--w", weights[i] ?? 0);
    });
  return { node, draw };
}

// The likeliest tokens, a bar each: dim as the model has it at this temperature, bright what is left of it.
function barsOf(say, tokens, press) {
  const rows = Array.from({ length: SHOWN }, () => {
    const [name, value] = [verbatim(""), element("span", { class: "ab-number" })];
    const row = { name, value };
    row.node = button(name, () => press(row.id));
    row.node.append(value);
    return row;
  });
  const draw = (scores, temperature, chances) => {
    const wished = temperature ? softmax(scores.map((score) => score / temperature)) : chances;
    const order = [...scores.keys()].sort((i, j) => scores[j] - scores[i]);
    rows.forEach(({ name, value, node }, n) => {
      const id = (rows[n].id = order[n]);
      name.textContent = shownToken(tokens[id]);
      value.textContent = number(chances[id], 3);
      node.style.setProperty("--w", chances[id]);
      node.style.setProperty("--wished", wished[id]);
      node.classList.toggle("ab-cut", !chances[id]);
    });
  };
  return { nodes: rows.map(({ node }) => node), draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const get = (...traits) => traits.map((trait) => model.get(trait));
  const { tokens, encode } = encoder(headed(await asset(model, "pairs")).merges);
  const given = await asset(model, "model", "first.");
  const early = headed(given).part ? firstStep(given) : null;
  const needed = whenNeeded(model, "model", writer);
  let network = early ? null : writer(given);
  const prompt = () => encode(model.get("prompt")).slice(0, MOST);
  const ids = () => [...prompt(), ...model.get("written")].slice(0, CONTEXT);
  const at = (n) => Math.min(model.get("at"), n) - 1;
  // What is known of a token: by the small file, or by the model.
  const steps = async () => {
    const [all, n] = [ids(), ids().length];
    if (!network && early.prompt === model.get("prompt") && early.L === n && at(n) === n - 1)
      return { [n - 1]: early.step };
    network ??= await needed(root, left, say.fetching);
    return network(all);
  };

  const add = (token) => ids().length < CONTEXT && update(model, { written: [...model.get("written"), token] });
  const write = async () => {
    const found = await steps();
    const [written, seed, temperature, k, p] = get("written", "seed", "temperature", "top_k", "top_p");
    add(drawn(filtered(found[ids().length - 1].scores, temperature, k, p), uniform(seed, written.length)));
  };
  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    on.textContent = say.on;
  };
  const on = button(say.on, () => {
    if (timer) return stop();
    timer = setInterval(() => (ids().length < CONTEXT ? write() : stop()), PAUSE);
    on.textContent = say.stop;
    write();
  });
  const next = button(say.next, write);
  next.classList.add("ab-start");
  const point = (i) => update(model, { at: i + 1 < ids().length ? i + 1 : CONTEXT });
  const page = pageOf(tokens, point);
  const bars = barsOf(say, tokens, add);
  const lines = Array.from({ length: 12 }, () => element("path"));
  const options = lines.map((line, h) => {
    const picture = element("svg", { preserveAspectRatio: "none", "aria-hidden": "true" }, line);
    return element("b", {}, `${whole(Math.floor(h / 4) + 1)}:${whole((h % 4) + 1)}`, picture);
  });
  const field = element("textarea", { rows: 3, spellcheck: "false", maxlength: LONGEST });
  field.addEventListener(
    "input",
    () => field.value && update(model, { prompt: field.value, written: [], at: CONTEXT }),
  );
  const control = (trait, label, show) => slider(model, subscriptions, { trait, label, values: STOPS[trait], show });
  const left = element("p", { class: "ab-hint", role: "status" });
  const root = body(
    el,
    "writer",
    element(
      "div",
      { class: "ab-writes" },
      page.node,
      element(
        "div",
        { class: "ab-controls" },
        next,
        on,
        button(say.back, () => update(model, { written: model.get("written").slice(0, -1) })),
        button(say.again, () => {
          stop();
          update(model, { written: [], at: CONTEXT });
        }),
      ),
      element("div", { class: "ab-control" }, element("label", {}, say.prompt, field)),
    ),
    element("div", { class: "ab-could" }, element("p", {}, say.could), ...bars.nodes, left),
    element("div", { class: "ab-controls" }, control("temperature", say.temperature), control("top_p", say.p)),
    folded(
      say.more,
      element(
        "div",
        { class: "ab-controls" },
        control("top_k", say.k, (k) => (k < tokens.length ? whole(k) : say.all)),
        control("seed", say.seed),
      ),
      element(
        "div",
        { class: "ab-looks" },
        slider(model, subscriptions, {
          trait: "at",
          label: say.at,
          values: () => [...ids().keys()].map((i) => (i + 1 < ids().length ? i + 1 : CONTEXT)),
          with: ["prompt", "written"],
          show: () => {
            const all = ids();
            const i = at(all.length);
            return fill(say.place, { n: whole(i + 1), all: whole(all.length), token: shownToken(tokens[all[i]]) });
          },
        }),
        choice(model, subscriptions, {
          trait: "head",
          label: say.head,
          options: { 0: say.mean, ...Object.fromEntries(options.map((option, h) => [h + 1, option])) },
        }),
      ),
    ),
  );

  subscriptions.follow(["prompt"], () => {
    if (field.value !== model.get("prompt")) field.value = model.get("prompt");
  });
  let turns = 0;
  subscriptions.follow(["prompt", "written", "temperature", "top_k", "top_p", "at", "head"], async () => {
    const turn = ++turns;
    const found = await steps();
    if (turn !== turns) return; // more has changed meanwhile
    const [all, head, temperature, k, p] = [ids(), ...get("head", "temperature", "top_k", "top_p")];
    const place = at(all.length);
    const { weights } = found[place];
    const mean = weights.reduce(plus).map((x) => x / weights.length);
    page.draw(all, prompt().length, place, weights[head - 1] ?? mean);
    lines.forEach((line, h) => {
      line.parentNode.setAttribute("viewBox", `0 0 ${all.length} 1`);
      line.setAttribute("d", weights[h].map((w, j) => `M${j} 1v-${w.toFixed(4)}h.8V1`).join(""));
    });
    const { scores } = found[all.length - 1];
    const chances = filtered(scores, temperature, k, p);
    bars.draw(scores, temperature, chances);
    const few = chances.filter(Boolean).length;
    left.textContent = fill(say.left, { n: whole(few), all: whole(tokens.length) });
  });
  return () => {
    clearInterval(timer);
    subscriptions.end();
  };
}

export default { render };
