// Losses and layers.

import { fail, isFloat } from "./numbers.js";
import { filled, named, values } from "./tensor.js";
import { reshape, squeeze, transpose, unsqueeze } from "./windows.js";
import { add, binary, div, logistic, map, mul, neg, scalar, sqrt, sub, unary, where } from "./pointwise.js";
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
const least = binary(Math.min, [(g, v, m) => (v <= m ? g : 0), (g, v, m) => (v <= m ? 0 : g)]);
const most = binary(Math.max, [(g, v, m) => (v >= m ? g : 0), (g, v, m) => (v >= m ? 0 : g)]);
export const clamp = (x, min, max) => {
  const up = min === null || min === undefined ? x : most(x, min);
  return max === null || max === undefined ? up : least(up, max);
};
export const normalize = (x, dim = 1) => div(x, clamp(norm(x, dim, true), 1e-12));
export const total = (x, how) => (how === "mean" ? mean(x) : how === "sum" ? sum(x) : x);
// The loss of the right classes, of log-probabilities of shape (N,), (B, N) or (B, N, ...).
export function nllLoss(x, target, ignore = -100, reduction = "mean") {
  if (x.ndim === 1) {
    x = unsqueeze(x, 0);
    target = reshape(target, 1);
    if (reduction === "none") return squeeze(nllLoss(x, target, ignore, reduction), 0);
  }
  if (isFloat(target.dtype)) fail("cross_entropy with probabilities", "Lacking");
  const [B, N, ...rest] = x.shape;
  if (B !== target.shape[0])
    fail(`Expected input batch_size (${B}) to match target batch_size (${target.shape[0]}).`, "ValueError");
  if (named(target.shape) !== named([B, ...rest]))
    fail(`Expected target size ${named([B, ...rest])}, got ${named(target.shape)}`);
  const on = map((t) => t !== ignore, "bool", [target]),
    safe = where(on, target, scalar(0, "int64"));
  values(safe).forEach((t) => {
    if (t < 0 || t >= N) fail(`Target ${t} is out of bounds.`, "IndexError");
  });
  const each = where(on, neg(squeeze(gather(x, 1, unsqueeze(safe, 1)), 1)), scalar(0, x.dtype));
  return reduction === "mean" ? div(sum(each), sum(on)) : total(each, reduction);
}
export const crossEntropy = (x, ...rest) => nllLoss(logSoftmax(x, x.ndim > 1 ? 1 : 0), ...rest);
export const layerNorm = (x, shape, weight = null, bias = null, eps = 1e-5) => {
  if (!Array.isArray(shape)) fail("layer_norm(): normalized_shape must be tuple of ints, not int", "TypeError");
  const dims = shape.map((_, i) => -1 - i),
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
