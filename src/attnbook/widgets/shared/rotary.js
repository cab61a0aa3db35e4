/**
 * A head's query or key turned by its place: each pair of neighbours by an angle of its own, as `Rotary` does.
 * @param {ArrayLike<number>} x
 * @param {number} place
 * @param {number} base
 * @returns {number[]}
 */
export function turn(x, place, base) {
  const turned = [];
  for (let i = 0; i < x.length; i += 2) {
    const angle = place / base ** (i / x.length);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    turned.push(x[i] * cos - x[i + 1] * sin, x[i] * sin + x[i + 1] * cos);
  }
  return turned;
}
