import {
  body,
  button,
  count,
  element,
  fill,
  fillNodes,
  follower,
  number,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { slider } from "../shared/slider.js";

const [TOKENS, DEEPEST] = [32, 8];
const TRAITS = ["token", "layers", "window", "every", "sinks"];
const ALL = Array.from({ length: TOKENS }, (_, i) => i);
const LEVELS = Array.from({ length: DEEPEST + 1 }, (_, n) => n); // 0: the tokens
const STOPS = {
  token: ALL,
  window: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32],
  every: [0, 2, 3, 4, 6, 8],
  sinks: [0, 1, 2, 3, 4],
  layers: LEVELS.slice(1),
};
// Small: window, every so many layers one sees all, first tokens kept, layers. In full size: layers, window.
const PRESETS = {
  "Mistral 7B": [[4, 0, 0, 8], 32, 4096],
  "Gemma 3 27B": [[4, 6, 0, 8], 62, 1024],
  "OLMo 3 32B": [[6, 4, 0, 8], 64, 4096],
  "gpt-oss-120b": [[3, 2, 0, 8], 36, 128],
};
const SMALL = ["window", "every", "sinks", "layers"];

const seesAll = ({ every }, n) => every > 0 && n % every === 0;

// Which keys a query sees in layer n.
const sees = (now, n, i, j) => j <= i && (seesAll(now, n) || i - j < now.window || j < now.sinks);

// Of the vectors of each level, which of them reach the token.
function lightOf(now) {
  const lit = LEVELS.map(() => ALL.map(() => false));
  lit[now.layers][now.token] = true;
  for (let n = now.layers; n > 0; n--) {
    lit[n - 1] = ALL.map((j) => ALL.some((i) => lit[n][i] && sees(now, n, i, j)));
  }
  return lit;
}

// Neighbours that are lit, from the first to the last of them.
function runsOf(row) {
  const ends = ALL.filter((i) => row[i] && !row[i + 1]);
  return ends.map((last) => [row.lastIndexOf(false, last) + 1, last]);
}

