import { body, choice, element, follower, words } from "../shared/core.js";
import { stepSlider } from "../shared/steps.js";

const TEXT = {
  en: {
    picture: "The 36 numbers of two texts of three words, as they stand now. The table below says the same in words.",
    way: "Into heads by",
    ways: { transpose: "view, then transpose", view: "view alone" },
    heads: "Heads",
    back: "Back",
    forward: "Forward",
    step: "Step:",
    of: (step, all) => `${step} of ${all}`,
    caption: "What the first text looks like now",
    head: (n) => `head ${n}`,
    word: (n) => `word ${n}`,
    row: "row",
    steps: {
      transpose: [
        ["q = layer.query(x)", "B, L, D", "One row for each word: a, b, c in the first text, d, e, f in the second."],
        ["q.view(B, L, H, K)", "B, L, H, K", "Each row is cut into heads. Nothing moves in memory."],
        [".transpose(1, 2)", "B, H, L, K", "Heads to the front: each head now has a piece of every word."],
        ["attend(q, k, v)", "B, H, L, K", "Attention runs in each head by itself and mixes its rows: words."],
        [".transpose(1, 2)", "B, L, H, K", "Words to the front again."],
        [".reshape(B, L, D)", "B, L, D", "The heads' results, side by side in each word. Then W_O mixes them."],
      ],
      view: [
        ["q = layer.query(x)", "B, L, D", "One row for each word: a, b, c in the first text, d, e, f in the second."],
        ["q.view(B, H, L, K)", "B, H, L, K", "The shape is right at once, and the rows are not words any more."],
        ["# nothing to swap", "B, H, L, K", "Read a head: is there a piece of every word in it?"],
        ["attend(q, k, v)", "B, H, L, K", "Attention mixes the rows of a head, whatever they are. No error."],
        ["# nothing to swap", "B, H, L, K", "The shapes still fit."],
        [".view(B, L, D)", "B, L, D", "Every cell is back in its place, and nothing looks wrong."],
      ],
    },
  },
};
const [B, L, D, LAST] = [2, 3, 6, 5];
const NAMES = "abcdef";
const [UNIT, GAP] = [30, 12];
const WIDE = 3 * 3 * UNIT + 2 * GAP; // the widest: three words of two heads of three numbers

// Where the cells stand: the shape, and the number of the cell (counted through B, L, D) at each place of it.
function layout(heads, step, way) {
  const K = D / heads;
  if (step === 0 || step === LAST) return { shape: [B, 1, L, D], at: (b, _, l, d) => (b * L + l) * D + d };
  if (way === "view") return { shape: [B, heads, L, K], at: (b, h, l, k) => ((b * heads + h) * L + l) * K + k };
  if (step === 1 || step === LAST - 1)
    return { shape: [B, L, heads, K], at: (b, l, h, k) => (b * L + l) * D + h * K + k };
  return { shape: [B, heads, L, K], at: (b, h, l, k) => (b * L + l) * D + h * K + k };
}

const name = (n) => `${NAMES[Math.floor(n / D)]}${n % D}`;

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const cells = Array.from({ length: B * L * D }, (_, n) =>
    element(
      "g",
      { class: `ab-cell ab-word-${Math.floor(n / D) % L}` },
      element("rect", { width: UNIT - 2, height: UNIT - 2, rx: 4 }),
      element("text", { x: UNIT / 2 - 1, y: UNIT / 2 + 4, "text-anchor": "middle" }, name(n)),
    ),
  );
  const svg = element("svg", { role: "img", "aria-label": say.picture }, ...cells);
  const [code, shape, note] = [element("code"), element("span", { class: "ab-shape" }), element("p")];
  const caption = element("caption");
  const rows = Array.from({ length: D }, () => {
    const [head, line] = [element("th", { scope: "row" }), Array.from({ length: D }, () => element("td"))];
    return { head, line, node: element("tr", {}, head, ...line) };
  });
  const heads = Array.from({ length: D }, () => element("th", { scope: "col" }));
  const table = element(
    "table",
    {},
    caption,
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", {}, ...rows.map(({ node }) => node)),
  );
  body(
    el,
    "split",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "way", label: say.way, options: say.ways }),
      choice(model, subscriptions, { trait: "heads", label: say.heads, options: { 2: "2", 3: "3", 6: "6" } }),
    ),
    stepSlider(model, subscriptions, {
      trait: "step",
      label: say.step,
      back: say.back,
      forward: say.forward,
      values: () => [...Array(LAST + 1).keys()],
      show: (step) => say.of(step, LAST),
    }).node,
    element("div", { class: "ab-now", role: "status" }, element("p", {}, code, " ", shape), note),
    element("div", { class: "ab-views" }, svg, table),
  );

  subscriptions.follow(["heads", "step", "way"], () => {
    const [H, step, way] = ["heads", "step", "way"].map((trait) => model.get(trait));
    const {
      shape: [, X, Y, Z],
      at,
    } = layout(H, step, way);
    const [line, axes, what] = say.steps[way][step];
    const sizes = { B, L, D, H, K: D / H };
    code.textContent = line;
    shape.textContent = `(${axes}) = (${axes
      .split(", ")
      .map((axis) => sizes[axis])
      .join(", ")})`;
    note.textContent = what;
    const high = B * Y * UNIT + (B - 1) * 2 * GAP;
    svg.setAttribute("viewBox", `-1 -1 ${WIDE} ${high + 2}`);
    for (let b = 0; b < B; b++)
      for (let x = 0; x < X; x++)
        for (let y = 0; y < Y; y++)
          for (let z = 0; z < Z; z++) {
            const [left, top] = [x * (Z * UNIT + GAP) + z * UNIT, b * (Y * UNIT + 2 * GAP) + y * UNIT];
            cells[at(b, x, y, z)].setAttribute("transform", `translate(${left} ${top})`);
          }

    // In words, of the first text: a column for each block, a row for each row of it.
    const blocks = X === 1 ? Z : X;
    caption.textContent = say.caption;
    heads.forEach((head, x) => {
      head.hidden = x >= blocks;
      head.textContent = X === 1 ? `${x}` : axes.startsWith("B, L") ? NAMES[x] : say.head(x + 1);
    });
    rows.forEach(({ node, head, line: texts }, y) => {
      node.hidden = y >= Y;
      head.textContent = X === 1 ? NAMES[y] : axes.startsWith("B, L") ? say.head(y + 1) : `${say.row} ${y + 1}`;
      texts.forEach((cell, x) => {
        cell.hidden = x >= blocks;
        if (node.hidden || cell.hidden) return;
        cell.textContent =
          X === 1 ? name(at(0, 0, y, x)) : [...Array(Z).keys()].map((z) => name(at(0, x, y, z))).join(" ");
      });
    });
  });
  return subscriptions.end;
}

export default { render };
