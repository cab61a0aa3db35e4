// What the first page shows besides. Words as stars between two meanings, and among them the word that asks: where it is
// alone, and where it is carried to. And in the line the words that were left out, as ghosts.

import { asset, dot, element, fillNodes, length, listed, plus, verbatim } from "../shared/core.js";
import { nearestWords } from "../shared/nearest.js";
import { wordVectors } from "../shared/lexicon.js";

// Neighbours that are named; words that pull; neighbours of each meaning; how wide a letter is, how high a name.
const [NEAR, PULL, FAR, LETTER, HIGH] = [3, 2, 2, 7.5, 16];
const [LEFT, BOTTOM, RADIUS, STEPS, MOST] = [180, 262, 218, 3, 14];

const onTheRight = (x) => x > LEFT + 60;
function unit(x) {
  const size = length(x);
  return Array.from(x, (part) => part / size);
}

// The plane of two meanings: a vector's direction has its place there, as far from the middle as it lies in the plane.
function plane(first, second) {
  const [a, b] = [unit(first), unit(second)];
  const [right, up] = [unit(b.map((x, i) => x - a[i])), unit(plus(a, b))];
  return (vector) => {
    const far = RADIUS / length(vector);
    return [LEFT + far * dot(vector, right), BOTTOM - far * dot(vector, up)];
  };
}

// An element at a place.
function put(node, kind, place, end = "") {
  ["x", "y"].forEach((axis, n) => node.setAttribute(`${kind}${axis}${end}`, place[n]));
}

// A star with its name: on the side with more room, or above it if it is an end.
function star(kind) {
  const above = kind === "ab-end";
  const text = element("text", { translate: "no" });
  const node = element("g", { class: kind }, element("circle", { r: 4 }), text);
  const draw = (word, [x, y] = [0, 0], lower = 0) => {
    const left = onTheRight(x);
    node.toggleAttribute("data-none", !word);
    node.setAttribute("transform", `translate(${x} ${y})`);
    text.textContent = word;
    text.setAttribute("text-anchor", above ? "middle" : left ? "end" : "start");
    put(text, "", [above ? 0 : left ? -9 : 9, above ? -13 : 5 + lower]);
  };
  return { kind, node, draw };
}

// How far each name goes down or up from its star, so that it is clear of all stars and of the names before it, if it can.
function clear(stars) {
  const taken = stars.map(({ at: [x, y] }) => [x - 5, x + 5, y]);
  return stars.map(({ spot, word, at: [x, y] }) => {
    const wide = LETTER * word.length;
    if (spot.kind === "ab-end") {
      taken.push([x - wide / 2, x + wide / 2, y - HIGH]);
      return 0;
    }
    const [from, to] = [9, 9 + wide].map((far) => (onTheRight(x) ? x - far : x + far));
    const [left, right] = [Math.min(from, to), Math.max(from, to)];
    const free = (at) =>
      taken.every(([start, end, high]) => end < left || start > right || Math.abs(high - at) >= HIGH);
    const shifts = Array.from({ length: 13 }, (_, n) => (n % 2 ? -5 : 5) * Math.ceil(n / 2));
    const lower = shifts.find((shift) => free(y + shift));
    if (lower !== undefined) taken.push([left, right, y + lower]);
    return lower;
  });
}

// What is shown after another comes in its place.
const INSTEAD = { "ab-before": "ab-after", "ab-after": "ab-before" };

// Some words at each kind of star, the most important first: a word has one name; one that has no room is left out, and so
// is one that is far and in a crowd.
function name(groups) {
  const all = groups.flatMap(([spots, words]) =>
    spots.map((spot, i) => ({ spot, word: words[i]?.[0], at: words[i]?.[1] })),
  );
  const once = ({ spot, word }, n) =>
    word && !all.slice(0, n).some((other) => other.word === word && other.spot.kind !== INSTEAD[spot.kind]);
  const named = all.filter(once);
  const lower = clear(named);
  for (const { spot } of all) spot.draw("");
  named.forEach(({ spot, word, at }, i) => {
    if (lower[i] === 0 || (lower[i] && spot.kind !== "ab-far")) spot.draw(word, at, lower[i]);
  });
}

