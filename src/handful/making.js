// Tensors from sizes and from numbers.

import { fail, higher, isFloat, isNumber, kindOf } from "./numbers.js";
import { copyOf, filled, fromValues, size } from "./tensor.js";
import { cast } from "./pointwise.js";

export const drawn =
  (fn) =>
  (...shape) => {
    const s = shape.flat(2);
    return fromValues(Array.from({ length: size(s) }, fn), s);
  };
export const made = (value) => (shape, dtype) => filled([shape].flat(2), value, dtype ?? "float32");
export const arange = (...given) => {
  const [first, end, step = 1, dtype = null] = given.map((x) => (x?.isT ? item(x, true) : x));
  const [a, b] = end === null || end === undefined ? [0, first] : [first, end];
  if ((b - a) * step < 0) fail("upper bound and lower bound inconsistent with step sign");
  const n = Math.max(0, Math.ceil((b - a) / step));
  return fromValues(
    Array.from({ length: n }, (_, i) => +a + i * step),
    [n],
    dtype ?? ([a, b, step].every((v) => Number.isInteger(v) && !v?.py) ? "int64" : "float32"),
  );
};
export function tensor(data, dtype = null) {
  if (data?.isT) return copyOf(data, dtype ?? data.dtype);
  const shape = [],
    flat = [];
  for (let x = data; Array.isArray(x); x = x[0]) shape.push(x.length);
  const walk = (x, d) => {
    if (Array.isArray(x)) {
      if (x.length !== shape[d])
        fail(`expected sequence of length ${shape[d]} at dim ${d} (got ${x.length})`, "ValueError");
      x.forEach((y) => walk(y, d + 1));
    } else if (x?.isT && x.n !== 1) fail("only one element tensors can be converted to Python scalars", "ValueError");
    else if (typeof x === "string") fail("new(): invalid data type 'str'", "TypeError");
    else if (x?.isT || isNumber(x)) flat.push(x.isT ? item(x, true) : x);
    else fail(`Could not infer dtype of ${kindOf(x)}`);
  };
  walk(data, 0);
  const kind = (x) =>
    typeof x === "boolean" ? "bool" : x?.py === "float" || !Number.isInteger(+x) ? "float32" : "int64";
  return fromValues(flat.map(Number), shape, dtype ?? (flat.length ? flat.map(kind).reduce(higher) : "float32"));
}
// A plain number; a whole float keeps its kind by a wrapper, as JavaScript has none.
class Float extends Number {
  py = "float";
}
export const float = (x) => new Float(x);
class Whole extends Number {
  py = "int";
}
export const whole = (x) => new Whole(x);
export function item(x, wrapped = false) {
  if (x.n !== 1) fail(`a Tensor with ${x.n} elements cannot be converted to Scalar`);
  const v = x.store.a[x.offset];
  return x.dtype === "bool" ? v !== 0 : wrapped && isFloat(x.dtype) ? float(v) : v;
}
export const toKind = (dtype) => (x) => cast(x, dtype);
export const likeness =
  (value) =>
  (x, dtype = null) =>
    filled(x.shape, value, dtype ?? x.dtype);
