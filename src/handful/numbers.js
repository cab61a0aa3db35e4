// Kinds of numbers: all are kept in float64, rounded on the way in as torch rounds; and how an error is said.

export class TorchError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}
export const fail = (message, kind = "RuntimeError") => {
  throw new TorchError(kind, message);
};
export const half = (x) => {
  const a = Math.abs(x);
  if (!Number.isFinite(x) || x === 0) return x;
  if (a >= 65520) return Math.sign(x) * Infinity;
  const step = 2 ** (Math.max(Math.floor(Math.log2(a)), -14) - 10),
    q = a / step,
    low = Math.floor(q),
    rest = q - low;
  return Math.sign(x) * (low + (rest > 0.5 || (rest === 0.5 && low % 2) ? 1 : 0)) * step;
};
export const KINDS = {
  bool: { rank: 0, round: (x) => (x ? 1 : 0) },
  int32: { rank: 1, round: (x) => Math.trunc(x) | 0 },
  int64: { rank: 2, round: Math.trunc },
  float16: { rank: 3, round: half, min: -65504, max: 65504, eps: 2 ** -10, tiny: 2 ** -14 },
  float32: {
    rank: 4,
    round: Math.fround,
    min: -3.4028234663852886e38,
    max: 3.4028234663852886e38,
    eps: 2 ** -23,
    tiny: 2 ** -126,
  },
  float64: { rank: 5, round: (x) => x, min: -Number.MAX_VALUE, max: Number.MAX_VALUE, eps: 2 ** -52, tiny: 2 ** -1022 },
};
export const CALLED = {
  bool: "Bool",
  int32: "Int",
  int64: "Long",
  float16: "Half",
  float32: "Float",
  float64: "Double",
};
export const isNumber = (x) => typeof x === "number" || typeof x === "boolean" || x?.py !== undefined;
// How Python calls the kind of a value.
export const kindOf = (x) =>
  x?.isT
    ? "Tensor"
    : Array.isArray(x)
      ? "list"
      : typeof x === "string"
        ? "str"
        : typeof x === "boolean"
          ? "bool"
          : isNumber(x)
            ? x.py || (Number.isInteger(x) ? "int" : "float")
            : "NoneType";
export const finfo = (dtype) => KINDS[dtype];
export const isFloat = (dtype) => KINDS[dtype].rank >= 3;
export const category = (dtype) => (dtype === "bool" ? 0 : isFloat(dtype) ? 2 : 1);
export const higher = (a, b) => (KINDS[a].rank >= KINDS[b].rank ? a : b);
