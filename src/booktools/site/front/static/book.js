// The few things of the frame that need a script: colours, the drawer of chapters, the place on the page.
import { doneIn, place, remember } from "./reader_progress.js";

const html = document.documentElement;
const themeButton = document.getElementById("theme-button");
const system = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
let theme = html.dataset.theme;

function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  } // storage may be switched off
}

function store(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    /* it holds for this page */
  }
}

function showTheme() {
  html.dataset.theme = paper.matches ? "light" : theme;
  themeButton.setAttribute("aria-pressed", String(theme === "dark"));
}

themeButton.addEventListener("click", () => {
  theme = theme === "dark" ? "light" : "dark";
  store("theme", theme);
  showTheme();
});
system.addEventListener("change", () => {
  theme = stored("theme") ?? (system.matches ? "dark" : "light");
  showTheme();
});
paper.addEventListener("change", showTheme);
showTheme();

const drawer = document.getElementById("book-chapters");
const drawerButton = document.getElementById("drawer-button");

function openDrawer(open) {
  drawerButton.setAttribute("aria-expanded", String(open));
  drawer.classList.toggle("open", open);
  if (open) (drawer.querySelector(".current > a") ?? drawer.querySelector("a")).focus();
}

drawer.addEventListener("focusout", ({ relatedTarget }) => {
  if (relatedTarget && relatedTarget !== drawerButton && !drawer.contains(relatedTarget)) openDrawer(false);
});

drawerButton.addEventListener("click", () => openDrawer(!drawer.classList.contains("open")));
document.addEventListener("click", (event) => {
  if (!drawer.contains(event.target) && !drawerButton.contains(event.target)) openDrawer(false);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && drawer.classList.contains("open")) {
    openDrawer(false);
    drawerButton.focus();
  }
});

// What searches is fetched when somebody does.
const searchLink = document.getElementById("search-link");

async function search(event) {
  event.preventDefault();
  let typed = ""; // before there is a field for it
  const keep = (pressed) => {
    if (pressed.key.length > 1 || pressed.ctrlKey || pressed.metaKey) return;
    typed += pressed.key;
    pressed.preventDefault();
    pressed.stopPropagation();
  };
  addEventListener("keydown", keep, true);
  try {
    (await import("./search/search.js")).open(typed);
  } catch {
    location = searchLink.href; // its page says why
  } finally {
    removeEventListener("keydown", keep, true);
  }
}

searchLink.addEventListener("click", search);
document.addEventListener("keydown", (event) => {
  const key = event.key?.toLowerCase();
  const writes = event.target.closest?.("input, textarea, select, [contenteditable]");
  if ((key === "k" && (event.ctrlKey || event.metaKey)) || (key === "/" && !writes)) search(event);
});
if (location.search.includes("_find=")) import("./search/mark.js").then(({ mark }) => mark());
if (document.getElementById("search-here")) import("./search/search.js");

// The section read last: the first page leads back to it.
const chapter = location.pathname.match(/chapters\/0?(\d+)_[^/]*$/);

function keepPlace(hash, title) {
  if (!chapter) return;
  remember({ last: { chapter: Number(chapter[1]), page: chapter[0] + hash, title } });
}

keepPlace("", document.querySelector("h1")?.firstChild.textContent);

const contents = document.querySelector(".contents");

