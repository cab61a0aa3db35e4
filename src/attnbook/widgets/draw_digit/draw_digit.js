import {
  asset,
  body,
  button,
  choice,
  element,
  fill,
  follower,
  largestOf,
  number,
  softmax,
  update,
  whole,
  words,
} from "../shared/core.js";
import { grid } from "../shared/cells.js";
import { painter } from "../shared/painting.js";
import { PATCHES, SIDE, digitReader, reduced } from "./digit_reader.js";

const HELD_OUT = 382;

// The sheet: a line for all strokes over a grid of cells, which mouse, finger and keys know how to paint.
function sheetOf(model, say) {
  const example = model.get("strokes"); // which the first stroke replaces
  const press = (i, j, first) => {
    const cell = SIDE * i + j;
    const strokes = model.get("digit") || model.get("strokes") === example ? [] : model.get("strokes");
    const end = strokes.at(-1)?.at(-1);
    if (end === cell) return;
    const near = end !== undefined && Math.max(Math.abs(Math.floor(end / SIDE) - i), Math.abs((end % SIDE) - j)) <= 1;
    const more =
      strokes.length && (near || !first) ? [...strokes.slice(0, -1), [...strokes.at(-1), cell]] : [...strokes, [cell]];
    update(model, { strokes: more, digit: 0 });
  };
  const names = Array.from({ length: SIDE }, (_, i) => whole(i + 1));
  const sheet = grid({ label: say.sheet, rows: names, columns: names, at: [7, 7], move: () => {}, press });
  sheet.node.classList.add("ab-paints");
  const line = element("path");
  const picture = element("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true" }, line);
  const draw = () => {
    const at = (cell) => `${(cell % SIDE) + 0.5} ${Math.floor(cell / SIDE) + 0.5}`;
    line.setAttribute(
      "d",
      model
        .get("strokes")
        .filter((stroke) => stroke.length)
        .map((stroke) => `M${at(stroke[0])}L${stroke.map(at).join("L")}`)
        .join(""),
    );
    picture.classList.toggle("ab-aside", model.get("digit") > 0);
  };
  return { node: element("div", { class: "ab-sheet ab-painting" }, picture, sheet.node), draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const { read, mean, wrong } = digitReader(await asset(model, "model"));
  const sheet = sheetOf(model, say);
  const names = Array.from({ length: 4 }, (_, i) => whole(i + 1));
  const paint = painter(model, "covered");
  const patches = grid({ label: say.patches, rows: names, columns: names, at: [0, 0], move: () => {}, press: paint });
  const cells = patches.cells.flat().map((node) => {
    const pixels = Array.from({ length: 4 }, () => element("i"));
    const value = element("b");
    node.append(...pixels, value);
    return { node, pixels, value };
  });
  const rows = Array.from({ length: 10 }, (_, digit) => {
    const [bar, value] = [element("i"), element("td", { class: "ab-number" })];
    const name = element("th", { scope: "row", translate: "no" }, whole(digit));
    return { bar, value, node: element("tr", {}, name, element("td", { class: "ab-bar" }, bar), value) };
  });
  const verdict = element("p", { class: "ab-verdict", role: "status" });
  const meant = element("p", { class: "ab-hint", role: "status" });
  const show = (digit) => update(model, { digit, covered: [] });
  const drawing = element(
    "div",
    { class: "ab-drawing" },
    element("p", {}, say.draw),
    sheet.node,
    element(
      "div",
      { class: "ab-controls" },
      button(say.undo, () => update(model, { strokes: model.get("strokes").slice(0, -1), digit: 0 })),
      button(say.clear, () => update(model, { strokes: [], digit: 0, covered: [] })),
    ),
  );
  const root = body(
    el,
    "digit",
    drawing,
    element(
      "div",
      {},
      element("p", {}, say.given),
      patches.node,
      choice(model, subscriptions, { trait: "view", label: say.view, options: say.views }),
    ),
    element(
      "div",
      {},
      verdict,
      element("table", {}, element("tbody", {}, ...rows.map(({ node }) => node))),
      element(
        "div",
        { class: "ab-controls" },
        button(say.other, () => show((model.get("digit") % HELD_OUT) + 1)),
        button(say.wrong, () => show((wrong.find((place) => place >= model.get("digit")) ?? wrong[0]) + 1)),
      ),
    ),
    meant,
  );
  subscriptions.follow(["strokes", "digit"], sheet.draw);
  let turns = 0;
  subscriptions.follow(["strokes", "digit", "covered", "view"], async () => {
    const turn = ++turns;
    const digit = model.get("digit");
    root.ariaBusy = digit ? "true" : null;
    const all = digit && (await asset(model, "held_out").finally(() => turn === turns && (root.ariaBusy = null)));
    if (turn !== turns) return; // more has changed meanwhile
    const stored = all && new Uint8Array(all).slice(65 * (digit - 1), 65 * digit);
    const counts = digit ? Array.from(stored.slice(0, 64)) : reduced(model.get("strokes"));
    const isCovered = cells.map((_, p) => model.get("covered").some(([i, j]) => 4 * i + j === p));
    const image = counts.map((count) => count / 16);
    const cover = (image, p) => {
      const hidden = [...image];
      for (const place of PATCHES[p]) hidden[place] = mean[place];
      return hidden;
    };
    const given = isCovered.reduce((image, is, p) => (is ? cover(image, p) : image), image);
    const { scores, looks } = read(given);
    const chances = softmax(scores);
    const [first, second] = [...chances.keys()].sort((a, b) => chances[b] - chances[a]);
    const costs = model.get("view") === "costs";
    const shown = costs
      ? cells.map((_, p) => scores[first] - read(cover(given, p)).scores[first])
      : looks[["first", "second"].indexOf(model.get("view"))];
    const largest = largestOf(shown);
    cells.forEach(({ node, pixels, value }, p) => {
      pixels.forEach((pixel, i) => pixel.style.setProperty("--ink", given[PATCHES[p][i]]));
      value.textContent = number(shown[p], costs ? 1 : 2);
      value.classList.toggle("ab-small", Math.abs(shown[p]) < 0.1);
      node.style.setProperty("--glow", Math.max(0, shown[p] / largest));
      node.setAttribute("aria-selected", isCovered[p]);
    });
    rows.forEach(({ bar, value, node }, i) => {
      bar.style.setProperty("--w", chances[i]);
      value.textContent = number(chances[i], 2);
      node.classList.toggle("ab-chosen", i === first);
    });
    const percent = (chance) => (chance > 0.99 ? say.over : chance < 0.01 ? say.under : number(100 * chance, 0));
    verdict.textContent = fill(say.verdict, {
      first: whole(first),
      sure: percent(chances[first]),
      second: whole(second),
      chance: percent(chances[second]),
    });
    const label = stored?.[64];
    const empty = digit || counts.some(Boolean) ? "" : say.empty;
    meant.dataset.says = digit && label !== first ? "mistaken" : "";
    meant.textContent = digit
      ? fill(label === first ? say.right : say.mistaken, { n: whole(digit), all: whole(HELD_OUT), label: whole(label) })
      : empty;
  });
  return subscriptions.end;
}

export default { render };
