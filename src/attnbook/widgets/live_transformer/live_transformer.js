import {
  asset,
  body,
  choice,
  dot,
  element,
  follower,
  number,
  plus,
  update,
  softmax,
  times,
  words,
} from "../shared/core.js";
import { networks } from "../shared/stored.js";
import { layerNorm, sinusoid, split } from "../shared/layers.js";
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
    where: "Show the attention of",
    kinds: { encoder: "the encoder", decoder: "the decoder, to itself", cross: "the decoder, to the source" },
    head: "Head",
    heads: { 0: "mean", 1: "1", 2: "2", 3: "3", 4: "4" },
    maps: {
      encoder: "A row for each letter read, which looks at all letters read. · is a space, ■ the end.",
      decoder: "A row for each letter written, which looks at those before it. ▸ is the start, ■ the end.",
      cross: "A row for each letter written, a column for each letter read. · is a space, ■ the end.",
    },
    next: ["it could write", "chance"],
    wrote: (letter, n, chance, loss) => `Letter ${n}, the ${letter}: chance ${chance}, loss ${loss}.`,
    yours: (letter) => `You made it write this. It would have written ${letter}.`,
    hint: "Press another letter to write it instead, and see how the network goes on.",
    nothing: "Nothing is written yet. What will it write first?",
  },
};
const SHOWN = 5;

// ---- the network, as in attnbook/transformer.py: one layer each, LayerNorm first ----

export function dateTransformer(bytes) {
  const {
    letters: known,
    heads,
    models: { writer: found },
  } = networks(bytes);
  const letters = alphabet(known);
  const table = found["source.embedding.weight"];
  const D = table[0].length;
  const linear = (name, x) => plus(times(found[`${name}.weight`], x), found[`${name}.bias`]);
  const norm = (name, x) =>
    layerNorm(x).map((number, i) => number * found[`${name}.weight`][i] + found[`${name}.bias`][i]);
  const embed = (id, position) =>
    plus(
      table[id].map((x) => x * Math.sqrt(D)),
      sinusoid(position, D),
    );
  const per = (x) => split(x, heads);
  // Keys and values once added are kept for all who ask later.
  const attention = (name) => {
    const [keys, values] = [[], []];
    return {
      add(x) {
        keys.push(per(linear(`${name}.key`, x)));
        values.push(per(linear(`${name}.value`, x)));
      },
      look(x) {
        const weights = per(linear(`${name}.query`, x)).map((q, h) =>
          softmax(keys.map((key) => dot(q, key[h]) / Math.sqrt(q.length))),
        );
        const joined = weights.flatMap((row, h) =>
          values[0][h].map((_, i) =>
            dot(
              row,
              values.map((value) => value[h][i]),
            ),
          ),
        );
        return { weights, output: linear(`${name}.output`, joined) };
      },
    };
  };
  const feedForward = (block, x) => {
    const hidden = linear(`${block}.feed_forward.0`, norm(`${block}.feed_forward_norm`, x)).map((number) =>
      Math.max(number, 0),
    );
    return plus(x, linear(`${block}.feed_forward.3`, hidden));
  };

  const encode = (text) => {
    const own = attention("encoder.0.self_attention");
    const xs = letters.ids(text).map(embed);
    const normed = xs.map((x) => norm("encoder.0.self_attention_norm", x));
    normed.forEach(own.add);
    const looks = normed.map(own.look);
    const memory = xs.map((x, i) => norm("encoder.norm", feedForward("encoder.0", plus(x, looks[i].output))));
    return { memory, weights: looks.map((look) => look.weights) };
  };

  // For each letter written: which, which it would be by itself, the chance of every token, the weights of each head.
  const read = (text, forced = []) => {
    const { memory, weights: encoder } = encode(text);
    const instead = new Map(forced);
    const [target, source] = ["decoder.0.self_attention", "decoder.0.cross_attention"].map(attention);
    memory.forEach(source.add);
    const steps = [];
    for (let token = START; steps.length < LETTERS && token !== STOP;) {
      let x = embed(token, steps.length);
      const asks = norm("decoder.0.self_attention_norm", x);
      target.add(asks);
      const before = target.look(asks);
      x = plus(x, before.output);
      const found = source.look(norm("decoder.0.cross_attention_norm", x));
      x = norm("decoder.norm", feedForward("decoder.0", plus(x, found.output)));
      const chances = softmax(times(table, x));
      const own = likeliest(chances);
      token = instead.get(steps.length) ?? own;
      steps.push({ token, own, chances, decoder: before.weights, cross: found.weights });
    }
    return { encoder, steps };
  };
  return { ...letters, read };
}

