import { asset, body, button, dot, element, follower, heading, networks, number, plus, put, slider, softmax, times, words } from "./core.js";

const TEXT = {
  en: {
    field: "A date, in letters that the network knows",
    tries: "Or try",
    unknown: (letters) => `It has never met ${letters}. It was taught the letters of dates, and no others.`,
    long: (most) => `At most ${most} letters.`,
    step: "Letters written:",
    of: (step, all) => `${step} of ${all}`,
    back: "Back",
    forward: "Forward",
    map: "A row for each letter written, a column for each letter read; the stronger the colour, the more it was looked at. · is a space, ■ the end.",
    written: "Written so far:",
    heads: { looked: "it looked at", share: "weight", next: "it could write", chance: "chance" },
    choosing: (letter, n) => `When it wrote letter ${n}, the ${letter}:`,
    place: (letter, n) => `${letter} (letter ${n})`,
    names: { "·": "space", "■": "end", "?": "not yet" },
    nothing: "Nothing is written yet. Where will it look first?",
  },
};
const TRIES = ["Wednesday, 7 May 1980", "11/12/13", "29.02.2004", "the 4th of July 1976", "31 February 2001", "Monday"];
const [LONGEST, LETTERS, SHOWN] = [29, 11, 3];
const [START, STOP, FIRST] = [1, 2, 3]; // ids of tokens; then come the letters

// ---- the network, as in attnbook/seq2seq.py ----

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

export function dateReader(bytes) {
  const { letters: known, models: { reader: found } } = networks(bytes);
  const letters = [...known];
  const ids = new Map(letters.map((letter, i) => [letter, i + FIRST]));
  const gru = (layer, end) => (x, h) => {
    const [W, U, b, c] = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map((name) => found[`${layer}.${name}${end}`]);
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
    const xs = [...text].map((letter) => ids.get(letter)).concat(STOP).map((id) => found["source.weight"][id]);
    const forth = over(gru("encoder", "_l0"), xs);
    const back = over(gru("encoder", "_l0_reverse"), [...xs].reverse()).reverse();
    const memory = forth.map((h, j) => [...h, ...back[j]]);
    const keys = memory.map((h) => times(found["attention.key.weight"], h));
    const decoder = gru("decoder", "");
    let h = plus(times(found["first.weight"], back[0]), found["first.bias"]).map(Math.tanh);
    const steps = [];
    for (let token = START; steps.length < LETTERS && token !== STOP;) {
      const query = times(found["attention.query.weight"], h);
      const weights = softmax(keys.map((key) => dot(found["attention.score.weight"][0], plus(query, key).map(Math.tanh))));
      const context = memory[0].map((_, i) => dot(weights, memory.map((m) => m[i])));
      h = decoder([...found["target.weight"][token], ...context], h);
      const chances = softmax(plus(times(found["output.weight"], [...h, ...context]), found["output.bias"]));
      token = chances.indexOf(Math.max(...chances));
      steps.push({ token, weights, chances });
    }
    return steps;
  };
  return { knows: (letter) => ids.has(letter), letter: (id) => shown(letters[id - FIRST] ?? ""), read };
}

const shown = (letter) => ({ " ": "·", "": "■" })[letter] ?? letter;

// ---- what is shown of it ----

