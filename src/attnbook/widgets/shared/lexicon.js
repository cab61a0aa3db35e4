// Words and their vectors, from files made by booktools/make/words.py.

import { headed } from "./core.js";

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
 * @returns {ReturnType<typeof lexicon> & { part?: boolean, width: number, vector: (row: number) => Float64Array,
 *   of: (word: string) => Float64Array }}
 */
export function wordVectors(bytes) {
  const { words: text, width, unit, part, start } = headed(bytes);
  const { list, row } = lexicon(text);
  const numbers = Float64Array.from(new Int8Array(bytes, start), (step) => step * unit);
  const vector = (i) => numbers.subarray(i * width, (i + 1) * width);
  return { list, row, part, width, vector, of: (word) => vector(row(word)) };
}
