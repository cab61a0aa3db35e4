// The button that brings a published model into the page. Only a page has the model's parts beside it.

import { button, fill, whole } from "./core.js";
import { isKept } from "./kept.js";

/**
 * @param {{ model: string, size: number }} file  which model, and its bytes
 * @param {Object<string, string>} say
 * @param {Element} panel  here goes the button, until it is pressed
 * @param {Element} status  here is what to know before, and what went wrong
 * @param {(folder: string, wait: () => void) => Promise<void>} bring  is told where the model's parts are, and calls `wait`
 *   when the reader does without
 */
export async function offer({ model, size }, say, panel, status, bring) {
  const folder = new URL(`../../models/${model}/`, import.meta.url).href;
  let asked = false;
  const run = button(fill(say.run, { n: whole(size / 1e6) }), () => {
    if (asked) return;
    asked = true;
    bring(folder, wait).catch(() => {
      asked = false;
      status.textContent = say.failed;
    });
  });
  const wait = () => {
    asked = false;
    panel.replaceChildren(run);
  };
  run.classList.add("ab-start");
  wait();
  status.textContent = matchMedia("(pointer: coarse)").matches ? say.phone : say.hint;
  if (await isKept(folder)) run.textContent = say.kept;
}
