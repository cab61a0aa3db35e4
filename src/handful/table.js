// The table of all that is known, by name: parameters as torch calls them; m a method, t in torch, F in
// torch.nn.functional.

import { CALLED, KINDS, fail, isFloat, isNumber, kindOf } from "./numbers.js";
import { axis, filled, fromValues, named, values } from "./tensor.js";
import { backward } from "./gradients.js";
import {
  clone,
  contiguous,
  diagonal,
  expand,
  flatten,
  narrow,
  permute,
  reshape,
  seen,
  select,
  squeeze,
  transpose,
  unflatten,
  unsqueeze,
  view,
} from "./windows.js";
import { axesOf, reduced } from "./rows.js";
import {
  add,
  binary,
  cast,
  close,
  compare,
  div,
  erf,
  exp,
  floorMod,
  integral,
  log,
  logistic,
  map,
  mul,
  neg,
  nonzero,
  pointwise,
  pow,
  scalar,
  sqrt,
  sub,
  unary,
  where,
} from "./pointwise.js";
import { getitem, put, setitem } from "./places.js";
import {
  amax,
  amin,
  argmax,
  argmin,
  argsort,
  cummin,
  cumsum,
  extremeAt,
  flip,
  gather,
  placesAlong,
  logSoftmax,
  mean,
  orderOf,
  running,
  softmax,
  sort,
  sum,
  triangle,
} from "./axes.js";
import { cat, matmul, repeat, split } from "./products.js";
import {
  attention,
  clamp,
  crossEntropy,
  layerNorm,
  linear,
  logsigmoid,
  norm,
  nllLoss,
  normalize,
  total,
  variance,
} from "./layers.js";
import { drawingFrom, gauss, random, seed } from "./chance.js";
import { arange, drawn, item, likeness, made, tensor, toKind } from "./making.js";

const byAxis = (places) => Array.from({ length: places.shape[1] }, (_, d) => select(places, 1, d));
// Steps: their gradient is 0 everywhere.
const flat = (fn) => (x) => pointwise(fn, x.dtype, [x], [() => 0]);
// Parameters that are sizes, axes or counts.
const WHOLE = new Set(
  "dim dim0 dim1 dim2 dims start_dim end_dim n m k diagonal offset num_classes size shape sizes repeats shifts".split(
    " ",
  ),
);
export const ops = {};
export const op = (spec, fn, wheres = "mt") => {
  const [names, ...params] = spec.split(" ");
  const counts = params.some((param) => WHOLE.has(param.replace("*", "")));
  for (const name of names.split("/")) ops[name] = { fn, params, where: wheres, counts };
};
for (const [name, fn] of Object.entries({
  add,
  sub,
  mul,
  div,
  pow,
  subtract: sub,
  multiply: mul,
  divide: div,
  true_divide: div,
  floor_divide: binary((a, b) => Math.floor(a / b), [null, null]),
  remainder: binary(floorMod, [(g) => g, null]),
  maximum: binary(Math.max, [
    (g, a, b) => (a === b ? g / 2 : a < b ? 0 : g),
    (g, a, b) => (a === b ? g / 2 : b < a ? 0 : g),
  ]),
  minimum: binary(Math.min, [
    (g, a, b) => (a === b ? g / 2 : a > b ? 0 : g),
    (g, a, b) => (a === b ? g / 2 : b > a ? 0 : g),
  ]),
  eq: compare((a, b) => a === b),
  ne: compare((a, b) => a !== b),
  lt: compare((a, b) => a < b),
  le: compare((a, b) => a <= b),
  gt: compare((a, b) => a > b),
  ge: compare((a, b) => a >= b),
  bitwise_and: integral((a, b) => a & b),
  bitwise_or: integral((a, b) => a | b),
  bitwise_xor: integral((a, b) => a ^ b),
  logical_and: compare((a, b) => a && b),
  logical_or: compare((a, b) => a || b),
  logical_xor: compare((a, b) => !a !== !b),
}))
  op(`${name} self other`, fn);
