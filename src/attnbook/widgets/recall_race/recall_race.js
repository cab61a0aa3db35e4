import {
  body,
  choice,
  dot,
  element,
  fill,
  follower,
  length,
  listed,
  number,
  softmax,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { slider } from "../shared/slider.js";
import { normals, uniform } from "../shared/random.js";

const [MOST, WIDEST, DRAWS] = [32, 32, 16];
const LETTERS = [..."ABCDEFGH"];
const [SHARP, KEPT] = [16, 0.9]; // softmax multiplies its scores, decay keeps so much of the state at each step
const KINDS = ["softmax", "linear", "decay", "delta"];
const PAIRS = Array.from({ length: MOST }, (_, i) => i + 1);

const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

// The pairs of a draw: directions of a width, each with the number of a letter.
function pairs(draw, width) {
  const drawn = normals(draw, MOST * WIDEST);
  return PAIRS.map((_, i) => {
    const key = drawn.slice(i * WIDEST, i * WIDEST + width);
    const long = length(key);
    return { key: key.map((x) => x / long), letter: Math.floor(LETTERS.length * uniform(1000 + draw, i)) };
  });
}

// A memory: what one writes to it, and what it answers to a key, a number for each letter.
const cache = () => {
  const rows = [];
  const weights = (key) => softmax(rows.map((row) => SHARP * dot(row.key, key)));
  return {
    write: (pair) => rows.push(pair),
    weights,
    read(key) {
      const answer = LETTERS.map(() => 0);
      weights(key).forEach((weight, i) => (answer[rows[i].letter] += weight));
      return answer;
    },
  };
};

const state = (kept, mends) => (width) => {
  const columns = LETTERS.map(() => new Float64Array(width)); // of each letter, a number for each feature of the keys
  return {
    columns,
    write({ key, letter }) {
      columns.forEach((column, i) => {
        const more = (i === letter) - (mends ? dot(column, key) : 0);
        for (let k = 0; k < width; k++) column[k] = kept * column[k] + key[k] * more;
      });
    },
    read: (key) => columns.map((column) => dot(column, key)),
  };
};

const MEMORIES = { softmax: cache, linear: state(1, false), decay: state(KEPT, false), delta: state(1, true) };

// After 1, 2, … pairs the share of them that each kind still knows.
function race(width) {
  const shares = Object.fromEntries(KINDS.map((kind) => [kind, PAIRS.map(() => 0)]));
  for (let draw = 0; draw < DRAWS; draw++) {
    const told = pairs(draw, width);
    for (const kind of KINDS) {
      const memory = MEMORIES[kind](width);
      told.forEach((pair, n) => {
        memory.write(pair);
        const known = told.slice(0, n + 1).filter(({ key, letter }) => largest(memory.read(key)) === letter);
        shares[kind][n] += known.length / (n + 1) / DRAWS;
      });
    }
  }
  return shares;
}

// What a memory holds and answers.
function panel(kind, say) {
  const wide = kind === "softmax" ? MOST + 1 : WIDEST;
  const many = kind === "softmax" ? 1 : LETTERS.length; // cells in a column
  const cells = Array.from({ length: wide * many }, (_, i) =>
    element("rect", { x: Math.floor(i / many), y: i % many, width: 0.92, height: 0.9 }),
  );
  const what = fill(say.memory, { what: say.columns[kind] ?? say.columns.state });
  const svg = element("svg", { preserveAspectRatio: "none", role: "img", "aria-label": what }, ...cells);
  const bars = LETTERS.map((letter) => element("i", {}, verbatim(letter)));
  const [holds, said] = [element("small"), element("p", { class: "ab-said" })];
  const node = element(
    "div",
    { class: `ab-one ab-${kind}` },
    element("h4", {}, say.kinds[kind], " ", holds),
    svg,
    element("div", { class: "ab-bars" }, ...bars),
    said,
  );
  const light = (cell, x, most) => {
    cell.style.setProperty("--w", Math.min(Math.abs(x) / most, 1).toFixed(3));
    cell.classList.toggle("ab-less", x < 0);
  };
  const draw = ({ memory, told, width, asked, right }) => {
    const columns = kind === "softmax" ? told.length : width;
    svg.setAttribute("viewBox", `0 0 ${columns} ${LETTERS.length}`);
    if (kind === "softmax")
      memory.weights(asked).forEach((weight, i) => {
        cells[i].setAttribute("y", told[i].letter);
        light(cells[i], 0.15 + weight, 1.15);
      });
    else {
      const most = Math.max(...memory.columns.flatMap((column) => [...column].map(Math.abs)));
      memory.columns.forEach((column, i) => column.forEach((x, k) => light(cells[k * many + i], x, most)));
    }
    const answer = memory.read(asked);
    const top = Math.max(...answer, 1e-9);
    bars.forEach((bar, i) => {
      bar.style.setProperty("--w", (Math.max(answer[i], 0) / top).toFixed(3));
      bar.classList.toggle("ab-right", i === right);
    });
    const best = largest(answer);
    const gaps = { letter: LETTERS[best], right: LETTERS[right] };
    said.textContent = fill(best === right ? say.right : say.wrong, gaps);
    node.classList.toggle("ab-wrong", best !== right);
    const rows = told.length * (width + LETTERS.length);
    holds.textContent = fill(say.holds, { n: whole(kind === "softmax" ? rows : width * LETTERS.length) });
  };
  return { node, draw };
}

// Which pairs each memory still knows: a strip of lamps.
function strips(model, say) {
  const lamps = KINDS.map(() => PAIRS.map((i) => element("i", { "data-pair": i })));
  const counts = KINDS.map(() => element("span", { class: "ab-number" }));
  const rows = KINDS.map((kind, i) =>
    element(
      "div",
      { class: `ab-strip ab-${kind}` },
      element("b", {}, say.kinds[kind]),
      counts[i],
      element("span", { class: "ab-lamps" }, ...lamps[i]),
    ),
  );
  const node = element("div", { class: "ab-strips" }, element("p", { class: "ab-hint" }, say.knows), ...rows);
  node.addEventListener("click", ({ target }) => {
    const pair = Number(target.dataset.pair);
    if (pair && pair <= model.get("written")) update(model, { asked: pair });
  });
  const draw = (i, known, asked) => {
    lamps[i].forEach((lamp, n) => {
      lamp.className = n >= known.length ? "ab-blank" : known[n] ? "ab-known" : "ab-lost";
      lamp.classList.toggle("ab-asked", n === asked);
    });
    counts[i].textContent = whole(known.filter(Boolean).length);
  };
  return { node, draw };
}

function curves(say) {
  const lines = KINDS.map((kind) => element("path", { class: `ab-${kind}` }));
  const now = element("line", { class: "ab-now", y1: 0, y2: 100 });
  const dots = KINDS.map((kind) => element("circle", { class: `ab-${kind}`, r: 4 }));
  const svg = element("svg", { viewBox: "-6 -8 322 116", role: "img" }, now, ...lines, ...dots);
  const node = element("div", { class: "ab-curves" }, element("p", { class: "ab-hint" }, say.race), svg);
  const place = (n, share) => [10 * n, (100 - 100 * share).toFixed(2)];
  const draw = (shares, written) => {
    KINDS.forEach((kind, i) => {
      lines[i].setAttribute("d", `M${shares[kind].map((share, n) => place(n, share).join(" ")).join("L")}`);
      const [x, y] = place(written - 1, shares[kind][written - 1]);
      dots[i].setAttribute("cx", x);
      dots[i].setAttribute("cy", y);
    });
    for (const end of ["x1", "x2"]) now.setAttribute(end, 10 * (written - 1));
    const said = KINDS.map((kind) => fill(say.share, { kind: say.kinds[kind], x: number(shares[kind][written - 1]) }));
    svg.setAttribute("aria-label", fill(say.shares, { n: whole(written), shares: listed(said) }));
  };
  return { node, draw };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const panels = KINDS.map((kind) => panel(kind, say));
  const [lamps, lines] = [strips(model, say), curves(say)];
  let shares;
  const root = body(
    el,
    "recall",
    element(
      "div",
      { class: "ab-memories ab-pin" },
      slider(model, subscriptions, { trait: "written", label: say.written, values: PAIRS }),
      lamps.node,
    ),
    element(
      "div",
      { class: "ab-answers" },
      slider(model, subscriptions, {
        trait: "asked",
        label: say.asked,
        values: () => PAIRS.slice(0, model.get("written")),
        with: ["written"],
        show: (pair) => whole(Math.min(pair, model.get("written"))),
      }),
      element("p", { class: "ab-hint" }, say.below),
      element("div", { class: "ab-four", role: "status" }, ...panels.map(({ node }) => node)),
    ),
    folded(
      say.wider,
      choice(model, subscriptions, {
        trait: "width",
        label: say.width,
        options: Object.fromEntries([4, 8, 16, 32].map((width) => [width, whole(width)])),
      }),
      lines.node,
    ),
    folded(say.again, choice(model, subscriptions, { trait: "first", label: say.first, options: say.times })),
  );

  subscriptions.follow(["width"], () => {
    shares = race(model.get("width"));
  });
  subscriptions.follow(["written", "width", "asked", "first"], () => {
    const [written, width] = [model.get("written"), model.get("width")];
    const asking = pairs(0, width).slice(0, written);
    const twice = model.get("first") === "twice";
    const again = { key: asking[0].key, letter: (asking[0].letter + 1) % LETTERS.length };
    const told = twice ? [...asking, again] : asking;
    const right = asking.map(({ letter }, n) => (twice && n === 0 ? again.letter : letter));
    const at = Math.min(model.get("asked"), written) - 1;
    root.style.setProperty("--written", written);
    KINDS.forEach((kind, i) => {
      const memory = MEMORIES[kind](width);
      told.forEach(memory.write);
      panels[i].draw({ memory, told, width, asked: asking[at].key, right: right[at] });
      const known = asking.map(({ key }, n) => largest(memory.read(key)) === right[n]);
      lamps.draw(i, known, at);
    });
    lines.draw(shares, written);
  });
  return subscriptions.end;
}

export default { render };
