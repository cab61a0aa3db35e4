// Networks as attnbook has them, computed a vector at a time over typed arrays: their layers, and what layers are made of.
// A matrix is a list of its rows.

import { plus, softened } from "./core.js";

/** @typedef {Float32Array | Float64Array} Floats */
/** @typedef {{ weight: Floats[], bias?: Floats }} Linear */
/** @typedef {{ weight: Floats, bias?: Floats }} Norm  without a bias it is RMSNorm */

// ---- what layers are made of ----

/**
 * @param {Linear} layer
 * @param {Floats} x
 * @returns {Floats}
 */
export function linear({ weight, bias }, x) {
  const y = new Float64Array(weight.length);
  for (let i = 0; i < y.length; i++) {
    const row = weight[i];
    let sum = bias ? bias[i] : 0;
    for (let j = 0; j < row.length; j++) sum += row[j] * x[j];
    y[i] = sum;
  }
  return y;
}

/**
 * A vector of mean square 1.
 * @param {Floats} x
 * @param {Floats} [gain]
 * @param {number} [eps]
 * @param {Floats} [to]
 * @returns {Floats}
 */
export function rmsNorm(x, gain, eps = 1e-5, to = new Float64Array(x.length)) {
  let squares = 0;
  for (let i = 0; i < x.length; i++) squares += x[i] * x[i];
  const scale = 1 / Math.sqrt(squares / x.length + eps);
  for (let i = 0; i < x.length; i++) to[i] = x[i] * scale * (gain ? gain[i] : 1);
  return to;
}

/**
 * A vector of mean 0 and variance 1.
 * @param {Floats} x
 * @param {Floats} [gain]
 * @returns {Floats}
 */
export function layerNorm(x, gain) {
  const mean = x.reduce((sum, number) => sum + number, 0) / x.length;
  return rmsNorm(
    x.map((number) => number - mean),
    gain,
  );
}

/**
 * @param {Norm} layer
 * @param {Floats} x
 * @returns {Floats}
 */
export const norm = ({ weight, bias }, x) => (bias ? plus(layerNorm(x, weight), bias) : rmsNorm(x, weight));

/**
 * SwiGLU: what is open of `up`, in the place of its gate.
 * @param {Floats} gate
 * @param {Floats} up
 * @param {number} [size]
 * @returns {Floats}
 */
export function gated(gate, up, size = gate.length) {
  for (let i = 0; i < size; i++) gate[i] *= up[i] / (1 + Math.exp(-gate[i]));
  return gate;
}

/**
 * Sinusoidal positions: what stands in row i of a table of width D.
 * @param {number} i
 * @param {number} D
 * @returns {Floats}
 */
export const sinusoid = (i, D) =>
  Float64Array.from({ length: D }, (_, n) => (n % 2 ? Math.cos : Math.sin)(i / 10000 ** ((n - (n % 2)) / D)));

/**
 * Rotary positions: turns the query or key of each head, each pair of neighbours by an angle of its own.
 * @param {Floats} x
 * @param {number} width  of a head
 * @param {number} place
 * @param {number} base
 * @returns {Floats} x itself
 */
export function turn(x, width, place, base) {
  const step = base ** (2 / width);
  for (let i = 0, angle = place; i < width; i += 2, angle /= step) {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    for (let n = i; n < x.length; n += width) {
      const [even, odd] = [x[n], x[n + 1]];
      x[n] = even * cos - odd * sin;
      x[n + 1] = even * sin + odd * cos;
    }
  }
  return x;
}

/**
 * Attention of one query, in each of its heads. Where keys are less wide, neighbouring heads share them.
 * @param {Floats} query
 * @param {Floats[]} keys
 * @param {Floats[]} values
 * @param {number} heads
 * @param {object} [options]
 * @param {(head: number) => boolean} [options.isOff]  a head that looks, and takes nothing
 * @param {Floats} [options.weights]  room for the weights; it says how many keys there are
 * @param {Floats} [options.mixed]  and for what is taken
 * @returns {{ weights: Floats[], mixed: Floats }} of each head the weights, and head after head what is taken
 */
