// The model in the page, from the press on: how it arrives, what it is given to read, how it writes.

import { button, element, fill, follower, update, whole } from "../shared/core.js";
import { forget } from "../shared/kept.js";

const MEGA = 1e6;

/**
 * What the model has read, as its worker tells it: with all heads on, and then without those that are off. Of each reading
 * the rows of maps from the first that is new on, how many were `known`, and what could come next: token, probability, id.
 * @typedef {{ asked: number, read: { known: number, rows: Float32Array[], next: [string, number, number][] }[], tokens: string[],
 *   given: number, off: number[], layers: number, heads: number }} News  which text that was `asked` it is of; of the tokens so
 *   many were given, and the others written
 */

/**
 * @param {object} parts
 * @param {import("../shared/core.js").Model} parts.model  whose traits are text, written, token and off
 * @param {string} parts.folder  of the model's parts
 * @param {number} parts.most  tokens
 * @param {Element} parts.top  here goes the reader's own text,
 * @param {Element} parts.writing  here how the model writes,
 * @param {Element} parts.panel  here how it arrives,
 * @param {Element} parts.status  and here what is to be said
 * @param {() => number[]} parts.off  heads, counted over all blocks
 * @param {(about: { heads: number }, subscriptions: import("../shared/core.js").Subscriptions) => void} parts.begin  called
 *   whenever it has arrived, with what follows the model until it must arrive again
 * @param {() => void} [parts.leave]  called when it no longer follows the model
 * @param {(news: News) => Promise<void> | void} parts.take  it writes on when what it has read can be seen
 * @param {(answer: object) => void} [parts.hear]  what else the worker answers
 * @param {() => void} parts.wait  called when the reader does without
 * @returns {Promise<{ tell: (message: object) => void, busy: () => boolean, end: () => void }>}
 */
export async function reader(parts) {
  const { model, folder, most, top, writing, panel, status, off, begin, leave, take, hear, wait } = parts;
  const say = await (await fetch(new URL("later.json", import.meta.url))).json();
  const subscriptions = follower(model);
  let [worker, last, kept, next] = [null, -1, "", []];
  let [busy, asked, goesOn, full] = [false, 0, false, false];
  const tell = (message) => worker.postMessage(message, []);

  // ---- how it arrives ----

  const progress = element("progress", { max: 1, value: 0, "aria-label": say.loading });
  const arrived = element("span", { class: "ab-number" });
  const pause = button(say.pause, () => {
    const paused = pause.textContent === say.pause;
    pause.textContent = paused ? say.resume : say.pause;
    tell({ pause: paused });
  });
  const cancel = button(say.cancel, () => {
    end();
    forget(folder);
    status.textContent = "";
    wait();
  });
  const retry = button(say.retry, () => {
    if (!["offline", "damaged", "missing"].includes(retry.value)) start();
    load();
  });
  function load() {
    status.textContent = "";
    panel.replaceChildren(progress, arrived, pause, cancel);
    tell({ load: folder });
  }
  function trouble(word) {
    rest();
    busy = goesOn = false;
    retry.value = word;
    status.textContent = say.trouble[word];
    panel.replaceChildren(retry, cancel);
  }
  function rest() {
    subscriptions.end();
    leave?.();
  }
  function end() {
    rest();
    worker?.terminate();
  }
  function start() {
    end();
    worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("error", () => {
      worker.terminate(); // it may go on with the next message
      trouble("worker");
    });
    worker.addEventListener("message", ({ data }) => {
      if (data.trouble) trouble(data.trouble);
      else if (data.full) kept = say.full;
      else if (data.size) {
        progress.value = data.done / data.size;
        arrived.textContent = fill(say.arrived, { n: whole(data.done / MEGA), all: whole(data.size / MEGA) });
      } else if (data.ready) ready(data);
      else if (data.read) heard(data);
      else hear?.(data);
    });
  }

  // ---- what it reads, and writes ----

  const field = element("textarea", { rows: 1, spellcheck: "false", maxlength: 400 });
  field.addEventListener("input", () => {
    if (field.value) update(model, { text: field.value, written: [], token: most - 1 });
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) event.preventDefault(); // all of it is read already
  });
  const write = () => {
    if (busy || !next.length) return; // what comes next is known when the text has been read
    const [[, , id]] = next;
    if (id === last || full) return stop();
    update(model, { written: [...model.get("written"), id], token: most - 1 });
  };
  const on = button(say.on, () => {
    if (goesOn) return stop();
    goesOn = true;
    on.textContent = say.stop;
    write();
  });
  const back = button(say.back, () => {
    stop();
    update(model, { written: model.get("written").slice(0, -1) });
  });
  function stop() {
    goesOn = false;
    on.textContent = say.on;
  }
  function ask() {
    busy = true;
    asked += 1;
    tell({ text: model.get("text"), written: model.get("written"), off: off(), most, asked });
  }
  function heard(news) {
    busy = news.asked !== asked; // it may be of an earlier text
    ({ next } = news.read.at(-1));
    full = news.tokens.length === most;
    const seen = take(news);
    status.textContent = full ? fill(say.long, { n: whole(most) }) : kept;
    if (goesOn && !busy) Promise.resolve(seen).then(() => requestAnimationFrame(() => goesOn && write()));
  }

  const forgets = element("button", { type: "button", class: "ab-link" }, say.forget);
  forgets.addEventListener("click", async () => {
    await forget(folder);
    forgets.remove();
    kept = status.textContent = say.forgotten;
  });
  function ready(about) {
    ({ last } = about);
    top.replaceChildren(element("div", { class: "ab-control" }, element("label", {}, say.own, field)), forgets);
    writing.replaceChildren(button(say.one, write), on, back);
    begin(about, subscriptions);
    subscriptions.follow(["text"], () => {
      if (field.value !== model.get("text")) field.value = model.get("text");
    });
    subscriptions.follow(["text", "written", "off"], ask);
  }

  start();
  load();
  return { tell, busy: () => busy, end };
}
