// Makes a talk of a deck: keys and fingers, steps, a window for whoever speaks, paper. The windows of one talk tell each
// other where it is, and what was done to a widget.
const deck = document.querySelector(".deck");
const html = document.documentElement;
const say = JSON.parse(deck.dataset.say);
// The wall, the speaker's desk and the two slides it shows, or a kind of print.
const role = new URLSearchParams(location.search).get("as") ?? "wall";
const onPaper = ["pages", "notes", "handout"].includes(role);
html.dataset.as = role;
html.classList.toggle("scaled", !("currentCSSZoom" in html));
const talk = new BroadcastChannel(`talk ${location.pathname}`);
const send = (what) => talk.postMessage(what); // oxlint-disable-line unicorn/require-post-message-target-origin
const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
const clockFace = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

const slides = [...deck.querySelectorAll(".slide")];
const minutes = slides.map((slide) => Number(/minutes-(\d+)/.exec(slide.className)?.[1] ?? 1));

// What a slide does one after the other. `draw` is told whether its turn has come, and whether it was the last.
const KINDS = {
  step: (node) => [
    {
      draw(done) {
        node.classList.toggle("shown", done);
        if (node.matches(".instead")) node.previousElementSibling.classList.toggle("gone", done);
      },
    },
  ],
  guess: (node) => [{ draw: (done) => node.classList.toggle("answered", done && role !== "handout") }],
  story: (node) =>
    [...node.querySelectorAll(".steps > li")].slice(1).map((_, n) => ({
      draw(done) {
        if (!done && n) return;
        node.dataset.at = n + 1 + done;
        node.querySelectorAll(".steps > li").forEach((li, place) => li.classList.toggle("now", place === n + done));
      },
    })),
  lines(node) {
    const code = [...node.nextElementSibling.querySelector("pre").querySelectorAll(".line")];
    return node.dataset.told.split("|").map((part) => {
      const [from, to = from] = part.split("-").map(Number);
      return {
        draw(_done, isLast) {
          if (isLast && !onPaper)
            code.forEach((line, n) => line.classList.add(n >= from - 1 && n < to ? "lit" : "dim"));
        },
      };
    });
  },
  set: (node) => [{ state: JSON.parse(node.dataset.told), draw() {} }],
};
const steps = slides.map((slide) =>
  [...slide.querySelectorAll(".step, .guess, .story, template")].flatMap((node) => {
    const kind = Object.keys(KINDS).find((name) => node.classList.contains(name));
    return kind ? KINDS[kind](node) : [];
  }),
);
const first = (slide) => JSON.parse(slide.querySelector("template.first")?.dataset.told ?? "{}");
for (const card of deck.querySelectorAll(".guess[data-number]:not([data-number=''])"))
  card.querySelector(".because").dataset.answer = card.dataset.number.replace(/\.$/, "");

let at = 0;
let step = 0;
const done = (n) => (onPaper ? steps[n].length : n === at ? step : 0);

function draw(n) {
  const slide = slides[n];
  for (const line of slide.querySelectorAll(".line")) line.classList.remove("lit", "dim");
  steps[n].forEach((each, place) => each.draw(place < done(n), place === done(n) - 1));
  become(slide);
  fit(slide);
}

// A step gives a widget its state, whatever was done to it before.
function become(slide) {
  const n = slides.indexOf(slide);
  const states = [first(slide), ...steps[n].slice(0, done(n)).map((each) => each.state ?? {})];
  if (!steps[n].some((each) => each.state) && !Object.keys(states[0]).length) return;
  slide.querySelectorAll("[data-mounted]").forEach(({ model }) => model.become(Object.assign({}, ...states)));
}

// Code and formulas are as large as their longest line lets them, code of one slide alike, and less if the wall is too
// full; a widget is as large as its height. It is zoomed and not scaled, so that it is worked as on a page, where the
// browser zooms as the standard says.
function fit(slide) {
  if (!slide.offsetHeight) return;
  const wall = slide.querySelector(".wall");
  for (const formula of wall.querySelectorAll("div.math")) narrow(formula, ".katex-html");
  const code = [...wall.querySelectorAll("pre:not(.touch pre)")];
  for (const pre of code) narrow(pre);
  const size = Math.min(...code.map((pre) => parseFloat(getComputedStyle(pre).fontSize) / rem()));
  for (const pre of code) pre.style.fontSize = `${size}rem`;
  for (let less = 1; less > 0.6; less -= 0.05) {
    wall.style.setProperty("--less", less);
    for (const pre of code) pre.style.fontSize = `${size * less}rem`;
    if (!isFull(wall)) break;
  }
  for (const frame of wall.querySelectorAll(".touch:has([data-mounted])"))
    for (const share of [1, 0.9, 0.8, 0.7, 0.6]) {
      frame.style.setProperty("--share", share); // what is as high as it is wide fits where it is less wide
      if (zoom(frame, wall)) break;
    }
}
// The largest zoom at which a frame fits; whether there is one.
function zoom(frame, wall) {
  let [low, high] = [0.55, 1.25];
  const show = (size) => {
    frame.style.setProperty("--zoom", size);
    frame.style.setProperty("--high", `${frame.offsetHeight}px`); // for one that is scaled
  };
  for (let turn = 0; turn < 7; turn++) {
    const middle = (low + high) / 2;
    show(middle);
    if (isFull(wall)) high = middle;
    else low = middle;
  }
  show(low.toFixed(3));
  return !isFull(wall);
}
const isFull = (wall) => wall.scrollHeight > wall.clientHeight || wall.scrollWidth > wall.clientWidth;
function narrow(node, inside) {
  node.style.fontSize = "";
  for (let turn = 0; turn < 4; turn++) {
    const within = (inside && node.querySelector(inside)?.getBoundingClientRect().width) || 0;
    const width = Math.max(node.scrollWidth, within);
    if (width <= node.clientWidth) return;
    const size = parseFloat(getComputedStyle(node).fontSize);
    node.style.fontSize = `${(0.985 * size * node.clientWidth) / width / rem()}rem`;
  }
}
const rem = () => parseFloat(getComputedStyle(html).fontSize);

