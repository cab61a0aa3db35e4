import { body, choice, count, element, fill, fillNodes, follower, verbatim, whole, words } from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { large } from "../shared/sizes.js";
import { slider } from "../shared/slider.js";

// Billions of parameters, context; layers, heads, heads of keys, width of a key, of a value; latent, turned, index;
// pattern of layers, window, numbers of a state: attnbook/data/models.toml.
const MODELS = {
  "Llama 3.1 8B": [8, 131072, 32, 32, 8, 128, 128, 0, 0, 0, "G", 0, 0],
  "OLMo 2 7B": [7, 4096, 32, 32, 32, 128, 128, 0, 0, 0, "G", 0, 0],
  "Qwen3 8B": [8.2, 131072, 36, 32, 8, 128, 128, 0, 0, 0, "G", 0, 0],
  "Mistral 7B": [7.3, 8192, 32, 32, 8, 128, 128, 0, 0, 0, "W", 4096, 0],
  "Gemma 3 27B": [27, 131072, 62, 32, 16, 128, 128, 0, 0, 0, "WWWWWG", 1024, 0],
  "OLMo 3 32B": [32, 65536, 64, 40, 8, 128, 128, 0, 0, 0, "WWWG", 4096, 0],
  "gpt-oss-120b": [117, 131072, 36, 64, 8, 64, 64, 0, 0, 0, "WG", 128, 0],
  "Llama 4 Scout": [109, 1e7, 48, 40, 8, 128, 128, 0, 0, 0, "WWWG", 8192, 0],
  "DeepSeek-V3": [671, 131072, 61, 128, 128, 128, 128, 512, 64, 0, "G", 0, 0],
  "GLM-5": [744, 202752, 78, 64, 64, 192, 256, 512, 64, 128, "G", 0, 0],
  "MiniMax-Text-01": [456, 1e6, 80, 64, 8, 128, 128, 0, 0, 0, "SSSSSSSG", 0, 64 * 128 * 128],
  "Qwen3-Next 80B": [80, 262144, 48, 16, 2, 256, 256, 0, 0, 0, "SSSG", 0, 32 * 128 * 128 + 8192 * 3],
};
const FIRST = ["Llama 3.1 8B", "OLMo 2 7B", "Gemma 3 27B", "DeepSeek-V3"]; // one of each kind of cache
const GPU = 80e9;
const POWERS = [1, 2, 4, 8, 16, 32, 64, 128];
const STOPS = {
  length: Array.from({ length: 14 }, (_, i) => 2 ** (i + 7)),
  batch: POWERS.slice(0, 7),
  layers: POWERS,
  heads: POWERS,
  share: POWERS.slice(0, 6),
  width: [32, 64, 128, 256],
};

function modelOf(get) {
  if (get("model") !== "own") return MODELS[get("model")];
  const [layers, heads, share, width] = ["layers", "heads", "share", "width"].map(get);
  const kv = Math.max(heads / share, 1);
  return [(12 * layers * (heads * width) ** 2) / 1e9, 2 ** 20, layers, heads, kv, width, width, 0, 0, 0, "G", 0, 0];
}

// Of each variant what a layer keeps of a token, the layers that keep every token, and the bytes of one text.
function compute(get) {
  const [billions, context, layers, heads, kv, key, value, latent, turned, index, pattern, window, state] =
    modelOf(get);
  const [bytes, length] = [get("bits") / 8, get("length")];
  const attention = latent ? "MLA" : ({ [heads]: "MHA", 1: "MQA" }[kv] ?? "GQA"); // one head is MQA's, whatever it asks with
  const own = latent ? latent + turned + index : kv * (key + value);
  const each = {
    MHA: heads * (key + value),
    GQA: (heads % 8 ? 1 : 8) * (key + value),
    MQA: key + value,
    MLA: 4 * key + Math.floor(key / 2),
    [attention]: own,
    mixed: own,
  };
  const uniform = pattern === "G";
  const [kinds, seen] = uniform ? ["WWWWWG", 1024] : [pattern, window];
  const parameters = (Math.round(billions * 1e9) * get("bits")) / 8;
  let gpus = 1;
  while (gpus * GPU <= parameters) gpus *= 2;
  const variants = Object.entries(each).map(([kind, numbers]) => {
    const layerOf = { G: length * numbers, W: Math.min(length, seen) * numbers, S: state };
    const all = Array.from({ length: layers }, (_, i) => (kind === "mixed" ? kinds[i % kinds.length] : "G"));
    const cache = bytes * all.reduce((sum, layer) => sum + layerOf[layer], 0);
    const fits = Math.floor((gpus * GPU - parameters) / cache);
    return { kind, numbers, grow: all.filter((layer) => layer === "G").length, cache, fits };
  });
  return {
    variants,
    parameters,
    gpus,
    context,
    built: uniform ? attention : "mixed",
    states: pattern.includes("S"),
  };
}

