// A tensor as a table whose cells glow, with a caption that says what is seen.

const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
const styled = new Promise((done) => {
  const href = new URL("picture.css", import.meta.url).href;
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: done, onerror: done });
  document.head.append(link);
});
const LETTER = 7; // pixels of one in a cell, at most
let pictures = 0;

// How numbers are written: with two decimals if not all are whole, and by three digits where they are large.
function writer(areWhole, { decimal, minus }) {
  return (x) => {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : `${minus}∞`;
    const isLarge = Math.abs(x) >= 10_000;
    const digits = isLarge ? x.toExponential(Math.abs(x) < 1e10 ? 1 : 0) : x.toFixed(areWhole ? 0 : 2);
    return digits.replaceAll("-", minus).replace("e+", "e").replace(".", decimal);
  };
}

/**
 * @param {HTMLElement} figure  which becomes the picture
 * @param {{ kind: string, said: string, axes: string[], shape: number[], lowest: number, cells: number[][],
 *   table: number, wrong: number[][] }} picture
 * @param {object} say  the words
 * @param {object} marks  how the language writes numbers
 * @returns {Promise<void>}
 */
export async function draw(figure, picture, say, marks) {
  const { kind, said, axes, shape, lowest, cells, table: at, wrong } = picture;
  await styled;
  const isHidden = (x) => !Number.isFinite(x) || x <= lowest; // as a mask leaves them
  const numbers = cells.flat().filter((x) => !isHidden(x));
  const write = writer(numbers.every(Number.isInteger), marks);
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  const isScaled = low < 0 || high > 1;
  const weight = (x) => (isScaled ? (x - low) / (high - low || 1) : x);
  const columns = cells[0]?.length ?? 0;
  const [allRows, allColumns] = [1, 1, ...shape].slice(-2);
  const tables = shape.slice(0, -2).reduce((a, b) => a * b, 1);
  const caption = [
    say[kind] && fill(say[kind], { case: said }),
    (kind === "shown" || kind === "given") &&
      fill(say.shape, { shape: `(${shape.join(", ")}${shape.length === 1 ? "," : ""})` }),
    axes.length && fill(say.axes, { row: axes[0], column: axes[1] }),
    tables > 1 && fill(at > 1 ? say.nth : say.first, { n: tables, at }),
    allRows > cells.length && fill(say.rows, { n: cells.length, all: allRows }),
    allColumns > columns && columns > 0 && fill(say.columns, { n: columns, all: allColumns }),
    isScaled && numbers.length && fill(say.scaled, { low: write(low), high: write(high) }),
    numbers.length < cells.flat().length && say.hidden,
    wrong.length > 0 && say.framed,
    !cells.flat().length && say.empty,
  ].filter(Boolean);
  const table = document.createElement("table");
  const label = document.createElement("figcaption");
  label.textContent = caption.join(" · ");
  label.id = `picture-${++pictures}`;
  table.setAttribute("aria-labelledby", label.id);
  const head = (row, text, scope) => {
    const cell = Object.assign(document.createElement("th"), { textContent: text, scope });
    row.append(cell);
  };
  const top = table.createTHead().insertRow();
  top.insertCell();
  for (let j = 0; j < columns; j++) head(top, j, "col");
  const body = table.createTBody();
  for (const [i, numbers] of cells.entries()) {
    const row = body.insertRow();
    head(row, i, "row");
    for (const [j, x] of numbers.entries()) {
      const cell = row.insertCell();
      cell.textContent = write(x);
      cell.className = isHidden(x) ? "hidden" : "ab-weight";
      cell.style.setProperty("--w", weight(x));
      if (wrong[i]?.[j]) cell.dataset.wrong = "";
    }
  }
  const longest = Math.max(2, ...[...body.querySelectorAll("td")].map((cell) => cell.textContent.length));
  figure.className = "picture ab-stage";
  table.style.setProperty("--columns", columns);
  figure.replaceChildren(label, table);
  if (columns * (longest * LETTER + 8) + 24 > figure.clientWidth - 36) table.className = "bare";
}
