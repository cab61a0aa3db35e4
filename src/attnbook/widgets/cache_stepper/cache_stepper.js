import { body, choice, element, follower, large, slider, words } from "../shared/core.js";
import { stepSlider } from "../shared/steps.js";

const TEXT = {
  en: {
    cache: "Keys and values of earlier steps",
    caches: { with: "kept (cache)", without: "computed again" },
    align: "Causal mask",
    aligns: { last: "the last query sees all keys", first: "the first query sees one key" },
    prompt: "Prompt:",
    tokens: (n) => (n === 1 ? "1 token" : `${n} tokens`),
    chunk: "Read at a time:",
    step: "Step:",
    of: (step, all) => `${step} of ${all}`,
    back: "Back",
    forward: "Forward",
    map: "Rows ask, columns are asked. Dark: a score that this step computes. Light: the rows of earlier steps, of which only keys and values are kept.",
    now: (rows, scores) => `This step computes the keys and values of ${rows} and ${scores}.`,
    scores: (n) => (n === 1 ? "1 score" : `${n} scores`),
    sum: (now, other, kept) =>
      `All steps so far: ${now} rows; ${kept ? "without a cache" : "with a cache"} it would have been ${other}.`,
    wrong: (n) =>
      n
        ? `${n} cells so far are not as in the causal mask of the whole text: framed.`
        : "Every row sees what it would see if the whole text were read at once.",
    heads: "Heads for keys and values, of 32 for queries",
    kinds: { MHA: "32 (MHA)", GQA: "8 (GQA)", MQA: "1 (MQA)" },
    length: "Tokens in the cache:",
    weighs: (bytes) => `32 layers, heads 128 wide, 2 bytes a number: ${bytes} for one text.`,
    sizes: [
      [1e12, "{x} TB"],
      [1e9, "{x} GB"],
      [1e6, "{x} MB"],
      [1e3, "{x} kB"],
    ],
    cell: { now: "computed", kept: "computed earlier", never: "not seen" },
  },
};
const WORDS = ["the", "cat", "sat", "on", "the", "mat", "and", "slept"];
const N = WORDS.length;
const ALL = Array.from({ length: N }, (_, i) => i);
const KV_HEADS = { MHA: 32, GQA: 8, MQA: 1 };
const [LAYERS, WIDTH, BYTES] = [32, 128, 2];
const LENGTHS = Array.from({ length: 12 }, (_, i) => 2 ** (i + 6));

// How many tokens are known after each step: the prompt in chunks, then one by one.
function endsOf(prompt, chunk) {
  const ends = [];
  for (let end = chunk; end < prompt; end += chunk) ends.push(end);
  for (let end = prompt; end <= N; end++) ends.push(end);
  return ends;
}

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const ends = () => endsOf(model.get("prompt"), model.get("chunk"));
  const { at, node: steps } = stepSlider(model, subscriptions, {
    trait: "step",
    label: say.step,
    back: say.back,
    forward: say.forward,
    values: () => ends().map((_, i) => i + 1),
    with: ["prompt", "chunk"],
    show: (step) => say.of(step + 1, ends().length),
  });
  const heads = WORDS.map((word) => element("th", { scope: "col" }, element("span", {}, word)));
  const lines = WORDS.map((word) => {
    const [head, cells] = [element("th", { scope: "row" }, word), ALL.map(() => element("td"))];
    return { cells, node: element("tr", {}, head, ...cells) };
  });
  const map = element(
    "table",
    { class: "ab-map" },
    element("caption", {}, say.map),
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", {}, ...lines.map(({ node }) => node)),
  );
  const [now, sum, wrong, weighs] = [0, 0, 0, 0].map(() => element("p", { role: "status" }));
  body(
    el,
    "cachestepper",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "cache", label: say.cache, options: say.caches }),
      choice(model, subscriptions, { trait: "align", label: say.align, options: say.aligns }),
    ),
    element(
      "div",
      { class: "ab-controls" },
      slider(model, subscriptions, {
        trait: "prompt",
        label: say.prompt,
        values: ALL.map((i) => i + 1),
        show: say.tokens,
      }),
      slider(model, subscriptions, {
        trait: "chunk",
        label: say.chunk,
        values: ALL.map((i) => i + 1),
        show: say.tokens,
      }),
    ),
    steps,
    map,
    now,
    sum,
    wrong,
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "heads", label: say.heads, options: say.kinds }),
      slider(model, subscriptions, {
        trait: "tokens",
        label: say.length,
        values: LENGTHS,
        show: (n) => n.toLocaleString("en"),
      }),
    ),
    weighs,
  );

  subscriptions.follow(["cache", "align", "prompt", "chunk", "step"], () => {
    const [kept, last, stops, step] = [model.get("cache") === "with", model.get("align") === "last", ends(), at()];
    const end = stops[step];
    const start = kept ? (stops[step - 1] ?? 0) : 0;
    const since = (i) => (kept ? (stops.findLast((stop) => stop <= i) ?? 0) : 0); // the step that computed a row began here
    const sees = (i, j) => j <= (last ? i : i - since(i));
    let [scores, off] = [0, 0];
    lines.forEach(({ cells, node }, i) => {
      node.classList.toggle("ab-later", i >= end);
      cells.forEach((cell, j) => {
        const computed = i >= start && i < end && sees(i, j);
        const isOff = i < end && sees(i, j) !== j <= i;
        const is = computed ? "now" : i < start && sees(i, j) ? "kept" : "never";
        cell.className = `ab-${is}`;
        cell.classList.toggle("ab-off", isOff);
        cell.setAttribute("aria-label", say.cell[is]);
        scores += computed;
        off += isOff;
      });
    });
    const [with_, without] = [end, stops.slice(0, step + 1).reduce((total, n) => total + n, 0)];
    now.textContent = say.now(say.tokens(end - start), say.scores(scores));
    sum.textContent = kept ? say.sum(with_, without, kept) : say.sum(without, with_, kept);
    wrong.textContent = say.wrong(off);
  });
  subscriptions.follow(["heads", "tokens"], () => {
    weighs.textContent = say.weighs(
      large(2 * model.get("tokens") * LAYERS * KV_HEADS[model.get("heads")] * WIDTH * BYTES, say.sizes),
    );
  });
  return subscriptions.end;
}

export default { render };
