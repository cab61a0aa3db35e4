// The model in the page, as a picture: of whatever it reads, with whatever heads are off.

import { reader } from "../engine/reader.js";
import { button, element, update } from "../shared/core.js";
import { pushOf } from "./seen.js";

/** @import { Picture } from "./seen.js" */

const MOST = 24; // tokens, since each has a stream
const TRIES = {
  capital: "The capital of Japan is the city of",
  opposite: "The opposite of hot is",
  names: "When Ann and Bob met, Ann gave a book to",
};

/**
 * What is seen of a text that the model has read: `at` says from which token, and without which heads.
 * @typedef {{ tokens: string[], at: { token: number, off: number[] }, picture: (off: number[]) => Picture,
 *   vectors: (block: number) => Promise<import("./close.js").Vectors> }} Seen
 */

/**
 * @param {object} parts  of the widget, as of engine/reader.js; and
 * @param {Object<string, any>} parts.say
 * @param {Element} parts.root  which is busy until what was asked for can be seen
 * @param {(seen: Seen) => void} parts.show
 * @param {() => void} parts.play  the film, for another text
 * @returns {Promise<{ end: () => void }>}
 */
export async function live({ say, root, show, play, ...parts }) {
  const { model, panel } = parts;
  // With all heads on, and without those that are off: rows of maps, and of tokens looked from what else is known.
  let known;
  const asked = new Map(); // vectors, by their block
  let [heads, news, read, seen] = [0, null, "", () => {}];

  const off = () => model.get("off").map(([block, head]) => block * heads + head);
  const grown = element("output", { translate: "no", class: "ab-grown" }); // what it has written, beside the text
  const tries = element(
    "div",
    { class: "ab-ways", role: "group", "aria-label": say.tries.name },
    ...Object.entries(TRIES).map(([name, text]) =>
      button(say.tries[name], () => update(model, { text, written: [], token: MOST - 1 })),
    ),
  );
  const none = button(say.all, () => update(model, { off: [] }));
  const { tell, busy, end } = await reader({
    ...parts,
    most: MOST,
    off,
    begin(about, subscriptions) {
      ({ heads } = about);
      news = null; // whoever has arrived has read nothing yet
      known = [0, 1].map(() => ({ rows: [], looks: [] }));
      panel.replaceChildren(tries, none);
      parts.top.firstChild.after(grown);
      subscriptions.follow(["off"], () => (none.hidden = !off().length));
      subscriptions.follow(["text", "written", "off"], () => root.setAttribute("aria-busy", "true"));
      subscriptions.follow(["token"], look);
    },
    leave: () => root.removeAttribute("aria-busy"),
    take(found) {
      news = found;
      grown.textContent = news.tokens
        .slice(news.given)
        .map((word) => word.replace("·", " "))
        .join("");
      asked.clear(); // vectors of what was read before
      news.read.forEach(({ known: same, rows }, n) => {
        const { rows: old, looks } = known[n];
        known[n] = { rows: [...old.slice(0, same), ...rows], looks: looks.slice(0, same) };
      });
      const last = news.tokens.length - 1;
      const told = new Promise((done) => (seen = done));
      if (model.get("token") > last) update(model, { token: last });
      else look();
      return told;
    },
    hear(answer) {
      if (answer.block !== undefined) return asked.get(answer.block)?.(answer);
      answer.seen.forEach((found, n) => found && (known[n].looks[answer.looked] = found));
      look();
    },
  });

  // Shows what was read last as it is seen from the chosen token; what is not known of that is asked first.
  function look() {
    if (!news) return;
    const token = Math.min(model.get("token"), news.tokens.length - 1);
    const there = news.read.map((_, n) => Boolean(known[n].looks[token]));
    const all = there.every(Boolean);
    if (all && !busy()) root.removeAttribute("aria-busy");
    else root.setAttribute("aria-busy", "true");
    if (!all && !busy()) tell({ token, known: there });
    if (!all) return;
    const pictures = news.read.map((_, n) => picture(n));
    show({
      tokens: news.tokens,
      at: { token, off: news.off },
      picture: (heads) => pictures[heads.length ? 1 : 0],
      vectors: (block) =>
        new Promise((done) => {
          asked.set(block, done);
          tell({ block });
        }),
    });
    if (read !== model.get("text")) play();
    read = model.get("text");
    seen();
  }

  /**
   * @param {number} n  of the readings
   * @returns {Picture}
   */
  function picture(n) {
    const { rows, looks } = known[n];
    const first = known[0].looks;
    const look = (head, i, j) => looks[i].looks[head * (i + 1) + j];
    return {
      look,
      weight: (head, i, j) => rows[i][head * (i + 1) + j],
      push: pushOf(look),
      network: (block, i) => looks[i].networks[block],
      says: (i) => [...first[i].says.slice(0, looks[i].first), ...looks[i].says],
      final: (i) => first[i].says.at(-1).words[0][0],
    };
  }
  return { end };
}
