import { asset, body, choice, element, fill, follower, number, update, words } from "../shared/core.js";
import { folded } from "../shared/folded.js";
import { STOP, namer, ranking, reading, textField } from "../shared/letters.js";
import { motion } from "../shared/motion.js";
import { meanOf } from "../shared/network.js";
import { dateTransformer } from "./date_transformer.js";

const TRIES = ["23rd of october 1962", "11/12/13", "31 February 2001", "Monday"];

// The letter that was written last and what could stand in its place; a press on one of those writes it.
function choosing(say, writer, press) {
  const [now, hint] = [element("p", { class: "ab-now", role: "status" }), element("p", { class: "ab-hint" })];
  const named = namer(say);
  const could = ranking(
    [say.letters.could, say.letters.chance],
    5,
    (key, i) => named(key, writer.letter(i + STOP)),
    (i) => press(i + STOP),
  );
  const draw = (n, { token, own, chances } = {}) => {
    could.draw(chances?.slice(STOP), token - STOP);
    now.textContent = say.nothing;
    hint.textContent = "";
    if (!n) return;
    const [letter, instead] = [token, own].map(writer.letter);
    const [chance, loss] = [number(chances[token]), number(-Math.log(chances[token]))];
    now.textContent = fill(say.wrote, { n, letter, chance, loss });
    hint.textContent = token === own ? say.hint : fill(say.yours, { letter: instead });
  };
  return { node: element("div", { class: "ab-lists" }, now, could.node, hint), draw };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const writer = dateTransformer(await asset(model, "model"));
  let run;
  subscriptions.follow(["text", "forced"], () => {
    run = writer.read(model.get("text"), model.get("forced"));
  });
  const { at, picture, map, draw } = reading(model, subscriptions, say, () => run.steps.length, ["text", "forced"]);
  const chosen = choosing(say, writer, (token) => {
    const place = at() - 1;
    const kept = model.get("forced").filter(([where]) => where < place);
    update(model, { forced: token === run.steps[place].own ? kept : [...kept, [place, token]] });
  });
  const field = textField(model, subscriptions, say, { ...writer, changes: { step: 0, forced: [] }, tries: TRIES });
  const film = motion(say.motion, say.happens);
  const controls = element(
    "div",
    { class: "ab-controls" },
    choice(model, subscriptions, { trait: "where", label: say.where, options: say.kinds }),
    folded(say.more, choice(model, subscriptions, { trait: "head", label: say.head, options: [say.mean, 1, 2, 3, 4] })),
    film.node,
  );
  body(el, "letters ab-live-transformer", field, picture, controls, chosen.node, map);

  let seen;
  subscriptions.follow(["text", "step", "forced", "where", "head"], () => {
    const [where, head] = [model.get("where"), model.get("head")];
    const weights = where === "encoder" ? run.encoder : run.steps.map((step) => step[where]);
    draw({
      letters: run.steps.map(({ token }) => writer.letter(token)),
      where,
      weights: weights.map((heads) => heads[head - 1] ?? meanOf(heads)),
    });
    chosen.draw(at(), run.steps[at() - 1]);
    if (at() > seen) film.play();
    seen = at();
  });
  return subscriptions.end;
}

export default { render };
