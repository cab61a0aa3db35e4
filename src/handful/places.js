// Indexing by numbers, slices {slice: [start, stop, step]}, null, "...", tensors and lists.

import { fail, isFloat } from "./numbers.js";
import { blank, broadcast, copyOf, named, places, values } from "./tensor.js";
import { isRecording, silently, track } from "./gradients.js";
import { expand, narrow, seen, select, unsqueeze, window } from "./windows.js";
import { cast, nonzero, scalar, sumTo } from "./pointwise.js";

function locate(x, items) {
  items = items.map((i) => i ?? null);
  const isMask = (i) => i?.isT && i.dtype === "bool";
  const takes = (i) => (i === null || i === "..." ? 0 : isMask(i) ? i.ndim : 1);
  const used = items.reduce((n, i) => n + takes(i), 0);
  if (used > x.ndim) fail(`too many indices for tensor of dimension ${x.ndim}`, "IndexError");
  const all = { slice: [null, null, null] },
    dots = items.indexOf("...");
  const rest = Array.from({ length: x.ndim - used }, () => all);
  items = dots < 0 ? [...items, ...rest] : [...items.slice(0, dots), ...rest, ...items.slice(dots + 1)];
  const chosen = []; // [axis of the view, index tensor]
  let d = 0;
  for (const i of items) {
    if (i === null) x = unsqueeze(x, d++);
    else if (typeof i === "number") {
      const m = x.shape[d];
      if (i < -m || i >= m) fail(`index ${i} is out of bounds for dimension ${d} with size ${m}`, "IndexError");
      x = select(x, d, i < 0 ? i + m : i);
    } else if (i.slice) {
      const m = x.shape[d],
        [a, b, step] = i.slice,
        s = step ?? 1,
        clip = (v) => Math.min(m, Math.max(0, v < 0 ? v + m : v));
      if (s < 1) fail("step must be greater than zero", "ValueError");
      const from = clip(a ?? 0),
        to = clip(b ?? m);
      x = narrow(x, d++, Math.min(from, m), Math.max(0, Math.ceil((to - from) / s)), s);
    } else if (isMask(i)) {
      i.shape.forEach((m, e) => {
        if (m !== x.shape[d + e])
          fail(
            `The shape of the mask ${named(i.shape)} at index ${e} does not match the shape of the indexed tensor ${named(x.shape)} at index ${d + e}`,
            "IndexError",
          );
      });
      const on = nonzero(i);
      for (let e = 0; e < i.ndim; e++) chosen.push([d++, select(on, 1, e)]);
    } else if (isFloat(i.dtype)) fail("tensors used as indices must be long, int, byte or bool tensors", "IndexError");
    else chosen.push([d++, i]);
  }
  if (!chosen.length) return { x, at: places(x), shape: x.shape, window: true };
  const shape = broadcast(...chosen.map(([, i]) => i.shape)),
    axes = chosen.map(([e]) => e);
  const lists = chosen.map(([e, i]) =>
    values(expand(i, shape)).map((v) => {
      const m = x.shape[e];
      return v < -m || v >= m
        ? fail(`index ${v} is out of bounds for dimension ${e} with size ${m}`, "IndexError")
        : v < 0
          ? v + m
          : v;
    }),
  );
  const together = axes.every((e, i) => !i || e === axes[i - 1] + 1),
    first = together ? axes[0] : 0;
  const others = [...x.shape.keys()].filter((e) => !axes.includes(e));
  const before = others.filter((e) => e < first),
    after = others.filter((e) => e >= first);
  const grid = (es) =>
    places(
      seen(
        { ...x, store: x.store, dtype: x.dtype },
        es.map((e) => x.shape[e]),
        es.map((e) => x.strides[e]),
        0,
      ),
    );
  const A = grid(before),
    C = grid(after),
    B = lists[0].map((_, p) => axes.reduce((o, e, i) => o + lists[i][p] * x.strides[e], x.offset));
  const at = new Int32Array(A.length * B.length * C.length);
  let p = 0;
  for (const a of A) for (const b of B) for (const c of C) at[p++] = a + b + c;
  return { x, at, shape: [...before.map((e) => x.shape[e]), ...shape, ...after.map((e) => x.shape[e])], window: false };
}
export function getitem(x, items) {
  const found = locate(x, items);
  if (found.window) return found.x === x ? window(x, (t) => seen(t, t.shape, t.strides)) : found.x;
  const out = blank(found.shape, x.dtype);
  found.at.forEach((o, p) => {
    out.store.a[p] = x.store.a[o];
  });
  return track(out, [x], (g) => {
    const z = blank(x.shape, x.dtype),
      at = locate(z, items).at,
      v = values(g);
    at.forEach((o, p) => {
      z.store.a[o] += v[p];
    });
    return [z];
  });
}
export function setitem(x, items, value) {
  const root = x.root || x,
    path = x.path || ((t) => t),
    v = cast(value.isT ? value : scalar(value, x.dtype), x.dtype);
  const found = silently(() => locate(path(root), items));
  if (isRecording() && root.node?.leaf)
    fail("a leaf Variable that requires grad is being used in an in-place operation.");
  if (
    v.ndim > found.shape.length ||
    v.shape.some((m, d) => m !== 1 && m !== found.shape[d + found.shape.length - v.ndim])
  )
    fail(
      `shape mismatch: value tensor of shape ${named(v.shape)} cannot be broadcast to indexing result of shape ${named(found.shape)}`,
    );
  const from = places(v, found.shape),
    kept = from.map ? Float64Array.from(from, (o) => v.store.a[o]) : [];
  found.at.forEach((o, p) => {
    x.store.a[o] = kept[p];
  });
  x.store.v++;
  if (isRecording() && isFloat(x.dtype) && (root.node || v.node)) {
    root.node = {
      saved: [],
      inputs: [root.node, v.node],
      back: (g) => {
        const rest = copyOf(g),
          { at, shape } = locate(path(rest), items),
          mine = blank(shape, g.dtype);
        at.forEach((o, p) => {
          mine.store.a[p] = rest.store.a[o];
        });
        at.forEach((o) => {
          rest.store.a[o] = 0;
        });
        return [rest, sumTo(mine, v.shape)];
      },
    };
    if (x !== root) x.node = path(root).node;
  }
  return x;
}
export const put = (x, value) => setitem(x, ["..."], value);
