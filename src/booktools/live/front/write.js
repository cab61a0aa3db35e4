// Every stub of the page becomes an editor with a button. Python is fetched when somebody first presses it.
const { engine, say } = JSON.parse(document.getElementById("write").textContent);
const base = new URL(engine, import.meta.url);
const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);

const WORDS =
  /(#.*)|("""[^]*?"""|'''[^]*?'''|[fr]?"[^"\n]*"|[fr]?'[^'\n]*')|\b(def|return|class|for|in|if|elif|else|while|import|from|as|with|not|and|or|is|lambda|None|True|False|pass|break|continue|raise|try|except|finally|yield|assert)\b|\b(\d[\w.]*)/g;
const KINDS = ["c1", "s2", "k", "mi"]; // as the colours of all code are called
const safe = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

function coloured(text) {
  let html = "";
  let at = 0;
  for (const found of text.matchAll(WORDS)) {
    const kind = KINDS[found.slice(1).findIndex(Boolean)];
    html += `${safe(text.slice(at, found.index))}<span class="${kind}">${safe(found[0])}</span>`;
    at = found.index + found[0].length;
  }
  return html + safe(text.slice(at));
}

// A textarea over its own text in colours. Tab indents, Escape and then Tab goes on.
function editor(area, back, press, changed) {
  let wrong;
  let leaving = false;
  const draw = () => {
    const lines = coloured(area.value).split("\n");
    back.innerHTML = lines.map((line, i) => (i + 1 === wrong ? `<mark>${line || " "}</mark>` : line)).join("\n");
    back.append("\n");
  };
  const type = (text) => document.execCommand("insertText", false, text); // which keeps undo working
  const outdent = (start) => {
    const spaces = /^ {0,4}/.exec(area.value.slice(start))[0].length;
    if (!spaces) return;
    const at = area.selectionStart;
    area.setSelectionRange(start, start + spaces);
    document.execCommand("delete");
    area.setSelectionRange(Math.max(start, at - spaces), Math.max(start, at - spaces));
  };
  area.addEventListener("input", () => {
    wrong = undefined;
    draw();
    changed();
  });
  area.addEventListener("keydown", (event) => {
    const { key, shiftKey, ctrlKey, metaKey, altKey, isComposing } = event;
    if (key === "Escape") leaving = true;
    if (key === "Escape" || key === "Shift" || isComposing) return;
    const start = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
    const before = area.value.slice(start, area.selectionStart);
    if (key === "Enter" && (ctrlKey || metaKey)) {
      event.preventDefault();
      press();
    } else if (key === "Enter") {
      event.preventDefault();
      type(`\n${/^ */.exec(before)[0]}${/:\s*(#.*)?$/.test(before) ? "    " : ""}`);
    } else if (key === "Tab" && !leaving && !altKey && !ctrlKey) {
      event.preventDefault();
      if (shiftKey) outdent(start);
      else type("    ");
    }
    leaving = false;
  });
  draw();
  return (line) => {
    wrong = line && Number(line);
    draw();
  };
}

// The answer of the book: the first that follows before the next stub.
function oursAfter(cell) {
  const all = [...document.querySelectorAll("[data-write], .tag_ours > details, details.solution")];
  const next = all[all.indexOf(cell) + 1];
  return next?.matches("details") ? next : undefined;
}

function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  } // storage may be switched off
}

function store(name, text) {
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    /* it holds for this page */
  }
}

const leads = (to) => `<p class="caught"><a href="#of-${to}">${fill(say.caught, { name: to })}</a></p>`;
const button = (text) => `<button type="button">${text}</button>`;
const stubs = document.querySelectorAll("[data-write]");
for (const [n, cell] of stubs.entries()) {
  const { name, caught } = cell.dataset;
  const key = `write ${cell.dataset.write.split(".json")[0]}`;
  const stub = cell.querySelector("pre").textContent.split(name ? /\n+check\./ : /\n$/)[0];
  const before = name ? null : cell.querySelector(".cell_output"); // what the notebook printed
  const frame = document.createElement("div");
  frame.className = "write";
  frame.innerHTML =
    `<div class="highlight code"><pre aria-hidden="true"></pre><textarea spellcheck="false" autocapitalize="off" autocorrect="off"` +
    ` autocomplete="off" aria-describedby="write-${n}"></textarea></div>` +
    `<p class="acts">${button(name ? say.check : say.run)}${button(say.again)}${button(say.ours)}<small id="write-${n}">${say.small} <span>${say.keys}</span></small></p>` +
    `<output role="status"></output><div class="prints" hidden></div>${caught ? leads(caught) : ""}`;
  if (name) frame.id = `of-${name}`;
  const [back, area, output, prints] = ["pre", "textarea", "output", ".prints"].map((part) =>
    frame.querySelector(part),
  );
  const [check, again, ours] = frame.querySelectorAll("button");
  area.setAttribute("aria-label", name ? fill(say.label, { name }) : say.code);
  area.value = stored(key) ?? stub;
  cell.replaceChildren(frame, ...(before ? [before] : []));
  const clear = () => {
    output.textContent = output.className = prints.textContent = "";
    prints.className = "prints";
    prints.hidden = true;
  };
  const mark = editor(area, back, press, () => {
    clear();
    store(key, area.value === stub ? null : area.value);
  });
  async function press() {
    if (check.disabled) return;
    check.disabled = true;
    clear();
    mark();
    output.textContent = say.checking;
    if (before) before.hidden = true;
    const { kind, line, text } = await verdict(area.value).catch(() => ({ kind: "lacking", text: say.failed }));
    output.className = kind;
    output.textContent = line ? fill(say.line, { n: line, said: text }) : text;
    mark(line);
    check.disabled = false;
  }
  async function verdict(code) {
    const { ask } = await import(new URL("ask.js", base));
    return ask({ code, name, sent: new URL(`../${cell.dataset.write}`, base) }, prints);
  }
  check.addEventListener("click", press);
  again.addEventListener("click", () => {
    area.focus();
    area.select();
    document.execCommand("insertText", false, stub); // so that it can be undone
    area.setSelectionRange(stub.length, stub.length);
    if (before) before.hidden = false;
  });
  const solution = name && oursAfter(cell);
  ours.hidden = !solution;
  ours.addEventListener("click", () => {
    solution.open = true;
    solution.querySelector("summary").focus();
    solution.scrollIntoView({ block: "nearest" });
  });
}