export function attend(
  query,
  keys,
  values,
  heads,
  { isOff = () => false, weights = new Float64Array(heads * keys.length), mixed = new Float64Array(query.length) } = {},
) {
  const [n, width] = [weights.length / heads, query.length / heads];
  const [group, root] = [query.length / keys[0].length, Math.sqrt(width)];
  const rows = [];
  mixed.fill(0);
  for (let head = 0; head < heads; head++) {
    const [own, shared] = [head * width, Math.floor(head / group) * width];
    const row = weights.subarray(head * n, (head + 1) * n);
    rows.push(row);
    // Two positions at a time take not much longer than one. After the last of an odd number, what is written is lost.
    for (let j = 0; j < n; j += 2) {
      const [key, other] = [keys[j], keys[j + 1] ?? keys[j]];
      let [score, second] = [0, 0];
      for (let i = 0; i < width; i++) {
        score += query[own + i] * key[shared + i];
        second += query[own + i] * other[shared + i];
      }
      row[j] = score / root;
      row[j + 1] = second / root;
    }
    softened(row);
    if (isOff(head)) continue;
    for (let j = 0; j < n; j += 2) {
      const [value, other] = [values[j], values[j + 1] ?? values[j]];
      const [weight, second] = [row[j], row[j + 1] ?? 0];
      for (let i = 0; i < width; i++) mixed[own + i] += weight * value[shared + i] + second * other[shared + i];
    }
  }
  return { weights: rows, mixed };
}

/**
 * @template {number[] | Floats} T
 * @param {T[]} rows
 * @returns {T}
 */
export const meanOf = (rows) => rows.reduce(plus).map((sum) => sum / rows.length);

// ---- layers ----

/**
 * A vector after attention, that before it added, and the weights of each head, to be shown.
 * @typedef {{ x: Floats, weights: number[][] }} Look
 */

/**
 * Attention of a pre-norm block, which keeps the keys and values that it was given. A head that is off takes nothing.
 * @typedef {object} Attention
 * @property {(xs: Floats[]) => void} remember  these are looked at by whoever looks later
 * @property {(x: Floats, isOff?: (head: number) => boolean) => Look} look
 * @property {(xs: Floats[], isOff?: (head: number) => boolean) => Look[]} among  each at all of them
 * @property {(x: Floats, isOff?: (head: number) => boolean) => Look} next  at itself and those before: causal
 * @property {(n: number) => void} forget  all but the first n
 */

/**
 * @param {Object<string, Linear>} layer  with its query, key, value and output
 * @param {Norm} before
 * @param {number} heads
 * @param {number} [base]  of rotary positions, if it has them
 * @returns {Attention}
 */
export function attention({ query, key, value, output }, before, heads, base) {
  const [keys, values, width] = [[], [], query.weight.length / heads];
  const placed = (x, place) => (base ? turn(x, width, place, base) : x);
  const remember = (xs) => {
    for (const x of xs) {
      keys.push(placed(linear(key, x), keys.length));
      values.push(linear(value, x));
    }
  };
  const look = (x, isOff) => {
    const asks = placed(linear(query, norm(before, x)), keys.length - 1);
    const { weights, mixed } = attend(asks, keys, values, heads, { isOff });
    return { x: plus(x, linear(output, mixed)), weights: weights.map((row) => Array.from(row)) };
  };
  const among = (xs, isOff) => {
    remember(xs.map((x) => norm(before, x)));
    return xs.map((x) => look(x, isOff));
  };
  const next = (x, isOff) => among([x], isOff)[0];
  const forget = (n) => {
    keys.length = values.length = n;
  };
  return { remember, look, among, next, forget };
}

/**
 * The feed-forward network of a pre-norm block: a SwiGLU if it has a gate. What comes out is added.
 * @param {Object<string, any>} block
 * @param {Floats} x
 * @returns {Floats}
 */
export function feed({ feed_forward: layers, feed_forward_norm: before }, x) {
  const given = norm(before, x);
  if (layers.gate) return plus(x, linear(layers.down, gated(linear(layers.gate, given), linear(layers.up, given))));
  const hidden = linear(layers[0], given).map((number) => Math.max(number, 0));
  return plus(x, linear(layers[3], hidden));
}

/**
 * The vector of a token, times the root of its width; and the sinusoid of its place, if there is one.
 * @param {Object<string, any>} table
 * @param {number} id
 * @param {number} [place]
 * @returns {Floats}
 */
export function embed({ embedding: { weight } }, id, place) {
  const x = weight[id].map((number) => number * Math.sqrt(weight[id].length));
  return place === undefined ? x : plus(x, sinusoid(place, x.length));
}

/**
 * A decoder of one block, asked token after token for the chance of every next one.
 * @param {Object<string, any>} network
 * @param {Floats[]} memory
 * @param {number} heads
 * @returns {(token: number) => { chances: number[], decoder: number[][], cross: number[][] }} and the weights of its heads
 */
export function decoder({ source, decoder: { 0: block, norm: last } }, memory, heads) {
  const own = attention(block.self_attention, block.self_attention_norm, heads);
  const cross = attention(block.cross_attention, block.cross_attention_norm, heads);
  let place = 0;
  cross.remember(memory);
  return (token) => {
    const before = own.next(embed(source, token, place++));
    const found = cross.look(before.x);
    const chances = softened(linear(source.embedding, norm(last, feed(block, found.x))));
    return { chances: Array.from(chances), decoder: before.weights, cross: found.weights };
  };
}
