// Beside a citation, an equation's number or a name in the code: what it stands for. It comes by mouse, focus or tap, stays
// while one is on it, and goes with Escape.
const note = document.createElement("div");
note.id = "note";
note.popover = "manual";
note.setAttribute("role", "tooltip");
document.body.append(note);
let [place, going] = [];

function equation({ hash, href }) {
  const here = hash && href.split("#")[0] === location.href.split("#")[0];
  return here ? document.getElementById(hash.slice(1))?.querySelector(".katex-display") : undefined;
}

const content = (node) => node.dataset.note ?? equation(node)?.cloneNode(true);

function show(node) {
  clearTimeout(going);
  if (node === place) return;
  hide();
  place = node;
  note.replaceChildren(content(node));
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
  "a[href*='references.html#'][title], a[href*='#equation-'], [data-note]",
)) {
  if (node.matches(".headerlink")) continue;
  if (node.title) {
    node.dataset.note = node.title;
    node.removeAttribute("title");
  }
  if (!content(node)) continue;
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
