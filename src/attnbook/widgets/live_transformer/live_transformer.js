import {
  asset,
  body,
  choice,
  element,
  fillNodes,
  follower,
  number,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import {
  LONGEST,
  START,
  STOP,
  letterMap,
  namer,
  ranking,
  shown,
  writingSteps,
  textField,
  writing,
} from "../shared/letters.js";
import { dateTransformer } from "./date_transformer.js";

const [SHOWN, HEADS] = [5, 4];

const mean = (heads) => heads[0].map((_, j) => heads.reduce((sum, head) => sum + head[j], 0) / heads.length);

// The letter that was written last and what could stand in its place; a press on one of those writes it.
function choosing(say, writer, press) {
  const [letter, own] = [verbatim(""), verbatim("")];
  const [n, chance, loss] = ["n", "chance", "loss"].map(() => element("span"));
  const wrote = element("span", { class: "ab-wrote" }, ...fillNodes(say.wrote, { letter, n, chance, loss }));
  const [nothing, hint] = [element("span", {}, say.nothing), element("span", {}, say.hint)];
  const yours = element("span", {}, ...fillNodes(say.yours, { letter: own }));
  const named = namer(say);
  const could = ranking(
    [say.letters.could, say.letters.chance],
    SHOWN,
    (key, i) => named(key, writer.letter(i + STOP)),
    (i) => press(i + STOP),
  );
  const node = element(
    "div",
    { class: "ab-lists" },
    element("p", { class: "ab-now", role: "status" }, wrote, nothing),
    could.node,
    element("p", { class: "ab-hint ab-yours" }, yours, hint),
  );
  const draw = (step) => {
    const { token, own: likeliest, chances } = step;
    nothing.hidden = step.n > 0;
    wrote.hidden = could.node.hidden = !step.n;
    yours.hidden = token === likeliest;
    hint.hidden = !step.n || !yours.hidden;
    if (!step.n) return;
    letter.textContent = writer.letter(token);
    own.textContent = writer.letter(likeliest);
    n.textContent = whole(step.n);
    chance.textContent = number(chances[token]);
    loss.textContent = number(-Math.log(chances[token]));
    could.draw(chances.slice(STOP));
    for (const row of could.rows) row.name.setAttribute("aria-pressed", row.index + STOP === token);
  };
  return { node, draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const writer = dateTransformer(await asset(model, "model"));
  let run;
  subscriptions.follow(["text", "forced"], () => {
    run = writer.read(model.get("text"), model.get("forced"));
  });
  const { at, node: turn } = writingSteps(model, subscriptions, say, () => run.steps.length, ["text", "forced"]);
  const { node: line, output: written } = writing(say);
  const map = letterMap(say, "", { rows: LONGEST + 1, columns: LONGEST + 1 });
  const chosen = choosing(say, writer, (token) => {
    const place = at() - 1;
    const kept = model.get("forced").filter(([where]) => where < place);
    update(model, { forced: token === run.steps[place].own ? kept : [...kept, [place, token]] });
  });
  const [field, tries, hint] = textField(model, subscriptions, say, { ...writer, changes: { step: 0, forced: [] } });
  const heads = Array.from({ length: HEADS + 1 }, (_, head) => (head ? whole(head) : say.mean));
  const controls = element(
    "div",
    { class: "ab-controls" },
    choice(model, subscriptions, { trait: "where", label: say.where, options: say.kinds }),
    choice(model, subscriptions, { trait: "head", label: say.head, options: heads }),
  );
  const beside = element("div", { class: "ab-beside" }, chosen.node, controls);
  body(el, "letters ab-live", field, tries, turn, hint, line, beside, map.node);

  const letters = () => run.steps.map(({ token }, i) => (i < at() ? writer.letter(token) : "?"));
  subscriptions.follow(["text", "step", "forced"], () => {
    written.textContent = letters().slice(0, at()).join("");
    chosen.draw({ n: at(), ...run.steps[at() - 1] });
  });
  subscriptions.follow(["text", "step", "forced", "where", "head"], () => {
    const [step, where, head] = [at(), model.get("where"), model.get("head")];
    const of = (weights) => (head ? weights[head - 1] : mean(weights));
    const read = [...model.get("text"), ""].map(shown);
    map.title.textContent = say.maps[where];
    map.title.dataset.where = where;
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