for (const [name, fn] of Object.entries({
  neg,
  exp,
  log,
  sqrt,
  negative: neg,
  tanh: unary(Math.tanh, (g, x) => g * (1 - Math.tanh(x) ** 2)),
  sigmoid: unary(logistic, (g, x) => g * logistic(x) * logistic(-x)),
  sin: unary(Math.sin, (g, x) => g * Math.cos(x)),
  cos: unary(Math.cos, (g, x) => -g * Math.sin(x)),
  rsqrt: unary(
    (x) => 1 / Math.sqrt(x),
    (g, x) => -0.5 * g * x ** -1.5,
  ),
  log2: unary(Math.log2, (g, x) => g / x / Math.LN2),
  log1p: unary(Math.log1p, (g, x) => g / (1 + x)),
  exp2: unary(
    (x) => 2 ** x,
    (g, x) => g * 2 ** x * Math.LN2,
  ),
  expm1: unary(Math.expm1, (g, x) => g * Math.exp(x)),
  reciprocal: unary(
    (x) => 1 / x,
    (g, x) => -g / (x * x),
  ),
  erf: unary(erf, (g, x) => (g * 2 * Math.exp(-x * x)) / Math.sqrt(Math.PI)),
  square: (x) => pow(x, 2),
  abs: (x) => pointwise(Math.abs, x.dtype, [x], [(g, v) => (v > 0 ? g : v < 0 ? -g : 0)]),
  relu: (x) => pointwise((v) => (v > 0 || v !== v ? v : 0), x.dtype, [x], [(g, v) => (v <= 0 ? 0 : g)]),
  sign: flat((v) => Math.sign(v) || 0),
  floor: flat(Math.floor),
  ceil: flat(Math.ceil),
  isnan: (x) => map((v) => v !== v, "bool", [x]),
  isinf: (x) => map((v) => Math.abs(v) === Infinity, "bool", [x]),
  isfinite: (x) => map(Number.isFinite, "bool", [x]),
  logical_not: (x) => map((v) => !v, "bool", [x]),
  bitwise_not: (x) =>
    x.dtype === "bool"
      ? map((v) => !v, "bool", [x])
      : isFloat(x.dtype)
        ? fail("~ (operator.invert) is only implemented on integer and Boolean-type tensors", "TypeError")
        : map((v) => -v - 1, x.dtype, [x]),
  clone,
  contiguous,
  detach: (x) => seen(x, x.shape, x.strides),
}))
  op(`${name} self`, fn, "mtF");
