// Words and their vectors, from files made by booktools/make/words.py.

import { dot, headed, length } from "./core.js";

/**
 * The words in their order, and where to find one, whatever the size of its letters.
 * @param {string} text  words with spaces between them
 * @returns {{ list: string[], row: (word: string) => number | undefined }}
 */
export function lexicon(text) {
  const list = text.split(" ");
  const rows = new Map(list.map((word, row) => [word, row]));
  return { list, row: (word) => rows.get(word.trim()) ?? rows.get(word.trim().toLowerCase()) };
}

/**
 * @param {ArrayBuffer} bytes
 * @returns {ReturnType<typeof lexicon> & { part?: boolean, width: number, vector: (row: number) => Float64Array }}
 */
export function wordVectors(bytes) {
  const { words: text, width, unit, part, start } = headed(bytes);
  const { list, row } = lexicon(text);
  const numbers = Float64Array.from(new Int8Array(bytes, start), (step) => step * unit);
  const vector = (i) => numbers.subarray(i * width, (i + 1) * width);
  return { list, row, part, width, vector };
}

/**
 * The rows nearest to a vector by cosine.
 * @param {ReturnType<typeof wordVectors>} vectors
 * @param {ArrayLike<number>} to
 * @param {number} n
 * @param {number[]} [without]  rows left out
 * @returns {[row: number, cosine: number][]}
 */
export function nearestWords({ list, vector }, to, n, without = []) {
  const size = length(to);
  const cosines = list.map((_, i) => [i, dot(vector(i), to) / (length(vector(i)) * size || 1)]);
  return cosines
    .filter(([i]) => !without.includes(i))
    .sort((a, b) => b[1] - a[1])
    .slice(0, n);
}
