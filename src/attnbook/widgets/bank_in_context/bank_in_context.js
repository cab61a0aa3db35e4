import {
  asset,
  body,
  button,
  choice,
  dot,
  element,
  fill,
  fillNodes,
  follower,
  headed,
  length,
  listed,
  number,
  softmax,
  times,
  update,
  verbatim,
  words,
} from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { beams } from "../shared/beams.js";
import { motion } from "../shared/motion.js";
import { nearestWords } from "../shared/nearest.js";
import { wordVectors } from "../shared/lexicon.js";
import { stored } from "../shared/stored.js";
import { whenNeeded } from "../shared/needed.js";

// Words in a line, words in a ranking, how far above or below the line is out of it.
const [MOST, SHOWN, FAR] = [14, 5, 30];

// The sentence, and what can be done to it: wherever the word that asks goes, it asks on.
function sentence(model, full) {
  const now = () => [model.get("tokens"), Math.min(model.get("place"), model.get("tokens").length - 1)];
  const edit = (change) => {
    const [tokens, place] = now();
    const line = [...tokens.keys()]; // where each word stood; a new one has not stood anywhere
    change(line);
    if (line.length > MOST) full();
    else if (line.length) {
      const to = line.indexOf(place);
      update(model, { tokens: line.map((from) => tokens[from] ?? from), place: to < 0 ? place : to });
    }
  };
  return {
    now,
    insert: (word) => edit((line) => line.push(word)),
    remove: (from) => edit((line) => line.splice(from, 1)),
    move: (from, to) => edit((line) => line.splice(Math.max(to, 0), 0, ...line.splice(from, 1))),
  };
}

// A word of the line, lit by its weight; the weight and the score stand below it. It can be carried elsewhere: `drop` is
// told where. A press that carries it nowhere is a press.
function litWord(press, drop) {
  const key = element("button", { type: "button", translate: "no" });
  const numbers = [0, 0].map(() => element("span", { class: "ab-number" }));
  const node = element("span", { class: "ab-word" }, key, ...numbers);
  let [from, carried] = [null, false];
  node.addEventListener("pointerdown", (event) => {
    carried = false;
    if (!event.isPrimary || event.button !== 0) return;
    from = event;
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (!node.hasPointerCapture(event.pointerId)) return;
    const [x, y] = [event.clientX - from.clientX, event.clientY - from.clientY];
    carried ||= Math.hypot(x, y) > 8;
    if (carried) node.style.translate = `calc(${x}px / var(--zoom, 1)) calc(${y}px / var(--zoom, 1))`;
  });
  const end = (event) => {
    node.style.translate = "";
    if (carried && event.type === "pointerup") drop(event.clientX, event.clientY);
  };
  for (const ends of ["pointerup", "pointercancel"]) node.addEventListener(ends, end);
  node.addEventListener("click", (event) => {
    if (!carried || event.detail === 0) press(); // 0: by a key
  });
  return { key, numbers, node };
}

// The words of the sentence in a line: one that is pressed asks; each can be moved elsewhere, or out. Marked are those with
// two meanings to choose from.
function wordLine(say, between, { now, move, remove }, ask) {
  const put = (from, to) => (to === null ? remove(from) : move(from, to));
  const line = Array.from({ length: MOST }, (_, i) =>
    litWord(
      () => ask(i),
      (x, y) => put(i, before(x, y, i)),
    ),
  );
  const light = beams();
  const nodes = line.map((each) => each.node);
  const node = element("div", { class: "ab-line", role: "group", "aria-label": say.sentence }, light.node, ...nodes);
  // How many other words of the line stand before a point, or null if it is far from the line.
  const before = (x, y, but) => {
    const box = node.getBoundingClientRect();
    if (y < box.top - FAR || y > box.bottom + FAR) return null;
    const places = nodes.filter((each, i) => i !== but && !each.hidden).map((each) => each.getBoundingClientRect());
    const inside = Math.max(y, places[0]?.top);
    return places.filter((at) => at.bottom < inside || (at.top <= inside && (at.left + at.right) / 2 < x)).length;
  };
  line.forEach(({ key }, i) => {
    const goes = { ArrowLeft: i - 1, ArrowRight: i + 1, Delete: null };
    key.addEventListener("keydown", (event) => {
      if (!(event.key in goes)) return;
      put(i, goes[event.key]);
      line[goes[event.key] ?? i]?.key.focus();
    });
  });
  const draw = ({ weights = [], scores = [] }) => {
    const [tokens, place] = now();
    node.style.setProperty("--letters", tokens.join(" ").length);
    line.forEach(({ node: word, key, numbers }, i) => {
      word.hidden = i >= tokens.length;
      key.textContent = tokens[i] ?? "";
      key.ariaDescription = tokens[i] in between ? say.two : null;
      key.setAttribute("aria-pressed", i === place);
      key.classList.toggle("ab-weight", i in weights);
      key.style.setProperty("--full", Math.min(1, 2 * weights[i])); // half of the attention is full light
      [weights, scores].forEach((of, n) => {
        numbers[n].textContent = i in of ? number(of[i]) : "";
      });
    });
    const looks = weights.map((weight, i) => ({ from: line[place].key, to: line[i].key, weight }));
    light.draw(looks.filter(({ from, to }) => to !== from));
  };
  return { node, draw, focus: () => line[now()[1]].key.focus() };
}

