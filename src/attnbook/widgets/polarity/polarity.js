import { body, button, count, element, fill, follower, update, verbatim, whole, words } from "../shared/core.js";
import { normals } from "../shared/random.js";
import { grid } from "../shared/cells.js";
import { fingerPainting, painter } from "../shared/painting.js";

const [L, M] = [3, 4];
const [ROWS, COLUMNS] = [[...Array(L).keys()], [...Array(M).keys()]];
const SPOTS = ROWS.flatMap((i) => COLUMNS.map((j) => [i, j]));
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
  d2l: { code: "d2l.masked_softmax(scores, valid_lens)", sees: (marks, i, j) => j < ones(marks[i]) },
  causal: { code: "attention(q, k, v, causal(3, 4))", sees: (_, i, j) => j <= i + M - L, rows: 0 },
  isCausal: { code: sdpa("is_causal=True"), sees: (_, i, j) => j <= i, rows: 0 },
};
const NAMES = Object.keys(CALLS);

const ones = (row) => row.filter(Boolean).length;

// The same questions as in polarity.py: every call comes once before any comes again.
function question(seed, n) {
  const order = normals(1000 * seed + Math.floor(n / NAMES.length), NAMES.length);
  const place = [...NAMES.keys()].sort((a, b) => order[a] - order[b])[n % NAMES.length];
  const draws = normals(1000 * seed + 500 + n, L * M);
  const marks = ROWS.map((i) => COLUMNS.map((j) => draws[i * M + j] > 0));
  for (const row of marks) if (ones(row) % M === 0) row[0] = !row[0]; // a row that says something
  return { name: NAMES[place], marks, sees: (i, j) => CALLS[NAMES[place]].sees(marks, i, j) };
}

// As PyTorch would print it.
function code({ name, marks }) {
  const { code: call, text = (is) => (is ? " True" : "False"), rows = L } = CALLS[name];
  if (name === "d2l") return `valid_lens = tensor([[${marks.map(ones).join(", ")}]])\n\n${call}`;
  const lines = marks.slice(0, rows).map((row) => `[${row.map(text).join(", ")}]`);
  const tensor = rows === 1 ? `tensor(${lines[0]})` : `tensor([\n  ${lines.join(",\n  ")}])`;
  return rows ? `mask = ${tensor}\n\n${call}` : call;
}

// The cells of which an answer is wrong.
function misses(cells, { sees }) {
  const marked = new Set(cells.map(String));
  return SPOTS.filter(([i, j]) => marked.has(`${i},${j}`) !== sees(i, j));
}

// What is asked, what is marked, and how many of the answers so far are right.
function compute(model) {
  const [seed, given, revealed] = ["seed", "given", "revealed"].map((name) => model.get(name));
  const n = Math.max(given.length - (revealed ? 1 : 0), 0);
  const asked = question(seed, n);
  const marks = revealed ? (given.at(-1) ?? []) : model.get("seen");
  return {
    n,
    asked,
    revealed,
    seen: new Set(marks.map(String)),
    missed: new Set(misses(marks, asked).map(String)),
    answers: given.length,
    right: given.filter((cells, k) => misses(cells, question(seed, k)).length === 0).length,
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const paint = painter(model, "seen");
  const title = element("p", { class: "ab-title" });
  const listing = verbatim("");
  const table = grid({
    label: say.grid,
    rows: ROWS.map((i) => fill(say.query, { n: whole(i + 1) })),
    columns: COLUMNS.map((j) => fill(say.key, { n: whole(j + 1) })),
    named: true,
    at: [0, 0],
    move: () => {},
    press: (...spot) => {
      if (!model.get("revealed")) paint(...spot);
    },
  });
  table.node.classList.add("ab-paints");
  const how = element("p", { class: "ab-hint" }, say.how);
  const [verdict, meaning] = [element("span"), element("span")];
  const score = element("p", { class: "ab-score" });
  const next = button(say.reveal, () => {
    if (model.get("revealed")) update(model, { revealed: false, seen: [] });
    else update(model, { given: [...model.get("given"), model.get("seen")], revealed: true });
  });
  next.classList.add("ab-start");
  const again = button(say.again, () =>
    update(model, { revealed: false, seen: [], given: [], seed: model.get("seed") + 1 }),
  );
  again.className = "ab-link";
  again.addEventListener("click", () => next.focus()); // it hides itself
  const board = element(
    "div",
    { class: "ab-board" },
    element("div", { class: "ab-said" }, how, element("p", { role: "status" }, verdict, " ", meaning)),
    table.node,
  );
  board.append(fingerPainting(say, board));
  body(
    el,
    "polarity",
    title,
    element("pre", { tabindex: 0, role: "group", "aria-label": say.listing }, listing),
    board,
    element("div", { class: "ab-controls" }, next, score, again),
  );

  subscriptions.follow(["seed", "seen", "given", "revealed"], () => {
    const { n, asked, revealed, seen, missed, answers, right } = compute(model);
    table.node.classList.toggle("ab-revealed", revealed);
    title.textContent = fill(say.question, { n: whole(n + 1) });
    listing.textContent = code(asked);
    for (const [i, j] of SPOTS) {
      const [cell, spot] = [table.cells[i][j], `${i},${j}`];
      const isWrong = revealed && missed.has(spot);
      const isLit = revealed && asked.sees(i, j);
      cell.textContent = [isWrong && "✗", (revealed ? isLit : seen.has(spot)) && say.sees].filter(Boolean).join(" ");
      cell.classList.toggle("ab-on", seen.has(spot));
      cell.classList.toggle("ab-lit", isLit);
      cell.classList.toggle("ab-wrong", isWrong);
      cell.setAttribute("aria-selected", seen.has(spot));
    }
    const sentence = missed.size ? count(say.wrong, missed.size) : say.right;
    how.style.visibility = revealed ? "hidden" : ""; // what was right stands in its place
    verdict.dataset.wrong = revealed ? missed.size : "";
    verdict.textContent = revealed ? sentence : "";
    meaning.dataset.meaning = revealed ? asked.name : "";
    meaning.textContent = revealed ? say.meanings[asked.name] : "";
    next.textContent = revealed ? say.next : say.reveal;
    Object.assign(score.dataset, { right, answers });
    score.textContent = answers ? fill(say.score, { right: whole(right), asked: whole(answers) }) : "";
    again.hidden = !answers;
  });
  return subscriptions.end;
}

export default { render };
