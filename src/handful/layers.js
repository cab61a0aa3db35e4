// Losses and layers.

import { fail } from "./numbers.js";
import { filled, values } from "./tensor.js";
import { flatten, reshape, squeeze, transpose, unsqueeze } from "./windows.js";
import { add, div, logistic, map, mul, neg, pointwise, scalar, sqrt, sub, unary, where } from "./pointwise.js";
import { count, gather, logSoftmax, mean, softmax, sum, triangle } from "./axes.js";
import { matmul } from "./products.js";

export const variance = (x, dim, unbiased = true, keepdim = false, correction = null) => {
  const c = sub(x, mean(x, dim, true));
  return div(sum(mul(c, c), dim, keepdim), count(x, dim) - (correction ?? (unbiased ? 1 : 0)));
};
export const logsigmoid = unary(
  (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
  (g, x) => g * logistic(-x),
);
export const norm = (x, dim, keepdim) => sqrt(sum(mul(x, x), dim, keepdim));
export const clamp = (x, min, max) =>
  pointwise(
    (v) => Math.min(Math.max(v, min ?? -Infinity), max ?? Infinity),
    x.dtype,
    [x],
    [(g, v) => (v >= (min ?? -Infinity) && v <= (max ?? Infinity) ? g : 0)],
  );
export const normalize = (x, dim = 1) => div(x, clamp(norm(x, dim, true), 1e-12));
export const total = (x, how) => (how === "mean" ? mean(x) : how === "sum" ? sum(x) : x);
export function crossEntropy(x, target, ignore = -100, reduction = "mean") {
  if (x.ndim === 1) {
    x = unsqueeze(x, 0);
    target = unsqueeze(target, 0);
  }
  if (x.ndim > 2) {
    const N = x.shape[1];
    x = reshape(transpose(unsqueeze(x, -1), 1, -1), -1, N);
    target = flatten(target);
  }
  if (x.shape[0] !== target.shape[0])
    fail(`Expected input batch_size (${x.shape[0]}) to match target batch_size (${target.shape[0]}).`, "ValueError");
  const on = map((t) => t !== ignore, "bool", [target]),
    safe = where(on, target, scalar(0, "int64"));
  values(safe).forEach((t) => {
    if (t < 0 || t >= x.shape[1]) fail(`Target ${t} is out of bounds.`, "IndexError");
  });
  const each = where(on, neg(squeeze(gather(logSoftmax(x, 1), 1, unsqueeze(safe, 1)), 1)), scalar(0, x.dtype));
  return reduction === "mean" ? div(sum(each), sum(on)) : total(each, reduction);
}
export const layerNorm = (x, shape, weight = null, bias = null, eps = 1e-5) => {
  const dims = [shape].flat().map((_, i) => -1 - i),
    c = sub(x, mean(x, dims, true));
  let y = div(c, sqrt(add(mean(mul(c, c), dims, true), eps)));
  if (weight) y = mul(y, weight);
  return bias ? add(y, bias) : y;
};
export const linear = (x, w, b = null) => {
  const y = matmul(x, transpose(w, 0, 1));
  return b ? add(y, b) : y;
};
export const attention = (q, k, v, mask = null, dropout = 0, causal = false) => {
  let s = div(matmul(q, transpose(k, -1, -2)), Math.sqrt(q.shape.at(-1)));
  if (causal) mask = triangle((a, b) => a <= b)(filled(s.shape.slice(-2), 1, "bool"));
  if (mask) s = mask.dtype === "bool" ? where(mask, s, scalar(-Infinity, s.dtype)) : add(s, mask);
  return matmul(softmax(s, -1), v);
};
