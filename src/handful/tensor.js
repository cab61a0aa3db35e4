// A tensor is a window (shape, strides, offset) on a store of numbers.

import { KINDS, fail } from "./numbers.js";

export const size = (shape) => shape.reduce((a, b) => a * b, 1);
export const stridesOf = (shape) => {
  const s = [];
  let n = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    s[d] = n;
    n *= shape[d];
  }
  return s;
};
export class T {
  isT = true;
  node = null; // how gradients go on from here
  grad = null;
  constructor(store, dtype, shape, strides = stridesOf(shape), offset = 0) {
    Object.assign(this, { store, dtype, shape, strides, offset });
  }
  get n() {
    return size(this.shape);
  }
  get ndim() {
    return this.shape.length;
  }
  get isLeaf() {
    return !this.node || Boolean(this.node.leaf);
  }
  get hasGrad() {
    return this.grad !== null;
  }
  get requiresGrad() {
    return this.node !== null;
  }
  get contiguous() {
    return this.n < 2 || stridesOf(this.shape).every((s, d) => this.shape[d] === 1 || s === this.strides[d]);
  }
}
export const named = (shape) => `[${shape.join(", ")}]`;
// A page's memory is not the reader's to fill: at most so many numbers in one tensor, and in all that are made.
const MOST = 2_000_000;
export const room = { all: Infinity };
export function blank(shape, dtype = "float32") {
  const n = size(shape);
  if (n > MOST) fail(`a tensor of ${named(shape)} is too large for this page`);
  room.all -= n;
  if (room.all < 0) fail("too many numbers in tensors for this page");
  return new T({ a: new Float64Array(n), v: 0 }, dtype, shape);
}
export const filled = (shape, value, dtype) => {
  const t = blank(shape, dtype);
  t.store.a.fill(KINDS[dtype].round(value));
  return t;
};
export const fromValues = (values, shape, dtype = "float32") => {
  const t = blank(shape, dtype),
    r = KINDS[dtype].round;
  for (let i = 0; i < values.length; i++) t.store.a[i] = r(values[i]);
  return t;
};

// Where each number of a tensor stands in its store, row by row, after broadcasting to a shape.
export function places(t, shape = t.shape) {
  const n = size(shape),
    out = new Int32Array(n),
    k = shape.length,
    lead = k - t.ndim;
  const step = shape.map((s, d) => (d < lead || t.shape[d - lead] === 1 ? 0 : t.strides[d - lead]));
  const at = new Array(k).fill(0);
  for (let p = 0, o = t.offset; p < n; p++) {
    out[p] = o;
    for (let d = k - 1; d >= 0; d--) {
      o += step[d];
      if (++at[d] < shape[d]) break;
      o -= step[d] * shape[d];
      at[d] = 0;
    }
  }
  return out;
}
export const values = (t) => {
  const ix = places(t),
    out = new Float64Array(ix.length);
  for (let p = 0; p < ix.length; p++) out[p] = t.store.a[ix[p]];
  return out;
};
export const copyOf = (t, dtype = t.dtype) => fromValues(values(t), t.shape, dtype);

export function broadcast(...shapes) {
  const k = Math.max(...shapes.map((s) => s.length)),
    out = new Array(k).fill(1);
  shapes.forEach((s) =>
    s.forEach((m, i) => {
      const d = k - s.length + i;
      if (out[d] === 1) out[d] = m;
      else if (m !== 1 && m !== out[d])
        fail(`The size of tensor a (${out[d]}) must match the size of tensor b (${m}) at non-singleton dimension ${d}`);
    }),
  );
  return out;
}
export const axis = (d, k) =>
  d < -Math.max(k, 1) || d >= Math.max(k, 1)
    ? fail(
        `Dimension out of range (expected to be in range of [${-Math.max(k, 1)}, ${Math.max(k, 1) - 1}], but got ${d})`,
        "IndexError",
      )
    : d < 0
      ? d + Math.max(k, 1)
      : d;
