// Text as search reads it: words, names in code and signs, one form for all the ways to write them.
const TERM = /\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}_√∂∞])+/gu; // softmax函数 is two
const HAN = /^\p{Script=Han}+$/u;
const INSIDE = /[_√]|(?<=\p{Ll})(?=\p{Lu})/u; // masked_softmax, √d, LayerNorm
const SINGULAR = [
  [/ies$/, "y"],
  [/([^aiosu])s$/, "$1"],
];

export const terms = (text) => groups(text).flat();

// Each word as it stands and, where it is one of several, its parts: [layernorm, layer, norm].
export function groups(text) {
  const plain = text
    .replace(/\^\{?([\p{L}\p{N}]+)\}?/gu, "$1")
    .replace(/\bsqrt\b\s?\(?/gi, "√")
    .replace(/\binf\b/g, "∞")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "");
  return (plain.match(TERM) ?? []).flatMap((term) => (HAN.test(term) ? pairs(term) : [parts(term)]));
}

function parts(term) {
  const inside = term.split(INSIDE).filter((part) => part.length > 1);
  const whole = singular(term.toLowerCase());
  return inside.length && inside[0] !== term ? [whole, ...inside.map((part) => singular(part.toLowerCase()))] : [whole];
}

// Chinese has no spaces: two signs are what a word is elsewhere, and each two of a text count as a word.
function pairs(term) {
  return term.length > 1 ? Array.from({ length: term.length - 1 }, (_, i) => [term.slice(i, i + 2)]) : [[term]];
}

function singular(word) {
  const ending = word.length > 3 && SINGULAR.find(([plural]) => plural.test(word));
  return ending ? word.replace(...ending) : word;
}
