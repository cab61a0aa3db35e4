// One number from each input, and by which kind of number.

import { CALLED, KINDS, category, fail, higher, isFloat, isNumber, kindOf } from "./numbers.js";
import { blank, broadcast, copyOf, fromValues, named, places, stridesOf, values } from "./tensor.js";
import { track } from "./gradients.js";
import { reshape } from "./windows.js";
import { reduced } from "./rows.js";

export function sumTo(g, shape) {
  if (named(g.shape) === named(shape)) return g;
  const lead = g.ndim - shape.length,
    dims = [...g.shape.keys()].filter((d) => d < lead || shape[d - lead] === 1);
  return reshape(
    reduced(g, dims, true, (v) => v.reduce((a, b) => a + b, 0)),
    shape,
  );
}
export function map(fn, dtype, ins) {
  const shape = broadcast(...ins.map((x) => x.shape)),
    out = blank(shape, dtype),
    r = KINDS[dtype].round,
    o = out.store.a;
  const at = ins.map((x) => places(x, shape)),
    s = ins.map((x) => x.store.a);
  if (ins.length === 1) for (let p = 0; p < o.length; p++) o[p] = r(fn(s[0][at[0][p]]));
  else if (ins.length === 2) for (let p = 0; p < o.length; p++) o[p] = r(fn(s[0][at[0][p]], s[1][at[1][p]]));
  else for (let p = 0; p < o.length; p++) o[p] = r(fn(...s.map((a, i) => a[at[i][p]])));
  return out;
}
// `slopes[i](g, ...values)` is the gradient of input i; one that takes g alone needs no values kept.
export function pointwise(fn, dtype, ins, slopes, keeps = ins) {
  const out = map(fn, dtype, ins);
  return track(
    out,
    ins,
    (g) =>
      ins.map((x, i) => (slopes[i] && isFloat(x.dtype) ? sumTo(map(slopes[i], x.dtype, [g, ...ins]), x.shape) : null)),
    slopes.some((f, i) => f && f.length > 1 && ins[i].node) ? keeps : [],
  );
}
export const scalar = (x, dtype) => fromValues([+x], [], dtype);
// Tensors of one kind, from tensors and plain numbers, by torch's rules of promotion.
function promote(xs, least = 0) {
  const kind = (x) =>
    x?.isT
      ? x.dtype
      : isNumber(x)
        ? { bool: "bool", int: "int64", float: "float32" }[kindOf(x)]
        : fail(`argument must be Tensor or Number, not ${kindOf(x)}`, "TypeError");
  const level = (x) => (x?.isT ? (x.ndim ? 2 : 1) : 0);
  let dtype = null,
    top = -1;
  for (const l of [2, 1, 0]) {
    const these = xs.filter((x) => level(x) === l).map(kind);
    if (!these.length) continue;
    const best = these.reduce(higher);
    if (dtype === null || category(best) > top) {
      dtype = best;
      top = category(best);
    }
  }
  if (least === 2 && !isFloat(dtype)) dtype = "float32";
  if (least === 1 && dtype === "bool") dtype = "int64";
  return [dtype, xs.map((x) => (x.isT ? (x.dtype === dtype ? x : cast(x, dtype)) : scalar(x, dtype)))];
}
export const cast = (x, dtype) => (dtype === x.dtype ? x : track(copyOf(x, dtype), [x], (g) => [copyOf(g, x.dtype)]));
export const binary =
  (fn, slopes, least = 0, each = false) =>
  (a, b) => {
    const [dtype, ins] = promote([a, b], least);
    return pointwise(fn, dtype, ins, slopes, each ? ins.filter((_, i) => ins[1 - i].node) : ins);
  }; // each: the slope of one needs only the other
export const compare = (fn) => (a, b) => map(fn, "bool", promote([a, b])[1]);
export const unary = (fn, slope) => (x) => {
  const [dtype, ins] = promote([x], 2);
  return pointwise(fn, dtype, ins, [slope]);
};
export const floorMod = (a, b) => a - Math.floor(a / b) * b;
export const add = binary((a, b) => a + b, [(g) => g, (g) => g]);
const INSTEAD = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.";
const isBool = (x) => x === true || x === false || x?.dtype === "bool";
const difference = binary((a, b) => a - b, [(g) => g, (g) => -g]);
export const sub = (a, b) =>
  isBool(a) || isBool(b)
    ? fail(`Subtraction, the \`-\` operator, with a bool tensor is not supported. ${INSTEAD}`)
    : difference(a, b);
export const mul = binary((a, b) => a * b, [(g, a, b) => g * b, (g, a) => g * a], 0, true);
export const div = binary((a, b) => a / b, [(g, a, b) => g / b, (g, a, b) => (-g * a) / (b * b)], 2, true);
export const pow = binary(
  (a, b) => a ** b,
  [(g, a, b) => (b === 0 ? 0 : g * b * a ** (b - 1)), (g, a, b) => (a === 0 && b >= 0 ? 0 : g * a ** b * Math.log(a))],
);
export const neg = (x) =>
  isBool(x) ? fail(`Negation, the \`-\` operator, on a bool tensor is not supported. ${INSTEAD}`) : mul(x, -1);
export const exp = unary(Math.exp, (g, x) => g * Math.exp(x));
export const log = unary(Math.log, (g, x) => g / x);
export const sqrt = unary(Math.sqrt, (g, x) => (g * 0.5) / Math.sqrt(x));
export const logistic = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
export const where = (m, a, b) => {
  const [dtype, [x, y]] = promote([a, b]);
  const slopes = [null, (g, k) => (k ? g : 0), (g, k) => (k ? 0 : g)];
  return pointwise((k, p, q) => (k ? p : q), dtype, [m, x, y], slopes, [m]); // so that x may be changed afterwards
};
export const integral = (fn) => (a, b) => {
  const [dtype, ins] = promote([a, b]);
  return dtype === "bool" || !isFloat(dtype)
    ? map((x, y) => Number(fn(BigInt(x), BigInt(y))), dtype, ins)
    : fail(`not implemented for '${dtype}'`);
};
export const erf = (x) => {
  if (Math.abs(x) > 6) return Math.sign(x);
  let s = x,
    t = x;
  for (let n = 1; n < 200 && Math.abs(t) > 1e-17; n++) {
    t *= (-x * x) / n;
    s += t / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * s;
};
export const close = (a, b, rtol = 1e-5, atol = 1e-8, nan = false) =>
  (a.dtype !== b.dtype && fail(`${CALLED[a.dtype]} did not match ${CALLED[b.dtype]}`)) ||
  map(
    (x, y) =>
      x === y || (nan && x !== x && y !== y) || (Math.abs(x - y) <= atol + rtol * Math.abs(y) && Number.isFinite(y)),
    "bool",
    [a, b],
  );
export function nonzero(x) {
  const v = values(x),
    s = stridesOf(x.shape),
    out = [];
  v.forEach((y, p) => {
    if (y) out.push(...s.map((k, d) => Math.floor(p / k) % x.shape[d]));
  });
  return fromValues(out, [x.ndim ? out.length / x.ndim : v[0] ? 1 : 0, x.ndim], "int64");
}
