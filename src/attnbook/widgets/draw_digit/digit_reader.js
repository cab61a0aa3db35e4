// A small vision Transformer, as in attnbook/tasks/digits.py, and the bitmap of what is drawn.

import { plus } from "../shared/core.js";
import { attention, feed, linear, meanOf, norm } from "../shared/network.js";
import { patchesOf } from "../shared/patches.js";
import { stored } from "../shared/stored.js";

export const SIDE = 16;
const [BITS, PEN, WIDTH, LARGEST] = [32, 2.4, 26, 4];

/**
 * How much ink is in each pixel of 8 × 8, in 0 to 16: strokes made as tall as a bitmap, its blocks of 4 × 4 counted.
 * @param {number[][]} strokes
 * @returns {number[]}
 */
export function reduced(strokes) {
  const lines = strokes.map((cells) => cells.map((cell) => [2 * (cell % SIDE), 2 * Math.floor(cell / SIDE)]));
  const all = lines.flat();
  const counts = new Array(64).fill(0);
  if (!all.length) return counts;
  const [low, high] = [Math.min, Math.max].map((end) => [0, 1].map((axis) => end(...all.map((point) => point[axis]))));
  const rooms = [WIDTH - 2 * PEN, BITS - 2 * PEN];
  const scale = Math.min(LARGEST, ...rooms.map((room, axis) => room / Math.max(high[axis] - low[axis], 1e-9)));
  const placed = (point) => point.map((x, axis) => (x - (low[axis] + high[axis]) / 2) * scale + BITS / 2);
  const pieces = lines.flatMap((line) => line.map((point, i) => [point, line[i + 1] ?? point].map(placed)));
  const near = (x, y) =>
    pieces.some(([[ax, ay], [bx, by]]) => {
      const [dx, dy] = [bx - ax, by - ay];
      const share = Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / Math.max(dx * dx + dy * dy, 1e-9), 0), 1);
      return (x - ax - share * dx) ** 2 + (y - ay - share * dy) ** 2 <= PEN * PEN;
    });
  for (let y = 0; y < BITS; y++)
    for (let x = 0; x < BITS; x++) counts[8 * (y >> 2) + (x >> 2)] += near(x + 0.5, y + 0.5);
  return counts;
}

/** The four places in 8 × 8 of each patch. */
export const PATCHES = patchesOf(8);

/**
 * @param {ArrayBuffer} bytes  digit_reader.bin
 * @returns {{ read: (image: number[]) => { scores: number[], looks: number[][] }, mean: number[], wrong: number[] }} ten
 *   scores and what the class token looks at in each block; the mean image; and which digits held out are read wrong
 */
export function digitReader(bytes) {
  const { parts, heads, mean, wrong } = stored(bytes);
  const read = (image) => {
    const looks = [];
    const patches = PATCHES.map((places) =>
      linear(
        parts.embed,
        Float64Array.from(places, (place) => image[place]),
      ),
    );
    let xs = [parts.class_token, ...patches].map((x, i) => plus(x, parts.positions[i]));
    for (const block of Object.values(parts.blocks)) {
      const looked = attention(block.self_attention, block.self_attention_norm, heads).among(xs);
      looks.push(meanOf(looked[0].weights).slice(1));
      xs = looked.map(({ x }) => feed(block, x));
    }
    return { scores: Array.from(linear(parts.scores, norm(parts.norm, xs[0]))), looks };
  };
  return { read, mean, wrong };
}
