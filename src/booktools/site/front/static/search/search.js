// Search, as one types: in a box over the page, or on the page of search.
import { excerpt } from "./excerpt.js";
import { Book } from "./look.js";
import { mark } from "./mark.js";

const MOST = 12;
const folder = new URL("../", import.meta.url);
const root = new URL("../", folder);
const { say, ...known } = await content("search.json");
let book = Book.read(known);
const plural = new Intl.PluralRules(document.documentElement.lang);

async function content(name) {
  return (await fetch(new URL(name, folder))).json();
}

function element(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

function marked(text, asked) {
  return excerpt(text, asked).flatMap(([word, hit]) => {
    const said = /^\p{Script=Han}/u.exec(word)?.[0] ?? word.trimEnd();
    return hit ? [element("mark", { textContent: said }), word.slice(said.length)] : word;
  });
}

function option({ where, title, page, text, terms }, i) {
  const address = new URL(where, root);
  address.searchParams.set("_find", terms.join(" "));
  const parts = [element("strong", {}, ...marked(title, terms)), element("span", {}, ...marked(text, terms))];
  if (page) parts.unshift(element("small", { textContent: page }));
  const link = element("a", { href: address, id: `found-${i}`, tabIndex: -1, role: "option" }, ...parts);
  link.addEventListener("click", (event) => stay(event, link));
  return link;
}

// A section of the page that is open is shown without a new start: widgets stay as they are.
function stay(event, link) {
  if (link.pathname !== location.pathname || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  box.close();
  if (link.href !== location.href) history.pushState(null, "", link.href);
  const place = document.getElementById(link.hash.slice(1)) ?? document.querySelector("h1");
  place.scrollIntoView();
  mark();
}

function searcher(name) {
  const list = element("div", { className: "found", id: name, role: "listbox", ariaLabel: say.list });
  const status = element("p", { className: "how-many", role: "status" });
  const field = element("input", { type: "search", role: "combobox", autocomplete: "off", spellcheck: false });
  const names = { label: say.book, controls: name, expanded: "false", autocomplete: "list" };
  for (const [key, text] of Object.entries(names)) field.setAttribute(`aria-${key}`, text);
  field.placeholder = say.for_example;
  let at = 0;

  const choose = (place) => {
    const all = [...list.children];
    at = Math.max(0, Math.min(place, all.length - 1));
    for (const [i, link] of all.entries()) link.ariaSelected = String(i === at);
    if (all.length) field.setAttribute("aria-activedescendant", all[at].id);
    else field.removeAttribute("aria-activedescendant");
    all[at]?.scrollIntoView({ block: "nearest" });
  };
  const look = async () => {
    const typed = field.value.trim();
    const found = (await book).look(typed);
    if (typed !== field.value.trim()) return;
    list.replaceChildren(...found.slice(0, MOST).map(option));
    field.setAttribute("aria-expanded", String(found.length > 0));
    status.textContent = typed && (found.length ? say.found[plural.select(found.length)] : say.none);
    status.textContent = status.textContent.replace("{n}", found.length).replace("{typed}", () => typed);
    choose(0);
  };
  field.addEventListener("input", look);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose(at + step);
    else if (event.key === "Enter") list.children[at]?.click();
    else return;
    event.preventDefault();
  });
  list.addEventListener("pointermove", ({ target }) => {
    const link = target.closest("a");
    if (link && link.ariaSelected !== "true") choose([...list.children].indexOf(link));
  });
  return { field, look, isAtFirst: () => at === 0, parts: [field, status, list] };
}

const inBox = searcher("found");
const close = element("button", { className: "icon", textContent: "✕", ariaLabel: say.close });
close.addEventListener("click", () => box.close());
const box = element("dialog", { className: "seek", ariaLabel: say.book }, ...inBox.parts, close);
box.addEventListener("click", ({ target }) => target === box && box.close()); // beside it
document.body.append(box);

const here = document.getElementById("search-here");
const onPage = here && searcher("found-here");
if (onPage) {
  here.append(...onPage.parts);
  onPage.field.value = new URLSearchParams(location.search).get("q") ?? "";
  onPage.look();
  onPage.field.focus();
}

addEventListener("popstate", mark);

// The rest of the texts comes after the first answer, which stays where a reader is already choosing.
content("search-rest.json").then(
  async (rest) => {
    book = await Book.read(known, rest);
    for (const each of [inBox, onPage]) if (each?.isAtFirst()) each.look();
  },
  () => {}, // without a network the titles answer
);

export function open(typed = "") {
  const { field, look } = onPage ?? inBox;
  if (!onPage && !box.open) box.showModal();
  field.focus();
  if (!typed) return field.select();
  field.value = typed;
  look();
}
