// The model's own thread. It is told to load, to pause or go on, or to read a text; it tells what has arrived, what it has
// read, or the word for what went wrong.

import { Trouble, download } from "./download.js";
import { readGguf } from "./gguf.js";
import { network } from "./network.js";
import { Memory } from "./products.js";
import { tokenizer } from "./tokens.js";

const SHOWN = 8;
const arrived = new Set();
let [memory, model, tokens] = [];
let [paused, goOn] = [Promise.resolve(), () => {}];

async function load(folder) {
  await download(folder, {
    place: (size) => (memory ??= new Memory(size)).bytes.subarray(0, size),
    arrived,
    tell: postMessage,
    pause: () => paused,
  });
  const file = readGguf(memory.pages.buffer);
  tokens = tokenizer(file.facts);
  model = network(file.facts, file.matrices, memory, 2);
  postMessage({ ready: true, heads: model.heads, last: file.facts["tokenizer.ggml.eos_token_id"] });
}

function likeliest(scores) {
  const order = [];
  scores.forEach((score, id) => {
    if (order.length === SHOWN && score <= scores[order.at(-1)]) return;
    const place = order.findIndex((other) => scores[other] < score);
    order.splice(place < 0 ? order.length : place, 0, id);
    order.length = Math.min(order.length, SHOWN);
  });
  const top = scores[order[0]];
  const sum = scores.reduce((total, score) => total + Math.exp(score - top), 0);
  return order.map((id) => [tokens.shown(id), Math.exp(scores[id] - top) / sum, id]);
}

// All heads on, and then, if some are to be off, without them.
function read({ text, written, off, most }) {
  const given = tokens.encode(text).slice(0, most);
  const ids = [...given, ...written].slice(0, most);
  const began = performance.now();
  const found = [new Set(), new Set(off)].slice(0, off.length ? 2 : 1).map((without, n) => {
    const reading = model.readings[n];
    const known = model.read(reading, ids, without);
    return { known, rows: reading.rows.slice(known), next: likeliest(reading.scores) };
  });
  postMessage({
    read: found,
    tokens: ids.map(tokens.shown),
    given: given.length,
    layers: model.layers,
    heads: model.heads,
    milliseconds: performance.now() - began,
  });
}

// What WebAssembly says when it is refused memory, or doesn't know an instruction.
const word = (error) => {
  if (error instanceof Trouble) return error.message;
  if (error instanceof RangeError) return "memory";
  return error instanceof WebAssembly.CompileError ? "old" : "damaged";
};

addEventListener("message", async ({ data }) => {
  try {
    if (data.load) await load(data.load);
    if (data.pause) paused = new Promise((done) => (goOn = done));
    if (data.pause === false) goOn();
    if (data.text !== undefined) read(data);
  } catch (error) {
    console.warn(error);
    postMessage({ trouble: word(error) });
  }
});
