// The forward pass of chapter 12: blocks of attention over shared keys, RMSNorm, SwiGLU, rotary positions.

import { products, unpackRow } from "./products.js";

/** @import { Matrix, Memory } from "./products.js" */

/** The most tokens of a text. */
export const MOST = 64;

/**
 * What was read of a text with some heads switched off: keys and values of each block, and all maps, a row for each token:
 * of each head after the other what this token looks at.
 * @typedef {{ ids: number[], off: Set<number>, keys: Float32Array[], values: Float32Array[], rows: Float32Array[],
 *   scores: Float32Array }} Reading
 */

/**
 * @param {Object<string, any>} facts  of the model's file
 * @param {Object<string, Matrix>} matrices
 * @param {Memory} memory
 * @param {number} [readings]  how many are kept at a time
 * @returns {{ layers: number, heads: number, readings: Reading[],
 *   read: (reading: Reading, ids: number[], off: Set<number>) => number }} `read` gives how many tokens were known already
 */
export function network(facts, matrices, memory, readings = 1) {
  const fact = (name) => facts[`llama.${name}`];
  const D = fact("embedding_length");
  const [layers, heads, hidden] = [fact("block_count"), fact("attention.head_count"), fact("feed_forward_length")];
  const shared = fact("attention.head_count_kv") ?? heads;
  const [K, eps, base] = [D / heads, fact("attention.layer_norm_rms_epsilon"), fact("rope.freq_base")];
  const N = matrices.token_embd.rows;
  const own = new Array(2 * layers).fill(MOST * shared * K);
  const sizes = [65536, ...[D, D, D, D, hidden, hidden].map((width) => MOST * width), N];
  const taken = memory.take([...sizes, ...Array(readings).fill(own).flat()]);
  const [halves, stream, normed, queries, mixed, gate, up, scores] = taken;
  const product = products(memory, halves);
  const { bytes } = memory;
  const gains = (name) => new Float32Array(bytes.buffer, matrices[name].address, matrices[name].width);
  const [cosines, sines] = [Math.cos, Math.sin].map((wave) =>
    Float32Array.from({ length: (MOST * K) / 2 }, (_, n) => {
      const [place, pair] = [Math.floor(n / (K / 2)), n % (K / 2)];
      return wave(place * base ** ((-2 * pair) / K));
    }),
  );

  const norm = (name, columns) => {
    const gain = gains(name);
    for (let start = 0; start < columns * D; start += D) {
      let squares = 0;
      for (let i = 0; i < D; i++) squares += stream[start + i] ** 2;
      const scale = 1 / Math.sqrt(squares / D + eps);
      for (let i = 0; i < D; i++) normed[start + i] = stream[start + i] * scale * gain[i];
    }
  };
  // Neighbours are pairs, and a pair turns with its place.
  const turn = (x, width, from, columns) => {
    for (let c = 0, at = 0; c < columns; c++)
      for (let i = 0; i < width; i += 2, at += 2) {
        const angle = ((from + c) * K + (i % K)) / 2;
        const [even, odd, cos, sin] = [x[at], x[at + 1], cosines[angle], sines[angle]];
        x[at] = even * cos - odd * sin;
        x[at + 1] = even * sin + odd * cos;
      }
  };
  const add = (x, size) => {
    for (let i = 0; i < size; i++) stream[i] += x[i];
  };

  // What each new token takes from the values, by each head of a block; what heads look at goes into the rows.
  const attend = (layer, from, columns, { keys, values, rows, off }) => {
    const [key, value] = [keys[layer], values[layer]];
    mixed.fill(0, 0, columns * D);
    for (let c = 0; c < columns; c++)
      for (let head = 0; head < heads; head++) {
        const [q, seen, n] = [c * D + head * K, from + c + 1, layer * heads + head];
        const there = Math.floor((head * shared) / heads) * K;
        const weights = rows[from + c].subarray(n * seen, (n + 1) * seen);
        let top = -Infinity;
        for (let j = 0; j < seen; j++) {
          let dot = 0;
          for (let i = 0, k = j * shared * K + there; i < K; i++) dot += queries[q + i] * key[k + i];
          weights[j] = dot / Math.sqrt(K);
          top = Math.max(top, weights[j]);
        }
        let sum = 0;
        for (let j = 0; j < seen; j++) sum += weights[j] = Math.exp(weights[j] - top);
        for (let j = 0; j < seen; j++) weights[j] /= sum;
        if (off.has(n)) continue;
        for (let j = 0; j < seen; j++) {
          const weight = weights[j];
          for (let i = 0, k = j * shared * K + there; i < K; i++) mixed[q + i] += weight * value[k + i];
        }
      }
  };

  const read = (reading, ids, off) => {
    const sameHeads = off.size === reading.off.size && [...off].every((n) => reading.off.has(n));
    let from = 0; // the last token is read again if all are known: its scores are asked for
    while (sameHeads && from < ids.length - 1 && ids[from] === reading.ids[from]) from++;
    const columns = ids.length - from;
    const rows = Array.from({ length: columns }, (_, c) => new Float32Array(layers * heads * (from + c + 1)));
    Object.assign(reading, { ids, off, rows: [...reading.rows.slice(0, from), ...rows] });
    for (let c = 0; c < columns; c++) unpackRow(bytes, matrices.token_embd, ids[from + c], stream.subarray(c * D));
    for (let layer = 0; layer < layers; layer++) {
      const times = (name, x, y) => product(matrices[`blk.${layer}.${name}`], x, y, columns);
      const [key, value] = [reading.keys, reading.values].map((kept) => kept[layer].subarray(from * shared * K));
      norm(`blk.${layer}.attn_norm`, columns);
      times("attn_q", normed, queries);
      times("attn_k", normed, key);
      times("attn_v", normed, value);
      turn(queries, D, from, columns);
      turn(key, shared * K, from, columns);
      attend(layer, from, columns, reading);
      times("attn_output", mixed, normed);
      add(normed, columns * D);
      norm(`blk.${layer}.ffn_norm`, columns);
      times("ffn_gate", normed, gate);
      times("ffn_up", normed, up);
      for (let i = 0; i < columns * hidden; i++) gate[i] *= up[i] / (1 + Math.exp(-gate[i]));
      times("ffn_down", gate, normed);
      add(normed, columns * D);
    }
    norm("output_norm", columns);
    product(matrices.token_embd, normed.subarray((columns - 1) * D), scores);
    reading.scores = scores.slice();
    return from;
  };

  return {
    layers,
    heads,
    read,
    readings: Array.from({ length: readings }, (_, n) => {
      const kept = taken.slice(sizes.length + n * 2 * layers, sizes.length + (n + 1) * 2 * layers);
      return { ids: [], off: new Set(), keys: kept.slice(0, layers), values: kept.slice(layers), rows: [], scores };
    }),
  };
}
