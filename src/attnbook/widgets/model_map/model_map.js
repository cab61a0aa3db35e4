import {
  asset,
  body,
  button,
  choice,
  element,
  fill,
  follower,
  number,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { spoken } from "../shared/spoken.js";
import { mostSeen, stored } from "./seen.js";
import { lens, signed, streams, wall } from "./stage.js";

const [NARROW, SHOWN, CLEAR] = [640, 6, 0.25]; // pixels; words that could come next; logits of a push that one sees
// Words, likely ones first, a bar each, golden if it is the final one, and an outline for what it was before.
function barsOf(label, shown) {
  // Texts change within their nodes: a new node would lay out the whole picture, in each step of the film.
  const rows = Array.from({ length: SHOWN }, () => element("li", {}, verbatim(""), element("span", {}, "")));
  return {
    node: element("ol", { "aria-label": label }, ...rows),
    draw(block) {
      const { picture, token, off, whole } = shown();
      const said = (of) => of.says(token)[block].words;
      const [words, final] = [said(picture), picture.final(token)];
      const old = new Map(off.length ? said(whole) : []);
      rows.forEach((row, n) => {
        const [word, chance] = words[n];
        row.toggleAttribute("data-final", word === final);
        row.firstChild.firstChild.data = spoken(word);
        row.lastChild.firstChild.data = number(chance, 3);
        row.style.setProperty("--w", chance);
        row.style.setProperty("--old", old.get(word) ?? 0);
      });
    },
  };
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const { blocks, heads, text, ...file } = stored(await asset(model, "seen"));
  const listed = follower(model); // for as long as the tokens are these
  let [seen, full] = [file, file.picture([])];
  let [tall, pointed, film] = [false, null, null];

  const here = () => model.get("block") * heads + model.get("head");
  const pair = (n) => ({ block: Math.floor(n / heads), head: n % heads });
  const off = () => model.get("off").map(([block, head]) => block * heads + head);
  const shown = () => {
    const { tokens, picture, at = { off: off(), token: Math.min(model.get("token"), tokens.length - 1) } } = seen;
    const found = picture(at.off);
    return {
      tokens,
      blocks,
      heads,
      picture: found ?? full,
      off: found ? at.off : [],
      chosen: pointed ?? here(),
      token: at.token,
      pushes: model.get("light") === "pushes",
      sink: model.get("sink"),
      whole: full,
      isStored: seen === file,
    };
  };
  const choose = (n, more) => {
    pointed = null; // where the mouse rests
    update(model, { ...pair(n), ...more });
  };

  const all = wall(say.wall.name, blocks, {
    go: choose,
    press: (n) => choose(n, { zoom: "head" }), // one goes into it
    point(n) {
      if (n === pointed) return;
      pointed = n;
      drawHead();
    },
  });
  const [flow, would] = [streams(blocks), lens(say.would, blocks)];
  const [bars, next] = [barsOf(say.next, shown), element("p", {}, say.next)];
  const [title, said] = [element("b"), element("span")];
  const turn = button("", () => {
    const others = seen === file ? [] : off().filter((n) => n !== here()); // stored are single heads
    const now = off().includes(here()) ? others : [...others, here()];
    update(model, { off: now.map((n) => Object.values(pair(n))) });
  });
  const tell = element("div", { class: "ab-said" }, element("p", { role: "status" }, title, " ", said));
  turn.classList.add("ab-start");
  const near = element("div", { class: "ab-near", hidden: "" });
  const own = element("div", { class: "ab-sentence" }, verbatim(text));
  const top = element("div", { class: "ab-top ab-controls ab-tries" }, own, turn);
  const engine = element("div", { class: "ab-controls ab-tries ab-engine" });
  const from = element("div", { class: "ab-from" });
  const closer = element("div", { class: "ab-ways" });
  const axis = element("div", { class: "ab-axis", translate: "no", "aria-hidden": "true" });
  axis.append(...Array.from({ length: blocks }, (_, b) => element("span", { style: `--b: ${b}` }, whole(b))));
  const place = element("div", { class: "ab-film" });
  const legend = element("small", { class: "ab-of-wall" });
  const root = body(
    el,
    "modelmap",
    top,
    element("small", { class: "ab-of-axis" }, say.axis),
    legend,
    element("small", { class: "ab-of-lens" }, say.would),
    from,
    place,
    element("div", { class: "ab-depth" }, axis, all.node, flow.node, would.node, element("i", { class: "ab-front" })),
    element("div", { class: "ab-foot" }, element("div", { class: "ab-next" }, next, bars.node), tell, near),
    engine,
    closer,
  );

  function drawHead() {
    const now = shown();
    const { picture, tokens, chosen, token: i } = now;
    flow.draw(now, tall);
    const at = pair(chosen);
    title.textContent = fill(say.here, { block: whole(at.block), head: whole(at.head) });
    all.choose(chosen, title.textContent);
    const most = mostSeen(picture, chosen, i);
    const push = picture.push(chosen, i);
    const had = full.says(i).at(-1).final;
    const gaps = {
      asks: spoken(tokens[i]),
      share: number(picture.weight(chosen, i, most)),
      push: signed(push),
      left: number(file.left[chosen], 3),
      now: number(picture.says(i).at(-1).final, 3),
      all: number(had, 3),
    };
    const word = spoken(full.final(i));
    // What is left without a head was measured for the last token of the stored text, with all other heads on.
    const isMeasured = now.isStored && i === tokens.length - 1;
    const isAnswered = isMeasured && Math.abs(push) > CLEAR && push > 0 !== file.left[chosen] < had;
    const effect = isMeasured && !now.off.length && (file.picture([chosen]) ? say.try : say.effect);
    const told = [now.off.includes(chosen) ? say.without : say.push, isAnswered && say.yet, effect];
    const rest = told.filter(Boolean).join(" ");
    said.textContent = `${fill(say.most, { ...gaps, word: spoken(tokens[most]) })} ${fill(rest, { ...gaps, word })}`;
  }
  function draw() {
    const now = shown();
    const { picture, tokens, token: i, off } = now;
    const word = spoken(picture.final(i));
    root.style.setProperty("--n", tokens.length);
    if (!from.querySelector(":checked")) from.querySelectorAll("input")[i].checked = true;
    all.draw(now, tall);
    would.draw(now, off.length ? full : null);
    legend.textContent = fill(say.wall[model.get("light")], { word });
    bars.draw(blocks - 1);
    drawHead();
    film?.draw();
  }
  function drawSwitch() {
    const { block, head } = pair(here());
    const switched = off().includes(here()) ? say.switch.on : say.switch.off;
    turn.textContent = fill(switched, { block: whole(block), head: whole(head) });
    turn.hidden = seen === file && !file.picture([here()]);
  }
  function become(next) {
    const before = seen.tokens;
    seen = next;
    full = seen.picture([]);
    if (String(before) !== String(seen.tokens)) drawFrom();
    draw();
    drawSwitch();
  }
  function drawFrom() {
    listed.end();
    from.replaceChildren(
      choice(model, listed, {
        trait: "token",
        label: say.token,
        options: Object.fromEntries(seen.tokens.map((word, j) => [j, verbatim(spoken(word))])),
      }),
    );
  }
  const size = new ResizeObserver(() => {
    if (tall === root.clientWidth < NARROW) return;
    tall = !tall;
    root.classList.toggle("ab-tall", tall);
    (tall ? tell : top).append(turn); // on a phone where it stays in sight
    draw();
  });
  size.observe(root);
  drawFrom();
  subscriptions.follow(["off", "token", "light"], draw);
  subscriptions.follow(["block", "head", "sink"], drawHead);
  subscriptions.follow(["block", "head", "off"], drawSwitch);
  let ends = () => {};
  const come = async () => {
    root.ariaBusy = true;
    try {
      const parts = ["film.js", "more.js"].map((name) => import(new URL(name, import.meta.url)));
      film ??= (await parts[0]).film({ say, root, place, next, bars, shown });
      const { more } = await parts[1];
      const news = { file, here, shown, become, play: film.play };
      ends = await more({ model, subscriptions, offers: say.offer, root, own, engine, near, closer, ...news });
    } catch (error) {
      engine.replaceChildren(button(say.offer.failed, come));
      throw error;
    } finally {
      root.ariaBusy = null;
    }
  };
  if (typeof model.get("vectors") === "string") come(); // only a page has scripts that come later
  return () => {
    size.disconnect();
    film?.end();
    subscriptions.end();
    listed.end();
    ends();
  };
}

export default { render };
