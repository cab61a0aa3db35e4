// Of what kind heads are, as attnbook.widgets.head_browser says it.

/** @import { Picture } from "./real_model.js" */

export const KINDS = ["previous", "same", "first", "separator", "induction"];

const separates = (token) => !/[\p{L}\p{N}]/u.test(token) || /^<.*>$/s.test(token);

/**
 * For each kind, how much of each head's attention goes where a head of the kind would look.
 * @param {Picture} picture
 * @returns {Object<string, number[]>}
 */
export function kindsOf({ tokens, rows, layers, heads }) {
  const there = {
    previous: (i, j) => j === i - 1,
    same: (i, j) => tokens[j] === tokens[i],
    first: (i, j) => j === 0 && i > 0,
    separator: (_, j) => separates(tokens[j]),
    induction: (i, j) => j > 0 && j < i && tokens[j - 1] === tokens[i],
  };
  const shares = (kind) => {
    const places = rows.map((_, i) => [...tokens.keys()].filter((j) => j <= i && there[kind](i, j)));
    const asking = places.filter((row) => row.length).length || 1;
    const sum = (n) =>
      places.reduce((all, row, i) => row.reduce((total, j) => total + rows[i][n * (i + 1) + j], all), 0);
    return Array.from({ length: layers * heads }, (_, n) => sum(n) / asking);
  };
  return Object.fromEntries(KINDS.map((kind) => [kind, shares(kind)]));
}