op("round self decimals", (x, k = 0) =>
  flat((v) => {
    const y = v * 10 ** k;
    const r = Math.round(y);
    return (Math.abs(y % 1) === 0.5 && r % 2 ? r - 1 : r) / 10 ** k;
  })(x),
);
op("matmul self other", matmul);
op("dot self tensor", (a, b) =>
  a.ndim === 1 && b.ndim === 1 ? matmul(a, b) : fail(`1D tensors expected, but got ${a.ndim}D and ${b.ndim}D tensors`),
);
op("outer/ger self vec2", (a, b) => mul(unsqueeze(a, 1), b));
op("permute self *dims", permute);
op("transpose/swapaxes/swapdims self dim0 dim1", transpose);
op("t self", (x) => (x.ndim < 2 ? x : transpose(x, 0, 1)));
op("expand self *sizes", expand, "m");
op("expand_as self other", (x, y) => expand(x, y.shape), "m");
op("view self *shape", view, "m");
op("view_as self other", (x, y) => view(x, y.shape), "m");
op("reshape self *shape", reshape);
op("flatten self start_dim end_dim", flatten);
op("unflatten self dim *sizes", unflatten);
op("unsqueeze self dim", unsqueeze);
op("squeeze self dim", squeeze);
op("repeat self *repeats", repeat, "m");
op("flip self *dims", flip);
op("roll self shifts dims", (x, n, d) => {
  if (d === undefined) return reshape(ops.roll.fn(flatten(x), n, 0), x.shape);
  const m = x.shape[axis(d, x.ndim)],
    k = floorMod(n, m);
  return k ? cat([narrow(x, axis(d, x.ndim), m - k, k), narrow(x, axis(d, x.ndim), 0, m - k)], d) : x;
});
op("diagonal self offset dim1 dim2", diagonal);
op("diag_embed self", (x) => {
  const m = x.shape.at(-1);
  return mul(
    unsqueeze(x, -1),
    fromValues(
      Array.from({ length: m * m }, (_, p) => p % (m + 1) === 0),
      [m, m],
      x.dtype,
    ),
  );
});
op(
  "tril self diagonal",
  triangle((d, k) => d <= k),
);
op(
  "triu self diagonal",
  triangle((d, k) => d >= k),
);
op(
  "where condition self other",
  (m, a, b) =>
    a === undefined
      ? byAxis(nonzero(m))
      : m.dtype === "bool"
        ? where(m, a, b)
        : fail(`where expected condition to be a boolean tensor, but got a tensor with dtype ${CALLED[m.dtype]}`),
  "t",
);
op("masked_fill self mask value", (x, m, v) =>
  m.dtype !== "bool"
    ? fail(`masked_fill_ only supports boolean masks, but got mask with dtype ${m.dtype}`)
    : where(
        m,
        v.isT
          ? cast(v, x.dtype)
          : KINDS[x.dtype].min !== undefined && Number.isFinite(+v) && Math.abs(v) > KINDS[x.dtype].max
            ? fail(
                `value cannot be converted to type c10::${x.dtype === "float16" ? "Half" : x.dtype} without overflow`,
              )
            : scalar(v, x.dtype),
        x,
      ),
);
op("nonzero self as_tuple", (x, each) => (each ? byAxis(nonzero(x)) : nonzero(x)));
op("sum self dim keepdim dtype", sum);
op("mean self dim keepdim", mean);
op("prod self dim keepdim", (x, d, k) => reduced(x, axesOf(d, x.ndim), k, (v) => v.reduce((a, b) => a * b, 1)));
op("amax self dim keepdim", amax);
op("amin self dim keepdim", amin);
op(
  "max self dim keepdim",
  extremeAt(amax, argmax, (a, b) => ops.maximum.fn(a, b)),
);
op(
  "min self dim keepdim",
  extremeAt(amin, argmin, (a, b) => ops.minimum.fn(a, b)),
);
op("argmax self dim keepdim", argmax);
op("argmin self dim keepdim", argmin);
op("any self dim keepdim", (x, d, k) => reduced(x, axesOf(d, x.ndim), k, (v) => v.some((y) => y !== 0), "bool"));
op("all self dim keepdim", (x, d, k) => reduced(x, axesOf(d, x.ndim), k, (v) => v.every((y) => y !== 0), "bool"));
op("var self dim unbiased keepdim correction", variance);
op("std self dim unbiased keepdim correction", (...a) => sqrt(variance(...a)));
op("norm self p dim keepdim", (x, p, d, k) =>
  (p ?? 2) === 2 ? norm(x, d, k) : fail("norm with another p than 2", "Lacking"),
);
op("softmax self dim dtype", softmax, "mtF");
op("log_softmax self dim", logSoftmax, "mtF");
op("cumsum self dim", cumsum);
op(
  "cumprod self dim",
  running((a, b) => a * b),
);
op("cummin self dim", cummin);
op("sort self dim descending stable", sort);
op("argsort self dim descending stable", argsort);
op("gather self dim index", gather);
op("scatter self dim index src", (x, d, index, src) => setitem(clone(x), placesAlong(x, d, index), src));
const before = (d) => Array.from({ length: d }, () => ({ slice: [null, null, null] }));
op("index_select self dim index", (x, d, i) => getitem(x, [...before(axis(d, x.ndim)), i]));
op("cat/concat/concatenate tensors dim", cat, "t");
op(
  "stack tensors dim",
  (xs, d = 0) =>
    cat(
      xs.map((x) => unsqueeze(x, d)),
      d,
    ),
  "t",
);
op("split self n dim", split);
op("chunk self n dim", (x, n, d = 0) => split(x, Math.ceil(x.shape[axis(d, x.ndim)] / n), d));
op("unbind self dim", (x, d = 0) =>
  Array.from({ length: x.shape[axis(d, x.ndim)] }, (_, i) => select(x, axis(d, x.ndim), i)),
);
op("repeat_interleave self n dim", (x, n, d) => {
  if (d === null || d === undefined) {
    x = flatten(x);
    d = 0;
  }
  const e = axis(d, x.ndim);
  if (n.isT) {
    const places = [...values(n)].flatMap((times, i) => Array(times).fill(i));
    return ops.index_select.fn(x, e, fromValues(places, [places.length], "int64"));
  }
  return reshape(expand(unsqueeze(x, e + 1), x.shape.toSpliced(e + 1, 0, n)), x.shape.with(e, x.shape[e] * n));
});
op("clamp/clip self min max", clamp);
op("nan_to_num self nan posinf neginf", (x, nan = 0, up = KINDS[x.dtype].max, down = KINDS[x.dtype].min) =>
  isFloat(x.dtype)
    ? pointwise(
        (v) => (Number.isNaN(v) ? +nan : v === Infinity ? +up : v === -Infinity ? +down : v),
        x.dtype,
        [x],
        [(g, v) => (Number.isFinite(v) ? g : 0)],
      )
    : clone(x),
);
op("broadcast_to self size", (x, size) => expand(x, size));
op("clamp_min self min", (x, m) => clamp(x, m));
op("allclose self other rtol atol equal_nan", (...a) => values(close(...a)).every(Boolean));
op("isclose self other rtol atol equal_nan", close);
op(
  "equal self other",
  (a, b) => named(a.shape) === named(b.shape) && values(map((x, y) => x === y, "bool", [a, b])).every(Boolean),
);
op("zeros *size dtype", (...a) => made(0)(a.slice(0, -1), a.at(-1)), "t");
op("empty *size dtype", (...a) => made(0)(a.slice(0, -1), a.at(-1)), "t");
op("ones *size dtype", (...a) => made(1)(a.slice(0, -1), a.at(-1)), "t");
op(
  "full size fill_value dtype",
  (s, v, d) =>
    filled([s].flat(), v, d ?? (typeof v === "boolean" ? "bool" : v.py || !Number.isInteger(v) ? "float32" : "int64")),
  "t",
);
op(
  "eye n m dtype",
  (n, m, d) =>
    fromValues(
      Array.from({ length: n * (m ?? n) }, (_, p) => p % (m ?? n) === Math.floor(p / (m ?? n))),
      [n, m ?? n],
      d ?? "float32",
    ),
  "t",
);
op("arange start end step dtype", arange, "t");
op(
  "linspace start end steps",
  (a, b, n) =>
    fromValues(
      Array.from({ length: n }, (_, i) => +a + ((b - a) * i) / Math.max(n - 1, 1)),
      [n],
    ),
  "t",
);
op("tensor/as_tensor data dtype", tensor, "t");
op("zeros_like self dtype", likeness(0), "t");
op("empty_like self dtype", likeness(0), "t");
op("ones_like self dtype", likeness(1), "t");
op("full_like self fill_value dtype", (x, v, d) => filled(x.shape, v, d ?? x.dtype), "t");
op("rand *size", drawn(random), "t");
op("randn *size", drawn(gauss), "t");
op("randn_like self", (x) => drawn(gauss)(x.shape), "t");
op(
  "randint low high size",
  (a, b, s) =>
    Array.isArray(b)
      ? fromValues(
          drawn(random)(b).store.a.map((u) => Math.floor(u * a)),
          b,
          "int64",
        )
      : fromValues(
          drawn(random)(s).store.a.map((u) => a + Math.floor(u * (b - a))),
          s,
          "int64",
        ),
  "t",
);
op("randperm n", (n) => fromValues(orderOf(Float64Array.from({ length: n }, random)), [n], "int64"), "t");
op(
  "manual_seed seed",
  (s) => {
    seed(s);
    return null;
  },
  "t",
);
for (const [name, dtype] of Object.entries({
  float: "float32",
  double: "float64",
  half: "float16",
  long: "int64",
  int: "int32",
  bool: "bool",
}))
  op(`${name} self`, toKind(dtype), "m");
