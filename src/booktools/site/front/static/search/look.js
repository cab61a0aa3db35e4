// What is found for what a reader types: sections of the book, the likeliest first.
import MiniSearch from "../minisearch/minisearch.min.js";
import { groups, terms } from "./terms.js";

const WEIGHTS = { title: 5, page: 1.5, bold: 4, text: 1 };
const ASIDE = 0.4; // exercises, lists of books
const TITLED = 2; // all of its title was typed

export class Book {
  constructor({ sections, taught, passed, asks, same }, rest) {
    this.sections = sections.map(([where, title, page, bold, begins, aside], id) => {
      return { id, where, title, page, bold, text: `${begins} ${rest[id] ?? ""}`, aside };
    });
    const places = new Map(this.sections.map((section) => [section.where, section]));
    const spelled = (names) => names.map((name) => groups(name).map(([whole]) => whole));
    this.taught = taught.map(([where, entry, ...names]) => ({
      section: places.get(where),
      entry: places.get(entry),
      names: spelled(names),
    }));
    this.others = [...this.taught.map(({ names }) => names), ...same.map(spelled)];
    this.passed = new Set([...passed, ...asks].flatMap(terms));
    this.asks = new Set(asks.flatMap(terms));
    this.known = new Set();
    const tokenize = (text) => terms(text).map((term) => this.known.add(term) && term);
    this.index = new MiniSearch({ fields: Object.keys(WEIGHTS), tokenize, processTerm: (term) => term });
  }

  // In pieces, so that the page answers meanwhile.
  static async read(content, rest = []) {
    const book = new Book(content, rest);
    await book.index.addAllAsync(book.sections, { chunkSize: 20 });
    return book;
  }

  // Where a term is taught, if a term is all that was typed, after the glossary's entry if it was asked what it is; then
  // sections with all the words; then those with some.
  look(typed) {
    const all = groups(typed).flatMap(([whole, ...parts]) => (this.known.has(whole) || !parts.length ? whole : parts));
    const telling = all.filter((term) => !this.passed.has(term));
    const asked = telling.length ? telling : all;
    if (!asked.length) return [];
    const typedNames = [all.join(""), asked.join("")];
    const taught = this.taught.filter(({ names }) => names.some((each) => typedNames.includes(each.join(""))));
    const isAsked = all.some((term) => this.asks.has(term));
    const first = taught
      .flatMap(({ entry, section }) => (isAsked ? [entry, section] : [section]))
      .map(({ id }) => ({
        id,
        match: Object.fromEntries(all.map((term) => [term, []])),
      }));
    const found = [...this.search(asked, "AND"), ...(asked.length > 1 ? this.search(asked, "OR") : [])];
    const each = new Map([...first, ...found].map((hit) => [hit.id, hit])); // a key stays where it came first
    return [...each.values()].map(({ id, match }) => ({ ...this.sections[id], terms: Object.keys(match) }));
  }

  // For what has other names, these are looked for, too.
  search(asked, combineWith) {
    const at = (name) => asked.findIndex((_, i) => name.every((word, k) => word === asked[i + k]));
    const others = this.others.flatMap((names) => {
      const typed = names.find((name) => at(name) >= 0);
      return typed
        ? names.filter((name) => name !== typed).map((name) => asked.toSpliced(at(typed), typed.length, ...name))
        : [];
    });
    const queries = [asked, ...others].map((words, i) => ({
      queries: words,
      combineWith,
      tokenize: (word) => [word],
      prefix: (word) => word === words.at(-1) && (word.length > 1 || /\p{Script=Han}/u.test(word)),
      fuzzy: (word) => word.length > 4 && !word.includes("_") && 1,
      weights: { fuzzy: 0.2, prefix: 0.5 },
      boost: Object.fromEntries(Object.entries(WEIGHTS).map(([field, weight]) => [field, i ? 0.9 * weight : weight])),
      boostDocument: (id) => this.weight(this.sections[id], words),
    }));
    return this.index.search({ combineWith: "OR", queries });
  }

  weight({ title, aside }, words) {
    const isTyped = terms(title).every((term) => words.includes(term) || this.passed.has(term));
    return aside ? ASIDE : isTyped ? TITLED : 1;
  }
}