function go(to, how = 0, { told = false } = {}) {
  at = Math.max(0, Math.min(to, slides.length - 1));
  step = Math.min(how, steps[at].length);
  slides.forEach((slide, n) => {
    slide.classList.toggle("here", n === at);
    slide.classList.toggle("near", Math.abs(n - at) === 1);
    slide.inert = n !== at && !html.classList.contains("all");
  });
  draw(at);
  deck.style.setProperty("--done", at / Math.max(1, slides.length - 1));
  turner.show();
  desk?.show(at);
  if (role === "wall") history.replaceState(null, "", `${location.search}#${at + 1}${step ? `.${step}` : ""}`);
  if (!told) send({ at, step });
}
const on = () => (step < steps[at].length ? go(at, step + 1) : at < slides.length - 1 && go(at + 1));
const back = () => (step > 0 ? go(at, step - 1) : at > 0 && go(at - 1, Infinity));

function tell(what) {
  send(what);
  hear(what);
}
function hear({ at: to, step: how, black, dark, pairs, widget, state, asks }) {
  if (asks && role === "wall") {
    send({ at, step, dark: html.dataset.theme === "dark" });
    for (const frame of slides[at].querySelectorAll("[data-mounted]")) tellOf(frame);
  }
  if (to !== undefined) {
    early.clear();
    if (role === "next") go(to + 1, Infinity, { told: true });
    else go(to, how, { told: true });
  }
  if (black !== undefined) html.classList.toggle("black", black);
  if (dark !== undefined) html.dataset.theme = dark ? "dark" : "light";
  if (pairs) run(pairs);
  if (state && role !== "next") {
    worked = false;
    const frame = widgets[widget];
    if (frame.model) frame.model.become(state);
    else early.set(frame, state);
  }
}
talk.addEventListener("message", ({ data }) => onPaper || hear(data));

// What is done to a widget in one window is seen in the others: the window where it is worked tells them.
let worked = false;
const widgets = [...deck.querySelectorAll("[data-afm]")];
const early = new Map(); // what was told of a widget before it was live
const tellOf = (frame) => send({ widget: widgets.indexOf(frame), state: frame.model.changes() });
for (const kind of ["pointerdown", "keydown"])
  addEventListener(kind, ({ target }) => (worked = Boolean(target.closest?.(".ab-widget"))), true);
document.addEventListener("ab-live", ({ target }) => {
  const slide = target.closest(".slide");
  become(slide);
  if (early.has(target)) target.model.become(early.get(target));
  requestAnimationFrame(() => fit(slide));
  const wall = slide.querySelector(".wall");
  new ResizeObserver(() => isFull(wall) && fit(slide)).observe(target); // it grows once more when its data are there
  target.model.on("change", () => worked && tellOf(target));
});

// How long pairs have.
const clocks = new Map();
for (const slide of slides.filter((each) => each.matches(".pairs"))) {
  const clock = document.createElement("button");
  clock.type = "button";
  clock.className = "countdown";
  clock.setAttribute("aria-label", say.pairs);
  clock.textContent = clockFace(60 * minutes[slides.indexOf(slide)]);
  clock.addEventListener("click", () => tell({ pairs: { slide: slides.indexOf(slide), start: Date.now() } }));
  slide.append(clock);
  clocks.set(slide, clock);
}
function run({ slide, start }) {
  const clock = clocks.get(slides[slide]);
  const tick = () => {
    const left = Math.ceil(60 * minutes[slide] - (Date.now() - start) / 1000);
    clock.textContent = clockFace(Math.max(0, left));
    clock.classList.toggle("over", left <= 0);
  };
  clearInterval(clock.ticks);
  clock.ticks = setInterval(tick, 250);
  tick();
}