op("to/type self dtype", (x, d) => (d?.isT ? cast(x, d.dtype) : KINDS[d] ? cast(x, d) : x), "m");
op("type_as self other", (x, y) => cast(x, y.dtype), "m");
op("item self", (x) => item(x), "m");
op("numel self", (x) => x.n, "mt");
op("is_contiguous self", (x) => x.contiguous, "m");
op("is_floating_point self", (x) => isFloat(x.dtype), "mt");
op("getitem self items", getitem, "");
op("setitem self items value", setitem, "");
op("copy_ self other", put, "m");
op("zero_ self", (x) => put(x, 0), "m");
op("fill_ self value", put, "m");
op(
  "fill_diagonal_ self value",
  (x, v) => {
    put(diagonal(x), v);
    return x;
  },
  "m",
);
op(
  "requires_grad_ self flag",
  (x, f = true) => {
    x.node = f ? (x.node ?? { leaf: x }) : null;
    return x;
  },
  "m",
);
op(
  "backward self gradient",
  (x, g) => {
    backward(x, g);
    return null;
  },
  "m",
);
for (const name of [
  "add",
  "sub",
  "mul",
  "div",
  "pow",
  "floor_divide",
  "remainder",
  "bitwise_and",
  "bitwise_or",
  "bitwise_xor",
  "masked_fill",
  "tril",
  "triu",
  "exp",
  "tanh",
  "clamp",
  "sqrt",
  "neg",
  "relu",
])
  op(`${name}_ ${ops[name].params.join(" ")}`, (x, ...rest) => put(x, ops[name].fn(x, ...rest)), "m");