// Words that were written and have no vector stay in their places for as long as the line stays.
function ghosts(root) {
  const [input, line] = [root.querySelector("input[type=text]"), root.querySelector(".ab-line")];
  let [written, of] = [[], null];
  input.addEventListener("change", () => {
    [written, of] = [input.value.split(/[\s.,;:!?"“”]+/).filter(Boolean), null];
  });
  return (tokens) => {
    line.querySelectorAll("s").forEach((ghost) => ghost.remove());
    const words = [...line.querySelectorAll(".ab-word")];
    let known = 0;
    const added = [];
    for (const word of written) {
      if (word.toLowerCase() === tokens[known]?.toLowerCase()) known += 1;
      else added.push([words[known], element("s", { translate: "no" }, word)]);
    }
    if (known === tokens.length) of ??= tokens;
    const shown = of === tokens ? added : [];
    for (const [next, ghost] of shown) next?.before(ghost);
    line.style.setProperty("--ghosts", shown.map(([, ghost]) => ` ${ghost.textContent}`).join("").length);
    return shown.length > 0;
  };
}

// The map of stars. Its point is carried as far as --now says.
function map(some, say, root) {
  const several = (n, kind) => Array.from({ length: n }, () => star(kind));
  const [ends, alone] = [several(2, "ab-end"), several(1, "ab-alone")];
  const [pulls, before, after] = [several(PULL, "ab-pulls"), several(NEAR, "ab-before"), several(NEAR, "ab-after")];
  const around = several(2 * FAR, "ab-far");
  const dust = some.list.map(() => element("circle", { class: "ab-dust", r: 1.5 }));
  const flight = element("line", { class: "ab-flight" });
  const threads = Array.from({ length: MOST }, () => element("line"));
  const point = element("circle", { class: "ab-itself", r: 7 });
  const named = [around, before, after, alone, pulls, ends].flat().map((each) => each.node);
  const sky = element(
    "svg",
    { viewBox: "0 36 372 264", "aria-hidden": "true" },
    ...dust,
    flight,
    ...threads,
    ...named,
    point,
  );
  const text = element("p", { class: "ab-hint" });

  let way = [
    [0, 0],
    [0, 0],
  ];
  const carry = () => {
    const now = root.style.getPropertyValue("--now") || STEPS;
    const carried = Math.min(Math.max(now - STEPS + 1, 0), 1);
    const here = way[0].map((from, n) => from + carried * (way[1][n] - from));
    put(point, "c", here);
    for (const line of [flight, ...threads]) put(line, "", here, 2);
  };
  new MutationObserver(carry).observe(root, { attributeFilter: ["style"] });

  const draw = ({ tokens, place, x, ends: meanings, all, found: { weights, became } }) => {
    const vectors = all ?? some;
    const asks = tokens[place];
    const [first, second] = meanings.map((word) => some.of(word));
    const at = plane(first, second);
    const near = (vector, n, but) =>
      nearestWords(vectors, vector, n + 1)
        .map(([row]) => [vectors.list[row], at(vectors.vector(row))])
        .filter(([word]) => word !== but)
        .slice(0, n);

    way = [at(x[place]), at(became)];
    put(flight, "", way[0], 1);
    dust.forEach((mote, row) => put(mote, "c", at(some.vector(row))));
    threads.forEach((thread, i) => {
      thread.style.setProperty("--w", i === place ? 0 : (weights[i] ?? 0));
      put(thread, "", at(x[i] ?? x[place]), 1);
    });

    const pulling = [...tokens.keys()]
      .filter((i) => i !== place && weights[i] > 1.5 / tokens.length)
      .sort((i, j) => weights[j] - weights[i])
      .slice(0, PULL)
      .map((i) => [tokens[i], at(x[i])]);
    const [was, becomes] = [x[place], became].map((vector) => near(vector, NEAR, asks));
    const far = [near(first, FAR, meanings[0]), near(second, FAR, meanings[1])].flat();
    const fixed = [
      [meanings[0], at(first)],
      [meanings[1], at(second)],
    ];
    name([
      [ends, fixed],
      [alone, [[asks, way[0]]]],
      [pulls, pulling],
      [before, was],
      [after, becomes],
      [around, far],
    ]);

    const [alike, here] = [was, becomes].map((near) => verbatim(listed(near.map(([word]) => word))));
    text.replaceChildren(...fillNodes(say.near, { word: verbatim(asks), alone: alike, here }));
    carry();
  };
  return { parts: [sky, text], draw };
}

const besides = (name) => new URL(name, import.meta.url);

async function open(model, root) {
  const style = element("link", { rel: "stylesheet", href: besides("hero.css") });
  const haunt = ghosts(root);
  const styled = new Promise((done) => style.addEventListener("load", done));
  document.head.append(style);
  const line = (now) => haunt(now.tokens) && now.line.draw(now.found);
  const [bytes, answer] = await Promise.all([asset(model, "stars"), fetch(besides("later.json")), styled]);
  const { parts, draw } = map(wordVectors(bytes), await answer.json(), root);
  const node = root.querySelector(".ab-sky");
  node.append(...parts);
  return (now) => {
    line(now);
    node.toggleAttribute("data-none", !now.ends);
    if (now.ends) draw(now);
  };
}

const opened = new WeakMap();

/**
 * @param {import("../shared/core.js").Model} model
 * @param {Element} root  the widget
 * @param {object} now  what it shows
 */
export async function hero(model, root, now) {
  if (!opened.has(root)) opened.set(root, open(model, root));
  const show = await opened.get(root);
  show(now);
}
