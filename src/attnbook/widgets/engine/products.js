// The model's memory, and the products of its packed matrices.

import { AT_ONCE, BLOCK, BYTES, kernel } from "./kernel.js";

/** @typedef {{ address: number, kind: "q4_1" | "q8_0" | "f32", rows: number, width: number }} Matrix */

const PAGE = 65536;
const GUARD = 64; // pieces begin at multiples of it

/**
 * The number that 16 bits stand for: a sign, five bits of exponent, ten of fraction.
 * @param {number} bits
 * @returns {number}
 */
export function half(bits) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

const HALVES = Float32Array.from({ length: 65536 }, (_, bits) => half(bits));

/**
 * Memory of one piece, in which the model's file lies from 0 on, unchanged: a matrix's place in the file is its address.
 * What else is needed is taken after it.
 */
export class Memory {
  /** @param {number} file  its size in bytes */
  constructor(file) {
    this.pages = new WebAssembly.Memory({ initial: Math.ceil(file / PAGE) });
    this.used = file;
  }

  /** @returns {Uint8Array} all of it; it must be asked for anew once something was taken */
  get bytes() {
    return new Uint8Array(this.pages.buffer);
  }

  /** Room for so many floats in each of the pieces that are asked for, all at once: taking moves what was taken before.
   * @param {number[]} sizes
   * @returns {Float32Array[]}
   */
  take(sizes) {
    const starts = sizes.map((size) => {
      const start = Math.ceil(this.used / GUARD) * GUARD;
      this.used = start + 4 * size;
      return start;
    });
    const missing = Math.ceil(this.used / PAGE) - this.pages.buffer.byteLength / PAGE;
    if (missing > 0) this.pages.grow(missing);
    return sizes.map((size, n) => new Float32Array(this.pages.buffer, starts[n], size));
  }
}

/**
 * @param {Memory} memory
 * @param {Float32Array} halves  room for 65,536 floats
 * @returns {(matrix: Matrix, x: Float32Array, y: Float32Array, columns?: number) => void} which puts into y the product of
 *   the matrix and each of the columns of x, one after the other, and overwrites up to so many more columns as it takes at once
 */
export function products(memory, halves) {
  halves.set(HALVES);
  const module = new WebAssembly.Module(kernel(halves.byteOffset));
  const { exports } = new WebAssembly.Instance(module, { env: { memory: memory.pages } });
  return ({ address, kind, rows, width }, x, y, columns = 1) => {
    for (let c = 0; c < columns;) {
      const now = AT_ONCE.find((n) => n >= columns - c) ?? AT_ONCE.at(-1); // a few idle columns cost less than one more call
      const [input, output] = [x.byteOffset + 4 * width * c, y.byteOffset + 4 * rows * c];
      exports[`${kind}_${now}`](address, input, output, rows, width / BLOCK, 4 * width, 4 * rows);
      c += now;
    }
  };
}

/**
 * Adds a row of a matrix, so many times, to floats.
 * @param {Uint8Array} bytes  the memory
 * @param {Matrix} matrix
 * @param {number} row
 * @param {number} times
 * @param {Float32Array} to
 */
export function addRow(bytes, { address, kind, width }, row, times, to) {
  const size = BYTES[kind];
  let at = address + ((row * width) / BLOCK) * size;
  for (let i = 0; i < width; i += BLOCK, at += size) {
    const scale = times * HALVES[bytes[at] | (bytes[at + 1] << 8)];
    if (kind === "q8_0") {
      for (let j = 0; j < BLOCK; j++) to[i + j] += scale * ((bytes[at + 2 + j] << 24) >> 24);
      continue;
    }
    const least = times * HALVES[bytes[at + 2] | (bytes[at + 3] << 8)];
    for (let j = 0; j < BLOCK / 2; j++) {
      const two = bytes[at + 4 + j];
      to[i + j] += scale * (two & 15) + least;
      to[i + j + BLOCK / 2] += scale * (two >> 4) + least;
    }
  }
}
