import { body, choice, element, fill, follower, whole, words } from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { motion } from "../shared/motion.js";

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
const [B, L, D] = [2, 3, 6];
const NAMES = "abcdef";
const WIDTH = 7.5; // of a text, in cells, when its heads stand apart
const HEIGHT = 3.4; // when its words do

const upTo = (n) => [...Array(n).keys()];
const name = (n) => `${NAMES[Math.floor(n / D)]}${n % D}`;

// Where the numbers stand: in so many blocks of K, whose rows are words or just rows. `at` counts through (B, L, D).
function layout(H, axes, way) {
  if (axes === "B, L, D") return { blocks: 1, K: D, wordy: true, at: (b, _, l, d) => (b * L + l) * D + d };
  const K = D / H;
  const wordy = axes === "B, L, H, K";
  if (way === "view") return { blocks: H, K, wordy, at: (b, h, l, k) => ((b * H + h) * L + l) * K + k };
  return { blocks: H, K, wordy, at: (b, h, l, k) => (b * L + l) * D + h * K + k };
}

function put(node, places) {
  for (const [axis, place] of Object.entries(places)) node.style.setProperty(`--${axis}`, place.toFixed(3));
}

// One text: its numbers, and frames around what its outermost axis counts.
function picture(say, b) {
  const cells = upTo(L * D).map((n) =>
    element("span", { class: "ab-cell", "data-word": Math.floor(n / D), translate: "no" }, name(b * L * D + n)),
  );
  const frames = upTo(D).map((h) =>
    element("span", { class: "ab-frame" }, element("b", {}, fill(say.head, { n: whole(h + 1) }))),
  );
  const node = element("div", { class: "ab-text", role: "img", "aria-label": say.picture }, ...frames, ...cells);
  const places = [];
  const stand = (n, x, y) => {
    const [fromX, fromY] = places[n] ?? [x, y];
    put(cells[n], { fromX, fromY, x, y });
    places[n] = [x, y];
  };
  const draw = ({ blocks, K, wordy, at }) => {
    const cut = wordy && blocks > 1;
    const [across, down] = [cut ? 0.2 : blocks > 1 ? (WIDTH - D) / (blocks - 1) : 0, cut ? 0.2 : 0];
    const [left, top] = [(WIDTH - D - (blocks - 1) * across) / 2, (HEIGHT - L - (L - 1) * down) / 2];
    const x = (h) => left + h * (K + across);
    const y = (l) => top + l * (1 + down);
    for (const h of upTo(blocks))
      for (const l of upTo(L)) for (const k of upTo(K)) stand(at(b, h, l, k) - b * L * D, x(h) + k, y(l));
    frames.forEach((frame, n) => {
      frame.hidden = n >= (cut ? L : blocks);
      put(frame, cut ? { x: left, y: y(n), w: WIDTH - 2 * left, h: 1 } : { x: x(n), y: top, w: K, h: L });
    });
    node.dataset.frames = cut ? "words" : wordy ? "text" : "heads";
  };
  return { node, draw };
}

// The first text as a table: a column for each block, a row for each row of it.
function table(say) {
  const heads = upTo(D).map(() => element("th", { scope: "col" }));
  const rows = upTo(L).map(() => {
    const [head, line] = [element("th", { scope: "row" }), upTo(D).map(() => element("td", { translate: "no" }))];
    return { head, line, node: element("tr", {}, head, ...line) };
  });
  const draw = ({ blocks, K, wordy, at }) => {
    const [columns, each] = blocks === 1 ? [D, 1] : [blocks, K];
    heads.forEach((head, x) => {
      head.hidden = x >= columns;
      head.textContent = blocks === 1 ? whole(x) : fill(say.head, { n: whole(x + 1) });
    });
    rows.forEach(({ head, line }, y) => {
      head.textContent = wordy ? NAMES[y] : fill(say.row, { n: whole(y + 1) });
      head.translate = !wordy;
      line.forEach((cell, x) => {
        cell.hidden = x >= columns;
        const numbers = upTo(each).map((z) => (blocks === 1 ? at(0, 0, y, x) : at(0, x, y, z)));
        if (!cell.hidden) cell.textContent = numbers.map(name).join(" ");
      });
    });
  };
  const node = element(
    "table",
    {},
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", {}, ...rows.map(({ node: row }) => row)),
  );
  return { node, draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const views = [...upTo(B).map((b) => picture(say, b)), table(say)];
  const note = element("p", { role: "status" });
  const lines = STEPS.view.map(() => [element("code"), element("small", { translate: "no" })]);
  const steps = choice(model, subscriptions, {
    trait: "step",
    label: say.step,
    options: lines.map((line) => element("span", {}, ...line)),
  });
  steps.classList.add("ab-code");
  const film = motion(say.motion, say.happens);
  const [first, second, summary] = views.map(({ node }) => node);
  body(
    el,
    "split",
    element("div", { class: "ab-texts ab-pin" }, note, first, second),
    element(
      "div",
      { class: "ab-beside" },
      choice(model, subscriptions, { trait: "way", label: say.way, options: say.ways }),
      steps,
      element(
        "div",
        { class: "ab-controls" },
        choice(model, subscriptions, { trait: "heads", label: say.heads, options: { 2: "2", 3: "3", 6: "6" } }),
        film.node,
      ),
      folded(say.caption, summary),
    ),
  );

  let stood;
  subscriptions.follow(["heads", "step", "way"], () => {
    const [H, step, way] = ["heads", "step", "way"].map((trait) => model.get(trait));
    const sizes = { B, L, D, H, K: D / H };
    STEPS[way].forEach(([code, axes], n) => {
      const [line, shape] = lines[n];
      line.textContent = code || say.nothing;
      line.translate = !code;
      shape.textContent = `(${axes
        .split(", ")
        .map((axis) => sizes[axis])
        .join(", ")})`;
    });
    const [, axes, said] = STEPS[way][step];
    note.textContent = say.notes[said];
    el.querySelector(".ab-texts").classList.toggle("ab-mixing", /mixed|unnoticed/.test(said));
    for (const { draw } of views) draw(layout(H, axes, way));
    if ((stood ?? axes) !== axes) film.play();
    stood = axes;
  });
  return subscriptions.end;
}

export default { render };
