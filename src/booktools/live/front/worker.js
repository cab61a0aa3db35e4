// Where a reader's code runs: without the page, its storage or the network, and where an endless loop can be ended.

import { start } from "./engine.js";

const LINES = 200;
const WIDTH = 400; // characters of a printed line
const PICTURES = 12;
const send = self.postMessage.bind(self);
// All that code in here may see of the browser: what the language has, and what Python's bridge needs.
const KEPT = new Set(
  `Object Function Array Number String Boolean Symbol Math JSON Map Set
  WeakMap WeakSet WeakRef FinalizationRegistry Promise Proxy Reflect Error TypeError RangeError Date
  RegExp BigInt ArrayBuffer DataView Int8Array Uint8Array Int16Array Uint16Array Int32Array Uint32Array Float32Array
  Float64Array BigInt64Array BigUint64Array TextDecoder TextEncoder WebAssembly constructor globalThis undefined NaN Infinity parseInt
  parseFloat isNaN isFinite console performance crypto atob onmessage onerror self DOMException
  Iterator`.split(/\s+/),
);

const scopes = [];
for (let scope = self; scope && scope !== Object.prototype; scope = Object.getPrototypeOf(scope)) scopes.push(scope);
const browser = scopes.map((scope) => [scope, Object.getOwnPropertyNames(scope)]); // before Python adds to it

function lock() {
  for (const [scope, names] of browser)
    for (const name of names)
      if (!KEPT.has(name) && Object.getOwnPropertyDescriptor(scope, name)?.configurable) delete scope[name];
  // No text becomes code: import() is a word of the language and can't be taken away.
  for (const made of [() => {}, async () => {}, function* made() {}, async function* made() {}])
    Object.defineProperty(Object.getPrototypeOf(made), "constructor", { value: undefined });
  self.Function = undefined;
}

let printed = 0;
const print = (line) => {
  if (printed++ < LINES) send({ printed: line.length > WIDTH ? `${line.slice(0, WIDTH)} …` : line });
};
let drawn = 0;
const draw = (picture) => {
  if (drawn++ < PICTURES) send({ picture });
};
let answer = null;

self.addEventListener("message", async ({ data: { files, wasm, ...question } }) => {
  if (!answer) {
    answer = await start(files, wasm, print, draw);
    lock();
  }
  printed = drawn = 0;
  send({ running: true });
  try {
    send(await answer(question));
  } catch (error) {
    send({ broken: `${error}` });
  }
});
