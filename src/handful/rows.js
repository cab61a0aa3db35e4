// A tensor as rows of numbers along some of its axes.

import { axis, copyOf, fromValues, size, values } from "./tensor.js";
import { silently } from "./gradients.js";
import { permute, reshape } from "./windows.js";

export const axesOf = (dim, k) =>
  (dim === null || dim === undefined || (Array.isArray(dim) && !dim.length)
    ? [...Array(k).keys()]
    : [dim].flat().map((d) => axis(d, k))
  ).filter((d) => d < k);
// The tensor with some axes last, as rows of numbers.
function rows(x, dims) {
  const others = [...x.shape.keys()].filter((d) => !dims.includes(d)),
    v = values(silently(() => permute(x, ...others, ...dims)));
  const n = size(dims.map((d) => x.shape[d])),
    count = size(others.map((d) => x.shape[d]));
  return { rows: Array.from({ length: count }, (_, i) => v.subarray(i * n, i * n + n)), others };
}
export const kept = (x, dims, keepdim) =>
  x.shape.map((m, d) => (dims.includes(d) ? (keepdim ? 1 : null) : m)).filter((m) => m !== null);
export function reduced(x, dims, keepdim, fn, dtype = x.dtype) {
  if (!dims.length && x.ndim) return copyOf(x, dtype);
  return fromValues(rows(x, dims).rows.map(fn), kept(x, dims, keepdim), dtype);
}
// A gradient of a reduction, in the shape that lines up with its input.
export const spread = (g, x, dims) =>
  reshape(
    g,
    x.shape.map((m, d) => (dims.includes(d) ? 1 : m)),
  );
// A function along one axis, row by row.
export function along(x, dim, fn, dtype = x.dtype) {
  if (!x.ndim) return fromValues(fn(values(x)), [], dtype);
  const d = axis(dim, x.ndim),
    { rows: all, others } = rows(x, [d]),
    back = [...others, d];
  const out = fromValues(
    all.flatMap((r) => [...fn(r)]),
    back.map((e) => x.shape[e]),
    dtype,
  );
  return copyOf(permute(out, ...back.map((_, e) => back.indexOf(e))));
}
