// The end of a chapter: whoever comes here has read it, and sees what they have done in it. What they do then is told, too.
import { doneIn, page, place, remember } from "./reader_progress.js";
import { fill } from "./widgets/shared/core.js";

const ending = document.querySelector(".ending");
const words = JSON.parse(ending.dataset.words);
const chapter = Number.parseInt(page, 10);
const of = { tasks: ".tasks > ol > li", guesses: ".guess", code: "[data-write]", exercises: ".exercise[id]" };

function tell() {
  const done = doneIn(chapter);
  const told = Object.entries(of).flatMap(([kind, parts]) => {
    const all = document.querySelectorAll(parts).length;
    return all ? fill(words[kind], { n: Math.min(done[kind], all), all }) : [];
  });
  const list = ending.querySelector("ul");
  list.replaceChildren(...told.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  list.hidden = false;
}

remember({ visited: [...new Set([...place().visited, chapter])] });
tell();
new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && tell()).observe(ending);
document.addEventListener("change", () => setTimeout(tell)); // an exercise is ticked beside it
