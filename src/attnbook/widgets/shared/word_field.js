import { element, fill, update, words } from "./core.js";

/** @import { Model, Subscriptions } from "./core.js" */

/**
 * A field for one word of a lexicon, which offers words while one types. The trait takes the word as the lexicon has it.
 * @param {Model} model
 * @param {Subscriptions} subscriptions
 * @param {object} options
 * @param {string} options.trait
 * @param {string} options.label
 * @param {{ list: string[], row: (word: string) => number | undefined, part?: boolean }} options.known
 * @param {(row: number) => Object<string, any>} [options.more]  what else a word sets
 * @param {() => Promise<any>} [options.complete]  what to wait for while the lexicon is a part
 * @returns {Element}
 */
export function wordField(model, subscriptions, { trait, label, known, more = () => ({}), complete }) {
  const say = words(model).lexicon;
  const id = `words-${Math.random().toString(36).slice(2)}`;
  const offers = Array.from({ length: 8 }, () => element("option"));
  const input = element("input", {
    type: "text",
    list: id,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
  });
  const hint = element("p", { class: "ab-hint", role: "status" });
  const offer = () => {
    const typed = input.value.trim().toLowerCase();
    const found = typed ? known.list.filter((word) => word.startsWith(typed)).slice(0, offers.length) : [];
    offers.forEach((option, i) => {
      option.value = found[i] ?? "";
    });
  };
  input.addEventListener("input", () => {
    offer();
    if (known.part) complete().then(offer, () => {}); // offers what is there by then
  });
  input.addEventListener("change", async () => {
    if (known.part) await complete();
    const [word, row] = [input.value.trim(), known.row(input.value)];
    hint.textContent = row === undefined && word ? fill(say.unknown, { word }) : "";
    if (row !== undefined) update(model, { [trait]: known.list[row], ...more(row) });
    else input.value = model.get(trait);
  });
  subscriptions.follow([trait], () => {
    input.value = model.get(trait);
  });
  return element(
    "div",
    { class: "ab-control ab-word" },
    element("label", {}, label, input),
    element("datalist", { id }, ...offers),
    hint,
  );
}