// The light from a level to the one below: a beam from each run through the window, and one to the tokens kept.
function beamsOf(now, n, row) {
  const runs = runsOf(row);
  const through = runs.map(([first, last]) => [
    first,
    last,
    seesAll(now, n) ? 0 : Math.max(first - now.window + 1, 0),
    last,
  ]);
  const [first, last, from] = through.at(-1) ?? [];
  if (!seesAll(now, n) && now.sinks && from >= now.sinks) through.push([first, last, 0, now.sinks - 1]);
  return through;
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const paths = LEVELS.slice(1).map(() => [0, 1, 2].map(() => element("path")));
  const rows = LEVELS.map((n) => {
    const dots = ALL.map(() => element("i"));
    const kept = element("span", { class: "ab-kept" });
    const name = element("span", {}, n ? fill(say.level, { n: whole(n) }) : say.tokens);
    const line = element("div", { class: "ab-dots" }, ...dots);
    return { dots, kept, node: element("div", { class: "ab-level" }, name, line, kept) };
  });
  const light = element("svg", { preserveAspectRatio: "none" }, ...paths.flat());
  const head = element("div", { class: "ab-level" }, element("span"), element("span"), element("span", {}, say.kept));
  const picture = element(
    "div",
    { class: "ab-field ab-pin", "aria-hidden": "true" },
    head,
    element(
      "div",
      { class: "ab-levels" },
      element("div", { class: "ab-light" }, light),
      ...rows.map((row) => row.node).reverse(),
    ),
  );
  picture.addEventListener("click", ({ clientX }) => {
    const box = light.getBoundingClientRect();
    const place = Math.floor((TOKENS * (clientX - box.left)) / box.width);
    if (ALL[place] !== undefined) update(model, { token: place });
  });
  const [said, full] = [0, 0].map(() => element("p", { role: "status" }));
  const figures = Object.fromEntries(
    Object.keys(say.figures).map((name) => [name, element("b", { class: "ab-number" })]),
  );
  const all = element("b", { class: "ab-number" });
  const { alone, pairs, cache } = say.figures;
  const shows = { token: (i) => whole(i + 1), every: (n) => (n ? fill(say.nth, { n: whole(n) }) : say.never) };
  const sliders = (labels) =>
    Object.entries(labels).map(([trait, label]) =>
      slider(model, subscriptions, { trait, label, values: STOPS[trait], show: shows[trait] ?? whole }),
    );
  const tries = Object.entries(PRESETS).map(([name, [small]]) =>
    button(verbatim(name), () => update(model, Object.fromEntries(SMALL.map((trait, i) => [trait, small[i]])))),
  );
  body(
    el,
    "windows",
    picture,
    element(
      "div",
      { class: "ab-beside" },
      said,
      element(
        "ul",
        {},
        element("li", {}, alone, " ", figures.alone),
        element("li", {}, ...fillNodes(say.share, { x: figures.pairs }), " ", pairs),
        element("li", {}, figures.cache, " ", ...fillNodes(cache, { all })),
      ),
      element("div", { class: "ab-controls" }, ...sliders(say.sliders)),
      folded(say.more, element("div", { class: "ab-controls" }, ...sliders(say.exceptions))),
      element("div", { class: "ab-controls ab-tries", role: "group", "aria-label": say.tries }, say.tries, ...tries),
      full,
    ),
  );

  subscriptions.follow(TRAITS, () => {
    const now = Object.fromEntries(TRAITS.map((trait) => [trait, model.get(trait)]));
    const lit = lightOf(now);
    light.setAttribute("viewBox", `0 0 ${TOKENS} ${now.layers + 1}`);
    rows.forEach(({ dots, kept, node }, n) => {
      node.hidden = n > now.layers;
      node.style.setProperty("--after", now.layers - n);
      node.classList.toggle("ab-global", n > 0 && seesAll(now, n));
      const held = seesAll(now, n) ? TOKENS : Math.min(now.window + now.sinks, TOKENS);
      kept.textContent = n ? (held === TOKENS ? fill(say.all, { n: whole(held) }) : whole(held)) : "";
      dots.forEach((dot, i) => {
        dot.classList.toggle("ab-lit", lit[n][i]);
        dot.classList.toggle("ab-asks", n === now.layers && i === now.token);
      });
    });
    paths.forEach((three, below) => {
      const n = below + 1;
      const beams = n > now.layers ? [] : beamsOf(now, n, lit[n]);
      const [top, bottom] = [now.layers - n + 0.5, now.layers - n + 1.5];
      three.forEach((path, k) => {
        const [a, b, c, d] = beams[k] ?? [0, -1, 0, -1];
        path.setAttribute("d", `M${a + 0.2} ${top}H${b + 0.8}L${d + 0.9} ${bottom}H${c + 0.1}Z`);
        path.style.setProperty("--after", now.layers - n);
        path.toggleAttribute("hidden", !beams[k]);
      });
    });
    const reached = lit[0].filter(Boolean).length;
    said.textContent = count(say.said, reached, { token: whole(now.token + 1) });
    const seen = LEVELS.slice(1, now.layers + 1).map((n) =>
      ALL.map((i) => ALL.filter((j) => sees(now, n, i, j)).length),
    );
    const computed = seen.flat().reduce((sum, x) => sum + x, 0);
    figures.alone.textContent = whole(now.layers * (now.window - 1) + 1);
    figures.pairs.textContent = number((100 * computed) / ((now.layers * TOKENS * (TOKENS + 1)) / 2), 1);
    figures.cache.textContent = whole(seen.reduce((sum, row) => sum + row.at(-1), 0));
    all.textContent = whole(now.layers * TOKENS);
    const same = ([, [small]]) => SMALL.every((trait, i) => small[i] === now[trait]);
    const [name, [, layers, window] = []] = Object.entries(PRESETS).find(same) ?? [];
    const wide = name && now.every ? Math.floor(layers / now.every) : 0;
    const gaps = name && {
      name: verbatim(name),
      layers: whole(layers),
      window: whole(window),
      reach: whole(layers * (window - 1) + 1),
      local: whole(layers - wide),
      global: whole(wide),
    };
    full.replaceChildren(...fillNodes(say.full[!name ? "none" : wide ? "mixed" : "windows"], gaps));
  });
  return subscriptions.end;
}

export default { render };
