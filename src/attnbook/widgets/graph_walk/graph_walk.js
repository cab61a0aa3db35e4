import { body, button, choice, count, element, fill, follower, listed, update, whole, words } from "../shared/core.js";
import { grid } from "../shared/cells.js";
import { fingerPainting, painter } from "../shared/painting.js";
import { slider } from "../shared/slider.js";

const N = 8;
const ALL = Array.from({ length: N }, (_, i) => i);
const PAIRS = ALL.flatMap((i) => ALL.slice(0, i).map((j) => [i, j]));
const EDGES = {
  chain: (i, j) => Math.abs(i - j) === 1,
  ring: (i, j) => [1, N - 1].includes(Math.abs(i - j)),
  star: (i, j) => i !== j && (i === 0 || j === 0),
  parts: (i, j) => i >> 2 === j >> 2 && (i - j) % 2 !== 0, // two rings of four
};
const [MIDDLE, RADIUS, DOT] = [120, 96, 15];
const PLACES = ALL.map((i) => (i / N - 1 / 4) * 2 * Math.PI).map((turn) => [
  MIDDLE + RADIUS * Math.cos(turn),
  MIDDLE + RADIUS * Math.sin(turn),
]);

function maskOf(model) {
  const mask = ALL.map((i) => ALL.map((j) => i === j || EDGES[model.get("graph")](i, j)));
  for (const [i, j] of model.get("flipped")) if (i !== j && mask[i]?.[j] !== undefined) mask[i][j] = !mask[i][j];
  return mask;
}

// Of each node after how many layers it hears of the marked one; Infinity for never.
function distances(mask, marked) {
  const found = ALL.map((i) => (i === marked ? 0 : Infinity));
  for (let layer = 1; layer < N; layer++) {
    const knew = ALL.filter((j) => found[j] < layer);
    for (const i of ALL) if (found[i] > layer && knew.some((j) => mask[i][j])) found[i] = layer;
  }
  return found;
}

// From one node's rim to the other's; with a head where it leads this way only.
function arrow([x, y], [toX, toY], headed) {
  const along = Math.hypot(toX - x, toY - y);
  const [dx, dy] = [(toX - x) / along, (toY - y) / along];
  const [endX, endY] = [toX - DOT * dx, toY - DOT * dy];
  const back = (side) => `L${endX - 9 * dx + side * 5 * dy} ${endY - 9 * dy - side * 5 * dx}`;
  const head = headed ? `M${endX} ${endY}${back(1)}${back(-1)}Z` : "";
  return `M${x + DOT * dx} ${y + DOT * dy}L${endX} ${endY}${head}`;
}

function pictureOf(model) {
  const lines = PAIRS.map(() => element("path"));
  const nodes = ALL.map((i) => {
    const [x, y] = PLACES[i];
    const circle = element("circle", { cx: x, cy: y, r: DOT });
    const node = element("g", {}, circle, element("text", { x, y: y + 5 }, whole(i + 1)));
    node.addEventListener("click", () => update(model, { marked: i }));
    return node;
  });
  const picture = element("svg", { viewBox: "0 0 240 240", "aria-hidden": "true" }, ...lines, ...nodes);

  function draw(mask, found, layers, marked) {
    PAIRS.forEach(([i, j], at) => {
      const way = Number(mask[i][j]) + 2 * Number(mask[j][i]);
      const told = (from, to) => mask[to][from] && found[from] < layers;
      const [from, to] = way === 2 ? [i, j] : [j, i];
      lines[at].setAttribute("d", arrow(PLACES[from], PLACES[to], way !== 3));
      lines[at].setAttribute("data-way", way);
      lines[at].classList.toggle("ab-told", told(i, j) || told(j, i));
    });
    nodes.forEach((node, i) => {
      const heard = found[i] <= layers;
      node.setAttribute("data-heard", heard ? found[i] : -1);
      node.style.setProperty("--after", heard ? found[i] : 0);
      node.classList.toggle("ab-knows", heard);
      node.classList.toggle("ab-marked", i === marked);
    });
  }
  return { picture, draw };
}

// The edges once more, as attention gets them; to be changed by strokes.
function mapOf(model, say) {
  const names = ALL.map((i) => whole(i + 1));
  const { node, cells } = grid({
    label: say.map,
    rows: names,
    columns: names,
    at: [1, 0],
    move: () => {},
    press: painter(model, "flipped", (i, j) => (i === j ? undefined : maskOf(model)[i][j])),
  });
  node.classList.add("ab-paints");

  function draw(mask) {
    cells.forEach((line, i) => {
      line.forEach((cell, j) => {
        const is = i === j ? "itself" : mask[i][j] ? "yes" : "no";
        cell.className = `ab-${is}`;
        cell.setAttribute("aria-label", fill(say.cell[is], { row: names[i], column: names[j] }));
      });
    });
  }
  return { node, draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [{ picture, draw }, map] = [pictureOf(model), mapOf(model, say)];
  const [heard, end] = [element("p", { role: "status" }), element("p", { class: "ab-hint" })];
  const undo = button(say.undo, () => update(model, { flipped: [] }));
  undo.className = "ab-link";
  const press = element("p", { class: "ab-hint" }, say.press);
  const painted = element(
    "div",
    { class: "ab-mask" },
    element("p", { class: "ab-hint" }, say.map),
    press,
    undo,
    map.node,
  );
  body(
    el,
    "graphwalk",
    picture,
    element("div", { class: "ab-beside" }, painted, fingerPainting(say, painted)),
    element("div", { class: "ab-said" }, heard, end),
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "graph", label: say.graph, options: say.graphs, with: { flipped: [] } }),
      slider(model, subscriptions, { trait: "layers", label: say.layers, values: ALL, show: whole }),
      slider(model, subscriptions, { trait: "marked", label: say.marked, values: ALL, show: (i) => whole(i + 1) }),
    ),
  );

  subscriptions.follow(["graph", "marked", "layers", "flipped"], () => {
    const [marked, layers, mask] = [model.get("marked"), model.get("layers"), maskOf(model)];
    const found = distances(mask, marked);
    const known = found.filter((at) => at <= layers).length;
    draw(mask, found, layers, marked);
    map.draw(mask);
    heard.textContent = count(say.heard, layers, { known: whole(known), all: whole(N), node: whole(marked + 1) });
    press.hidden = model.get("flipped").length > 0; // its place is that of what takes the change back
    undo.hidden = !press.hidden;
    const never = ALL.filter((i) => found[i] === Infinity).map((i) => whole(i + 1));
    const last = Math.max(...found.filter(Number.isFinite));
    const said = never.length ? fill(say.never, { names: listed(never) }) : count(say.all, last);
    end.textContent = layers < last ? "" : said; // a reader finds out
  });
  return subscriptions.end;
}

export default { render };
