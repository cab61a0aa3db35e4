// Gradients: each result knows its inputs' nodes, and a function from its own gradient to theirs.

import { fail, isFloat } from "./numbers.js";
import { copyOf, filled, fromValues, values } from "./tensor.js";

let recording = true;
export const record = (on) => {
  const before = recording;
  recording = on;
  return before;
};
export const isRecording = () => recording;
// What `f` returns, with nothing noted for gradients.
export const silently = (f) => {
  const before = record(false);
  try {
    return f();
  } finally {
    record(before);
  }
};
// Notes how the gradient of `out` goes on to the inputs; `saved` are those whose numbers it needs unchanged.
export function track(out, inputs, back, saved = []) {
  if (recording && isFloat(out.dtype) && inputs.some((x) => x.node))
    out.node = { inputs: inputs.map((x) => x.node), back, saved: saved.map((x) => [x.store, x.store.v]) };
  return out;
}
const plus = (a, b) => {
  if (!a) return b;
  const [x, y] = [values(a), values(b)];
  return fromValues(
    x.map((v, p) => v + y[p]),
    a.shape,
    a.dtype,
  );
};
// The gradient of one number, or of numbers pulled by `g`, to every leaf.
export function backward(t, g) {
  if (!t.node) fail("element 0 of tensors does not require grad and does not have a grad_fn");
  if (!g && t.n !== 1) fail("grad can be implicitly created only for scalar outputs");
  silently(() => {
    const order = [],
      seen = new Set();
    const visit = (node) => {
      if (!node || seen.has(node)) return;
      seen.add(node);
      (node.inputs || []).forEach(visit);
      order.push(node);
    };
    visit(t.node);
    const grads = new Map([[t.node, g || filled(t.shape, 1, t.dtype)]]);
    for (const node of order.reverse()) {
      const got = grads.get(node);
      if (!got) continue;
      if (node.leaf) {
        node.leaf.grad = copyOf(plus(node.leaf.grad, got));
        continue;
      }
      if (node.saved.some(([store, v]) => store.v !== v))
        fail("one of the variables needed for gradient computation has been modified by an inplace operation");
      node.back(got).forEach((x, i) => {
        const to = node.inputs[i];
        if (to && x) grads.set(to, plus(grads.get(to), x));
      });
    }
  });
}
