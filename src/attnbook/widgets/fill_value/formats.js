// PyTorch's arithmetic on a CPU, in three number formats.

export const SCORES = [2, 1, 0, 3, 1];
// Binary digits after the leading one, the smallest exponent, and the largest number.
export const FORMATS = {
  float32: { digits: 23, least: -126, most: 3.4028234663852886e38 },
  bfloat16: { digits: 7, least: -126, most: 3.3895313892515355e38 },
  float16: { digits: 10, least: -14, most: 65504 },
};

// The nearest number that a format has; halfway, the even one; too large, infinity.
export function rounded(x, { digits, least, most }) {
  if (!Number.isFinite(x) || x === 0) return x;
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), least) - digits);
  const steps = Math.round(x / step);
  const even = Math.abs((x / step) % 1) === 0.5 ? 2 * Math.round(x / step / 2) : steps;
  return Math.abs(even * step) > most ? Math.sign(x) * Infinity : even * step;
}

// What becomes of the scores: sums and products are rounded to the format, a softmax runs in float32 and is rounded at its end.
export function attempt(formatName, { fill, shift, hidden, how }) {
  const format = FORMATS[formatName];
  const round = (x) => rounded(x, format);
  const value = { lowest: -format.most, "-inf": -Infinity }[fill] ?? Number(fill);
  const isHidden = SCORES.map((_, j) => hidden === "all" || j > 2);
  const scores = SCORES.map((x) => round(x + shift));
  const tooLow = how === "write" && !Number.isFinite(round(value)) && Number.isFinite(value);
  const masked = scores.map((x, j) =>
    how === "add" ? round(x + round((isHidden[j] ? 1 : 0) * value)) : isHidden[j] ? (tooLow ? value : round(value)) : x,
  );
  const top = masked.some(Number.isNaN) ? NaN : Math.max(...masked);
  const powers = masked.map((x) => Math.fround(Math.exp(Math.fround(x - top))));
  const sum = Math.fround(powers.reduce((a, b) => a + b, 0));
  return { scores, masked, weights: tooLow ? null : powers.map((p) => round(Math.fround(p / sum))), isHidden };
}