// Where the talk is, for eyes and for ears, and buttons for a mouse and a finger.
const turner = (() => {
  const node = document.createElement("nav");
  node.className = "turner";
  const button = (name, sign, press) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = sign;
    made.title = say[name];
    made.setAttribute("aria-label", say[name]);
    made.addEventListener("click", press);
    return made;
  };
  const count = document.createElement("span");
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  node.append(button("back", "‹", back), count, button("on", "›", on));
  node.append(button("all", "▦", overview), button("desk", "◫", openDesk), button("help", "?", help), said);
  const show = () => {
    const title = slides[at].querySelector("h1, h2").textContent.replace(/#$/, "");
    count.textContent = `${at + 1} / ${slides.length}`;
    said.textContent = fill(say.slide, { n: at + 1, of: slides.length, title });
  };
  if (role === "wall") deck.append(node);
  return { show };
})();
function overview() {
  const all = html.classList.toggle("all");
  for (const slide of slides) slide.inert = !all && slide !== slides[at];
  slides.forEach(fit);
  slides[at].scrollIntoView({ block: "center" });
}
function openDesk() {
  open(`${location.pathname}?as=desk`, "desk", "width=1280,height=800");
}
function help() {
  if (!deck.querySelector(".help")) {
    const list = document.createElement("dl");
    list.className = "help";
    for (const [key, does] of Object.entries(say.keys)) {
      list.append(document.createElement("dt"), document.createElement("dd"));
      list.lastChild.previousSibling.textContent = key;
      list.lastChild.textContent = does;
    }
    deck.append(list);
  }
  html.classList.toggle("keys");
}
function leave() {
  if (html.classList.contains("all")) overview();
  html.classList.remove("keys");
  if (html.classList.contains("black")) tell({ black: false });
}

const black = () => tell({ black: !html.classList.contains("black") });
const print = (kind) => () => open(`${location.pathname}?as=${kind}`, kind);
let typed = "";
const KEYS = {
  PageDown: on,
  PageUp: back,
  ArrowRight: on,
  ArrowLeft: back,
  ArrowDown: on,
  ArrowUp: back,
  " ": on,
  Backspace: back,
  Home: () => go(0),
  End: () => go(slides.length - 1, Infinity),
  Enter: () => (typed ? go(Number(typed) - 1) : on()),
  Escape: leave,
  "?": help,
  ".": black,
  b: black,
  d: () => tell({ dark: html.dataset.theme !== "dark" }),
  f: () => (document.fullscreenElement ? document.exitFullscreen() : html.requestFullscreen()),
  h: print("handout"),
  n: print("notes"),
  o: overview,
  p: print("pages"),
  s: openDesk,
  t: () => clocks.get(slides[at])?.click(),
};
// What a remote sends always moves the talk. Any other key belongs to a control that was reached with Tab, or that is
// written into; one that was only pressed with the mouse gives the arrows back.
let tabbed = false;
addEventListener("pointerdown", () => (tabbed = false), true);
function belongs({ target, key }) {
  if (["PageDown", "PageUp"].includes(key)) return false;
  const control = target.closest?.(".ab-widget :focus, button, a, input, select, [tabindex='0']");
  const isWritten = "textarea, select, input:not([type='radio'], [type='checkbox'], [type='range'], [type='button'])";
  return Boolean(control && (tabbed || control.matches(isWritten)));
}
addEventListener(
  "keydown",
  (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || onPaper) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    tabbed ||= name === "Tab";
    if (belongs(event)) {
      if (name === "Escape") document.activeElement.blur();
      return;
    }
    if (/^\d$/.test(name)) typed += name;
    else if (KEYS[name]) {
      event.preventDefault();
      event.stopPropagation();
      document.activeElement?.blur();
      KEYS[name]();
      typed = "";
    }
  },
  true,
);
const fitShown = () => (onPaper ? slides : [slides[at]]).forEach(fit);
addEventListener("resize", fitShown);
document.fonts.ready.then(fitShown);
deck.addEventListener("click", ({ target }) => {
  const slide = target.closest(".slide");
  if (!html.classList.contains("all") || !slide) return;
  overview();
  go(slides.indexOf(slide));
});
let from;
deck.addEventListener("touchstart", ({ touches, target }) => {
  from = target.closest(".ab-widget") || touches.length > 1 ? undefined : touches[0];
});
deck.addEventListener("touchend", ({ changedTouches: [to] }) => {
  if (!from || Math.abs(to.clientX - from.clientX) < 50) return;
  if (Math.abs(to.clientY - from.clientY) < Math.abs(to.clientX - from.clientX))
    (to.clientX < from.clientX ? on : back)();
});

let desk;
if (onPaper) {
  html.dataset.theme = "light";
  for (const n of slides.keys()) draw(n);
} else {
  if (role === "desk") desk = (await import("./slide.desk.js")).open({ slides, minutes, say }, { fill, clockFace });
  const [where, how] = location.hash.slice(1).split(".").map(Number);
  go((where || 1) - 1, how || 0, { told: role !== "wall" });
  if (role !== "wall") send({ asks: true });
}
if (role === "wall") {
  deck.focus({ preventScroll: true });
  addEventListener("load", () => import("./keep_offline.js")); // for a room without a network
}
