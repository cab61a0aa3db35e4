// Beside a citation, an equation's number, a name in the code or a term: what it stands for. It comes by mouse, focus or
// tap, stays while one is on it, and goes with Escape.
const note = document.createElement("div");
note.id = "note";
note.popover = "manual";
note.setAttribute("role", "tooltip");
document.body.append(note);
let [place, going, glossary] = [];

function equation({ hash, href }) {
  const here = hash && href.split("#")[0] === location.href.split("#")[0];
  return here ? document.getElementById(hash.slice(1))?.querySelector(".katex-display") : undefined;
}

// What the glossary's page says of a term. It is asked for once; if it can't be had, the link still leads there.
async function meaning(link) {
  glossary ??= fetch(link.href).then((answer) => answer.text());
  const page = new DOMParser().parseFromString(await glossary, "text/html");
  note.lang = page.documentElement.lang; // where the glossary is not translated
  const said = page.getElementById(link.hash.slice(1)).nextElementSibling;
  for (const each of said.querySelectorAll("a")) each.href = new URL(each.getAttribute("href"), link.href);
  return said.childNodes;
}

async function content(node) {
  note.lang = document.documentElement.lang;
  if (node.matches(".term")) return meaning(node);
  return [node.dataset.note ?? equation(node).cloneNode(true)];
}

async function show(node) {
  clearTimeout(going);
  if (node === place) return;
  hide();
  place = node;
  const said = await content(node).catch(() => {
    glossary = undefined;
  });
  if (!said || node !== place) return;
  note.replaceChildren(...said);
  note.showPopover();
  put();
  node.setAttribute("aria-describedby", note.id);
}

function put() {
  const [at, size] = [place.getBoundingClientRect(), note.getBoundingClientRect()];
  const above = at.top - size.height - 8;
  note.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  note.style.top = `${above < 64 ? at.bottom + 8 : above}px`;
}

function hide() {
  place?.removeAttribute("aria-describedby");
  place = undefined;
  note.hidePopover();
}

const leave = () => {
  going = setTimeout(hide, 200);
};

for (const node of document.querySelectorAll(
  "a[href*='references.html#'][title], a[href*='#equation-'], a.term, [data-note]",
)) {
  if (node.matches(".headerlink")) continue;
  if (node.title) {
    node.dataset.note = node.title;
    node.removeAttribute("title");
  }
  if (!node.matches(".term, [data-note]") && !equation(node)) continue;
  let first = false; // a tap that finds no note yet: a second one follows the link
  node.addEventListener("pointerenter", ({ pointerType }) => pointerType === "touch" || show(node));
  node.addEventListener("pointerdown", ({ pointerType }) => {
    first = pointerType === "touch" && node !== place;
  });
  node.addEventListener("pointerleave", leave);
  node.addEventListener("focus", () => show(node));
  node.addEventListener("blur", leave);
  node.addEventListener("click", (event) => {
    if (!first) return;
    event.preventDefault();
    show(node);
  });
}
note.addEventListener("pointerenter", () => clearTimeout(going));
note.addEventListener("pointerleave", leave);
document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
document.addEventListener(
  "pointerdown",
  ({ target }) => place && !place.contains(target) && !note.contains(target) && hide(),
);
addEventListener("scroll", () => (place === document.activeElement ? put() : place && hide()), { passive: true });