// The memory as a vessel: parameters, and above them a slice for each text.
function vessel() {
  const parts = ["params", "room", "texts", "over"].map((name) => element("i", { class: `ab-${name}` }));
  return element("div", { class: "ab-vessel" }, ...parts);
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const get = (trait) => model.get(trait);
  const [name, params, gpus, beyond, tokens] = Array.from({ length: 5 }, () => element("span"));
  const columns = ["MHA", "GQA", "MQA", "MLA", "mixed"].map((kind) => {
    const titles = [0, 0].map(() => (kind === "mixed" ? element("span") : verbatim(kind)));
    const head = element("th", { scope: "col" }, titles[0], element("small", {}, say.built));
    const cells = Object.keys(say.rows).map(() => element("td", { class: "ab-number" }));
    return { kind, titles, head, vessel: vessel(), cells };
  });
  const row = (name) => {
    const i = Object.keys(say.rows).indexOf(name);
    return element(
      "tbody",
      { class: `ab-row-${i}` },
      element("tr", {}, element("th", { scope: "rowgroup", colspan: 5 }, ...fillNodes(say.rows[name], { n: tokens }))),
      element("tr", {}, ...columns.map(({ cells }) => cells[i])),
    );
  };
  const again = columns.map(({ titles }) => element("th", { scope: "col" }, titles[1]));
  const sliders = (labels, show = whole) =>
    Object.entries(labels).map(([trait, label]) =>
      slider(model, subscriptions, { trait, label, values: STOPS[trait], show }),
    );
  const own = element("div", { class: "ab-controls" }, ...sliders(say.owns));
  const legend = Object.entries(say.legend).map(([part, text]) =>
    element("span", {}, element("i", { class: `ab-${part}` }), text),
  );
  const models = (label, isShown, others = {}) => {
    const titles = Object.keys(MODELS).filter(isShown);
    const options = { ...Object.fromEntries(titles.map((title) => [title, verbatim(title)])), ...others };
    return choice(model, subscriptions, { trait: "model", label, options });
  };
  const more = folded(
    say.more,
    models(say.others, (title) => !FIRST.includes(title), { own: say.own }),
    own,
  );
  body(
    el,
    "budgets",
    element(
      "div",
      { class: "ab-memory" },
      element("p", { class: "ab-said", role: "status" }, ...fillNodes(say.head, { name, params, gpus })),
      element(
        "table",
        { class: "ab-pin" },
        element("thead", {}, element("tr", {}, ...columns.map(({ head }) => head))),
        element(
          "tbody",
          { "aria-hidden": "true" },
          element("tr", {}, ...columns.map((one) => element("td", {}, one.vessel))),
        ),
        row("cache"),
        row("fits"),
      ),
      element("p", { class: "ab-hint ab-legend" }, ...legend),
      element("p", { class: "ab-hint ab-beyond", role: "status" }, beyond),
      folded(
        say.layer,
        element("table", {}, element("thead", {}, element("tr", {}, ...again)), row("numbers"), row("grow")),
      ),
    ),
    element(
      "div",
      { class: "ab-beside" },
      element("div", { class: "ab-controls" }, ...sliders(say.sliders)),
      choice(model, subscriptions, { trait: "bits", label: say.bits, options: say.precisions }),
      models(say.models, (title) => FIRST.includes(title)),
      more,
    ),
  );

  subscriptions.follow(["model", "length", "batch", "bits", "layers", "heads", "share", "width"], () => {
    const { variants, parameters, gpus: many, context, built, states } = compute(get);
    const memory = many * GPU;
    own.hidden = get("model") !== "own";
    if (!FIRST.includes(get("model"))) more.open = true;
    name.textContent = own.hidden ? get("model") : say.own;
    name.translate = !own.hidden;
    params.textContent = large(parameters, say.bytes);
    tokens.textContent = whole(get("length"));
    gpus.textContent = count(say.gpus, many);
    beyond.textContent = get("length") > context ? fill(say.beyond, { n: whole(context) }) : "";
    for (const { kind, titles, head, vessel: box, cells } of columns) {
      const { numbers, grow, cache, fits } = variants.find((variant) => variant.kind === kind);
      if (kind === "mixed") for (const title of titles) title.textContent = states ? say.states : say.mixed;
      for (const node of [head, box, ...cells]) node.classList.toggle("ab-built", kind === built);
      const shares = { p: parameters / memory, t: cache / memory, n: get("batch"), f: fits };
      for (const [share, x] of Object.entries(shares)) box.style.setProperty(`--${share}`, x);
      box.classList.toggle("ab-fine", cache / memory < 0.02);
      box.classList.toggle("ab-spills", fits < get("batch"));
      [whole(numbers), whole(grow), large(cache, say.bytes), large(fits, say.sizes, 1e5)].forEach((text, i) => {
        cells[i].textContent = text;
      });
      cells[3].classList.toggle("ab-full", fits < get("batch"));
    }
  });
  return subscriptions.end;
}

export default { render };
