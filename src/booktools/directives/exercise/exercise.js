// A reader ticks what they have done, and finds it ticked when they come back.
import { place, remember } from "./reader_progress.js";

const { done } = place();
for (const exercise of document.querySelectorAll(".exercise[id]")) {
  const label = document.createElement("label");
  const tick = document.createElement("input");
  tick.type = "checkbox";
  tick.checked = done.includes(exercise.id);
  tick.addEventListener("change", () => {
    const others = place().done.filter((id) => id !== exercise.id);
    remember({ done: tick.checked ? [...others, exercise.id] : others });
  });
  label.className = "done";
  label.append(tick, exercise.dataset.done);
  exercise.querySelector(".admonition-title").append(label);
}
