// What Python sees of the tensors: one function by name, with answers that its bridge carries unharmed.

import { handful } from "../../../handful/handful.js";

const { Stream, call, filled, finfo, float, fromValues, ops, record, room, values, whole } = handful;

const SMALL = 2 ** 30; // MicroPython's bridge has 32 bits
const NUMBERS = 40_000_000; // in all tensors of one run

const plain = (result) => {
  if (Number.isInteger(result) && Math.abs(result) >= SMALL) return { isT: false, kind: "big", text: String(result) };
  if (result === null || result === undefined) return null;
  if (result.isT || typeof result !== "object") return result;
  if (Array.isArray(result)) return { isT: false, kind: "list", list: result.map(plain) };
  return { isT: false, kind: "pair", values: result.values, indices: result.indices };
};

function one(dtype, isWhole) {
  return (x) => {
    if (dtype === "bool") return x ? "True" : "False";
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
    if (!dtype.startsWith("float")) return `${x}`;
    return isWhole ? `${x}.` : x.toFixed(4);
  };
}

/**
 * A tensor as torch prints it, nearly: four decimals, brackets in brackets.
 * @param {object} t
 * @returns {string}
 */
function show(t) {
  const numbers = [...values(t)];
  const words = numbers.map(
    one(
      t.dtype,
      numbers.every((x) => !Number.isFinite(x) || Number.isInteger(x)),
    ),
  );
  const wide = Math.max(0, ...words.map((word) => word.length));
  let p = 0;
  const nest = (d) => {
    if (d === t.ndim) return t.ndim ? words[p++].padStart(wide) : words[p++];
    const inner = Array.from({ length: t.shape[d] }, () => nest(d + 1));
    return `[${inner.join(d === t.ndim - 1 ? ", " : `,${"\n".repeat(t.ndim - 1 - d)}${" ".repeat(8 + d)}`)}]`;
  };
  const kind = { float32: "", int64: "", bool: "" }[t.dtype] ?? `, dtype=torch.${t.dtype}`;
  const history = t.requiresGrad ? (t.isLeaf ? ", requires_grad=True" : ", grad_fn=<...>") : "";
  return `tensor(${nest(0)}${kind}${history})`;
}

const LARGEST = 1000; // numbers that are printed
const SIDE = 24; // rows and columns that are drawn

/**
 * What is drawn of a tensor: its last two axes, at the first place of the others.
 * Where some cells are wrong, it is the first place at which one is.
 * @param {object} t
 * @param {string} kind  of what: what code shows, what a reader returned, was given or should have returned
 * @param {string} said  what it is
 * @param {string} axes  the names of its last two, if they have any
 * @param {object} [wrong]  which of its cells are
 * @returns {object}
 */
export function pictured(t, kind, said, axes, wrong) {
  const [rows, columns] = [1, 1, ...t.shape].slice(-2);
  const missed = wrong && values(wrong);
  const at = missed ? Math.floor(missed.findIndex(Boolean) / (rows * columns)) * rows * columns : 0;
  const part = (all) =>
    Array.from({ length: Math.min(rows, SIDE) }, (_, i) =>
      Array.from(all.subarray(at + i * columns, at + i * columns + Math.min(columns, SIDE))),
    );
  const cells = part(values(t));
  return {
    kind,
    table: at / (rows * columns) + 1,
    wrong: missed ? part(missed) : [],
    said,
    axes: axes.split(" ").filter(Boolean),
    shape: t.shape,
    lowest: finfo(t.dtype).min,
    cells,
  };
}

const kept = []; // the tensors of the check

export function keep(tensors) {
  kept.length = 0;
  for (const { dtype, shape, all, data, per = 1, bytes } of tensors) {
    if (all !== undefined) kept.push(filled(shape, all, dtype));
    else kept.push(fromValues(data?.map((x) => x / per) ?? numbersIn(bytes, dtype), shape, dtype));
  }
}

function numbersIn(text, dtype) {
  const { buffer } = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return dtype === "float64" ? new Float64Array(buffer) : new Float32Array(buffer);
}

export const makeRoom = () => {
  room.all = NUMBERS;
};

export const bridge = {
  call(name, args, named) {
    try {
      return plain(call(name, args, named));
    } catch (error) {
      if (error.kind || error instanceof RangeError)
        return { isT: false, kind: "error", error: error.kind ?? "RuntimeError", message: error.message };
      return { isT: false, kind: "error", error: "Lacking", message: `${name} with such arguments` };
    }
  },
  call0: (name, a) => bridge.call(name, [a]),
  call2: (name, a, b) => bridge.call(name, [a, b]),
  float,
  whole,
  record,
  shape: (t) => t.shape.join(" "),
  numbers: (t) => [...values(t)].join(" ").replaceAll("Infinity", "inf"),
  stored: (t) => t.store.a.length,
  kept: (i) => kept[i],
  stream: (state) => new Stream(state),
  finfo: (dtype) => {
    const { min, max, eps, tiny } = finfo(dtype);
    return [min, max, eps, tiny].join(" ");
  },
  names: (where) => Object.keys(ops).filter((name) => ops[name].where.includes(where)),
  setGrad: (t, g) => {
    t.grad = g ?? null;
  },
  show: (t) => (t.n > LARGEST ? `tensor(..., size=(${t.shape.join(", ")}))` : show(t)),
};
