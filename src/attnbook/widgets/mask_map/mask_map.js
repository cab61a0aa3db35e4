import { body, button, choice, count, element, fill, follower, listed, slider, update, words } from "../shared/core.js";
import { fingerPainting, grid, painter } from "../shared/cells.js";

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

// Who may look at whom, a row and a column for each token.
function mapOf(model, say) {
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
  const part = (i, j) => say.parts[isSource(i) ? "encoder" : isSource(j) ? "cross" : "decoder"];

  function draw({ names, mask, right, reach, row }) {
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
        cell.setAttribute("aria-label", fill(say.cell[is], { row: name, column: names[j], part: part(i, j) }));
      });
    });
  }
  return { node, draw };
}

// What is wrong with the masks, and with whose.
function foundOf(say) {
  const lines = Object.keys(say.found).map((what) => ({ what, line: element("li") }));
  const fine = element("li", {}, say.fine);
  const node = element("ul", { class: "ab-found" }, fine, ...lines.map(({ line }) => line));

  function draw(names, results) {
    fine.hidden = Object.values(results).some((rows) => rows.length);
    for (const { what, line } of lines) {
      line.hidden = !results[what].length;
      line.textContent = fill(say.found[what], { names: listed(results[what].map((i) => names[i])) });
    }
  }
  return { node, draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [map, found] = [mapOf(model, say), foundOf(say)];
  const knows = element("p", { class: "ab-knows", role: "status" });
  const range = (least, most) => Array.from({ length: most + 1 - least }, (_, i) => i + least);
  const control = (trait, values) => slider(model, subscriptions, { trait, label: say[trait], values });
  const root = body(
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
      control("source", range(2, N)),
      control("target", range(1, N)),
      control("layers", range(1, 3)),
    ),
    map.node,
    element(
      "div",
      { class: "ab-controls" },
      element("p", { class: "ab-hint" }, say.note),
      button(say.undo, () => update(model, { flipped: [], mistake: "none" })),
    ),
    knows,
    found.node,
  );
  root.append(fingerPainting(say, root));

  subscriptions.follow(["source", "target", "layers", "mistake", "flipped", "row"], () => {
    const [source, target, layers, row] = ["source", "target", "layers", "row"].map((name) => model.get(name));
    const names = tokensOf(source, target);
    const mask = maskNow(model);
    const reach = reachOf(mask, layers);
    map.draw({ names, mask, right: maskOf({ source, mistake: "none" }), reach, row });
    const gaps = { token: names[row], names: listed(names.filter((_, j) => reach[row][j])) };
    knows.textContent =
      isSource(row) || names[row] === "pad"
        ? count(say.knows, layers, gaps)
        : count(say.writes, layers, { ...gaps, next: NEXT[row - N === target - 1 ? N - 1 : row - N] });
    found.draw(names, findings(names, mask, reach));
  });
  return subscriptions.end;
}

export default { render };
