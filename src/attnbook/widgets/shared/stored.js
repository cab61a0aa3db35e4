// Files of numbers: the networks in them.

import { headed } from "./core.js";

/**
 * From a file made by data/stored.py: a network as PyTorch nests it, of modules by their names and in them parameters; or
 * several networks by their names.
 * @param {ArrayBuffer} bytes
 * @returns {{ parts: Object<string, any> }} and what else its head says
 */
export function stored(bytes) {
  const { unit, units, shapes, start, ...about } = headed(bytes);
  const steps = new (units ? Int8Array : Int16Array)(bytes, start);
  let [next, n] = [0, 0];
  const read = ([name, shape]) => {
    if (!Array.isArray(shape)) return [name, Object.fromEntries(Object.entries(shape).map(read))];
    const [rows, width] = [shape[0], shape.slice(1).reduce((a, b) => a * b, 1)];
    const size = Math.fround(unit ?? units[n++]);
    const numbers = Float64Array.from(steps.subarray(next, (next += rows * width)), (step) => Math.fround(step * size));
    const row = (_, i) => numbers.subarray(i * width, (i + 1) * width);
    return [name, shape.length > 1 ? Array.from({ length: rows }, row) : numbers];
  };
  return { ...about, parts: read(["", shapes])[1] };
}