op(
  "normalize self p dim",
  (x, p = 2, d) => (+p === 2 ? normalize(x, d) : fail("normalize with another p than 2", "Lacking")),
  "F",
);
op(
  "cosine_similarity x1 x2 dim",
  (a, b, d = 1) => div(sum(mul(a, b), d), clamp(mul(norm(a, d), norm(b, d)), 1e-8)),
  "tF",
);
op("logsigmoid self", logsigmoid, "F");
op("cross_entropy self target ignore_index reduction", crossEntropy, "F");
op("nll_loss self target ignore_index reduction", nllLoss, "F");
op("mse_loss self target reduction", (x, y, r = "mean") => total(pow(sub(x, y), 2), r), "F");
op("layer_norm self normalized_shape weight bias eps", layerNorm, "F");
op("linear self weight bias", linear, "F");
op("gelu self", (x) => mul(mul(x, 0.5), add(ops.erf.fn(mul(x, Math.SQRT1_2)), 1)), "F");
op("softplus self", (x) => neg(logsigmoid(neg(x))), "F");
op(
  "one_hot self num_classes",
  (x, n) => map((a, b) => (a === b ? 1 : 0), "int64", [unsqueeze(x, -1), arange(0, n ?? values(amax(x))[0] + 1)]),
  "F",
);
op("embedding self weight", (i, w) => getitem(w, [i]), "F");
op("scaled_dot_product_attention query key value attn_mask dropout_p is_causal", attention, "F");

// Sizes and axes are integers, or tensors of one.
function whole(name, param, x, at) {
  if (Array.isArray(x)) return x.map((y, i) => whole(name, param, y, i + 1));
  if (x?.isT && !x.ndim && !isFloat(x.dtype)) return values(x)[0];
  if (isNumber(x) && (x.py === "float" || !Number.isInteger(+x)))
    fail(
      `${name}(): argument '${param}' ${at ? `failed to unpack the object at pos ${at} with error "type must be tuple of ints,but got float"` : "must be int, not float"}`,
      "TypeError",
    );
  return x;
}
function counted(name, params, star, full) {
  const last = star < 0 ? 0 : full.length - (params.length - star - 1);
  return full.map((x, i) => {
    const inStar = star >= 0 && i >= star && i < last;
    const param = inStar ? params[star].slice(1) : params[star >= 0 && i >= last ? i - last + star + 1 : i];
    return WHOLE.has(param) ? whole(name, param, x, inStar && last - star > 1 ? i - star + 1 : 0) : x;
  });
}
function refuse(name, first, full) {
  if (first === "tensors") {
    const xs = full[0];
    if (!Array.isArray(xs))
      fail(`${name}(): argument 'tensors' (position 1) must be tuple of Tensors, not ${kindOf(xs)}`, "TypeError");
    const other = xs.findIndex((x) => !x?.isT);
    if (other >= 0)
      fail(`expected Tensor as element ${other} in argument 0, but got ${kindOf(xs[other])}`, "TypeError");
    if (!xs.length) fail(`torch.${name}(): expected a non-empty list of Tensors`, "ValueError");
  } else if (first === "self" && !full.some((x) => x?.isT))
    fail(`${name}(): argument 'input' (position 1) must be Tensor, not ${kindOf(full[0])}`, "TypeError");
}
// An operation by its name: arguments in order, and by name; a name that is not here raises.
export function call(name, args, named_ = null) {
  const { fn, params, counts } = ops[name],
    star = params.findIndex((p) => p.startsWith("*"));
  let full = [...args];
  const extra = { axis: "dim", input: "self", keepdims: "keepdim" };
  const given = Object.entries(named_ ?? {}).filter(
    ([k, v]) => !["device", "generator", "requires_grad"].includes(k) && (k !== "inplace" || v),
  );
  if (star >= 0) {
    const after = params.length - star - 1,
      tail = new Array(after).fill(null);
    if (full.length < star + 1 && given.some(([k]) => k === params[star].slice(1)))
      full.push(given.find(([k]) => k === params[star].slice(1))[1]);
    for (const [k, v] of given) {
      const p = params.indexOf(k);
      if (p > star) tail[p - star - 1] = v;
      else if (p >= 0) full.splice(p, 0, v);
      else if (params[star].slice(1) !== k) fail(`${name} with ${k}`, "Lacking");
    }
    full = [...full, ...tail];
  } else {
    if (full.length > params.length) fail(`${name} with ${full.length} arguments`, "Lacking");
    for (const [k, v] of given) {
      const p = params.indexOf(extra[k] && !params.includes(k) ? extra[k] : k);
      if (p < 0) fail(`${name} with ${k}`, "Lacking");
      full[p] = v;
    }
    full = Array.from(full, (v) => (v === null ? undefined : v));
  }
  refuse(name, params[0], full);
  if (counts) full = counted(name, params, star, full);
  const made = drawingFrom(named_?.generator, () => fn(...full));
  if (named_?.requires_grad === true) made.node = { leaf: made };
  return made;
}
