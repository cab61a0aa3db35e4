// The frames of the widgets (touch.py): reset, link and full screen, and which tasks are done.
// A widget that has become live tells its model; see attnbook/widgets/shared/host.js.

const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);

// The state that the address asks for, of the widget whose name stands behind its #.
function asked(frame, model) {
  if (location.hash !== `#${frame.id}`) return {};
  const read = ([name, text]) => {
    if (typeof model.get(name) === "string") return [name, text];
    try {
      return [name, JSON.parse(text)];
    } catch {
      return [name, undefined];
    }
  };
  return Object.fromEntries([...new URLSearchParams(location.search)].map(read).filter(([name]) => name[0] !== "_"));
}

function address(frame, model) {
  const texts = Object.entries(model.changes()).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const search = new URLSearchParams(texts).toString();
  return `${location.origin}${location.pathname}${search && `?${search}`}#${frame.id}`;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // the browser doesn't allow it, or the page came without https
  }
}

// Whether a trait is what a task wants: a value, any but the first and an empty list, at least or at most so much or so
// long; a list of cells in any order.
function holds(model, name, wanted) {
  const value = model.get(name);
  if (wanted === "changed") return name in model.changes() && value?.length !== 0;
  const [, sign, bound] = /^([<>])= (.+)$/.exec(wanted) ?? [];
  const size = value?.length ?? value;
  if (sign) return sign === ">" ? size >= Number(bound) : size <= Number(bound);
  const text = (x) => (Array.isArray(x?.[0]) ? String(x.map(String).sort()) : JSON.stringify(x));
  return text(value) === text(wanted);
}

// The tasks: each is ticked when the widget's state has shown that it was done. Where there is room for one only, it is
// the one that was done last, and the way on lights up; when the reader comes back, it is the next to be done.
function tasks(frame, widget, model, tell) {
  const items = [...frame.querySelectorAll(".tasks li:has(.when)")];
  if (!items.length) return;
  const turner = frame.querySelector(".turner");
  const [back, on, full] = turner.querySelectorAll("button");
  let at = 0;
  const done = (item) => item.matches(".done");
  const show = (which) => {
    at = which;
    items.forEach((item, i) => item.classList.toggle("now", i === at));
    turner.querySelector("span").textContent = fill(frame.dataset.at, { n: at + 1, all: items.length });
    [back.disabled, on.disabled] = [at === 0, at === items.length - 1];
    on.classList.toggle("lit", done(items[at]) && !items.every(done));
  };
  // In full until the reader sets about it.
  const fold = (folded) => {
    turner.parentElement.classList.toggle("folded", folded);
    full.setAttribute("aria-expanded", !folded);
  };
  const turn = (by) => () => {
    show(at + by);
    fold(false);
  };
  full.addEventListener("click", () => fold(full.ariaExpanded === "true"));
  widget.addEventListener("focusin", () => fold(true));
  back.addEventListener("click", turn(-1));
  on.addEventListener("click", turn(1));
  turner.hidden = false;
  show(0);
  const states = items.map((item) => Object.entries(JSON.parse(item.querySelector(".when").dataset.when)));
  const tick = () => {
    items.forEach((item, i) => {
      if (done(item) || !states[i].every((state) => holds(model, ...state))) return;
      item.classList.add("done");
      show(i);
      tell(fill(frame.dataset.done, { n: i + 1 }));
    });
  };
  model.on("change", () => fold(true));
  model.on("change", () => queueMicrotask(tick)); // when all that changes at once has changed
  const leave = ([{ isIntersecting }]) => {
    const next = items.findIndex((item) => !done(item));
    if (!isIntersecting && done(items[at]) && next >= 0) turn(next - at)();
  };
  new IntersectionObserver(leave).observe(frame);
}

// In full screen a widget is what it is in the book, as large as the screen allows.
function enlarge() {
  const frame = document.fullscreenElement;
  if (!frame?.matches(".touch") || !("currentCSSZoom" in frame)) return; // an older browser counts pixels otherwise
  frame.style.setProperty("--zoom", 1);
  const { paddingTop, paddingBottom, paddingLeft, paddingRight } = getComputedStyle(frame);
  const boxes = [...frame.children].map((child) => child.getBoundingClientRect());
  const [wide, tall] = [boxes[0].width, boxes.at(-1).bottom - boxes[0].top];
  const beside = [paddingLeft, paddingRight, paddingTop, paddingBottom].map(Number.parseFloat);
  const fits = [innerWidth / (wide + beside[0] + beside[1]), innerHeight / (tall + beside[2] + beside[3])];
  frame.style.setProperty("--zoom", Math.max(Math.floor(100 * Math.min(...fits)) / 100, 1));
}
addEventListener("resize", enlarge);
document.addEventListener("fullscreenchange", ({ target }) => {
  if (document.fullscreenElement) enlarge();
  else if (target.matches?.(".touch")) target.style.removeProperty("--zoom");
});

document.addEventListener("ab-live", ({ target }) => {
  const { model } = target;
  const frame = target.closest(".touch");
  if (!frame?.matches("[data-at]")) return; // alone on the first page's stage
  const said = frame.querySelector(".said");
  const tell = (text) => {
    said.textContent = text;
  };
  const acts = {
    reset() {
      model.become();
      history.replaceState(null, "", location.pathname);
      tell("");
    },
    async link() {
      const link = address(frame, model);
      history.replaceState(null, "", link);
      tell((await copied(link)) ? frame.dataset.copied : frame.dataset.address);
    },
    full: () => (document.fullscreenElement ? document.exitFullscreen() : frame.requestFullscreen()),
  };
  for (const button of frame.querySelectorAll(".acts button"))
    button.addEventListener("click", acts[button.dataset.act]);
  frame.querySelector("[data-act='full']").hidden = !document.fullscreenEnabled;
  frame.querySelector(".acts").hidden = false;
  try {
    model.become(asked(frame, model));
  } catch {
    model.become(); // no state of this widget, whoever wrote the address
  }
  tasks(frame, target, model, tell); // from here on: what a link brings the reader has not done
  if (document.querySelector(`.drag[data-of="${target.dataset.afm}"]`)) import("./drag.js");
});
