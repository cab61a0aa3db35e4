// Byte pairs, as in attnbook/learning/bytepairs.py. A token is a string with a character for each byte.

const WORD = /'(?:s|t|re|ve|m|ll|d)| ?[\p{L}\p{No}\p{Nl}]+| ?\p{Nd}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/**
 * A text's words, each as its bytes.
 * @param {string} text
 * @returns {string[][]}
 */
export const wordsOf = (text) =>
  (text.match(WORD) ?? []).map((word) =>
    Array.from(new TextEncoder().encode(word), (byte) => String.fromCharCode(byte)),
  );

/**
 * The pair made one token wherever it occurs, from left to right.
 * @param {string[]} tokens
 * @param {[string, string]} pair
 * @returns {string[]}
 */
export function merged(tokens, [first, second]) {
  const made = [];
  for (let i = 0; i < tokens.length; i++) {
    const both = tokens[i] === first && tokens[i + 1] === second;
    made.push(both ? first + second : tokens[i]);
    if (both) i++;
  }
  return made;
}

/**
 * A token as people read it: · for a blank, ⏎ for the end of a line, and the numbers of bytes that are no text.
 * @param {string} token
 * @returns {string}
 */
export function shownToken(token) {
  const bytes = Uint8Array.from(token, (byte) => byte.charCodeAt(0));
  const text = new TextDecoder().decode(bytes).replace(/ /g, "·").replace(/\n/g, "⏎");
  return /[\p{Cc}\ufffd]/u.test(text)
    ? Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ")
    : text;
}

/**
 * @param {[string, string][]} merges
 * @returns {{ tokens: string[], encode: (text: string) => number[] }}
 */
export function encoder(merges) {
  const single = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
  const tokens = [...new Set([...single, ...merges.map(([first, second]) => first + second)])];
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const pieces = (word) => merges.reduce((left, pair) => (left.includes(pair[0]) ? merged(left, pair) : left), word);
  return {
    tokens,
    encode: (text) =>
      wordsOf(text)
        .flatMap(pieces)
        .map((token) => ids.get(token)),
  };
}
