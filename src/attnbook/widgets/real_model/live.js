// The model in the page, from the press on: how it arrives, what it is given to read, which heads are off.

import { button, count, element, fill, number, update, whole } from "../shared/core.js";
import { forget } from "./download.js";
import { KINDS, kindsOf } from "./kinds.js";

const [MOST, HALF, MEGA] = [64, 0.5, 1e6]; // tokens of a text; of a head's attention, if it is of a kind

/**
 * @param {object} parts  of the widget
 * @param {import("../shared/core.js").Model} parts.model
 * @param {Object<string, any>} parts.say  words for this, which arrive with it
 * @param {import("../shared/core.js").Subscriptions} parts.subscriptions
 * @param {string} parts.folder  of the model's parts
 * @param {Element} parts.top  here goes the reader's own text,
 * @param {Element} parts.writing  here how the model writes,
 * @param {Element} parts.panel  here how it arrives and then what heads do,
 * @param {Element} parts.status  and here what is to be said
 * @param {() => number} parts.here  the chosen head
 * @param {(pictures: import("./real_model.js").Picture[]) => void} parts.show
 * @param {() => void} parts.wait  called when the reader does without
 * @returns {{ without: string, reads: () => boolean, off: () => Set<number>, light: (n: number) => number,
 *   look: (n: number) => void, toggle: (n: number) => void, end: () => void }}
 */
export function live({ model, say, subscriptions, folder, top, writing, panel, status, here, show, wait }) {
  const known = [[], []]; // rows of maps: with all heads, and without some
  let [worker, heads, last, kept, pictures, picture, shares] = [null, 0, -1, "", [], null, {}];
  let [busy, again, goesOn] = [false, false, false];

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
    worker.postMessage({ load: folder }, []);
  }
  function trouble(word) {
    busy = goesOn = false;
    retry.value = word;
    status.textContent = say.trouble[word];
    panel.replaceChildren(retry, cancel);
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

  // ---- what it reads, and writes ----

  const field = element("textarea", { rows: 1, spellcheck: "false", maxlength: 400 });
  field.addEventListener("input", () => {
    if (field.value) update(model, { text: field.value, written: [], token: MOST - 1 });
  });
  const write = () => {
    const [, , id] = picture.next[0];
    if (id === last || picture.tokens.length === MOST) return stop();
    update(model, { written: [...model.get("written"), id], token: MOST - 1 });
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
    again = busy;
    if (busy) return;
    busy = true;
    const [text, written] = [model.get("text"), model.get("written")];
    worker.postMessage({ text, written, off: [...off()], most: MOST }, []);
  }
  function take({ read, ...about }) {
    busy = false;
    read.forEach(({ known: same, rows }, n) => (known[n] = [...known[n].slice(0, same), ...rows]));
    pictures = read.map(({ next }, n) => ({ ...about, rows: known[n], next }));
    picture = pictures.at(-1);
    shares = kindsOf(picture);
    show(pictures);
    status.textContent = picture.tokens.length < MOST ? kept : fill(say.long, { n: whole(MOST) });
    if (again) ask();
    else if (goesOn) requestAnimationFrame(() => goesOn && write());
  }

  // ---- which heads are off ----

  const pair = (n) => [Math.floor(n / heads), n % heads];
  const off = () => new Set(heads ? model.get("off").map(([block, head]) => block * heads + head) : []);
  const toggle = (...list) => {
    const now = off();
    const left = list.filter((n) => !now.has(n));
    const then = left.length ? [...now, ...left] : [...now].filter((n) => !list.includes(n));
    update(model, { off: then.map(pair) });
  };
  const ofKind = () => {
    const kind = shares[model.get("kind")] ?? [];
    return [...kind.keys()].filter((n) => kind[n] >= HALF);
  };
  const light = (n) => {
    const kind = shares[model.get("kind")];
    return kind ? 0.2 + 0.8 * kind[n] : 1;
  };
  const one = button("", () => toggle(here()));
  const several = button("", () => toggle(...ofKind()));
  const none = button(say.all, () => update(model, { off: [] }));
  const kinds = KINDS.map((kind) => {
    const share = element("span", { class: "ab-number" });
    const node = button(say.kinds[kind], () => update(model, { kind: model.get("kind") === kind ? "all" : kind }));
    node.append(share);
    return { kind, node, share };
  });
  const look = (n) => {
    if (!picture) return;
    for (const { kind, node, share } of kinds) {
      share.textContent = number(shares[kind][n]);
      node.style.setProperty("--w", shares[kind][n]);
      node.ariaPressed = kind === model.get("kind");
    }
    one.textContent = off().has(here()) ? say.switch.on : say.switch.off;
    several.textContent = count(say.these, ofKind().length);
    several.hidden = !ofKind().length;
    none.hidden = !off().size;
  };

  const forgets = element("button", { type: "button", class: "ab-link" }, say.forget);
  forgets.addEventListener("click", async () => {
    await forget(folder);
    forgets.remove();
    kept = status.textContent = say.forgotten;
  });
  function begin(about) {
    ({ heads, last } = about);
    top.replaceChildren(element("div", { class: "ab-control" }, element("label", {}, say.own, field)), forgets);
    writing.replaceChildren(button(say.one, write), on, back);
    const list = element("div", { class: "ab-kinds" }, element("p", {}, say.like), ...kinds.map(({ node }) => node));
    panel.replaceChildren(list, one, none, several);
    subscriptions.follow(["text"], () => {
      if (field.value !== model.get("text")) field.value = model.get("text");
    });
    subscriptions.follow(["text", "written", "off"], ask);
    subscriptions.follow(["kind"], () => picture && show(pictures));
  }

  start();
  load();
  return { without: say.without, reads: () => Boolean(heads), off, light, look, toggle, end: () => worker.terminate() };
}
