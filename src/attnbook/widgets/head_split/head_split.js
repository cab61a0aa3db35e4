import { body, choice, element, fill, follower, whole, words } from "../shared/core.js";
import { stepSlider } from "../shared/steps.js";

// The line of code, the axes, and what is said of it. (Where there is no code, a comment says so.)
const STEPS = {
  transpose: [
    ["q = layer.query(x)", "B, L, D", "queries"],
    ["q.view(B, L, H, K)", "B, L, H, K", "cut"],
    [".transpose(1, 2)", "B, H, L, K", "front"],
    ["attend(q, k, v)", "B, H, L, K", "mixed"],
    [".transpose(1, 2)", "B, L, H, K", "back"],
    [".reshape(B, L, D)", "B, L, D", "joined"],
  ],
  view: [
    ["q = layer.query(x)", "B, L, D", "queries"],
    ["q.view(B, H, L, K)", "B, H, L, K", "fits"],
    ["", "B, H, L, K", "asked"],
    ["attend(q, k, v)", "B, H, L, K", "unnoticed"],
    ["", "B, H, L, K", "still"],
    [".view(B, L, D)", "B, L, D", "undone"],
  ],
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
const upTo = (n) => [...Array(n).keys()];

function picture(say) {
  const cells = upTo(B * L * D).map((n) =>
    element(
      "g",
      { class: `ab-cell ab-word-${Math.floor(n / D) % L}`, translate: "no" },
      element("rect", { width: UNIT - 2, height: UNIT - 2, rx: 4 }),
      element("text", { x: UNIT / 2 - 1, y: UNIT / 2 + 4, "text-anchor": "middle" }, name(n)),
    ),
  );
  const svg = element("svg", { role: "img", "aria-label": say.picture }, ...cells);
  const draw = ({ shape: [, X, Y, Z], at }) => {
    svg.setAttribute("viewBox", `-1 -1 ${WIDE} ${B * Y * UNIT + (B - 1) * 2 * GAP + 2}`);
    for (let b = 0; b < B; b++)
      for (let x = 0; x < X; x++)
        for (let y = 0; y < Y; y++)
          for (let z = 0; z < Z; z++) {
            const [left, top] = [x * (Z * UNIT + GAP) + z * UNIT, b * (Y * UNIT + 2 * GAP) + y * UNIT];
            cells[at(b, x, y, z)].setAttribute("transform", `translate(${left} ${top})`);
          }
  };
  return { node: svg, draw };
}

// The first text as a table: a column for each block, a row for each row of it.
function table(say) {
  const heads = upTo(D).map(() => element("th", { scope: "col" }));
  const rows = upTo(D).map(() => {
    const [head, line] = [element("th", { scope: "row" }), upTo(D).map(() => element("td", { translate: "no" }))];
    return { head, line, node: element("tr", {}, head, ...line) };
  });
  const names = {
    number: (n) => whole(n),
    word: (n) => NAMES[n],
    head: (n) => fill(say.head, { n: whole(n + 1) }),
    row: (n) => fill(say.row, { n: whole(n + 1) }),
  };
  const entitle = (head, kind, n) => {
    head.textContent = names[kind](n);
    head.dataset.kind = kind;
    head.translate = kind !== "word";
  };
  const draw = ({ shape: [, X, Y, Z], at }, wordsFirst) => {
    const blocks = X === 1 ? Z : X;
    heads.forEach((head, x) => {
      head.hidden = x >= blocks;
      if (!head.hidden) entitle(head, X === 1 ? "number" : wordsFirst ? "word" : "head", x);
    });
    rows.forEach(({ node, head, line }, y) => {
      node.hidden = y >= Y;
      if (node.hidden) return;
      entitle(head, X === 1 ? "word" : wordsFirst ? "head" : "row", y);
      line.forEach((cell, x) => {
        cell.hidden = x >= blocks;
        if (cell.hidden) return;
        cell.textContent =
          X === 1
            ? name(at(0, 0, y, x))
            : upTo(Z)
                .map((z) => name(at(0, x, y, z)))
                .join(" ");
      });
    });
  };
  const node = element(
    "table",
    {},
    element("caption", {}, say.caption),
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", {}, ...rows.map(({ node: row }) => row)),
  );
  return { node, draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const views = [picture(say), table(say)];
  const [code, note] = [element("code"), element("p")];
  const shape = element("span", { class: "ab-shape", translate: "no" });
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
      back: say.steps.back,
      forward: say.steps.forward,
      values: () => upTo(LAST + 1),
      show: (step) => fill(say.steps.of, { n: whole(step), all: whole(LAST) }),
    }).node,
    element("div", { class: "ab-now", role: "status" }, element("p", {}, code, " ", shape), note),
    element("div", { class: "ab-views" }, ...views.map(({ node }) => node)),
  );

  subscriptions.follow(["heads", "step", "way"], () => {
    const [H, step, way] = ["heads", "step", "way"].map((trait) => model.get(trait));
    const [line, axes, said] = STEPS[way][step];
    const sizes = { B, L, D, H, K: D / H };
    const numbers = axes.split(", ").map((axis) => sizes[axis]);
    code.textContent = line || say.nothing;
    code.translate = !line;
    shape.textContent = `(${axes}) = (${numbers.join(", ")})`;
    note.textContent = say.notes[said];
    for (const { draw } of views) draw(layout(H, step, way), axes.startsWith("B, L"));
  });
  return subscriptions.end;
}

export default { render };
