// What is found for what a reader types: sections of the book, the likeliest first.
import MiniSearch from "../minisearch/minisearch.min.js";
import { groups, terms } from "./terms.js";

const WEIGHTS = { title: 5, page: 1.5, bold: 4, text: 1 };
const ASIDE = 0.4; // exercises, lists of books

export class Book {
  constructor({ sections, taught, passed }) {
    this.sections = sections.map(([where, title, page, bold, text, aside], id) => {
      return { id, where, title, page, bold, text, aside };
    });
    this.taught = taught.map(([where, ...names]) => ({ where, names: names.map((name) => terms(name).join(" ")) }));
    this.passed = new Set(passed);
    this.known = new Set();
    const tokenize = (text) => terms(text).map((term) => this.known.add(term) && term);
    this.index = new MiniSearch({ fields: Object.keys(WEIGHTS), tokenize, processTerm: (term) => term });
    this.index.addAll(this.sections);
  }

  // Where a term is taught, if a term is all that was typed; then sections with all the words; then those with some.
  look(typed) {
    const all = groups(typed).flatMap((group) =>
      this.known.has(group[0]) ? group[0] : group.slice(-group.length + 1 || undefined),
    );
    const telling = all.filter((term) => !this.passed.has(term));
    const asked = telling.length ? telling : all;
    if (!asked.length) return [];
    const teaches = this.taught.filter(({ names }) => names.includes(all.join(" "))).map(({ where }) => where);
    const found = [...this.search(asked, "AND"), ...(asked.length > 1 ? this.search(asked, "OR") : [])];
    const first = found.filter(({ id }) => teaches.includes(this.sections[id].where));
    const each = new Map([...first, ...found].toReversed().map((hit) => [hit.id, hit]));
    return [...each.values()]
      .toReversed()
      .map(({ id, match }) => ({ ...this.sections[id], terms: Object.keys(match) }));
  }

  // For what has other names, these are looked for, too.
  search(asked, combineWith) {
    const text = ` ${asked.join(" ")} `;
    const others = this.taught.flatMap(({ names }) => {
      const typed = names.find((name) => text.includes(` ${name} `));
      return typed ? names.filter((name) => name !== typed).map((name) => text.replace(` ${typed} `, ` ${name} `)) : [];
    });
    const queries = [asked, ...others.map((other) => other.trim().split(" "))].map((words, i) => ({
      queries: words,
      combineWith,
      tokenize: (word) => [word],
      prefix: (word) => word === words.at(-1) && word.length > 1,
      fuzzy: (word) => word.length > 4 && !word.includes("_") && 1,
      weights: { fuzzy: 0.2, prefix: 0.5 },
      boost: Object.fromEntries(Object.entries(WEIGHTS).map(([field, weight]) => [field, i ? 0.9 * weight : weight])),
      boostDocument: (id) => (this.sections[id].aside ? ASIDE : 1),
    }));
    return this.index.search({ combineWith: "OR", queries });
  }
}
