import { body, element, fillNodes, follower, heading, large, slider, whole, words } from "../shared/core.js";

const STOPS = {
  heads: [1, 2, 4, 8, 16, 32, 64],
  width: [64, 128, 256, 512, 768, 1024],
  length: [16, 64, 256, 1024, 4096],
};
const MOST = Math.max(...STOPS.heads);

const figures = (D, H, L) => ({
  each: D / H,
  parameters: 4 * D ** 2,
  products: 4 * L * D ** 2 + 2 * L ** 2 * D,
  patterns: H,
  weights: H * L ** 2,
  rank: Math.min(D / H, L),
});

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const pieces = Array.from({ length: MOST }, () => element("i"));
  const [parts, each] = [element("span"), element("span")];
  const caption = element("figcaption", {}, ...fillNodes(say.strip, { parts, each }));
  const rows = Object.entries(say.figures).map(([name, label]) => {
    const cells = [0, 1].map(() => element("td", { class: "ab-number" }));
    return { name, cells, node: element("tr", {}, element("th", { scope: "row" }, label), ...cells) };
  });
  body(
    el,
    "budget",
    element(
      "div",
      { class: "ab-controls" },
      ...Object.entries(say.sliders).map(([trait, label]) =>
        slider(model, subscriptions, { trait, label, values: STOPS[trait] }),
      ),
    ),
    element("figure", {}, caption, element("div", { class: "ab-strip", "aria-hidden": "true" }, ...pieces)),
    element("table", {}, heading(["", say.now, say.single]), element("tbody", {}, ...rows.map(({ node }) => node))),
  );

  subscriptions.follow(["width", "heads", "length"], () => {
    const [D, H, L] = ["width", "heads", "length"].map((trait) => model.get(trait));
    pieces.forEach((piece, h) => {
      piece.hidden = h >= H;
    });
    parts.textContent = whole(H);
    each.textContent = whole(D / H);
    const [now, single] = [figures(D, H, L), figures(D, 1, L)];
    for (const { name, cells, node } of rows) {
      [now, single].forEach((found, n) => {
        cells[n].textContent = large(found[name], say.sizes, 1e6);
      });
      node.classList.toggle("ab-same", now[name] === single[name]);
    }
  });
  return subscriptions.end;
}

export default { render };
