import {
  asset,
  body,
  button,
  element,
  fill,
  follower,
  number,
  update,
  verbatim,
  whole,
  words,
} from "../shared/core.js";
import { slider } from "../shared/slider.js";
import { beams } from "../shared/beams.js";
import { BINS, HOP, KEYPAD, RATE, dial, frequencies, play, spectrogram, listener } from "./hearing.js";

const KEYS = KEYPAD.join("");
const [LONGEST, WRITTEN] = [10, 12]; // keys that are pressed, and that are written, at most
const LEVELS = [20, 15, 12, 9, 6, 3, 0, -3, -6];
const LOUDEST = 4.2; // of a spectrogram, drawn brightest
const PLACES = 90; // of the longest memory
const SEEN = 0.05; // a weight from which a beam is drawn
const SURE = 0.99; // a chance from which it is as good as sure
const PLACE = 2 * HOP; // samples from one place of the memory to the next

const many = (length, make) => Array.from({ length }, make);

// Light where there is sound: the canvas is as clear as the frames are quiet.
function paint(canvas, frames) {
  [canvas.width, canvas.height] = [frames.length, BINS];
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(canvas).color;
  frames.forEach((frame, m) =>
    frame.forEach((x, k) => {
      pen.globalAlpha = Math.min(1, (x / LOUDEST) ** 2);
      pen.fillRect(m, BINS - 1 - k, 1, 1);
    }),
  );
}

// Its lowest and its highest point in each of 300 columns.
function outline(wave) {
  const part = (i) => wave.subarray((i * wave.length) / 300, ((i + 1) * wave.length) / 300 + 1);
  return many(300, (_, i) => `M${i} ${Math.min(...part(i))}V${Math.max(...part(i))}`).join("");
}

// The sound in time: which keys were pressed, the wave, its frequencies, and where each written key listened.
function sceneOf(say) {
  const spans = many(LONGEST, () => verbatim("", { class: "ab-span" }));
  const path = element("path");
  const wave = element("svg", { viewBox: "0 -4 300 8", preserveAspectRatio: "none", "aria-hidden": "true" }, path);
  const canvas = element("canvas", { role: "img", "aria-label": say.spectrogram });
  const hertz = [500, 1000, 1500].map((f) =>
    element("i", { style: `inset-block-end: ${(100 * f) / (RATE / 2)}%` }, verbatim(whole(f))),
  );
  const places = many(PLACES, () => element("i", { class: "ab-weight" }));
  const tiles = many(WRITTEN, () => element("div", {}, verbatim(""), element("small")));
  const light = beams();
  const strip = element("div", { class: "ab-places", "aria-hidden": "true" }, ...places);
  const node = element(
    "div",
    { class: "ab-sound ab-pin" },
    element("div", { class: "ab-dialled", "aria-hidden": "true" }, ...spans),
    wave,
    element("div", { class: "ab-spectrogram" }, canvas, element("div", { "aria-hidden": "true" }, ...hertz)),
    strip,
    element("div", { class: "ab-tiles" }, ...tiles),
    light.node,
  );
  light.draw(many(WRITTEN / SEEN, () => ({ from: node, to: node, weight: 0 }))); // as many as there can be
  const hear = (keys, sound, frames) => {
    const share = (samples) => `${((100 * samples) / sound.wave.length).toFixed(2)}%`;
    spans.forEach((span, i) => {
      span.hidden = i >= keys.length;
      if (span.hidden) return;
      const [start, end] = sound.spans[i];
      span.textContent = keys[i];
      span.style.insetInlineStart = share(start);
      span.style.inlineSize = share(end - start);
    });
    path.setAttribute("d", outline(sound.wave));
    paint(canvas, frames);
    const n = Math.ceil(frames.length / 2);
    places.forEach((place, m) => (place.hidden = m >= n));
    strip.style.inlineSize = share(n * PLACE);
  };
  const show = (keys, steps) => {
    places.forEach((place, m) =>
      place.style.setProperty("--w", Math.max(0, ...steps.map(({ weights }) => weights[m]))),
    );
    tiles.forEach((tile, i) => {
      const { key, chance } = steps[i] ?? {};
      tile.hidden = !chance;
      if (!chance) return;
      tile.firstChild.textContent = key || "■";
      tile.lastChild.textContent = number(chance);
      tile.classList.toggle("ab-wrong", key !== (keys[i] ?? ""));
    });
    light.draw(
      steps.flatMap(({ weights }, i) =>
        weights.flatMap((weight, m) => (weight < SEEN ? [] : { from: tiles[i], to: places[m], weight })),
      ),
    );
  };
  return { node, hear, show };
}

// Twelve keys and one that takes the last away; the keyboard's do the same wherever in the widget one is.
function keypadOf(say, press, erase) {
  const keys = [...KEYS].map((key) => button(verbatim(key), () => press(key)));
  const columns = [..."123"].map((key) => element("i", {}, whole(frequencies(key)[1])));
  const rows = [..."147*"].map((key) => element("i", {}, whole(frequencies(key)[0])));
  return element(
    "div",
    { class: "ab-keypad" },
    element("i", {}, say.hertz),
    ...columns,
    ...rows.flatMap((row, i) => [row, ...keys.slice(3 * i, 3 * i + 3)]),
    erase,
  );
}

async function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const write = listener(await asset(model, "model"));
  const press = (key) => {
    const keys = model.get("dialled");
    if (keys.length < LONGEST) update(model, { dialled: keys + key });
  };
  const erase = () => update(model, { dialled: model.get("dialled").slice(0, -1) });
  let [sound, frames, steps, silence] = [null, [], [], null];
  const scene = sceneOf(say);
  const hear = button(say.hear, () => {
    if (silence) return silence();
    silence = play(sound.wave, () => {
      silence = null;
      hear.setAttribute("aria-pressed", false);
    });
    hear.setAttribute("aria-pressed", true);
  });
  const said = element("p", { role: "status" });
  const root = body(
    el,
    "dial",
    keypadOf(say, press, button(say.erase, erase)),
    scene.node,
    said,
    element(
      "div",
      { class: "ab-controls" },
      hear,
      slider(model, subscriptions, {
        trait: "snr",
        label: say.noise,
        values: LEVELS,
        show: (snr) => fill(say.snr, { snr: number(snr, 0) }),
      }),
      button(say.another, () => update(model, { seed: model.get("seed") + 2 })),
    ),
  );
  root.addEventListener("keydown", ({ key, ctrlKey, metaKey }) => {
    if (ctrlKey || metaKey) return;
    if (key === "Backspace") erase();
    else if (key.length === 1 && KEYS.includes(key)) press(key);
  });

  subscriptions.follow(["dialled", "snr", "seed"], () => {
    silence?.();
    const keys = model.get("dialled");
    sound = dial(keys, model.get("snr"), model.get("seed"));
    frames = spectrogram(sound.wave);
    steps = frames.length ? write(frames) : [];
    scene.hear(keys, sound, frames);
    scene.show(keys, steps);
    const written = steps.map(({ key }) => key).join("");
    const unsure = steps.reduce((a, b) => (b.chance < a.chance ? b : a), steps[0]);
    said.dataset.says = written === keys ? "right" : "mistaken";
    const sentence = written === keys ? say.right : say.wrong;
    said.textContent = fill(unsure?.chance < SURE ? sentence + say.unsure : sentence, {
      keys: keys || say.none,
      written: written || say.none,
      key: unsure?.key || say.end,
      chance: number(unsure?.chance ?? 0),
    });
  });
  return () => {
    silence?.();
    subscriptions.end();
  };
}

export default { render };
