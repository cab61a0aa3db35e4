// What is computed over axes: sums, extremes, orders.

import { CALLED, fail, isFloat } from "./numbers.js";
import { axis, fromValues, size } from "./tensor.js";
import { track } from "./gradients.js";
import { expand, squeeze, view } from "./windows.js";
import { along, axesOf, reduced, spread } from "./rows.js";
import { cast, div, exp, map, mul, scalar, sub, where } from "./pointwise.js";
import { getitem } from "./places.js";

export function sum(x, dim, keepdim = false, dtype = null) {
  x = cast(x, dtype ?? (isFloat(x.dtype) ? x.dtype : "int64"));
  const dims = axesOf(dim, x.ndim);
  return track(
    reduced(x, dims, keepdim, (v) => {
      let s = 0;
      for (const y of v) s += y;
      return s;
    }),
    [x],
    (g) => [expand(spread(g, x, dims), x.shape)],
  );
}
export const count = (x, dim) => size(axesOf(dim, x.ndim).map((d) => x.shape[d]));
export const mean = (x, dim, keepdim) =>
  isFloat(x.dtype)
    ? div(sum(x, dim, keepdim), count(x, dim))
    : fail(
        `mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ${CALLED[x.dtype]}`,
      );
const extreme =
  (better) =>
  (x, dim, keepdim = false) => {
    const dims = axesOf(dim, x.ndim);
    if (!count(x, dim))
      fail(
        "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
      );
    const out = reduced(x, dims, keepdim, (v) => v.reduce((a, b) => (Number.isNaN(a) || better(a, b) ? a : b)));
    return track(out, [x], (g) => {
      const same = map((a, b) => (a === b ? 1 : 0), x.dtype, [x, spread(out, x, dims)]);
      return [
        div(
          mul(same, spread(g, x, dims)),
          reduced(same, dims, true, (v) => v.reduce((a, b) => a + b, 0)),
        ),
      ];
    });
  };
export const amax = extreme((a, b) => a >= b);
export const amin = extreme((a, b) => a <= b);
const bestOf = (v, better) => {
  let k = 0;
  for (let i = 1; i < v.length; i++) if (!Number.isNaN(v[k]) && (Number.isNaN(v[i]) || better(v[i], v[k]))) k = i;
  return k;
};
const arg =
  (better) =>
  (x, dim, keepdim = false) =>
    count(x, dim)
      ? reduced(x, axesOf(dim, x.ndim), keepdim, (v) => bestOf(v, better), "int64")
      : fail("argmax(): Expected reduction dim to be specified for input.numel() == 0.", "IndexError");
export const argmax = arg((a, b) => a > b);
export const argmin = arg((a, b) => a < b);
export const extremeAt =
  (whole, at, pair) =>
  (x, dim, keepdim = false) => {
    if (dim?.isT) return pair(x, dim);
    if (dim === null || dim === undefined) return whole(x);
    const ix = at(x, dim, true),
      v = gather(x, dim, ix);
    return { named: true, values: keepdim ? v : squeeze(v, dim), indices: keepdim ? ix : squeeze(ix, dim) };
  };
const shares = (v) => {
  const m = v.reduce((a, b) => (a > b || Number.isNaN(a) ? a : b), -Infinity),
    e = v.map((s) => Math.exp(s - m)),
    z = e.reduce((a, b) => a + b, 0);
  return e.map((s) => s / z);
};
export function softmax(x, dim = null, dtype = null) {
  x = cast(x, dtype ?? x.dtype);
  if (!isFloat(x.dtype))
    fail(`"softmax_lastdim_kernel_impl" not implemented for '${CALLED[x.dtype]}'`, "NotImplementedError");
  if (dim === null) fail('softmax() missing 1 required positional arguments: "dim"', "TypeError");
  const y = along(x, dim, shares);
  return track(
    y,
    [x],
    (g) => {
      const gy = mul(g, y);
      return [sub(gy, mul(y, sum(gy, dim, true)))];
    },
    [y],
  );
}
export function logSoftmax(x, dim) {
  const y = along(x, dim, (v) => {
    const m = Math.max(...v),
      z = m + Math.log(v.reduce((s, a) => s + Math.exp(a - m), 0));
    return v.map((a) => a - z);
  });
  return track(y, [x], (g) => [sub(g, mul(exp(y), sum(g, dim, true)))], [y]);
}
export const running = (step) => (x, dim) =>
  along(
    x,
    dim,
    (v) => {
      let s = null;
      return v.map((a) => (s = s === null ? a : step(s, a)));
    },
    isFloat(x.dtype) ? x.dtype : "int64",
  );
export const flip = (x, ...dims) =>
  dims.flat().reduce(
    (t, d) =>
      track(
        along(t, d, (v) => v.slice().reverse()),
        [t],
        (g) => [flip(g, d)],
      ),
    x,
  );
export const cumsum = (x, dim) =>
  track(running((a, b) => a + b)(x, dim), [x], (g) => [flip(cumsum(flip(g, dim), dim), dim)]);
export const orderOf = (v, descending) =>
  Array.from(v.keys()).sort((a, b) => (descending ? v[b] - v[a] : v[a] - v[b]) || a - b);
export const argsort = (x, dim = -1, descending = false) => along(x, dim, (v) => orderOf(v, descending), "int64");
export const sort = (x, dim = -1, descending = false) => {
  const indices = argsort(x, dim, descending);
  return { named: true, values: gather(x, dim, indices), indices };
};
export const cummin = (x, dim) => ({
  named: true,
  values: running(Math.min)(x, dim),
  indices: along(x, dim, (v) => v.map((_, i) => bestOf(v.subarray(0, i + 1), (a, b) => a <= b)), "int64"),
});
// One index tensor for every axis: the chosen one for `dim`, the place itself for the others.
export function placesAlong(x, dim, index) {
  const d = axis(dim, x.ndim);
  const alongIts = (m, e) => index.shape.map((_, i) => (i === e ? m : 1));
  return index.shape.map((m, e) =>
    e === d ? index : expand(view(fromValues([...Array(m).keys()], [m], "int64"), alongIts(m, e)), index.shape),
  );
}
export const gather = (x, dim, index) => (x.ndim ? getitem(x, placesAlong(x, dim, index)) : x);
export const triangle =
  (keep) =>
  (x, k = 0) => {
    const [n, m] = x.shape.slice(-2),
      mask = fromValues(
        Array.from({ length: n * m }, (_, p) => keep((p % m) - Math.floor(p / m), k)),
        [n, m],
        "bool",
      );
    return where(mask, x, scalar(0, x.dtype));
  };
