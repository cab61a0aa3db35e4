import { body, button, choice, element, follower, update, slider, words } from "../shared/core.js";
import { grid, painter } from "../shared/cells.js";

const TEXT = {
  en: {
    source: "Tokens of the source:",
    target: "Tokens of the target:",
    layers: "Layers:",
    mistake: "A common mistake",
    mistakes: {
      none: "none",
      ahead: "no causal mask",
      strict: "own token hidden",
      pads: "pads read",
      cross: "cross-attention: causal",
      encoder: "encoder: causal",
    },
    map: "Who may look at whom: rows ask, columns are asked",
    note: "Rows ask, columns are asked. Top: the encoder. Bottom left: cross-attention, bottom right: the decoder's own. Press a cell to change it; what is not as it should be has a frame and a !. Underlined: what the chosen row can know.",
    parts: ["encoder: source asks source", "", "cross-attention: target asks source", "decoder: target asks target"],
    cell: { yes: "may look", no: "may not look", never: "never" },
    back: "Undo all changes",
    knows: (token, n, names) =>
      `After ${n === 1 ? "1 layer" : `${n} layers`}, the vector at “${token}” can know: ${names.join(", ") || "nothing"}.`,
    writes: (next) => ` The next token is to be “${next}”.`,
    fine: "Nothing is wrong with these masks.",
    found: {
      told: (names) =>
        `Told what is still to come: ${names}. In training all looks well; in use there is nobody to tell.`,
      blind: (names) => `See nothing, in one of their attentions: ${names}. It gives zeros here, and NaN elsewhere.`,
      pads: (names) => `Know of padding: ${names}. The result depends on the other texts in the batch.`,
      missed: (names) => `Can't know all of the source: ${names}.`,
    },
  },
};
const N = 5;
const [SOURCE, TARGET, NEXT] = [
  ["the", "black", "cat", "sleeps"],
  ["start", "le", "chat", "noir", "dort"],
  ["le", "chat", "noir", "dort", "stop"],
];
const ALL = Array.from({ length: 2 * N }, (_, i) => i);
const isSource = (i) => i < N;

function tokensOf(source, target) {
  const read = [...SOURCE.slice(0, source - 1), "stop"];
  const pads = (n) => Array(n).fill("pad");
  return [...read, ...pads(N - source), ...TARGET.slice(0, target), ...pads(N - target)];
}

function maskOf({ source, mistake }) {
  const read = (j) => mistake === "pads" || j < source;
  const own = { ahead: () => true, strict: (i, j) => j < i }[mistake] ?? ((i, j) => j <= i);
  return ALL.map((i) =>
    ALL.map((j) => {
      if (isSource(i)) return isSource(j) && read(j) && (mistake !== "encoder" || j <= i);
      return isSource(j) ? (mistake === "cross" ? j <= i - N : read(j)) : own(i, j);
    }),
  );
}

const isCell = (i, j) => !isSource(i) || isSource(j);

function maskNow(model) {
  const mask = maskOf({ source: model.get("source"), mistake: model.get("mistake") });
  for (const [i, j] of model.get("flipped")) if (mask[i]?.[j] !== undefined && isCell(i, j)) mask[i][j] = !mask[i][j];
  return mask;
}

// Who can have an effect on whom: in each layer a vector keeps what it has, and gets what those have at whom it looks.
function reachOf(mask, layers) {
  const joined = (known, rows, from) =>
    ALL.map((i) => known[i].map((has, j) => has || (rows(i) && ALL.some((k) => from(k) && mask[i][k] && known[k][j]))));
  let known = ALL.map((i) => ALL.map((j) => i === j));
  for (let n = 0; n < layers; n++) known = joined(known, isSource, isSource);
  for (let n = 0; n < layers; n++) {
    known = joined(
      known,
      (i) => !isSource(i),
      (k) => !isSource(k),
    );
    known = joined(known, (i) => !isSource(i), isSource);
  }
  return known;
}

