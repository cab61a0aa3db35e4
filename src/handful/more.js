// Names that fewer ask for, made of the others: a page fetches them for who does, and hands over Handful.

export default ({ ops, op, fail, axis, broadcast, random, fromValues, values }) => {
  const of = (name) => ops[name].fn;
  const [add, cat, clone, expand, flatten, gather, getitem, mean, mul] =
    "add cat clone expand flatten gather getitem mean mul".split(" ").map(of);
  const [clamp, matmul, nonzero, norm, permute, repeat, reshape, setitem, split, sub, sum, unsqueeze] =
    "clamp matmul nonzero norm permute repeat reshape setitem split sub sum unsqueeze".split(" ").map(of);
  const full = (shape, value, dtype) => of("full")(shape, value, dtype);
  const ints = (list, shape = [list.length]) => fromValues(list, shape, "int64");
  const size = (shape) => shape.reduce((a, b) => a * b, 1);
  const before = (d) => Array.from({ length: d }, () => ({ slice: [null, null, null] }));
  const at = (x, d, item) => getitem(x, [...before(axis(d, x.ndim)), item]);
  const cut = (x, d, from, n) => at(x, d, { slice: [from, from + n, null] });

  const MORE = "αβγδεζ"; // axes that an ellipsis stands for
  // Put every tensor on the axes of all letters, multiply, add up what is not asked for.
  function einsum(rule, ...xs) {
    xs = xs.flat();
    const [left, asks] = rule.replaceAll(" ", "").split("->");
    const more = left
        .split(",")
        .map((term, i) =>
          term.includes("...") ? MORE.slice(MORE.length - (xs[i].ndim - term.replace("...", "").length)) : "",
        ),
      most = more.reduce((a, b) => (a.length >= b.length ? a : b)),
      terms = left.split(",").map((term, i) => term.replace("...", more[i]));
    if (asks === undefined && rule.includes("...")) fail("einsum with ... and without ->", "Lacking");
    const right = asks?.replace("...", most);
    if (terms.some((term) => new Set(term).size < term.length)) fail("einsum with a letter twice", "Lacking");
    const letters = [...new Set(terms.join(""))],
      asked =
        right ??
        letters
          .filter((c) => terms.join("").split(c).length === 2)
          .sort()
          .join("");
    const spreadOut = xs.map((x, i) => {
      const own = [...terms[i]];
      if (own.length !== x.ndim)
        fail(
          `einsum(): the number of subscripts in the equation (${own.length}) does not match the number of dimensions (${x.ndim}) for operand ${i}`,
        );
      const sorted = letters.filter((c) => own.includes(c));
      return reshape(
        permute(x, ...sorted.map((c) => own.indexOf(c))),
        letters.map((c) => (own.includes(c) ? x.shape[own.indexOf(c)] : 1)),
      );
    });
    const all = spreadOut.reduce((a, b) => mul(a, b)),
      drop = letters.map((c, i) => (asked.includes(c) ? -1 : i)).filter((i) => i >= 0);
    const kept = letters.filter((c) => asked.includes(c)),
      t = drop.length ? sum(all, drop) : all;
    return permute(t, ...[...asked].map((c) => kept.indexOf(c)));
  }
  op("einsum equation *operands", einsum, "t");

  // Products of tensors with so many axes, and of no others.
  const strict = (m, n, said) => (a, b) => (a.ndim === m && b.ndim === n ? matmul(a, b) : fail(said(a, b)));
  op(
    "mm self mat2",
    strict(2, 2, (a) => (a.ndim === 2 ? "mat2 must be a matrix" : "self must be a matrix")),
  );
  op(
    "mv self vec",
    strict(2, 1, (a, b) => `vector + matrix @ vector expected, got 1, ${a.ndim}, ${b.ndim}`),
  );
  op("bmm self mat2", (a, b) => {
    if (a.ndim !== 3 || b.ndim !== 3) fail(`batch${a.ndim === 3 ? 2 : 1} must be a 3D tensor`);
    const [[m, , k], [n, l]] = [a.shape, b.shape];
    if (m !== n || k !== l)
      fail(`Expected size for first two dimensions of batch2 tensor to be: [${m}, ${k}] but got: [${n}, ${l}].`);
    return matmul(a, b);
  });

  // Over chosen axes of both: those left of one, and those left of the other.
  function tensordot(a, b, dims = 2) {
    const chosen = Array.isArray(dims)
      ? dims.map((one, i) => [one].flat().map((d) => axis(d, [a, b][i].ndim)))
      : [[...a.shape.keys()].slice(a.ndim - dims), [...Array(dims).keys()]];
    const [left, right] = [a, b].map((x, i) => [...x.shape.keys()].filter((d) => !chosen[i].includes(d)));
    const [m, n] = [left.map((d) => a.shape[d]), right.map((d) => b.shape[d])];
    const width = size(chosen[0].map((d) => a.shape[d]));
    const rows = reshape(permute(a, [...left, ...chosen[0]]), size(m), width);
    const columns = reshape(permute(b, [...chosen[1], ...right]), width, size(n));
    return reshape(matmul(rows, columns), [...m, ...n]);
  }
  op("tensordot a b dims", tensordot, "t");
  op("inner self other", (a, b) => (a.ndim && b.ndim ? tensordot(a, b, [[-1], [-1]]) : mul(a, b)));
  op("addmm self mat1 mat2", (x, a, b) => add(x, of("mm")(a, b)));
  op("baddbmm self batch1 batch2", (x, a, b) => add(x, of("bmm")(a, b)));
  op("addcmul self tensor1 tensor2", (x, a, b) => add(x, mul(a, b)));

  op("tile self *dims", (x, ...n) => repeat(x, ...Array(Math.max(0, x.ndim - n.flat().length)).fill(1), ...n.flat()));
  op("movedim/moveaxis self source destination", (x, from, to) => {
    const [a, b] = [from, to].map((dims) => [dims].flat().map((d) => axis(d, x.ndim)));
    const order = [...x.shape.keys()].filter((d) => !a.includes(d));
    for (const [d, e] of a.map((d, i) => [d, b[i]]).sort(([, e], [, f]) => e - f)) order.splice(e, 0, d);
    return permute(x, order);
  });
  op("narrow self dim start length", cut);
  op("select self dim index", at);
  op("masked_select self mask", (x, m) => {
    const shape = broadcast(x.shape, m.shape);
    return getitem(expand(x, shape), [expand(m, shape)]);
  });
  op("argwhere self", (x) => nonzero(x));
  op("index_fill self dim index value", (x, d, i, v) => setitem(clone(x), [...before(axis(d, x.ndim)), i], v));
  op("take_along_dim self indices dim", (x, i, d) => gather(x, d, i));

  op("trace self", (x) => sum(of("diagonal")(x)));
  op("median self", (x) => {
    const all = values(x);
    const order = [...all.keys()].sort((i, j) => all[i] - all[j]);
    const odd = all.findIndex(Number.isNaN);
    return at(flatten(x), 0, odd < 0 ? order[Math.floor((x.n - 1) / 2)] : odd);
  });
  op("diff self n dim", (x, n = 1, d = -1) => {
    const e = axis(d, x.ndim);
    for (; n > 0; n--) {
      const m = Math.max(x.shape[e] - 1, 0);
      const [after, first] = [cut(x, e, Math.min(1, x.shape[e]), m), cut(x, e, 0, m)];
      x = x.dtype === "bool" ? of("logical_xor")(after, first) : sub(after, first);
    }
    return x;
  });
  op(
    "var_mean self dim unbiased keepdim correction",
    (x, d, u, k, c) => [of("var")(x, d, u, k, c), mean(x, d, k)],
    "t",
  );
  op("logsumexp self dim keepdim", (x, d, k) => {
    const top = of("amax")(of("detach")(x), d, true);
    const low = of("where")(of("isfinite")(top), top, full([], 0, x.dtype));
    const s = add(of("log")(sum(of("exp")(sub(x, low)), d, true)), low);
    return k ? s : of("squeeze")(s, d);
  });
  op("diag self diagonal", (x, k = 0) => {
    if (x.ndim === 2) return of("diagonal")(x, k);
    const square = full([x.n + Math.abs(k), x.n + Math.abs(k)], 0, x.dtype);
    of("copy_")(of("diagonal")(square, k), x);
    return square;
  });
  op("topk self k dim largest", (x, k, d = -1, largest = true) => {
    const { values: best, indices } = of("sort")(x, d, largest);
    return { named: true, values: cut(best, d, 0, k), indices: cut(indices, d, 0, k) };
  });
  op("count_nonzero self dim", (x, d) => sum(of("ne")(x, 0), d));
  op("clamp_max self max", (x, m) => clamp(x, null, m));
  op("bincount self weights minlength", (x, w = null, least = 0) => {
    if (w) fail("bincount with weights", "Lacking");
    const all = values(x);
    if (x.ndim !== 1 || all.some((n) => n < 0)) fail("bincount only supports 1-d non-negative integral inputs.");
    return sum(of("one_hot")(x, Math.max(least, ...all.map((n) => n + 1))), 0);
  });
  op("unique self sorted return_inverse return_counts", (x, sorted, places, counts) => {
    const all = [...values(x)],
      each = [...new Set(all)].sort((a, b) => a - b);
    const found = [fromValues(each, [each.length], x.dtype)];
    const place = (v) => each.indexOf(v);
    if (places) found.push(ints(all.map(place), x.shape));
    if (counts) found.push(ints(each.map((v) => all.filter((y) => y === v).length)));
    return found.length > 1 ? found : found[0];
  });

  const pad = (x, sizes, mode = "constant", value = 0) => {
    if (mode !== "constant" || sizes.some((n) => n < 0)) fail("pad of another kind", "Lacking");
    if (sizes.length % 2) fail("Padding length must be divisible by 2");
    if (sizes.length > 2 * x.ndim) fail("Padding length should be less than or equal to two times the input dimension");
    const [first, last] = [0, 1].map((side) => x.shape.map((_, d) => sizes[2 * (x.ndim - 1 - d) + side] ?? 0));
    const wide = full(
      x.shape.map((m, d) => first[d] + m + last[d]),
      value,
      x.dtype,
    );
    return setitem(
      wide,
      x.shape.map((m, d) => ({ slice: [first[d], first[d] + m, null] })),
      x,
    );
  };
  op("pad self pad mode value", pad, "F");
  const matrix = (x) => (x.ndim > 1 ? x : unsqueeze(x, 0));
  op("hstack tensors", (xs) => cat(xs, xs[0].ndim > 1 ? 1 : 0), "t");
  op("vstack tensors", (xs) => cat(xs.map(matrix)), "t");
  op(
    "block_diag *tensors",
    (...xs) => {
      const all = xs.map(matrix);
      const wide = (some) => some.reduce((n, x) => n + x.shape[1], 0);
      return cat(all.map((x, i) => pad(x, [wide(all.slice(0, i)), wide(all.slice(i + 1))])));
    },
    "t",
  );
  op("tensor_split self n dim", (x, n, d = 0) => {
    const m = x.shape[axis(d, x.ndim)];
    const even = (i) => Math.floor(m / n) + (i < m % n ? 1 : 0);
    const parts = Array.isArray(n)
      ? [...n, m].map((end, i) => end - (n[i - 1] ?? 0))
      : Array.from({ length: n }, (_, i) => even(i));
    return split(x, parts, d);
  });
  op(
    "meshgrid *tensors indexing",
    (...given) => {
      if (given.pop() !== "ij") fail('meshgrid without indexing="ij"', "Lacking");
      const xs = given.flat(),
        shape = xs.map((x) => x.n);
      const lying = (d) => shape.map((_, e) => (e === d ? -1 : 1));
      return xs.map((x, d) => expand(reshape(x, lying(d)), shape));
    },
    "t",
  );
  const corner = (name) => (n, m, k) => of("t")(nonzero(of(name)(full([n, m], true), k)));
  op("tril_indices row col offset", corner("tril"), "t");
  op("triu_indices row col offset", corner("triu"), "t");

  op("multinomial input num_samples replacement", (p, n, again = false) => {
    if (p.ndim !== 1 || (n > 1 && !again)) fail("multinomial of many", "Lacking");
    const all = values(p),
      total = all.reduce((a, b) => a + b, 0);
    const one = () => {
      let left = random() * total;
      return all.findIndex((q) => (left -= q) < 0);
    };
    return ints(Array.from({ length: n }, one));
  });
  op("cdist x1 x2", (a, b) => norm(sub(unsqueeze(a, -2), unsqueeze(b, -3)), 2, -1), "t");
  op("silu self", (x) => mul(x, of("sigmoid")(x)), "F");
};
