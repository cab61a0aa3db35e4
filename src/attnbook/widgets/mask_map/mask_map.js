import { beams } from "../shared/beams.js";
import { body, button, choice, count, element, fill, follower, listed, update, whole, words } from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { slider } from "../shared/slider.js";
import { grid } from "../shared/cells.js";
import { fingerPainting, painter } from "../shared/painting.js";

const [N, MOST_LAYERS] = [5, 3];
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

// Whence a vector's light comes, followed back from the last layer to the tokens, at level 0: from the vector itself, by
// the shortcut, and from those at whom it looks. A ray goes from [level, token] to [level, token].
function lightOf(mask, layers, row) {
  const lit = Array.from({ length: layers + 1 }, () => ALL.map(() => false));
  const rays = [];
  const follow = (level, i, to, sees) => {
    for (const j of ALL.filter(sees)) {
      lit[to][j] = true;
      rays.push([level, i, to, j]);
    }
  };
  const descend = (own) => {
    for (let level = layers; level > 0; level--) {
      for (const i of ALL.filter((k) => own(k) && lit[level][k])) {
        follow(level, i, level - 1, (j) => own(j) && (i === j || mask[i][j]));
        if (!isSource(i)) follow(level, i, layers, (j) => isSource(j) && mask[i][j]);
      }
    }
  };
  lit[layers][row] = true;
  descend((i) => !isSource(i));
  descend(isSource);
  return { lit, rays };
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
  const { node, cells, heads, columns } = grid({
    label: say.map,
    rows: ALL.map(String),
    columns: ALL.map(String),
    at: [model.get("row"), 0],
    move: (i) => update(model, { row: i }),
    press: painter(model, "flipped", (i, j) => (isCell(i, j) ? maskNow(model)[i][j] : undefined)),
  });
  node.classList.add("ab-paints");
  const part = (i, j) => say.parts[isSource(i) ? "encoder" : isSource(j) ? "cross" : "decoder"];

  function draw({ names, mask, right, reach, row }) {
    names.forEach((name, i) => {
      heads[i].textContent = name;
      columns[i].firstChild.textContent = name;
      heads[i].parentNode.classList.toggle("ab-chosen", i === row);
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
  return { node, draw, columns };
}

// Above the columns the layers, and the light that the chosen vector gets through them.
function layersOf(say, columns) {
  const light = beams();
  const lines = Array.from({ length: MOST_LAYERS }, (_, n) => {
    const vectors = ALL.map((i) => element("i", { style: `grid-column: ${isSource(i) ? i + 2 : i + 3}` }));
    const name = element("span", {}, fill(say.layer, { n: whole(n + 1) }));
    return { vectors, node: element("div", { class: "ab-layer", "aria-hidden": "true" }, name, ...vectors) };
  });
  const levels = [columns, ...lines.map(({ vectors }) => vectors)];
  const beam = ([level, i, to, j]) => ({ from: levels[level][i], to: levels[to][j], weight: 0.15 });
  const everyRay = ALL.flatMap((i) => ALL.map((j) => [1, i, 1, j]));

  function draw({ lit, rays }, row) {
    lines.forEach(({ vectors, node }, n) => {
      const level = n + 1;
      node.hidden = level >= lit.length;
      node.style.setProperty("--after", lit.length - 1 - level);
      vectors.forEach((vector, i) => {
        vector.classList.toggle("ab-lit", Boolean(lit[level]?.[i]));
        vector.classList.toggle("ab-top", level === lit.length - 1 && i === row);
      });
    });
    light.draw(rays.map(beam));
  }
  light.draw([...everyRay, ...everyRay].map(beam)); // as many paths as it may take
  return { nodes: [light.node, ...lines.map(({ node }) => node).toReversed()], draw };
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
  const layers = layersOf(say, map.columns);
  const knows = element("p", { class: "ab-knows", role: "status" });
  const range = (least, most) => Array.from({ length: most + 1 - least }, (_, i) => i + least);
  const control = (trait, values) => slider(model, subscriptions, { trait, label: say[trait], values });
  const undo = button(say.undo, () => {
    update(model, { flipped: [], mistake: "none" });
    map.node.querySelector("[tabindex='0']").focus({ preventScroll: true }); // it hides itself
  });
  const picture = element("div", { class: "ab-picture" }, ...layers.nodes, map.node);
  body(
    el,
    "maskmap",
    picture,
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
    folded(
      say.more,
      element(
        "div",
        { class: "ab-controls" },
        control("source", range(2, N)),
        control("target", range(1, N)),
        control("layers", range(1, MOST_LAYERS)),
      ),
    ),
    element(
      "div",
      { class: "ab-said" },
      knows,
      found.node,
      fingerPainting(say, picture),
      element("p", { class: "ab-hint" }, say.note),
      undo,
    ),
  );

  subscriptions.follow(["source", "target", "layers", "mistake", "flipped", "row"], () => {
    const [source, target, depth, row] = ["source", "target", "layers", "row"].map((name) => model.get(name));
    const names = tokensOf(source, target);
    const mask = maskNow(model);
    undo.hidden = !model.get("flipped").length && model.get("mistake") === "none";
    const lights = ALL.map((i) => lightOf(mask, depth, i));
    const reach = lights.map(({ lit }) => lit[0]);
    layers.draw(lights[row], row);
    map.draw({ names, mask, right: maskOf({ source, mistake: "none" }), reach, row });
    const gaps = { token: names[row], names: listed(names.filter((_, j) => reach[row][j])) };
    knows.textContent =
      isSource(row) || names[row] === "pad"
        ? count(say.knows, depth, gaps)
        : count(say.writes, depth, { ...gaps, next: NEXT[row - N === target - 1 ? N - 1 : row - N] });
    found.draw(names, findings(names, mask, reach));
  });
  return subscriptions.end;
}

export default { render };