const cosine = (a, b) => dot(a, b) / (length(a) * length(b));

// Between two meanings, where what a word becomes lies.
function needleOf(say) {
  const [first, second] = [0, 0].map(() => verbatim(""));
  const value = element("span", { class: "ab-number" });
  const node = element("div", { class: "ab-needle", role: "img" }, first, element("i", {}, value), second);
  // From where the word alone lies; says where what it becomes does.
  const draw = (word, ends, vectors, became, alone) => {
    node.toggleAttribute("data-none", !ends);
    if (!ends) return "";
    const [a, b] = ends.map(vectors.of);
    const foot = (x) => 0.5 + (cosine(x, b) - cosine(x, a)) / (2 - 2 * cosine(a, b));
    const [from, at] = [alone, became].map((x) => Math.min(Math.max(foot(x), 0), 1));
    [first.textContent, second.textContent] = ends;
    value.textContent = number(at);
    node.style.setProperty("--from", from);
    node.style.setProperty("--at", at);
    node.setAttribute("aria-label", fill(say.needle, { word, first: ends[0], second: ends[1], at: number(at) }));
    return number(at);
  };
  return { node, draw };
}

// The scores and weights of the words x for the one that asks, and what it becomes: by the vectors themselves, or by what
// a reader's matrices make of them.
function look(x, place, reader) {
  const by = (part) => (reader ? x.map((word) => times(reader[part].weight, word)) : x);
  const [queries, keys, values] = ["query", "key", "value"].map(by);
  const scale = reader ? Math.sqrt(keys[0].length) : 1;
  const scores = keys.map((key) => dot(key, queries[place]) / scale);
  const weights = softmax(scores);
  const column = (_, n) => values.map((value) => value[n]);
  return { scores, weights, became: times(Array.from(values[0], column), weights) };
}

// The words nearest to a vector, with their cosines: the nearer, the brighter.
function ranking() {
  const node = element("p");
  const near = (word, closeness) =>
    element(
      "span",
      { class: "ab-near", style: `--w:${closeness}` },
      verbatim(word),
      element("span", { class: "ab-number" }, number(closeness)),
    );
  const draw = (text, vectors, to) => {
    const nearest = nearestWords(vectors, to, SHOWN).map(([row, closeness]) => near(vectors.list[row], closeness));
    node.replaceChildren(element("span", { class: "ab-hint" }, text), ...nearest);
  };
  return { node, draw };
}

