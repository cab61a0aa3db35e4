// The products of a packed matrix and columns of floats, as WebAssembly: a block of 32 weights is unpacked once, four
// weights at a time, and multiplied with each column.
//
//   Q4_1, 20 bytes  a scale d and a minimum m in float16, then 32 numbers n of four bits: a weight is d n + m
//   Q8_0, 34 bytes  a scale d in float16, then 32 signed bytes n: a weight is d n

import {
  both,
  bytesAt,
  filled,
  floats,
  get,
  halfAt,
  int,
  keep,
  moduleOf,
  plus,
  plusFour,
  repeat,
  set,
  shifted,
  spread,
  sumOf,
  times,
  timesFour,
  wider,
  widest,
  zeros,
} from "./assembler.js";

/** How many weights are packed together, and in how many bytes. */
export const BLOCK = 32;
export const BYTES = { q4_1: 20, q8_0: 34 };

/** Columns that a product takes at once. */
export const AT_ONCE = [1, 4];

// What a function is given: the addresses of matrix, input and output, how many rows and blocks in each, and how many bytes
// a column of the input and of the output is from the next. Then come its own variables.
const [MATRIX, INPUT, OUTPUT, ROWS, BLOCKS, INPUT_STEP, OUTPUT_STEP, LEFT, COLUMN] = Array(9).keys();

function product(kind, columns, halves) {
  const all = [...Array(columns).keys()];
  const x = (c) => COLUMN + c; // where column c is at
  const own = COLUMN + columns;
  const [SCALE, LEAST, NUMBERS, FOUR, SUM] = [own, own + 1, own + 2, own + 4, own + 5];
  const half = (offset) => spread(plus(int(halves), times(halfAt(get(MATRIX), offset), int(4))));
  const at = (start, step, c) => plus(get(start), times(get(step), int(c)));
  const onwards = (variable, bytes) => set(variable, plus(get(variable), int(bytes)));

  const packed = kind === "q4_1";
  const nibbles = (bytes) => both(bytes, filled(int(15)));
  const sixteen = packed
    ? [nibbles(bytesAt(get(MATRIX), 4)), nibbles(shifted(bytesAt(get(MATRIX), 4), int(4)))]
    : [bytesAt(get(MATRIX), 2), bytesAt(get(MATRIX), 18)];
  const block = [
    ...set(SCALE, half(0)),
    ...(packed ? set(LEAST, half(2)) : []),
    ...sixteen.flatMap((numbers, n) => set(NUMBERS + n, numbers)),
    ...[0, 1, 2, 3, 4, 5, 6, 7].flatMap((four) => {
      const eight = wider[packed ? "u" : "s"][(four >> 1) & 1](get(NUMBERS + (four >> 2)));
      const scaled = timesFour(get(SCALE), floats(widest[four & 1](eight)));
      return [
        ...set(FOUR, packed ? plusFour(scaled, get(LEAST)) : scaled),
        ...all.flatMap((c) =>
          set(SUM + c, plusFour(get(SUM + c), timesFour(get(FOUR), bytesAt(get(x(c)), 16 * four)))),
        ),
      ];
    }),
    ...onwards(MATRIX, BYTES[kind]),
    ...all.flatMap((c) => onwards(x(c), 4 * BLOCK)),
  ];
  const row = [
    ...all.flatMap((c) => [...set(x(c), at(INPUT, INPUT_STEP, c)), ...set(SUM + c, zeros)]),
    ...set(LEFT, get(BLOCKS)),
    ...repeat(LEFT, block),
    ...all.flatMap((c) => keep(at(OUTPUT, OUTPUT_STEP, c), sumOf(SUM + c))),
    ...onwards(OUTPUT, 4),
  ];
  return { ints: 1 + columns, fours: 5 + columns, code: repeat(ROWS, row) };
}

/**
 * @param {number} halves  where in memory the float32 of each float16 stands
 * @returns {Uint8Array<ArrayBuffer>} the module
 */
export const kernel = (halves) =>
  moduleOf(
    LEFT,
    Object.fromEntries(
      Object.keys(BYTES).flatMap((kind) =>
        AT_ONCE.map((columns) => [`${kind}_${columns}`, product(kind, columns, halves)]),
      ),
    ),
  );