function findings(names, mask, reach) {
  const real = (i) => names[i] !== "pad";
  const blind = (i) =>
    !mask[i].some((sees, j) => sees && isSource(j)) ||
    (!isSource(i) && !mask[i].some((sees, j) => sees && !isSource(j)));
  const tests = {
    told: (i) => !isSource(i) && ALL.some((j) => j > i && real(j) && reach[i][j]),
    blind,
    pads: (i) => ALL.some((j) => !real(j) && reach[i][j]),
    missed: (i) => ALL.some((j) => isSource(j) && real(j) && !reach[i][j]),
  };
  return Object.fromEntries(Object.entries(tests).map(([what, test]) => [what, ALL.filter((i) => real(i) && test(i))]));
}

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const { node, cells, heads } = grid({
    label: say.map,
    rows: ALL.map(String),
    columns: ALL.map(String),
    at: [model.get("row"), 0],
    move: (i) => update(model, { row: i }),
    press: painter(model, "flipped", (i, j) => (isCell(i, j) ? maskNow(model)[i][j] : undefined)),
  });
  node.classList.add("ab-paints");
  const columns = [...node.querySelectorAll("th[scope=col]")];
  const parts = cells.map((line, i) => line.map((cell, j) => say.parts[2 * !isSource(i) + !isSource(j)]));
  const knows = element("p", { class: "ab-knows", role: "status" });
  const found = element("ul", { class: "ab-found" });
  const lines = Object.fromEntries(Object.keys(say.found).map((what) => [what, element("li")]));
  const fine = element("li", {}, say.fine);
  found.append(fine, ...Object.values(lines));
  const count = (least) => Array.from({ length: N + 1 - least }, (_, i) => i + least);
  body(
    el,
    "maskmap",
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, {
        trait: "mistake",
        label: say.mistake,
        options: say.mistakes,
        with: { flipped: [] },
      }),
    ),
    element(
      "div",
      { class: "ab-controls" },
      slider(model, subscriptions, { trait: "source", label: say.source, values: count(2) }),
      slider(model, subscriptions, { trait: "target", label: say.target, values: count(1) }),
      slider(model, subscriptions, { trait: "layers", label: say.layers, values: [1, 2, 3] }),
    ),
    node,
    element(
      "div",
      { class: "ab-controls" },
      element("p", { class: "ab-hint" }, say.note),
      button(say.back, () => update(model, { flipped: [], mistake: "none" })),
    ),
    knows,
    found,
  );

  subscriptions.follow(["source", "target", "layers", "mistake", "flipped", "row"], () => {
    const [source, target, layers, row] = ["source", "target", "layers", "row"].map((name) => model.get(name));
    const names = tokensOf(source, target);
    const right = maskOf({ source, mistake: "none" });
    const mask = maskNow(model);
    const reach = reachOf(mask, layers);
    names.forEach((name, i) => {
      heads[i].textContent = name;
      columns[i].firstChild.textContent = name;
      heads[i].parentNode.classList.toggle("ab-here", i === row);
      for (const head of [heads[i], columns[i]]) head.classList.toggle("ab-pad", name === "pad");
      columns[i].classList.toggle("ab-reaches", reach[row][i]);
      cells[i].forEach((cell, j) => {
        const is = !isCell(i, j) ? "never" : mask[i][j] ? "yes" : "no";
        cell.className = `ab-${is}`;
        cell.classList.toggle("ab-wrong", mask[i][j] !== right[i][j]);
        cell.setAttribute("aria-label", `${name}, ${names[j]}: ${say.cell[is]}${parts[i][j] && ` (${parts[i][j]})`}`);
      });
    });
    const real = ALL.filter((j) => reach[row][j]).map((j) => names[j]);
    knows.textContent =
      say.knows(names[row], layers, real) +
      (isSource(row) || names[row] === "pad" ? "" : say.writes(row - N === target - 1 ? NEXT[N - 1] : NEXT[row - N]));
    const results = findings(names, mask, reach);
    fine.hidden = Object.values(results).some((rows) => rows.length);
    for (const [what, line] of Object.entries(lines)) {
      line.hidden = !results[what].length;
      line.textContent = say.found[what](results[what].map((i) => names[i]).join(", "));
    }
  });
  return subscriptions.end;
}

export default { render };