// A field for a sentence of one's own, of words that have a vector.
function ownWords(model, say, hint, between, knowing) {
  const input = element("input", {
    type: "text",
    "aria-label": say.own,
    placeholder: say.own,
    autocomplete: "off",
    spellcheck: "false",
  });
  input.addEventListener("change", async () => {
    const said = input.value.split(/[\s.,;:!?"“”]+/).filter(Boolean);
    const { list, row } = await knowing(said);
    const known = said.flatMap((word) => list[row(word)] ?? []);
    const tokens = known.slice(0, MOST);
    const asks = tokens.findIndex((word) => between[word]);
    if (tokens[0]) update(model, { tokens, place: Math.max(asks, 0) });
    const words = listed(said.filter((word) => row(word) === undefined));
    if (known.length > MOST) hint.textContent = fill(say.full, { most: MOST });
    if (words) hint.textContent = fill(say.strange, { words });
  });
  return element("div", { class: "ab-control" }, input);
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [sentences, matrices] = await Promise.all(["words", "learned"].map((name) => asset(model, name)));
  const [{ tries, tray, between }, few] = [headed(sentences), wordVectors(sentences)];
  const { reader } = stored(matrices).parts;
  const tables = model.get("tables");
  const hint = element("p", { class: "ab-hint", role: "status" });
  const fetched = whenNeeded(model, "vectors", wordVectors);
  let all = null;
  const fetchAll = async () => (all = await fetched(root, hint, say.lexicon.fetching));
  const enough = (tokens) => (tokens.some((word) => few.row(word) === undefined) ? all : few);

  const text = sentence(model, () => {
    hint.textContent = fill(say.full, { most: MOST });
  });
  const film = motion(say.motion, say.happens);
  const line = wordLine(say, between, text, (place) => {
    update(model, { place });
    film.play();
  });
  const needle = needleOf(say);
  const ask = button("", () => {
    update(model, { asked: true });
    film.play();
    line.focus(); // this button is gone now
  });
  const another = button(say.change, () => {
    const lines = Object.keys(tries);
    const next = lines[(lines.indexOf(text.now()[0].join(" ")) + 1) % lines.length];
    update(model, { tokens: next.split(" "), place: tries[next] });
  });
  const own = ownWords(model, say, hint, between, (said) => enough(said) ?? fetchAll());
  const [alone, became] = [ranking(), ranking()];
  const below = element("span", {}, say.below);
  const results = element("div", { class: "ab-results" }, alone.node, became.node, ...(tables ? [ask] : []));
  const row = (...parts) => element("div", { class: "ab-controls ab-tries" }, ...parts);
  const bench = () => [
    results,
    choice(model, subscriptions, { trait: "matrices", label: say.matrices, options: say.made }),
    element("p", { class: "ab-hint" }, say.how, " ", below),
    folded(say.others, row(...tray.map((word) => button(verbatim(word), () => text.insert(word)))), row(another, own)),
  ];
  const root = body(
    el,
    tables ? "bank" : "bank ab-hero",
    line.node,
    element("div", { class: "ab-means" }, needle.node, ...(tables ? [] : [ask]), film.node),
    ...(tables ? bench() : []),
    ...(tables ? [hint] : [row(another, own), hint, element("div", { class: "ab-sky" })]),
  );

  const draw = () => {
    const [tokens, place] = text.now();
    const [asked, vectors] = [model.get("asked"), enough(tokens)];
    const learned = model.get("matrices") === "learned";
    const untaught = asked && learned && !between[tokens[place]];
    hint.replaceChildren(...(untaught ? fillNodes(say.taught, { words: verbatim(listed(Object.keys(between))) }) : []));
    ask.textContent = fill(say.ask, { word: tokens[place] });
    ask.hidden = asked;
    const x = vectors && tokens.map(vectors.of);
    const found = asked && x ? look(x, place, learned && reader) : {};
    line.draw(found);
    film.node.hidden = !asked;
    below.style.visibility = asked ? "" : "hidden";
    // The meanings of the word itself, or else of the one that it looks at most.
    const looks = (i) => (i === place ? 2 : found.weights?.[i]);
    const [most] = [...tokens.keys()].filter((i) => between[tokens[i]]).sort((i, j) => looks(j) - looks(i));
    // Until it is asked, a word lies where it does alone.
    const ends = asked ? found.became && between[tokens[most]] : tables && x && between[tokens[place]];
    const at = needle.draw(tokens[place], ends, vectors, found.became ?? x?.[place], x?.[place]);
    if (!asked || !all) for (const each of [alone, became]) each.node.replaceChildren();
    if (!asked && ends)
      alone.node.append(element("span", { class: "ab-hint" }, fill(say.which, { word: tokens[place], at })));
    if (asked && all) {
      alone.draw(fill(say.alone, { word: tokens[place] }), all, x[place]);
      became.draw(say.became, all, found.became);
    }
    if (asked && !(tables ? all : vectors)) fetchAll().then(draw);
    if (!tables) {
      const now = { tokens, place, x, ends, all, line, found };
      const besides = import(new URL("hero.js", import.meta.url)); // a page has it
      besides.then(({ hero }) => hero(model, root, now));
    }
  };
  subscriptions.follow(["tokens", "place", "matrices", "asked"], draw);
  if (!tables) film.play();
  return subscriptions.end;
}

export default { render };
