/**
 * Number i, from 0, of those between 0 and 1 that belong to a seed: the same in every browser and in shared/random.py.
 * @param {number} seed
 * @param {number} i
 * @returns {number}
 */
export function uniform(seed, i) {
  let t = (seed + Math.imul(i + 1, 0x6d2b79f5)) | 0; // mulberry32
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
}

/**
 * Draws from the standard normal distribution, made of these.
 * @param {number} seed
 * @param {number} n
 * @returns {Float64Array}
 */
export function normals(seed, n) {
  const draws = new Float64Array(n);
  for (let i = 0; i < n; i++)
    draws[i] = Math.sqrt(-2 * Math.log(uniform(seed, 2 * i))) * Math.cos(2 * Math.PI * uniform(seed, 2 * i + 1));
  return draws;
}
