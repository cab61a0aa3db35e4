// Chance: torch's own numbers are not reproduced, only their distribution; a generator is a stream of its own.

export class Stream {
  constructor(state) {
    this.state = state | 0;
  }
}
const own = new Stream(1);
let stream = own;

// What `f` returns while numbers are drawn from a stream.
export function drawingFrom(other, f) {
  stream = other ?? own;
  try {
    return f();
  } finally {
    stream = own;
  }
}
export const seed = (state) => {
  own.state = state | 0;
};
export const random = () => {
  stream.state = (stream.state + 0x6d2b79f5) | 0;
  let t = Math.imul(stream.state ^ (stream.state >>> 15), 1 | stream.state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
export const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
