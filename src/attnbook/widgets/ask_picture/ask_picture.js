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
import { folded } from "../shared/folded.js";
import { meanOf } from "../shared/network.js";
import { PATCHES, asker } from "./asker.js";

const [SIDE, BYTES] = [8, 65]; // of a digit: pixels in a row, and bytes with the label

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const [{ ask, about }, held] = await Promise.all([
    asset(model, "model").then(asker),
    asset(model, "held_out").then((bytes) => new Uint8Array(bytes)),
  ]);
  const { questions, wrong, sure, most, apart, heads, steps } = about;
  const all = held.length / BYTES;
  const digit = (n) => held.subarray(BYTES * (n % all), BYTES * ((n % all) + 1));
  const truths = {
    "the left digit": (left) => left,
    "the right digit": (_, right) => right,
    "the larger digit": Math.max,
    "the smaller digit": Math.min,
    "the sum": (left, right) => left + right,
  };

  const patches = PATCHES.map(() => {
    const pixels = Array.from({ length: 4 }, () => element("i"));
    const value = element("b");
    return { pixels, value, node: element("span", {}, ...pixels, value) };
  });
  const picture = element("div", { class: "ab-pair", role: "img" }, ...patches.map(({ node }) => node));
  const halves = ["left", "right"].map((side) => ({ side, node: element("span") }));
  const columns = Array.from({ length: 19 }, (_, n) => {
    const bar = element("i");
    return { bar, node: element("li", { translate: "no" }, bar, element("b", {}, whole(n))) };
  });
  const verdict = element("p", { class: "ab-verdict", role: "status" });
  const judged = element("p", { class: "ab-judged", role: "status" });
  const score = element("p", { class: "ab-hint" });
  const asking = Array.from({ length: 4 }, (_, i) => (i ? element("bdi") : say.words));
  const show = (n) => update(model, { picture: ((n + all - 1) % all) + 1, swapped: false });
  const swap = button(say.swap, () => update(model, { swapped: !model.get("swapped") }));
  const mistake = () => {
    const places = wrong[model.get("question")];
    show(places.find((n) => n > model.get("picture")) ?? places[0]);
  };
  const numbered = Object.fromEntries(Array.from({ length: heads }, (_, h) => [h + 1, whole(h + 1)]));
  const data = (text) => element("bdi", { translate: "no" }, text);
  const choose = (trait, label, options) => choice(model, subscriptions, { trait, label, options });

  body(
    el,
    "ask",
    choose("question", say.question, Object.fromEntries(Object.keys(questions).map((text) => [text, data(text)]))),
    element(
      "div",
      {},
      picture,
      element("p", { class: "ab-halves" }, ...halves.map(({ node }) => node)),
      element(
        "div",
        { class: "ab-controls" },
        button(say.previous, () => show(model.get("picture") - 1)),
        button(say.next, () => show(model.get("picture") + 1)),
        swap,
        button(say.mistake, mistake),
      ),
    ),
    element("div", {}, verdict, judged, element("ol", { "aria-label": say.bars }, ...columns.map(({ node }) => node))),
    folded(
      say.who,
      element(
        "div",
        { class: "ab-controls" },
        choose("word", say.word, asking),
        choose("head", say.head, { 0: say.heads, ...numbered }),
      ),
    ),
    score,
  );

  const traits = ["picture", "swapped", "question", "word", "head"];
  subscriptions.follow(traits, () => {
    const [place, swapped, question, word, head] = traits.map((name) => model.get(name));
    const pair = [digit(place - 1), digit(place - 1 + apart)];
    if (swapped) pair.reverse();
    const image = Array.from({ length: 2 * SIDE * SIDE }, (_, at) => {
      const [row, column] = [Math.floor(at / (2 * SIDE)), at % (2 * SIDE)];
      return pair[Math.floor(column / SIDE)][SIDE * row + (column % SIDE)] / 16;
    });
    const { scores, looks } = ask(image, questions[question]);
    const chances = softmax(scores);
    const [first, second] = [...chances.keys()].sort((a, b) => chances[b] - chances[a]);
    const rows = word ? [looks[word - 1]] : looks;
    const shown = meanOf(rows.map((row) => (head ? row[head - 1] : meanOf(row))));
    const largest = largestOf(shown);
    const onLeft = shown.reduce((sum, weight, p) => sum + (p % SIDE < SIDE / 2 ? weight : 0), 0);
    const shares = { left: number(100 * onLeft, 0), right: number(100 - 100 * onLeft, 0) };

    patches.forEach(({ pixels, value, node }, p) => {
      pixels.forEach((pixel, i) => pixel.style.setProperty("--ink", image[PATCHES[p][i]]));
      value.textContent = fill(say.share, { x: number(100 * shown[p], 0) });
      node.style.setProperty("--glow", shown[p] / largest);
      node.dataset.weight = number(shown[p], 5);
      node.toggleAttribute("data-dim", shown[p] < 0.02);
    });
    picture.setAttribute("aria-label", fill(say.picture, shares));
    for (const { side, node } of halves) node.textContent = fill(say[side], { share: shares[side] });
    questions[question].forEach((id, i) => {
      asking[i + 1].textContent = id ? question.split(" ")[i] : say.blank;
      asking[i + 1].setAttribute("translate", id ? "no" : "yes");
    });
    swap.ariaPressed = swapped;

    const [left, right] = pair.map((bytes) => bytes[BYTES - 1]);
    const truth = truths[question](left, right);
    columns.forEach(({ bar, node }, answer) => {
      bar.style.setProperty("--w", chances[answer]);
      node.dataset.chance = number(chances[answer], 5);
      node.classList.toggle("ab-first", answer === first);
      node.classList.toggle("ab-truth", answer === truth);
    });
    const percent = (chance) => (chance > 0.99 ? say.over : chance < 0.01 ? say.under : number(100 * chance, 0));
    verdict.textContent = fill(say.verdict, {
      first: whole(first),
      sure: percent(chances[first]),
      second: whole(second),
      chance: percent(chances[second]),
    });
    judged.textContent = fill(first === truth ? say.agrees : say.differs, {
      left: whole(left),
      right: whole(right),
      truth: whole(truth),
    });
    judged.classList.toggle("ab-wrong", first !== truth);
    const n = all - wrong[question].length;
    const told = fill(say.score, {
      all: whole(all),
      n: whole(n),
      share: number((100 * n) / all, 1),
      sure: number(100 * sure[question], 0),
    });
    const unlearned = fill(say.unlearned, { steps: whole(steps), most: number(100 * most[question], 0) });
    score.textContent = n < all / 2 ? `${told} ${unlearned}` : told;
  });
  return subscriptions.end;
}

export default { render };
