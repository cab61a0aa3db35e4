// From a number to its sound, its spectrogram, and what a network writes of it: attnbook/tasks/tones.py and __init__.py here.

import { plus } from "../shared/core.js";
import { attention, decoder, feed, linear, meanOf, norm, sinusoid } from "../shared/network.js";
import { stored } from "../shared/stored.js";
import { normals, uniform } from "../shared/random.js";

export const RATE = 4000; // samples a second
export const HOP = 64;
const WINDOW = 128;
export const BINS = WINDOW / 2 + 1;
export const KEYPAD = ["123", "456", "789", "*0#"];
const [ROWS, COLUMNS] = [
  [697, 770, 852, 941],
  [1209, 1336, 1477],
];
// In samples, at least and at most.
const [SOUND, SILENCE] = [
  [200, 480],
  [160, 400],
];

/**
 * @param {string} key
 * @returns {number[]} its two frequencies, in Hz
 */
export function frequencies(key) {
  const row = KEYPAD.findIndex((keys) => keys.includes(key));
  return [ROWS[row], COLUMNS[KEYPAD[row].indexOf(key)]];
}

/**
 * @param {string} number
 * @param {number} snr  in decibels
 * @param {number} seed  of the noise and of all lengths
 * @returns {{ wave: Float64Array, spans: number[][] }} its samples, and for each key where it starts and ends
 */
export function dial(number, snr, seed) {
  let [drawn, at] = [0, 0];
  const lasting = ([least, most]) => least + Math.floor(uniform(seed, drawn++) * (most - least + 1));
  const spans = [...number].map(() => {
    const start = at + lasting(SILENCE);
    at = start + lasting(SOUND);
    return [start, at];
  });
  const wave = normals(seed + 1, at + lasting(SILENCE)).map((x) => x * 10 ** (-snr / 20));
  spans.forEach(([start, end], i) => {
    for (const frequency of frequencies(number[i]))
      for (let t = start; t < end; t++) wave[t] += Math.sin((2 * Math.PI * frequency * (t - start)) / RATE);
  });
  return { wave, spans };
}

const TURNS = Array.from({ length: WINDOW }, (_, n) => (2 * Math.PI * n) / WINDOW);
const [COS, SIN] = [TURNS.map(Math.cos), TURNS.map(Math.sin)];

/**
 * @param {Float64Array} wave
 * @returns {Float64Array[]} of each frame log(1 + how much of each frequency)
 */
export function spectrogram(wave) {
  const frames = Array.from({ length: Math.max(0, Math.floor((wave.length - WINDOW) / HOP) + 1) });
  return frames.map((_, m) => {
    const faded = TURNS.map((_, n) => wave[m * HOP + n] * (0.5 - COS[n] / 2));
    return Float64Array.from({ length: BINS }, (_, k) => {
      let [re, im] = [0, 0];
      for (let n = 0; n < WINDOW; n++) {
        re += faded[n] * COS[(k * n) % WINDOW];
        im += faded[n] * SIN[(k * n) % WINDOW];
      }
      return Math.log1p(Math.hypot(re, im));
    });
  });
}

/**
 * Plays samples once. A browser plays sound only after a press.
 * @param {Float64Array} wave
 * @param {() => void} ended
 * @returns {() => void} which ends it
 */
export function play(wave, ended) {
  const context = new AudioContext();
  const [buffer, source] = [context.createBuffer(1, 2 * wave.length, 2 * RATE), context.createBufferSource()];
  const samples = buffer.getChannelData(0);
  wave.forEach((x, t) => {
    samples[2 * t] = x / 12;
    samples[2 * t + 1] = (x + (wave[t + 1] ?? 0)) / 24;
  });
  source.buffer = buffer;
  source.connect(context.destination);
  source.start();
  const end = () => {
    if (context.state === "closed") return;
    context.close();
    ended();
  };
  source.addEventListener("ended", end);
  return end;
}

// ---- the network ----

const [START, STOP, FIRST] = [1, 2, 3]; // ids of tokens; then come the keys
const [STRIDE, NEAR] = [2, 3]; // frames from one place of the memory to the next, and that it is made of

/**
 * A key that was written, how sure the network was, and the mean weight on each place of the memory; the end is no key.
 * @typedef {{ key: string, chance: number, weights: number[] }} Step
 */

/**
 * @param {ArrayBuffer} bytes  listener.bin
 * @returns {(frames: Float64Array[]) => Step[]}
 */
export function listener(bytes) {
  const { keys: known, heads, longest, parts } = stored(bytes);
  const { norm: last, ...blocks } = parts.encoder;

  // Three frames for each place, as torch.nn.Conv1d reads them.
  const places = (frames) => {
    const silence = new Float64Array(BINS);
    return Array.from({ length: Math.ceil(frames.length / STRIDE) }, (_, m) => {
      const near = Array.from({ length: NEAR }, (_, n) => frames[STRIDE * m + n - 1] ?? silence);
      const x = Float64Array.from({ length: BINS * NEAR }, (_, i) => near[i % NEAR][Math.floor(i / NEAR)]);
      const y = linear(parts.frames, x).map((y) => Math.max(y, 0));
      return plus(y, sinusoid(m, y.length));
    });
  };

  return (frames) => {
    let xs = places(frames);
    for (const block of Object.values(blocks)) {
      const own = attention(block.self_attention, block.self_attention_norm, heads);
      xs = xs.map((x) => feed(block, own.next(x).x));
    }
    const memory = xs.map((x) => norm(last, x));
    const next = decoder(parts, memory, heads);
    const steps = [];
    for (let token = START; steps.length < longest && token !== STOP;) {
      const { chances, cross } = next(token);
      token = chances.indexOf(Math.max(...chances.slice(STOP)), STOP); // what comes before the end is never written
      steps.push({ key: known[token - FIRST] ?? "", chance: chances[token], weights: meanOf(cross) });
    }
    return steps;
  };
}
