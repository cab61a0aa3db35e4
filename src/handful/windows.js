// Windows on the same store: the gradient goes back through the same window.

import { fail } from "./numbers.js";
import { T, axis, blank, copyOf, named, places, size, stridesOf, values } from "./tensor.js";
import { track } from "./gradients.js";

export function window(x, f) {
  const out = f(x);
  out.root = x.root || x;
  out.path = x.path ? (z) => f(x.path(z)) : f;
  return track(out, [x], (g) => {
    const z = blank(x.shape, x.dtype),
      at = places(f(z)),
      v = values(g);
    for (let p = 0; p < v.length; p++) z.store.a[at[p]] += v[p];
    return [z];
  });
}
export const seen = (x, shape, strides, offset = x.offset) => new T(x.store, x.dtype, shape, strides, offset);
export const permute = (x, ...dims) => {
  dims = dims.flat().map((d) => axis(d, x.ndim));
  if (dims.length !== x.ndim)
    fail(
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions",
    );
  return window(x, (t) =>
    seen(
      t,
      dims.map((d) => t.shape[d]),
      dims.map((d) => t.strides[d]),
    ),
  );
};
export const transpose = (x, a, b) => {
  const dims = [...x.shape.keys()];
  [a, b] = [axis(a, x.ndim), axis(b, x.ndim)];
  if (!x.ndim) return x;
  [dims[a], dims[b]] = [b, a];
  return permute(x, ...dims);
};
export const expand = (x, ...shape) => {
  shape = shape.flat().map((m, i) => (m === -1 ? x.shape[i - (shape.flat().length - x.ndim)] : m));
  const lead = shape.length - x.ndim;
  x.shape.forEach((m, d) => {
    if (m !== 1 && m !== shape[d + lead])
      fail(
        `The expanded size of the tensor (${shape[d + lead]}) must match the existing size (${m}) at non-singleton dimension ${d + lead}.  Target sizes: ${named(shape)}.  Tensor sizes: ${named(x.shape)}`,
      );
  });
  return window(x, (t) =>
    seen(
      t,
      shape,
      shape.map((m, d) => (d < lead || t.shape[d - lead] === 1 ? 0 : t.strides[d - lead])),
    ),
  );
};
export const unsqueeze = (x, d) => {
  d = axis(d, x.ndim + 1);
  return window(x, (t) => seen(t, t.shape.toSpliced(d, 0, 1), t.strides.toSpliced(d, 0, 1)));
};
export const squeeze = (x, d) => {
  const out = d === null || d === undefined ? [...x.shape.keys()] : [d].flat().map((e) => axis(e, x.ndim)),
    keep = [...x.shape.keys()].filter((e) => !(out.includes(e) && x.shape[e] === 1));
  return window(x, (t) =>
    seen(
      t,
      keep.map((e) => t.shape[e]),
      keep.map((e) => t.strides[e]),
    ),
  );
};
export const diagonal = (x, k = 0, dim1 = 0, dim2 = 1) => {
  const [a, b] = [axis(dim1, x.ndim), axis(dim2, x.ndim)];
  const n = Math.max(0, Math.min(x.shape[a] + Math.min(k, 0), x.shape[b] - Math.max(k, 0)));
  const others = (list) => list.filter((_, d) => d !== a && d !== b);
  return window(x, (t) =>
    seen(
      t,
      [...others(t.shape), n],
      [...others(t.strides), t.strides[a] + t.strides[b]],
      t.offset + (k >= 0 ? k * t.strides[b] : -k * t.strides[a]),
    ),
  );
};
export const narrow = (x, d, start, n, step = 1) =>
  window(x, (t) =>
    seen(t, t.shape.with(d, n), t.strides.with(d, t.strides[d] * step), t.offset + start * t.strides[d]),
  );
export const select = (x, d, i) => squeeze(narrow(x, d, i, 1), d);
function sizes(x, shape) {
  shape = shape.flat();
  const known = size(shape.filter((m) => m !== -1)),
    open = shape.indexOf(-1);
  if (open >= 0 && known && Number.isInteger(x.n / known)) shape = shape.with(open, x.n / known);
  return size(shape) === x.n && !shape.includes(-1)
    ? shape
    : fail(`shape '${named(shape)}' is invalid for input of size ${x.n}`);
}
// The strides that show a tensor in another shape without a copy, or null: axes that lie together may be cut anew.
function restride(x, shape) {
  if (x.n === 0 || x.contiguous) return stridesOf(shape);
  const out = new Array(shape.length);
  let to = shape.length - 1,
    chunk = 1,
    seenTo = 1,
    base = x.strides.at(-1) ?? 1;
  for (let d = x.ndim - 1; d >= 0; d--) {
    chunk *= x.shape[d];
    if (d === 0 || (x.shape[d - 1] !== 1 && x.strides[d - 1] !== chunk * base)) {
      while (to >= 0 && (seenTo < chunk || shape[to] === 1)) {
        out[to] = seenTo * base;
        seenTo *= shape[to--];
      }
      if (seenTo !== chunk) return null;
      if (d > 0) {
        base = x.strides[d - 1];
        chunk = seenTo = 1;
      }
    }
  }
  return to === -1 ? out : null;
}
export function view(x, ...shape) {
  shape = sizes(x, shape);
  if (!restride(x, shape))
    fail(
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
    );
  return window(x, (t) => seen(t, shape, restride(t, shape) ?? stridesOf(shape)));
}
export const clone = (x) => track(copyOf(x), [x], (g) => [g]);
export const contiguous = (x) => (x.contiguous ? x : clone(x));
export function reshape(x, ...shape) {
  shape = sizes(x, shape);
  return view(restride(x, shape) ? x : clone(x), shape);
}
export const flatten = (x, a = 0, b = -1) => {
  if (!x.ndim) return reshape(x, 1);
  a = axis(a, x.ndim);
  b = axis(b, x.ndim);
  return reshape(x, x.shape.slice(0, a), size(x.shape.slice(a, b + 1)), x.shape.slice(b + 1));
};
export const unflatten = (x, d, ...parts) => {
  d = axis(d, x.ndim);
  const cut = sizes({ n: x.shape[d] }, parts);
  return view(x, x.shape.slice(0, d), cut, x.shape.slice(d + 1));
};
