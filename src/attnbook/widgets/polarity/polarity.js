import { body, button, element, follower, update, words } from "../shared/core.js";
import { normals } from "../shared/random.js";
import { grid, painter } from "../shared/cells.js";

const TEXT = {
  en: {
    question: (n) => `Question ${n}. Who sees whom?`,
    how: "Mark every cell where the row's query may attend to the column's key. Press, or sweep over several.",
    grid: "Rows are queries, columns are keys",
    query: (i) => `query ${i}`,
    key: (j) => `key ${j}`,
    listing: "The call",
    sees: "sees",
    reveal: "Reveal",
    next: "Next question",
    again: "Start again",
    right: "Right, all of it. ",
    wrong: (n) => (n === 1 ? "One cell is wrong. " : `${n} cells are wrong. `),
    score: (right, asked) => `${right} of ${asked} right`,
    meanings: {
      book: "In this book True means: may attend.",
      sdpa: "In this function True means: may attend.",
      sdpaAdded: "A mask of floats is added to the scores: 0 changes nothing, −∞ hides.",
      mha: "In this module True means: may NOT attend. It is the opposite of PyTorch's own function.",
      mhaPadding: "True marks padding: a key that no query may attend to. One row holds for all queries.",
      fill: "What is True gets −∞: True means hidden.",
      d2l: "The numbers count how many keys each query sees, from the first one on.",
      causal: "The queries are the last 3 of 4 positions, so the first of them already sees two keys.",
      isCausal: "PyTorch counts from the first: query 1 sees key 1 only, and nobody sees key 4.",
    },
  },
};
const [L, M] = [3, 4];
const [ROWS, COLUMNS] = [[...Array(L).keys()], [...Array(M).keys()]];
// The code of each call, and whether query i sees key j, given marks that stand for True.
const sdpa = (mask) => `F.scaled_dot_product_attention(\n    q, k, v, ${mask})`;
const mha = (mask) => `mha = nn.MultiheadAttention(…)\nmha(q, k, v, ${mask})`;
const CALLS = {
  book: { code: "attention(q, k, v, mask)", sees: (marks, i, j) => marks[i][j] },
  sdpa: { code: sdpa("attn_mask=mask"), sees: (marks, i, j) => marks[i][j] },
  sdpaAdded: { code: sdpa("attn_mask=mask"), sees: (marks, i, j) => marks[i][j], text: (is) => (is ? "  0." : "-inf") },
  mha: { code: mha("attn_mask=mask"), sees: (marks, i, j) => !marks[i][j] },
  mhaPadding: { code: mha("\n    key_padding_mask=mask"), sees: (marks, i, j) => !marks[0][j], rows: 1 },
  fill: { code: "scores.masked_fill(mask, -torch.inf)", sees: (marks, i, j) => !marks[i][j] },
  d2l: { code: "d2l.masked_softmax(scores, valid_lens)", sees: (marks, i, j) => j < count(marks[i]) },
  causal: { code: "attention(q, k, v, causal(3, 4))", sees: (_, i, j) => j <= i + M - L, rows: 0 },
  isCausal: { code: sdpa("is_causal=True"), sees: (_, i, j) => j <= i, rows: 0 },
};
const NAMES = Object.keys(CALLS);

const count = (row) => row.filter(Boolean).length;

// The same questions as in polarity.py: every call comes once before any comes again.
function question(seed, n) {
  const order = normals(1000 * seed + Math.floor(n / NAMES.length), NAMES.length);
  const place = [...NAMES.keys()].sort((a, b) => order[a] - order[b])[n % NAMES.length];
  const draws = normals(1000 * seed + 500 + n, L * M);
  const marks = ROWS.map((i) => COLUMNS.map((j) => draws[i * M + j] > 0));
  for (const row of marks) if (count(row) % M === 0) row[0] = !row[0]; // a row that says something
  return { name: NAMES[place], marks, sees: (i, j) => CALLS[NAMES[place]].sees(marks, i, j) };
}

// As PyTorch would print it.
function code({ name, marks }) {
  const { code: call, text = (is) => (is ? " True" : "False"), rows = L } = CALLS[name];
  if (name === "d2l") return `valid_lens = tensor([[${marks.map(count).join(", ")}]])\n\n${call}`;
  const lines = marks.slice(0, rows).map((row) => `[${row.map(text).join(", ")}]`);
  const tensor = rows === 1 ? `tensor(${lines[0]})` : `tensor([\n  ${lines.join(",\n  ")}])`;
  return rows ? `mask = ${tensor}\n\n${call}` : call;
}

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);
  const paint = painter(model, "seen");
  const title = element("p", { class: "ab-title" });
  const listing = element("pre", { tabindex: 0, role: "group", "aria-label": say.listing });
  const table = grid({
    label: say.grid,
    rows: ROWS.map((i) => say.query(i + 1)),
    columns: COLUMNS.map((j) => say.key(j + 1)),
    at: [0, 0],
    move: () => {},
    press: (...spot) => {
      if (!model.get("revealed")) paint(...spot);
    },
  });
  table.node.classList.add("ab-paints");
  const said = element("p", { class: "ab-said", role: "status" });
  const score = element("p", { class: "ab-score" });
  const next = button(say.reveal, () => {
    if (model.get("revealed")) update(model, { revealed: false, seen: [] });
    else update(model, { given: [...model.get("given"), model.get("seen")], revealed: true });
  });
  const again = button(say.again, () =>
    update(model, { revealed: false, seen: [], given: [], seed: model.get("seed") + 1 }),
  );
  again.className = "ab-link";
  again.addEventListener("click", () => next.focus()); // it hides itself
  body(
    el,
    "polarity",
    title,
    listing,
    element("p", { class: "ab-hint" }, say.how),
    table.node,
    element("div", { class: "ab-controls" }, next, score, again),
    said,
  );

  subscriptions.follow(["seed", "seen", "given", "revealed"], () => {
    const [seed, given, revealed] = ["seed", "given", "revealed"].map((name) => model.get(name));
    const n = Math.max(given.length - (revealed ? 1 : 0), 0);
    const asked = question(seed, n);
    const misses = (cells, { sees }) => {
      const marked = new Set(cells.map(String));
      return ROWS.flatMap((i) => COLUMNS.map((j) => [i, j])).filter(([i, j]) => marked.has(`${i},${j}`) !== sees(i, j));
    };
    const marks = revealed ? (given.at(-1) ?? []) : model.get("seen");
    const seen = new Set(marks.map(String));
    const missed = new Set(misses(marks, asked).map(String));
    title.textContent = say.question(n + 1);
    listing.textContent = code(asked);
    table.cells.forEach((line, i) =>
      line.forEach((cell, j) => {
        const spot = `${i},${j}`;
        const isWrong = revealed && missed.has(spot);
        const shows = revealed ? asked.sees(i, j) : seen.has(spot);
        cell.textContent = [isWrong && "✗", shows && say.sees].filter(Boolean).join(" ");
        cell.classList.toggle("ab-sees", shows);
        cell.classList.toggle("ab-wrong", isWrong);
        cell.setAttribute("aria-selected", seen.has(spot));
      }),
    );
    said.textContent = revealed ? (missed.size ? say.wrong(missed.size) : say.right) + say.meanings[asked.name] : "";
    next.textContent = revealed ? say.next : say.reveal;
    const right = given.filter((cells, k) => misses(cells, question(seed, k)).length === 0).length;
    score.textContent = given.length ? say.score(right, given.length) : "";
    again.hidden = !given.length;
  });
  return subscriptions.end;
}

export default { render };