// ---- what is shown of it ----

const mean = (heads) => heads[0].map((_, j) => heads.reduce((sum, head) => sum + head[j], 0) / heads.length);

async function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const writer = dateTransformer(await asset(model, "model"));
  let run;
  subscriptions.follow(["text", "forced"], () => {
    run = writer.read(model.get("text"), model.get("forced"));
  });
  const { at, node: turn } = writingSteps(model, subscriptions, el, () => run.steps.length, ["text", "forced"]);
  const { node: line, output: written } = writing(el);
  const map = letterMap(el, "", { rows: LONGEST + 1, columns: LONGEST + 1 });
  const force = (token) => {
    const place = at() - 1;
    const kept = model.get("forced").filter(([where]) => where < place);
    update(model, { forced: token === run.steps[place].own ? kept : [...kept, [place, token]] });
  };
  const could = ranking(el, say.next, SHOWN, (i) => force(i + STOP));
  const [now, yours] = [element("p", { class: "ab-now", role: "status" }), element("p", { class: "ab-hint ab-yours" })];
  const details = element("div", { class: "ab-lists" }, now, could.node, yours);
  const [field, tries, hint] = textField(model, subscriptions, el, { ...writer, changes: { step: 0, forced: [] } });
  const controls = element(
    "div",
    { class: "ab-controls" },
    choice(model, subscriptions, { trait: "where", label: say.where, options: say.kinds }),
    choice(model, subscriptions, { trait: "head", label: say.head, options: say.heads }),
  );
  body(
    el,
    "letters ab-live",
    field,
    tries,
    turn,
    hint,
    line,
    element("div", { class: "ab-beside" }, details, controls),
    map.node,
  );

  const letters = () => run.steps.map(({ token }, i) => (i < at() ? writer.letter(token) : "?"));
  subscriptions.follow(["text", "step", "forced"], () => {
    const step = at();
    written.textContent = letters().slice(0, step).join("");
    could.node.hidden = step === 0;
    now.textContent = say.nothing;
    yours.textContent = "";
    if (!step) return;
    const { token, own, chances } = run.steps[step - 1];
    now.textContent = say.wrote(writer.letter(token), step, number(chances[token]), number(-Math.log(chances[token])));
    yours.textContent = token === own ? say.hint : say.yours(writer.letter(own));
    could.draw(chances.slice(STOP), (i) => writer.letter(i + STOP));
    for (const row of could.rows) row.name.setAttribute("aria-pressed", row.index + STOP === token);
  });
  subscriptions.follow(["text", "step", "forced", "where", "head"], () => {
    const [step, where, head] = [at(), model.get("where"), model.get("head")];
    const of = (heads) => (head ? heads[head - 1] : mean(heads));
    const read = [...model.get("text"), ""].map(shown);
    map.title.textContent = say.maps[where];
    if (where === "encoder") map.draw({ rows: read, columns: read, weights: run.encoder.map(of), here: -1 });
    else {
      const columns = where === "cross" ? read : [writer.letter(START), ...letters().slice(0, -1)];
      map.draw({
        rows: letters(),
        columns,
        weights: run.steps.slice(0, step).map((one) => of(one[where])),
        here: step - 1,
      });
    }
  });
  return subscriptions.end;
}

export default { render };
