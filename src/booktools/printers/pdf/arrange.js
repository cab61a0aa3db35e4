// The parts of the printed book, put in order: solutions at the end, and a place for every number of a page.

/** @param {{ solution: string, page: string, aside: string[] }} say */
export function arrange(say) {
  const made = (name, className, text = "") =>
    Object.assign(document.createElement(name), { className, textContent: text });
  const numbered = (id) => {
    const number = made("span", "");
    number.dataset.of = id;
    return number;
  };
  const onPage = (text, id) => {
    const [before, after] = text.split("{page}");
    return [before, numbered(id), after];
  };

  const back = document.getElementById("solutions");
  let count = 0;
  for (const part of document.querySelectorAll("[data-part]")) {
    const found = [...part.querySelectorAll("details.solution")];
    if (!found.length) continue;
    const group = back.appendChild(document.createElement("section"));
    group.append(made("h2", "", part.dataset.title));
    for (const solution of found) {
      const exercise = document.getElementById(solution.dataset.exercise);
      const [from, to] = [exercise.id, `solution-${++count}`];
      const title = exercise.querySelector(".admonition-title");
      const head = made("h3", "");
      const up = made("a", "");
      up.href = `#${from}`;
      up.textContent = title.textContent.replace(/\s+/g, " ").trim();
      head.append(up);
      head.id = to;
      const content = made("div", "solved");
      content.append(...solution.querySelector("section").childNodes);
      group.append(head, content);
      const there = made("a", "to-solution");
      there.href = `#${to}`;
      there.append(...onPage(say.solution, to));
      solution.replaceWith(there);
    }
  }

  // What leads to another part says on which page; what leads to a term or a source does not.
  for (const part of document.querySelectorAll("[data-part], #solutions")) {
    for (const link of part.querySelectorAll('a[href^="#"]:not(.to-solution)')) {
      const id = link.getAttribute("href").slice(1);
      const target = document.getElementById(id);
      if (!target) throw new Error(`${part.id} leads to ${id}, which is not in the book`);
      const aside = target.closest("#references, #glossary") || link.closest("h1, h2, h3, figure, .touch, svg");
      if (part.contains(target) || aside) continue;
      const number = made("span", "on-page");
      number.append(...onPage(say.page, id));
      link.append(number);
    }
  }

  const contents = document.getElementById("contents");
  for (const [n, section] of [...document.querySelectorAll("[data-part], #solutions, #index")].entries()) {
    const levels = section.dataset.number ? "h1, h2" : "h1";
    for (const heading of section.querySelectorAll(levels)) {
      if (heading.localName === "h2" && say.aside.includes(heading.textContent.trim())) continue;
      heading.id ||= `heading-${n}-${contents.children.length}`;
      const row = contents.appendChild(made("li", heading.localName));
      const link = row.appendChild(made("a", ""));
      link.href = `#${heading.id}`;
      if (heading.localName === "h1" && section.dataset.number) link.append(made("b", "", section.dataset.number));
      const name = link.appendChild(made("span", ""));
      name.append(...heading.cloneNode(true).childNodes);
      link.append(numbered(heading.id));
    }
  }

  // A term is in the index where its link stands, once for each page, and where its entry is.
  const index = document.querySelector("#index ul");
  const terms = [...document.querySelectorAll("#glossary dt")].map((term) => [term, []]);
  const of = new Map(terms.map(([term, places]) => [term.id, places]));
  for (const [n, link] of [...document.querySelectorAll('[data-part] a.term[href^="#"]')].entries()) {
    const places = of.get(link.getAttribute("href").slice(1));
    if (!places) continue;
    link.id ||= `term-${n}`;
    places.push(link.id);
  }
  const name = (term) => (term.querySelector("dfn, b, strong") ?? term.firstChild).textContent.trim();
  for (const [term, places] of terms) {
    const row = index.appendChild(made("li", "", name(term)));
    for (const id of [...places, term.id]) {
      const link = row.appendChild(made("a", "place"));
      link.href = `#${id}`;
      link.append(numbered(id));
    }
  }
}

/**
 * On about which page each place is, where the window is a sheet: mostly the number will have as many digits.
 * @returns {Object<string, number>}  by the id of the place
 */
export function guess() {
  const pages = {};
  let page = 1;
  for (const section of document.body.children) {
    const { top, height } = section.getBoundingClientRect();
    for (const place of [section, ...section.querySelectorAll("[id]")]) {
      if (place.id) pages[place.id] = page + Math.floor((place.getBoundingClientRect().top - top) / innerHeight);
    }
    page += Math.ceil(height / innerHeight); // each begins on a sheet of its own
  }
  return pages;
}

/**
 * Numbers of pages, put where they are said; in the index each once. Each takes the room of its digits, whichever they
 * are, so that a number which changes moves nothing.
 * @param {Object<string, number>} pages  by the id of what is on them
 */
export function number(pages) {
  for (const place of document.querySelectorAll("[data-of]")) {
    place.textContent = pages[place.dataset.of] ?? place.textContent; // what is hidden is on no page
    place.style.width = `${place.textContent.length}ch`;
  }
  for (const row of document.querySelectorAll("#index li")) {
    const said = new Set();
    for (const link of row.querySelectorAll(".place")) {
      link.hidden = said.has(link.textContent);
      said.add(link.textContent);
    }
  }
}
