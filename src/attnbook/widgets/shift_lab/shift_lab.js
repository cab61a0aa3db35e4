import { clock } from "../shared/clock.js";
import {
  body,
  choice,
  dot,
  element,
  fill,
  follower,
  heading,
  number,
  plain,
  plus,
  times,
  verbatim,
  words,
} from "../shared/core.js";
import { slider } from "../shared/slider.js";

const [QUERY, KEY, SPEEDS] = [
  [1, 0.3, -0.5, 0.8],
  [0.6, -0.7, 0.9, 0.4],
  [1, 0.1],
];
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const STOPS = { position: range(10, 50), apart: range(-10, 10) };
const EVERYWHERE = range(2, 10).map((n) => 5 * n); // where the same turn is shown in small

const place = (i) => SPEEDS.flatMap((speed) => [Math.sin(i * speed), Math.cos(i * speed)]);
// Of each pair of numbers (x, y), the pair turned by the angle that belongs to a position.
const turn = (pairs, i) =>
  SPEEDS.flatMap((speed, j) => {
    const [x, y, c, s] = [pairs[2 * j], pairs[2 * j + 1], Math.cos(i * speed), Math.sin(i * speed)];
    return [x * c - y * s, x * s + y * c];
  });
const mover = (apart) =>
  SPEEDS.flatMap((speed, j) => {
    const [c, s] = [Math.cos(apart * speed), Math.sin(apart * speed)];
    const row = (a, b) => [0, 0, 0, 0].map((_, n) => (n === 2 * j ? a : n === 2 * j + 1 ? b : 0));
    return [row(c, s), row(-s, c)];
  });

// One pair of numbers: large at the position, and small at places everywhere.
function circles() {
  const dials = Array.from({ length: EVERYWHERE.length + 1 }, () => clock(["ab-query", "ab-key"]));
  const name = element("p", { class: "ab-hint" });
  const small = EVERYWHERE.map((place, n) => element("div", {}, dials[n + 1].node, `${place}`));
  return {
    small,
    name,
    node: element("div", {}, name, dials[0].node, element("div", { class: "ab-small" }, ...small)),
    show: (handsAt, i) => [i, ...EVERYWHERE].forEach((place, n) => dials[n].show(...handsAt(place))),
  };
}

// A table of four rows; `at` are the two heads that name the positions.
function tableOf(say, mode) {
  const at = ["attn-query", "attn-key"].map((kind) => element("span", { class: kind }));
  const caption = element("caption");
  const heads = {
    moved: [...["sin 1", "cos 1", "sin 2", "cos 2"].map((name) => verbatim(name)), at[0], say.product, at[1]],
    turned: [say.query, at[0], say.key, at[1]],
  }[mode];
  const cells = QUERY.map(() => heads.map(() => element("td", { class: "ab-number" })));
  const rows = cells.map((row) => element("tr", {}, ...row));
  return {
    caption,
    at,
    cells,
    node: element("table", { class: `ab-${mode}` }, caption, heading(heads), element("tbody", {}, ...rows)),
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const pairs = SPEEDS.map(circles);
  const same = element(
    "p",
    { class: "ab-hint ab-same" },
    fill(say.same, { first: EVERYWHERE[0], next: EVERYWHERE[1], last: EVERYWHERE.at(-1) }),
  );
  const picture = element("div", { class: "ab-circles ab-pin", role: "img" }, ...pairs.map(({ node }) => node), same);
  const tables = Object.keys(say.modes).map((mode) => ({ mode, ...tableOf(say, mode) }));
  const [turned, added] = [0, 0].map(() => element("dd", { class: "ab-number" }));
  const scores = element("dl", {}, element("dt", {}, say.score), turned, element("dt", {}, say.added), added);
  const control = (trait) => slider(model, subscriptions, { trait, label: say.sliders[trait], values: STOPS[trait] });
  body(
    el,
    "shift",
    picture,
    element(
      "div",
      { class: "ab-controls" },
      choice(model, subscriptions, { trait: "mode", label: say.mode, options: say.modes }),
      control("position"),
      control("apart"),
    ),
    element(
      "div",
      { class: "ab-numbers" },
      element("div", { class: "ab-scroll" }, ...tables.map(({ node }) => node)),
      scores,
    ),
  );

  subscriptions.follow(["mode", "position", "apart"], () => {
    const [mode, i, apart] = ["mode", "position", "apart"].map((trait) => model.get(trait));
    const j = i + apart;
    const [q, k] = [turn(QUERY, i), turn(KEY, j)];
    // A clock's hand begins at the top and goes round to the right; a turned pair is drawn as x and y.
    const shown = (at) =>
      mode === "moved" ? [place(at), place(at + apart)] : [turn(QUERY, at), turn(KEY, at + apart)];
    pairs.forEach(({ small, name, show }, pair) => {
      name.textContent = say.hands[mode][pair];
      show((at) => shown(at).map((hand) => hand.slice(2 * pair, 2 * pair + 2)), i);
      small.forEach((spot, n) => spot.classList.toggle("ab-here", EVERYWHERE[n] === i));
    });
    picture.setAttribute("aria-label", say.picture[mode]);
    const product = times(mover(apart), place(i));
    const numbers = {
      moved: mover(apart).map((row, n) => [...row, place(i)[n], product[n], place(j)[n]]),
      turned: QUERY.map((x, n) => [x, q[n], KEY[n], k[n]]),
    };
    for (const { mode: name, at, cells, caption, node } of tables) {
      node.hidden = name !== mode;
      caption.textContent = fill(say.captions[name], { i, apart: plain(apart) });
      [i, j].forEach((place, n) => {
        at[n].textContent = fill(say.at, { i: place });
      });
      numbers[name].forEach((row, n) =>
        row.forEach((x, m) => {
          cells[n][m].textContent = number(x);
        }),
      );
    }
    scores.hidden = mode === "moved";
    turned.textContent = number(dot(q, k), 4);
    added.textContent = number(dot(plus(QUERY, place(i)), plus(KEY, place(j))), 4);
  });
  return subscriptions.end;
}

export default { render };
