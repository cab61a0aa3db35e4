// WebAssembly, put together from instructions. It is the code of a machine with a stack: an instruction takes its
// arguments from there. Here each is a function of its arguments' code, so a formula reads as one: `plus(get(x), int(4))`.

/** @typedef {number[]} Code  bytes */

// A whole number in as many bytes as it needs, seven bits in each; below zero, too.
function unsigned(n) {
  const bytes = [];
  for (; n > 127; n >>>= 7) bytes.push((n & 127) | 128);
  return [...bytes, n];
}
function signed(n) {
  const bytes = [];
  for (; n < -64 || n > 63; n >>= 7) bytes.push((n & 127) | 128);
  return [...bytes, n & 127];
}

const instruction =
  (...bytes) =>
  (...parts) => [...parts.flat(), ...bytes];
const ofFour = (n, ...more) => instruction(0xfd, ...unsigned(n), ...more);
const memory =
  (make, ...bytes) =>
  (address, offset = 0) =>
    make(...bytes, 0, ...unsigned(offset))(address);

// Whole numbers of 32 bits; the variables of a function.
export const int = (n) => [0x41, ...signed(n)];
export const get = (variable) => [0x20, ...unsigned(variable)];
export const set = (variable, value) => [...value, 0x21, ...unsigned(variable)];
export const plus = instruction(0x6a);
export const times = instruction(0x6c);
export const halfAt = memory(instruction, 0x2f); // two bytes of memory
export const keep = (address, value) => [...address, ...value, 0x38, 0, 0]; // a float in memory

// Goes through the body so many times, at least once.
export const repeat = (variable, body) => [
  ...[0x03, 0x40, ...body],
  ...[...plus(get(variable), int(-1)), 0x22, ...unsigned(variable), 0x0d, 0, 0x0b],
];

// Sixteen bytes at once: four floats, or whole numbers of 32, 16 or 8 bits.
export const bytesAt = memory(ofFour, 0);
export const spread = memory(ofFour, 9); // the float in memory, four times
export const zeros = [0xfd, 12, ...new Array(16).fill(0)];
export const filled = ofFour(15); // the same byte sixteen times
export const both = ofFour(78); // bits that are in both
export const shifted = ofFour(0x8d); // to the right
export const wider = { s: [ofFour(0x87), ofFour(0x88)], u: [ofFour(0x89), ofFour(0x8a)] }; // 8 bits to 16: lower, upper half
export const widest = [ofFour(0xa7), ofFour(0xa8)]; // 16 bits to 32
export const floats = ofFour(0xfa);
export const plusFour = ofFour(0xe4);
export const timesFour = ofFour(0xe6);

/**
 * The sum of four floats.
 * @param {number} variable
 * @returns {Code}
 */
export function sumOf(variable) {
  const [a, b, c, d] = [0, 1, 2, 3].map((lane) => ofFour(31, lane)(get(variable)));
  const add = instruction(0x92);
  return add(add(a, b), add(c, d));
}

const sized = (bytes) => [...unsigned(bytes.length), ...bytes];
const list = (items) => [...unsigned(items.length), ...items.flat()];
const text = (name) => sized([...new TextEncoder().encode(name)]);
const section = (number, items) => [number, ...sized(list(items))];

/**
 * A module of functions that take whole numbers, give nothing, and share the memory that is imported as env.memory.
 * @param {number} takes  how many numbers each takes: its first variables
 * @param {Object<string, { ints: number, fours: number, code: Code }>} functions  by their names, with what variables they
 *   have besides: whole numbers, then fours of floats
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function moduleOf(takes, functions) {
  const bodies = Object.values(functions).map(({ ints, fours, code }) =>
    sized([...list([...(ints ? [[...unsigned(ints), 0x7f]] : []), [...unsigned(fours), 0x7b]]), ...code, 0x0b]),
  );
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [[0x60, ...list(new Array(takes).fill([0x7f])), 0]]),
    ...section(2, [[...text("env"), ...text("memory"), 2, 0, 1]]),
    ...section(3, bodies.map(() => [0])),
    ...section(7, Object.keys(functions).map((name, n) => [...text(name), 0, ...unsigned(n)])),
    ...section(10, bodies),
  ]);
}
