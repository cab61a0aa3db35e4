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
 * A token as people read it: · for a blank, ⏎ for the end of a line, and the numbers of bytes that are no character.
 * @param {string} token
 * @returns {string}
 */
export function shownToken(token) {
  try {
    const bytes = Uint8Array.from(token, (byte) => byte.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/ /g, "·").replace(/\n/g, "⏎");
  } catch {
    return Array.from(token, (byte) => byte.charCodeAt(0).toString(16)).join(" ");
  }
}
