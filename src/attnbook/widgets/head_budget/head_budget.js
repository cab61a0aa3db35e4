import { body, element, fillNodes, follower, heading, plain, update, whole, words } from "../shared/core.js";
import { large } from "../shared/sizes.js";
import { nearestStop, slider } from "../shared/slider.js";
import { draggable } from "../shared/dragging.js";

const STOPS = {
  heads: [1, 2, 4, 8, 16, 32, 64],
  width: [64, 128, 256, 512, 768, 1024],
  length: [16, 64, 256, 1024, 4096],
};
const short = (x) => plain(Math.round(100 * x) / 100);
const MOST = Math.max(...STOPS.heads);

const figures = (D, H, L) => ({
  each: D / H,
  parameters: 4 * D ** 2,
  products: 4 * L * D ** 2 + 2 * L ** 2 * D,
  patterns: H,
  weights: H * L ** 2,
  rank: Math.min(D / H, L),
});

// The width as a ribbon, cut into heads; the first cut can be pulled. Below it a pattern for each head.
function ribbonOf(model) {
  const pieces = Array.from({ length: MOST }, () => element("rect", { height: "100%", rx: 4 }));
  const [grip, cut] = ["ab-grip", "ab-cut"].map((name) => element("rect", { class: name }));
  const patterns = pieces.map((_, h) => element("i", { style: `--h: ${h}` }));
  const box = element("div", { class: "ab-patterns", "aria-hidden": "true" }, ...patterns);
  draggable(cut, (x) => {
    const nearest = nearestStop(STOPS.heads.map(Math.log2), -Math.log2(Math.max(x, 0.001)));
    update(model, { heads: STOPS.heads[nearest] });
  });
  const draw = (H) => {
    pieces.forEach((piece, h) => {
      piece.toggleAttribute("hidden", h >= H);
      patterns[h].hidden = h >= H;
      piece.setAttribute("x", `${(100 * h) / H}%`);
      piece.setAttribute("width", `${100 / H}%`);
    });
    box.style.setProperty("--n", H);
    for (const part of [grip, cut]) part.setAttribute("x", `${100 / H}%`);
  };
  return {
    ribbon: element("svg", { class: "ab-ribbon", "aria-hidden": "true" }, ...pieces, grip, cut),
    patterns: box,
    draw,
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const { ribbon, patterns, draw } = ribbonOf(model);
  const [parts, each, long, high] = Array.from({ length: 4 }, () => element("span"));
  const rows = Object.entries(say.figures).map(([name, label]) => {
    const cells = [0, 1].map(() => element("td", { class: "ab-number" }));
    const times = element("td", { class: "ab-times" });
    return { name, cells, times, node: element("tr", {}, element("th", { scope: "row" }, label), ...cells, times) };
  });
  body(
    el,
    "budget",
    element("p", { class: "ab-hint" }, ...fillNodes(say.strip, { parts, each })),
    ribbon,
    element("p", { class: "ab-hint" }, ...fillNodes(say.patterns, { long, high })),
    patterns,
    element(
      "div",
      { class: "ab-controls" },
      ...Object.entries(say.sliders).map(([trait, label]) =>
        slider(model, subscriptions, { trait, label, values: STOPS[trait] }),
      ),
    ),
    element("table", {}, heading(["", say.now, say.single, ""]), element("tbody", {}, ...rows.map(({ node }) => node))),
  );

  subscriptions.follow(["width", "heads", "length"], () => {
    const [D, H, L] = ["width", "heads", "length"].map((trait) => model.get(trait));
    draw(H);
    parts.textContent = whole(H);
    each.textContent = whole(D / H);
    long.textContent = high.textContent = whole(L);
    const [now, single] = [figures(D, H, L), figures(D, 1, L)];
    for (const { name, cells, times, node } of rows) {
      [now, single].forEach((found, n) => {
        cells[n].textContent = large(found[name], say.sizes, 1e6);
      });
      const ratio = now[name] / single[name];
      times.textContent = ratio < 1 ? `÷ ${short(1 / ratio)}` : ratio > 1 ? `× ${short(ratio)}` : "";
      node.classList.toggle("ab-same", ratio === 1);
    }
  });
  return subscriptions.end;
}

export default { render };
