import { asset, body, dot, element, follower, plus, softmax, times, words } from "../shared/core.js";
import { networks } from "../shared/stored.js";
import {
  LETTERS,
  LONGEST,
  START,
  STOP,
  alphabet,
  letterMap,
  likeliest,
  ranking,
  shown,
  writingSteps,
  textField,
  writing,
} from "../shared/letters.js";

const TEXT = {
  en: {
    map: "A row for each letter written, a column for each letter read; the stronger the colour, the more it was looked at. · is a space, ■ the end.",
    heads: { looked: ["it looked at", "weight"], next: ["it could write", "chance"] },
    choosing: (letter, n) => `When it wrote letter ${n}, the ${letter}:`,
    place: (letter, n) => `${letter} (letter ${n})`,
    nothing: "Nothing is written yet. Where will it look first?",
  },
};
const SHOWN = 3;

// ---- the network, as in attnbook/seq2seq.py ----

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

export function dateReader(bytes) {
  const {
    letters: known,
    models: { reader: found },
  } = networks(bytes);
  const letters = alphabet(known);
  const gru = (layer, end) => (x, h) => {
    const [W, U, b, c] = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map(
      (name) => found[`${layer}.${name}${end}`],
    );
    const [input, state] = [plus(times(W, x), b), plus(times(U, h), c)]; // for both gates, then for what is new
    const D = h.length;
    return h.map((old, i) => {
      const [reset, keep] = [0, D].map((gate) => sigmoid(input[gate + i] + state[gate + i]));
      return (1 - keep) * Math.tanh(input[2 * D + i] + reset * state[2 * D + i]) + keep * old;
    });
  };
  const over = (cell, xs) => {
    let h = found["first.bias"].map(() => 0);
    return xs.map((x) => (h = cell(x, h)));
  };

  // For each letter written: which, the weights of the letters read, and the chance of every token.
  const read = (text) => {
    const xs = letters.ids(text).map((id) => found["source.weight"][id]);
    const forth = over(gru("encoder", "_l0"), xs);
    const back = over(gru("encoder", "_l0_reverse"), [...xs].reverse()).reverse();
    const memory = forth.map((h, j) => [...h, ...back[j]]);
    const keys = memory.map((h) => times(found["attention.key.weight"], h));
    const decoder = gru("decoder", "");
    let h = plus(times(found["first.weight"], back[0]), found["first.bias"]).map(Math.tanh);
    const steps = [];
    for (let token = START; steps.length < LETTERS && token !== STOP;) {
      const query = times(found["attention.query.weight"], h);
      const weights = softmax(
        keys.map((key) => dot(found["attention.score.weight"][0], plus(query, key).map(Math.tanh))),
      );
      const context = memory[0].map((_, i) =>
        dot(
          weights,
          memory.map((m) => m[i]),
        ),
      );
      h = decoder([...found["target.weight"][token], ...context], h);
      const chances = softmax(plus(times(found["output.weight"], [...h, ...context]), found["output.bias"]));
      token = likeliest(chances);
      steps.push({ token, weights, chances });
    }
    return steps;
  };
  return { ...letters, read };
}

// ---- what is shown of it ----

async function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const reader = dateReader(await asset(model, "model"));
  let steps;
  subscriptions.follow(["text"], () => {
    steps = reader.read(model.get("text"));
  });
  const { at, node: turn } = writingSteps(model, subscriptions, el, () => steps.length, ["text"]);
  const { node: line, output: written } = writing(el);
  const map = letterMap(el, say.map, { rows: LETTERS, columns: LONGEST + 1 });
  const [looked, could] = [say.heads.looked, say.heads.next].map((titles) => ranking(el, titles, SHOWN));
  const now = element("p", { class: "ab-now" });
  const details = element("div", { class: "ab-lists" }, looked.node, could.node);
  const [field, tries, hint] = textField(model, subscriptions, el, { ...reader, changes: { step: 0 } });
  body(el, "letters ab-player", field, tries, turn, hint, line, map.node, now, details);

  subscriptions.follow(["text", "step"], () => {
    const step = at();
    const letters = steps.map(({ token }, i) => (i < step ? reader.letter(token) : "?"));
    const read = [...model.get("text"), ""].map(shown);
    written.textContent = letters.slice(0, step).join("");
    map.draw({
      rows: letters,
      columns: read,
      weights: steps.slice(0, step).map(({ weights }) => weights),
      here: step - 1,
    });
    details.hidden = step === 0;
    now.textContent = step ? say.choosing(letters[step - 1], step) : say.nothing;
    if (!step) return;
    const { weights, chances } = steps[step - 1];
    looked.draw(weights, (j) => say.place(read[j], j + 1));
    could.draw(chances.slice(STOP), (i) => reader.letter(i + STOP));
  });
  return subscriptions.end;
}

export default { render };
