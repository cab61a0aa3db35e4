import { asset, body, element, fill, follower, whole, words } from "../shared/core.js";
import { STOP, namer, ranking, reading, shown, textField } from "../shared/letters.js";
import { dateReader } from "./date_reader.js";

const SHOWN = 3;

// What is known of the letter that was written last.
function details(say, reader) {
  const now = element("p", { class: "ab-now" });
  const named = namer(say);
  let read;
  const looked = ranking([say.looked, say.letters.weight], SHOWN, (head, j) => {
    head.textContent = fill(say.letters.place, { letter: read[j], n: whole(j + 1) });
  });
  const could = ranking([say.letters.could, say.letters.chance], SHOWN, (head, i) =>
    named(head, reader.letter(i + STOP)),
  );
  const draw = (text, n, step) => {
    read = [...text, ""].map(shown);
    now.textContent = n ? fill(say.choosing, { n: whole(n), letter: reader.letter(step.token) }) : say.nothing;
    looked.draw(step?.weights);
    could.draw(step?.chances.slice(STOP));
  };
  return { node: element("div", { class: "ab-lists" }, now, looked.node, could.node), draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const reader = dateReader(await asset(model, "model"));
  let steps;
  subscriptions.follow(["text"], () => {
    steps = reader.read(model.get("text"));
  });
  const { at, picture, map, draw } = reading(model, subscriptions, say, () => steps.length, ["text"]);
  const last = details(say, reader);
  const field = textField(model, subscriptions, say, { ...reader, changes: { step: 0 } });
  body(el, "letters ab-player", field, picture, last.node, map);

  subscriptions.follow(["text", "step"], () => {
    const letters = steps.map(({ token }) => reader.letter(token));
    draw({ letters, where: "cross", weights: steps.map(({ weights }) => weights) });
    last.draw(model.get("text"), at(), steps[at() - 1]);
  });
  return subscriptions.end;
}

export default { render };
