// The window of whoever speaks: what the wall shows, what comes, notes, the time and how it goes with the plan.
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/**
 * @param {{ slides: Element[], minutes: number[], say: Object<string, string> }} talk
 * @param {{ fill(text: string, gaps: object): string, clockFace(seconds: number): string }} words
 * @returns {{ show(at: number): void }}
 */
export function open({ slides, minutes, say }, { fill, clockFace }) {
  const desk = document.createElement("div");
  desk.className = "desk";
  const make = (tag, name, more = {}) => {
    const node = Object.assign(document.createElement(tag), more);
    node.className = name;
    return node;
  };
  const now = make("iframe", "now", { title: say.now, src: "?as=now" });
  const next = make("iframe", "next", { title: say.next, src: "?as=next", inert: true });
  const time = make("time", "");
  const pace = make("span", "pace");
  const again = make("button", "", { type: "button", textContent: say.clock });
  const clock = make("p", "clock");
  clock.append(time, pace, again);
  const coming = make("p", "coming");
  const aside = make("div", "aside");
  aside.append(clock, coming, next);
  const notes = make("div", "said", { tabIndex: 0 });
  notes.setAttribute("aria-label", say.notes);
  notes.setAttribute("role", "region");
  desk.append(now, aside, notes);
  document.body.append(desk);

  let at = 0;
  let start = Date.now();
  const tick = () => {
    const seconds = Math.floor((Date.now() - start) / 1000);
    const plan = sum(minutes.slice(0, at));
    const off = Math.round(plan - seconds / 60);
    time.textContent = clockFace(seconds);
    pace.textContent = fill(say.plan, { n: plan, of: sum(minutes) });
    if (off) pace.textContent += ` · ${fill(off > 0 ? say.ahead : say.behind, { n: Math.abs(off) })}`;
    pace.classList.toggle("late", off < -1);
  };
  again.addEventListener("click", () => {
    start = Date.now();
    again.blur();
    tick();
  });
  setInterval(tick, 1000);
  return {
    show(place) {
      if (at !== place) notes.scrollTop = 0;
      at = place;
      const title = slides[at + 1]?.querySelector("h1, h2").textContent.replace(/#$/, "");
      coming.textContent = `${say.next}: ${title ?? say.end}`;
      next.hidden = !title;
      notes.replaceChildren(...[...slides[at].querySelector(".notes").childNodes].map((node) => node.cloneNode(true)));
      tick();
    },
  };
}
