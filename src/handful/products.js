// Products, and tensors put together.

import { KINDS, fail, higher } from "./numbers.js";
import { axis, blank, broadcast, named, size, values } from "./tensor.js";
import { silently, track } from "./gradients.js";
import { expand, narrow, reshape, squeeze, transpose, unsqueeze } from "./windows.js";
import { cast, mul, sumTo } from "./pointwise.js";
import { put } from "./places.js";
import { sum } from "./axes.js";

// Where PyTorch makes one matrix of many: it then says other sizes.
const isFolded = (a, b) =>
  a.ndim > 2 &&
  b.ndim === 2 &&
  (b.node !== null || a.strides.every((s, d) => d > a.ndim - 3 || s === a.strides[d + 1] * a.shape[d + 1]));
export function matmul(a, b) {
  if (!a.isT || !b.isT) fail("matmul(): argument must be Tensor", "TypeError");
  if (!a.ndim || !b.ndim)
    fail(`both arguments to matmul need to be at least 1D, but they are ${a.ndim}D and ${b.ndim}D`);
  if (a.dtype !== b.dtype) fail(`expected m1 and m2 to have the same dtype, but got: ${a.dtype} != ${b.dtype}`);
  if (a.ndim === 1 && b.ndim === 1)
    return a.n === b.n
      ? sum(mul(a, b))
      : fail(
          `inconsistent tensor size, expected tensor [${a.n}] and src [${b.n}] to have the same number of elements, but got ${a.n} and ${b.n} elements respectively`,
        );
  if (a.ndim === 1) return squeeze(matmul(unsqueeze(a, 0), b), -2);
  if (b.ndim === 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  const [n, k] = a.shape.slice(-2),
    [k2, m] = b.shape.slice(-2);
  if (k !== k2)
    fail(
      isFolded(a, b)
        ? `mat1 and mat2 shapes cannot be multiplied (${a.n / k}x${k} and ${k2}x${m})`
        : a.ndim > 2 || b.ndim > 2
          ? `Expected size for first two dimensions of batch2 tensor to be: [${size(a.shape.slice(0, -2))}, ${k}] but got: [${size(b.shape.slice(0, -2))}, ${k2}].`
          : `mat1 and mat2 shapes cannot be multiplied (${n}x${k} and ${k2}x${m})`,
    );
  const lead = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2)),
    out = blank([...lead, n, m], a.dtype),
    r = KINDS[a.dtype].round;
  const A = values(silently(() => expand(a, lead, n, k))),
    B = values(silently(() => expand(b, lead, k, m))),
    o = out.store.a;
  for (let t = 0, p = 0; t < size(lead); t++)
    for (let i = 0; i < n; i++)
      for (let j = 0; j < m; j++) {
        let s = 0;
        for (let q = 0; q < k; q++) s += A[(t * n + i) * k + q] * B[(t * k + q) * m + j];
        o[p++] = r(s);
      }
  return track(
    out,
    [a, b],
    (g) => [
      a.node && sumTo(matmul(g, transpose(b, -1, -2)), a.shape),
      b.node && sumTo(matmul(transpose(a, -1, -2), g), b.shape),
    ],
    [a, b].filter((_, i) => [b, a][i].node),
  );
}
export function cat(xs, dim = 0) {
  const d = axis(dim, xs[0].ndim),
    dtype = xs.map((x) => x.dtype).reduce(higher);
  xs = xs.map((x) => cast(x, dtype));
  for (const x of xs)
    x.shape.forEach((m, e) => {
      if (x.ndim !== xs[0].ndim || (e !== d && m !== xs[0].shape[e]))
        fail(
          `Sizes of tensors must match except in dimension ${d}. Expected size ${xs[0].shape[e]} but got size ${m} for tensor number ${xs.indexOf(x)} in the list.`,
        );
    });
  const out = blank(
      xs[0].shape.with(
        d,
        xs.reduce((s, x) => s + x.shape[d], 0),
      ),
      dtype,
    ),
    starts = [];
  let at = 0;
  for (const x of xs) {
    starts.push(at);
    silently(() => put(narrow(out, d, at, x.shape[d]), x));
    at += x.shape[d];
  }
  return track(out, xs, (g) => xs.map((x, i) => narrow(g, d, starts[i], x.shape[d])));
}
export const split = (x, n, dim = 0) => {
  const d = axis(dim, x.ndim);
  if (Array.isArray(n) && n.reduce((a, b) => a + b, 0) !== x.shape[d])
    fail(
      `split_with_sizes expects split_sizes to sum exactly to ${x.shape[d]} (input tensor's size at dimension ${dim}), but got split_sizes=${named(n)}`,
    );
  const all = Array.isArray(n)
    ? n
    : Array.from({ length: Math.ceil(x.shape[d] / n) }, (_, i) => Math.min(n, x.shape[d] - i * n));
  let at = 0;
  return all.map((m) => narrow(x, d, (at += m) - m, m));
};
export const repeat = (x, ...times) => {
  times = times.flat();
  const lead = times.length - x.ndim,
    shape = [...new Array(lead).fill(1), ...x.shape];
  return reshape(
    expand(
      reshape(
        x,
        shape.flatMap((m) => [1, m]),
      ),
      shape.flatMap((m, d) => [times[d], m]),
    ),
    shape.map((m, d) => m * times[d]),
  );
};