function showPlaces() {
  const { visited, last } = place();
  const finished = new Set();
  for (const { dataset } of contents.querySelectorAll(".card")) {
    const { exercises, guesses } = doneIn(Number(dataset.chapter));
    if (exercises >= dataset.exercises && guesses >= dataset.guesses) finished.add(Number(dataset.chapter));
  }
  for (const node of contents.querySelectorAll("[data-chapter]")) {
    const chapter = Number(node.dataset.chapter);
    const n = Object.values(doneIn(chapter)).reduce((sum, more) => sum + more);
    const been = n > 0 || visited.includes(chapter);
    const all = been && finished.has(chapter);
    node.classList.toggle("visited", been);
    node.classList.toggle("finished", all);
    for (const mark of node.querySelectorAll(".been")) {
      mark.hidden = !been;
      mark.textContent = n ? mark.dataset.done.replace("{n}", n) : mark.dataset.been;
      if (all) mark.textContent = mark.dataset.all;
    }
  }
  const goOn = contents.querySelector(".go-on");
  const card = last && contents.querySelector(`.card[data-chapter="${last.chapter}"] h3 a`);
  goOn.hidden = !card;
  if (card) {
    const link = document.createElement("a");
    link.textContent = goOn.dataset.words.replace("{n}", last.chapter).replace("{title}", () => last.title);
    link.href = card.href + (last.page.match(/#.*/) ?? "");
    goOn.replaceChildren(link);
  }
}

if (contents) {
  showPlaces();
  addEventListener("pageshow", ({ persisted }) => persisted && showPlaces());
  addEventListener("ab-place", showPlaces);

  // A part of the map and its chapter's card light up together.
  const light = ({ type, target }) => {
    const pointed = /over|in$/.test(type) && target.closest("[data-chapter]")?.dataset.chapter;
    for (const node of contents.querySelectorAll("[data-chapter]"))
      node.classList.toggle("lit", node.dataset.chapter === pointed);
  };
  for (const type of ["pointerover", "pointerout", "focusin", "focusout"]) contents.addEventListener(type, light);
}

// At the end of a chapter stands what the reader has done in it. Whether one is there is known once all is laid out.
const ending = document.querySelector(".ending");
const atEnd = new IntersectionObserver((seen) => {
  if (!seen.at(-1).isIntersecting) return;
  atEnd.disconnect();
  import("./ending.js");
});

// On the way to the top of a chapter its sections are laid out when they come near the window, and else when the first
// widget is live, one at a time. Who goes to a place on the page finds all of them laid out.
const late = [...document.querySelectorAll(".early article > section > section")];
const idle = window.requestIdleCallback ?? setTimeout;
function layOut() {
  const section = late.shift();
  if (!section) {
    html.classList.remove("early");
    if (ending) atEnd.observe(ending);
    return;
  }
  section.style.contentVisibility = "visible";
  idle(layOut);
}
if (document.querySelector("[data-mounted]")) idle(layOut);
else for (const start of ["ab-live", "load"]) addEventListener(start, () => idle(layOut), { once: true });
const goes = ({ target }) => target.closest("a[href*='#']") && html.classList.remove("early");
document.addEventListener("click", goes, true);

// The section being read is marked in the contents of the page.
const links = new Map([...document.querySelectorAll(".outline a[href^='#']")].map((a) => [a.hash.slice(1), a]));
const sections = [...document.querySelectorAll("article section[id]")].filter((section) => links.has(section.id));
const reading = new Set();

// A long list of contents follows: it scrolls by itself, and the page stays where it is.
function bringIntoSight(link) {
  const list = link.closest(".outline");
  const [seen, place] = [list.getBoundingClientRect(), link.getBoundingClientRect()];
  const margin = 4 * place.height;
  const [above, below] = [place.top - margin - seen.top, place.bottom + margin - Math.min(seen.bottom, innerHeight)];
  if (above < 0 || below > 0) list.scrollTop += above < 0 ? above : below;
}

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) reading[isIntersecting ? "add" : "delete"](target);
    const current = sections.findLast((section) => reading.has(section));
    for (const [id, link] of links) {
      if (id === current?.id) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
    if (current) bringIntoSight(links.get(current.id));
    if (current) keepPlace(`#${current.id}`, links.get(current.id).textContent);
  },
  { rootMargin: "-15% 0px -80% 0px" },
);
for (const section of sections) watcher.observe(section);

// A problem is reported with the section being read.
for (const link of document.querySelectorAll(".report")) {
  const address = new URL(link.href);
  const body = address.searchParams.get("body");
  link.addEventListener("click", () => {
    const { id } = sections.findLast((section) => reading.has(section)) ?? sections.at(-1) ?? {};
    const section = id ? `${links.get(id).textContent} (#${id})` : "";
    address.searchParams.set("body", body + fill(link.dataset.more, { section, browser: navigator.userAgent }));
    link.href = address;
  });
}

// The page in another language opens at the section being read.
for (const link of document.querySelectorAll("a.language"))
  link.addEventListener("click", () => {
    link.hash = sections.findLast((section) => reading.has(section))?.id ?? location.hash;
  });

// Whatever scrolls sideways can be reached and scrolled with the keyboard.
const wide = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const box of document.querySelectorAll("pre, div.math, .pst-scrollable-table-container, .cell_output > .output"))
  wide.observe(box);

// When the notebooks last ran with Colab's packages: later than this page was made, if they still do.
const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
async function tellLastRun(times) {
  const { date } = await (await fetch(`${html.dataset.content_root}colab/last-green.json`)).json();
  const written = JSON.parse(document.getElementById("dates").textContent);
  const [year, month, day] = date.split("-").map(Number);
  const parts = { year, month: written.months[month - 1], day };
  for (const time of times) {
    if (date > time.dateTime) {
      time.dateTime = date;
      time.textContent = fill(written.date, parts);
    }
  }
}
const times = document.querySelectorAll(".ran time");
if (times.length)
  tellLastRun(times).catch(() => {
    /* the page's own date stands */
  });

// The buttons that copy code come when somebody moves: to read, nobody needs them.
const moves = ["pointermove", "keydown"];
const awaitMove = () => moves.forEach((move) => addEventListener(move, bringCopyButtons));
async function bringCopyButtons() {
  for (const move of moves) removeEventListener(move, bringCopyButtons);
  for (const name of ["clipboard.min.js", "copybutton.js"]) {
    const script = document.createElement("script");
    script.src = new URL(name, import.meta.url);
    document.head.append(script);
    const came = await new Promise((done) => {
      for (const end of ["load", "error"]) script.addEventListener(end, () => done(end === "load"));
    });
    if (!came) return awaitMove();
  }
}
awaitMove();

addEventListener("load", () => idle(() => import("./keep_offline.js")));
