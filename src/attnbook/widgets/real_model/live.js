// The model in the page, from the press on: how it arrives, what it is given to read, which heads are off.

import { button, count, element, fill, update, whole } from "../shared/core.js";
import { forget } from "./download.js";

const [MOST, HALF] = [64, 0.5]; // tokens of a text; of the attention of a head that is of a kind
const MEGA = 1e6;

/**
 * @param {object} parts  of the widget
 * @param {import("../shared/core.js").Model} parts.model
 * @param {Object<string, any>} parts.say  words for this, which arrive with it
 * @param {import("../shared/core.js").Subscriptions} parts.subscriptions
 * @param {string} parts.folder  of the model's parts
 * @param {Object<string, Element>} parts.places  where controls belong: `top`, `writing`, `heads`, and `status` for texts
 * @param {() => { pictures: object[], shares: Object<string, number[]>, here: number }} parts.now  what is shown
 * @param {(pictures: object[]) => void} parts.show
 * @param {() => void} parts.gone  is called when the reader does without
 * @returns {{ toggle: (n: number) => void, label: () => void, without: string, end: () => void }} `label` says on buttons
 *   what they do now
 */
export function live({ model, say, subscriptions, folder, places, now, show, gone }) {
  const known = [[], []]; // rows of maps: with all heads, and without some
  let [worker, heads, last, kept, busy, again, writing] = [null, 0, -1, "", false, false, false];

  // ---- how it arrives ----

  const progress = element("progress", { max: 1, value: 0, "aria-label": say.loading });
  const arrived = element("span", { class: "ab-number" });
  const pause = button(say.pause, () => {
    const paused = pause.textContent === say.pause;
    pause.textContent = paused ? say.resume : say.pause;
    worker.postMessage({ pause: paused }, []);
  });
  const cancel = button(say.cancel, () => {
    worker.terminate();
    forget(folder);
    leave("");
  });
  const retry = button(say.retry, () => {
    if (!["offline", "damaged", "missing"].includes(retry.value)) start();
    wait();
  });
  function leave(text) {
    places.top.replaceChildren();
    places.status.textContent = text;
    gone();
  }
  function wait() {
    places.status.textContent = "";
    places.top.replaceChildren(progress, arrived, pause, cancel);
    worker.postMessage({ load: folder }, []);
  }
  function trouble(word) {
    busy = writing = false;
    retry.value = word;
    places.status.textContent = say.trouble[word];
    places.top.replaceChildren(retry, cancel);
  }
  function start() {
    worker?.terminate();
    worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("error", () => trouble("worker"));
    worker.addEventListener("message", ({ data }) => {
      if (data.trouble) trouble(data.trouble);
      else if (data.full) kept = say.full;
      else if (data.size) {
        progress.value = data.done / data.size;
        arrived.textContent = fill(say.arrived, { n: whole(data.done / MEGA), all: whole(data.size / MEGA) });
      } else if (data.ready) begin(data);
      else take(data);
    });
  }

  // ---- what it reads ----

  const field = element("textarea", { rows: 1, spellcheck: "false", maxlength: 400 });
  field.addEventListener(
    "input",
    () => field.value && update(model, { text: field.value, written: [], token: MOST - 1 }),
  );
  const write = () => {
    const { next, tokens } = now().pictures.at(-1);
    const [, , id] = next[0];
    if (id === last || tokens.length === MOST) return stop();
    update(model, { written: [...model.get("written"), id], token: MOST - 1 });
  };
  const on = button(say.on, () => {
    if (writing) return stop();
    writing = true;
    on.textContent = say.stop;
    write();
  });
  const back = button(say.back, () => {
    stop();
    update(model, { written: model.get("written").slice(0, -1) });
  });
  function stop() {
    writing = false;
    on.textContent = say.on;
  }
  function ask() {
    places.status.textContent = "";
    again = busy;
    if (busy) return;
    busy = true;
    const off = model.get("off").map(([block, head]) => block * heads + head);
    worker.postMessage({ text: model.get("text"), written: model.get("written"), off, most: MOST }, []);
  }
  function take({ read, ...about }) {
    busy = false;
    read.forEach(({ known: same, rows }, n) => (known[n] = [...known[n].slice(0, same), ...rows]));
    show(read.map(({ next }, n) => ({ ...about, rows: known[n], next })));
    if (about.tokens.length === MOST) places.status.textContent = fill(say.long, { n: whole(MOST) });
    if (again) ask();
    else if (writing) requestAnimationFrame(() => writing && write());
  }

  // ---- which heads are off ----

  const pair = (n) => [Math.floor(n / heads), n % heads];
  const is = (n) => model.get("off").some(([block, head]) => block * heads + head === n);
  const toggle = (...list) => {
    const off = model.get("off");
    const left = list.filter((n) => !is(n));
    const others = off.filter(([block, head]) => !list.includes(block * heads + head));
    update(model, { off: left.length ? [...off, ...left.map(pair)] : others });
  };
  const ofKind = () => {
    const shares = now().shares[model.get("kind")] ?? [];
    return [...shares.keys()].filter((n) => shares[n] >= HALF);
  };
  const one = button("", () => toggle(now().here));
  const several = button("", () => toggle(...ofKind()));
  const none = button(say.all, () => update(model, { off: [] }));
  const forgets = element("button", { type: "button", class: "ab-link" }, say.forget);
  forgets.addEventListener("click", async () => {
    await forget(folder);
    forgets.remove();
    places.status.textContent = say.forgotten;
  });
  const label = () => {
    one.textContent = is(now().here) ? say.switch.on : say.switch.off;
    several.textContent = count(say.these, ofKind().length);
    several.hidden = !ofKind().length;
    none.hidden = !model.get("off").length;
  };

  function begin(about) {
    ({ heads, last } = about);
    places.top.replaceChildren(element("div", { class: "ab-control" }, element("label", {}, say.own, field)), forgets);
    places.writing.replaceChildren(button(say.one, write), on, back);
    places.heads.replaceChildren(one, several, none);
    subscriptions.follow(["text"], () => {
      if (field.value !== model.get("text")) field.value = model.get("text");
    });
    subscriptions.follow(["text", "written", "off"], ask);
    places.status.textContent = kept;
    subscriptions.follow(["block", "head", "kind", "off"], label);
  }

  start();
  wait();
  return { toggle, label, without: say.without, end: () => worker.terminate() };
}
