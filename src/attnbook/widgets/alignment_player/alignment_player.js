import { asset, body, element, fill, fillNodes, follower, verbatim, whole, words } from "../shared/core.js";
import {
  LETTERS,
  LONGEST,
  STOP,
  letterMap,
  namer,
  ranking,
  shown,
  writingSteps,
  textField,
  writing,
} from "../shared/letters.js";
import { dateReader } from "./date_reader.js";

const SHOWN = 3;

// What is known of the letter that was written last, and of none yet.
function details(say, reader) {
  const [letter, place] = [verbatim(""), element("span")];
  const chosen = element("span", {}, ...fillNodes(say.choosing, { letter, n: place }));
  const nothing = element("span", {}, say.nothing);
  const named = namer(say);
  let read;
  const looked = ranking([say.looked, say.letters.weight], SHOWN, (head, j) => {
    head.textContent = fill(say.letters.place, { letter: read[j], n: whole(j + 1) });
    head.dataset.letter = read[j];
    head.dataset.n = j + 1;
  });
  const could = ranking([say.letters.could, say.letters.chance], SHOWN, (head, i) =>
    named(head, reader.letter(i + STOP)),
  );
  const lists = element("div", { class: "ab-lists" }, looked.node, could.node);
  const draw = (letters, step) => {
    read = letters;
    chosen.hidden = lists.hidden = !step.n;
    nothing.hidden = !chosen.hidden;
    if (!step.n) return;
    letter.textContent = reader.letter(step.token);
    place.textContent = whole(step.n);
    looked.draw(step.weights);
    could.draw(step.chances.slice(STOP));
  };
  return { nodes: [element("p", { class: "ab-now" }, chosen, nothing), lists], draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const reader = dateReader(await asset(model, "model"));
  let steps;
  subscriptions.follow(["text"], () => {
    steps = reader.read(model.get("text"));
  });
  const { at, node: turn } = writingSteps(model, subscriptions, say, () => steps.length, ["text"]);
  const { node: line, output: written } = writing(say);
  const map = letterMap(say, say.map, { rows: LETTERS, columns: LONGEST + 1 });
  const { nodes, draw } = details(say, reader);
  const [field, tries, hint] = textField(model, subscriptions, say, { ...reader, changes: { step: 0 } });
  body(el, "letters ab-player", field, tries, turn, hint, line, map.node, ...nodes);

  subscriptions.follow(["text", "step"], () => {
    const n = at();
    const letters = steps.map(({ token }, i) => (i < n ? reader.letter(token) : "?"));
    const read = [...model.get("text"), ""].map(shown);
    written.textContent = letters.slice(0, n).join("");
    map.draw({
      rows: letters,
      columns: read,
      weights: steps.slice(0, n).map(({ weights }) => weights),
      here: n - 1,
    });
    draw(read, { n, ...steps[n - 1] });
  });
  return subscriptions.end;
}

export default { render };