async function render({ model, el }) {
  const say = words(TEXT, el);
  const life = follower(model);
  const reader = dateReader(await asset(model, "model"));
  let steps;
  life.follow(["text"], () => { steps = reader.read(model.get("text")); });
  const at = () => Math.min(model.get("step"), steps.length);

  const field = element("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const hint = element("p", { class: "ab-hint", role: "status" });
  const take = (text) => {
    hint.textContent = "";
    put(model, { text, step: 0 });
    field.value = text;
  };
  field.addEventListener("change", () => {
    const text = field.value.replace(/\s/g, " ").trim();
    const unknown = [...new Set(text)].filter((letter) => !reader.knows(letter));
    hint.textContent = unknown.length ? say.unknown(unknown.join(" ")) : text.length > LONGEST ? say.long(LONGEST) : "";
    if (!text) field.value = model.get("text");
    else if (!hint.textContent) take(text);
  });
  const tries = TRIES.map((text) => button(text, () => take(text)));
  const turn = (by) => () => put(model, { step: Math.min(Math.max(at() + by, 0), steps.length) });
  const [back, forward] = [button(say.back, turn(-1)), button(say.forward, turn(1))];
  const name = (head, letter) => {
    head.textContent = letter;
    if (say.names[letter]) head.setAttribute("aria-label", say.names[letter]);
    else head.removeAttribute("aria-label");
  };
  const written = element("output", { class: "ab-written" });

  const heads = Array.from({ length: LONGEST + 1 }, () => element("th", { scope: "col" }));
  const lines = Array.from({ length: LETTERS }, () => {
    const [head, cells] = [element("th", { scope: "row" }), heads.map(() => element("td", { class: "ab-weight" }))];
    return { head, cells, node: element("tr", {}, head, ...cells) };
  });
  const map = element("table", { class: "ab-map" }, element("caption", {}, say.map),
    element("thead", {}, element("tr", {}, element("td"), ...heads)), element("tbody", {}, ...lines.map(({ node }) => node)));

  const list = (looks, share) => {
    const rows = Array.from({ length: SHOWN }, () => {
      const [name, value, bar] = [element("th", { scope: "row" }), element("td", { class: "ab-number" }), element("i")];
      return { name, value, bar, node: element("tr", {}, name, value, element("td", { class: "ab-bar", "aria-hidden": "true" }, bar)) };
    });
    return { rows, node: element("table", {}, heading([looks, share, ""]), element("tbody", {}, ...rows.map(({ node }) => node))) };
  };
  const [looked, could] = [list(say.heads.looked, say.heads.share), list(say.heads.next, say.heads.chance)];
  const now = element("p", { class: "ab-now" });
  const details = element("div", { class: "ab-lists" }, looked.node, could.node);
  body(el, "player",
    element("div", { class: "ab-controls" }, element("div", { class: "ab-control ab-text" }, element("label", {}, say.field, field))),
    element("div", { class: "ab-controls ab-tries" }, element("span", { class: "ab-hint" }, say.tries), ...tries),
    element("div", { class: "ab-controls" }, back, forward,
      slider(model, life, { trait: "step", label: say.step, values: () => Array.from({ length: steps.length + 1 }, (_, i) => i), with: ["text"], show: () => say.of(at(), steps.length) })), hint,
    element("p", {}, element("span", { class: "ab-hint" }, `${say.written} `), written), map, now, details);

  life.follow(["text"], () => {
    field.value = model.get("text");
    hint.textContent = "";
    const letters = [...field.value, ""];
    heads.forEach((head, j) => {
      head.hidden = j >= letters.length;
      if (!head.hidden) name(head, shown(letters[j]));
    });
    lines.forEach(({ node, cells }, i) => {
      node.hidden = i >= steps.length;
      cells.forEach((cell, j) => { cell.hidden = j >= letters.length; });
    });
  });
  life.follow(["text", "step"], () => {
    const step = at();
    written.textContent = steps.slice(0, step).map(({ token }) => reader.letter(token)).join("");
    lines.forEach(({ head, cells, node }, i) => {
      name(head, i < step ? reader.letter(steps[i].token) : "?");
      node.classList.toggle("ab-here", i === step - 1);
      cells.forEach((cell, j) => {
        const weight = i < step ? steps[i].weights[j] ?? 0 : 0;
        cell.style.setProperty("--w", weight);
        cell.textContent = i < step && !cell.hidden ? number(weight) : "";
      });
    });
    details.hidden = step === 0;
    now.textContent = step ? say.choosing(reader.letter(steps[step - 1].token), step) : say.nothing;
    if (!step) return;
    const { weights, chances } = steps[step - 1];
    const looks = (j) => say.place(heads[j].textContent, j + 1);
    const writes = (i) => reader.letter(i + STOP); // what comes before is never written
    for (const [{ rows }, numbers, name] of [[looked, weights, looks], [could, chances.slice(STOP), writes]]) {
      const top = numbers.map((x, i) => [x, i]).sort(([x], [y]) => y - x).slice(0, SHOWN);
      rows.forEach(({ name: head, value, bar, node }, n) => {
        node.hidden = n >= top.length;
        if (node.hidden) return;
        head.textContent = name(top[n][1]);
        value.textContent = number(top[n][0]);
        bar.style.setProperty("--w", top[n][0]);
      });
    }
  });
  return life.end;
}

export default { render };
