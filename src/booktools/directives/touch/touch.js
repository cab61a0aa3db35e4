// The frames of the widgets (touch.py): reset, link and full screen, and which tasks are done.
// A widget that has become live tells its model; see attnbook/widgets/shared/host.js.

const progress = import("./reader_progress.js"); // no widget waits for it
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

// Whether a trait is what a task wants: a value, at least or at most so much or so long, other than at first (and not
// empty), the same items in another order; a list of cells in any order. `says` is what the widget says of its state.
function holds({ model, widget }, name, wanted) {
  if (name === "says") return widget.querySelector(`[data-says="${wanted}"]`) !== null;
  const value = model.get(name);
  if (wanted === "changed") return name in model.changes() && value?.length !== 0;
  const sorted = (items) => String([...items].sort());
  if (wanted === "reordered") return name in model.changes() && sorted(value) === sorted(model.first(name));
  const [, sign, bound] = /^([<>])= (.+)$/.exec(wanted) ?? [];
  const size = value?.length ?? value;
  if (sign) return sign === ">" ? size >= Number(bound) : size <= Number(bound);
  const text = (x) => (Array.isArray(x?.[0]) ? String(x.map(String).sort()) : JSON.stringify(x));
  return text(value) === text(wanted);
}

// The choices of a question become buttons: a wrong one is told and struck out, the right one ends it.
function question(item, { yes, no }, answered) {
  const told = item.querySelector(".told");
  const right = item.querySelector(".right").closest("li");
  const choices = [...item.querySelectorAll("ul li")];
  const buttons = choices.map((choice) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...choice.childNodes);
    choice.append(button);
    button.addEventListener("click", () => {
      const said = choice.textContent.trim();
      told.textContent = fill(choice === right ? yes : no, { said });
      choice.classList.add(choice === right ? "hit" : "missed");
      if (choice !== right) return;
      told.tabIndex = -1;
      told.focus(); // before its button can't hold it any more
      for (const each of buttons) each.disabled = true;
      answered();
    });
    return button;
  });
}

// The tasks: each is ticked when the widget's state has shown that it was done, or its question is answered. Where there is room for one only, it is
// the one that was done last, and the way on lights up; when the reader comes back, it is the next to be done.
function tasks(frame, widget, model, tell) {
  const items = [...frame.querySelectorAll(".tasks > ol > li")];
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
  const finish = async (i) => {
    items[i].classList.add("done");
    show(i);
    tell(fill(frame.dataset.done, { n: i + 1 }));
    const { page, place, remember } = await progress;
    remember({ touched: [...new Set([...place().touched, `${page} ${frame.id} ${i}`])] });
  };
  progress.then(({ page, place }) => {
    const { touched } = place();
    items.forEach((item, i) => touched.includes(`${page} ${frame.id} ${i}`) && item.classList.add("done"));
    const next = items.findIndex((item) => !done(item));
    if (at === 0 && next > 0) show(next);
  });
  const marks = items.map((item) => [...item.querySelectorAll(".when")].map(({ dataset }) => JSON.parse(dataset.when)));
  const shows = (state) => Object.entries(state).every((wanted) => holds({ model, widget }, ...wanted));
  const tick = () => {
    items.forEach((item, i) => {
      if (!done(item) && marks[i].some(shows)) finish(i);
    });
  };
  items.forEach((item, i) => {
    if (item.querySelector(".right")) question(item, frame.dataset, () => finish(i));
  });
  model.on("change", () => fold(true));
  let touched = false;
  model.on("change", () => {
    touched = true;
    queueMicrotask(tick); // when all that changes at once has changed
  });
  const says = new MutationObserver(() => touched && tick()); // which may take it a while
  says.observe(widget, { subtree: true, attributeFilter: ["data-says"] });
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
