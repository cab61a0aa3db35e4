// A question to Python, in a worker that is fetched at the first one, and what the reader is told.

const base = new URL(".", import.meta.url);
const SECONDS = 20;
const RECYCLED = 40; // so many answers until Python starts anew: its memory only grows
export const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);

const fetched = new Map();
async function get(url) {
  if (!fetched.has(url.href)) fetched.set(url.href, await (await fetch(url)).json());
  return fetched.get(url.href);
}

let worker = null;
let answers = 0;
let turn = Promise.resolve(); // one question at a time

function end() {
  worker?.terminate();
  worker = null;
  answers = 0;
}

export const TEXT = /#.*|"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[([{]|[)\]}]|\n/g;
const INTO = /^([\t ]*)([A-Za-z_][\w.]*(?:\[[^\]\n]*\])*)[\t ]*(\*\*|\/\/|[*/%&|^])=(?!=)/gm;

// Where the expression ends that begins at a place: at the end of its line, unless a bracket is open, or at a comment.
function endOf(code, from) {
  let open = 0;
  for (const found of code.slice(from).matchAll(TEXT)) {
    if ("([{".includes(found[0])) open++;
    else if (")]}".includes(found[0])) open--;
    else if (!open && /^[#\n]/.test(found[0])) return from + found.index;
  }
  return code.length;
}

// `x *= y` as a call, as MicroPython would make a new tensor of it.
export function writtenInto(code) {
  let text = "";
  let at = 0;
  for (const found of code.matchAll(INTO)) {
    const [all, indent, target, sign] = found;
    const end = endOf(code, found.index + all.length);
    if (found.index < at) continue; // within another, or within a text
    const value = code.slice(found.index + all.length, end).trim();
    text += `${code.slice(at, found.index)}${indent}${target} = _into("${sign}", ${target}, (${value}))`;
    at = end;
  }
  return text + code.slice(at);
}

// What the code prints and draws, one below the other.
function tell({ printed, picture }, out, marks) {
  out.hidden = false;
  if (picture) {
    const figure = document.createElement("figure");
    out.append(figure);
    if (picture.kind === "wanted") out.classList.add("compared");
    const words = get(new URL("picture.json", base));
    import(new URL("picture.js", base)).then(async ({ draw }) => draw(figure, picture, await words, marks));
    return;
  }
  if (!out.lastElementChild?.matches("pre")) out.append(document.createElement("pre"));
  out.lastElementChild.append(`${printed}\n`);
}

// Where the field of an f-string ends that begins at a place, and where its format, if it has one, begins.
function fieldOf(text, from) {
  let open = 0;
  for (let at = from; at < text.length; at++) {
    const sign = text[at];
    if ("([{".includes(sign)) open++;
    else if (open && ")]}".includes(sign)) open--;
    else if (!open && (sign === "}" || sign === ":" || (sign === "!" && text[at + 1] !== "="))) return at;
  }
  return -1;
}

const FORMATTED = /(?<!\w)f(["'])((?:\\.|(?!\1)[^\\\n])+)\1/g;

// `{x:.2f}` as a call, as MicroPython would format no tensor.
export function formatted(code) {
  return code.replace(FORMATTED, (whole, quote, inner) => {
    const other = quote === '"' ? "'" : '"';
    let text = "";
    let at = 0;
    for (let open = inner.indexOf("{"); open >= 0; open = inner.indexOf("{", at)) {
      text += inner.slice(at, open);
      if (inner[open + 1] === "{") {
        text += "{{";
        at = open + 2;
        continue;
      }
      const end = fieldOf(inner, open + 1);
      const close = inner.indexOf("}", end);
      if (end < 0 || close < 0) return whole;
      const [field, format] = [inner.slice(open + 1, end), inner.slice(end + 1, close)];
      const asItIs = inner[end] === "!" || field.endsWith("=") || format.includes("{");
      text += asItIs ? inner.slice(open, close + 1) : `{_text(${field}, ${other}${format}${other})}`;
      at = close + 1;
    }
    return `f${quote}${text}${inner.slice(at)}${quote}`;
  });
}

const ready = (code) => writtenInto(formatted(code));

function verdict(question, say, out) {
  worker ??= new Worker(new URL("worker.js", base), { type: "module" });
  return new Promise((resolve) => {
    const heard = new AbortController();
    let timer = null;
    const done = (answer) => {
      clearTimeout(timer);
      heard.abort();
      resolve(answer);
    };
    const stop = (said) => {
      end();
      done({ correct: false, said });
    };
    const hear = ({ data }) => {
      if (data.picture || data.printed !== undefined)
        tell(data, out, Object.fromEntries(question.sent.words.attnbook.number));
      else if (data.running) timer = setTimeout(() => stop(fill(say.slow, { n: SECONDS })), SECONDS * 1000);
      else if (data.broken) stop(say.broken);
      else {
        if (++answers === RECYCLED) end();
        done(data);
      }
    };
    worker.addEventListener("error", () => stop(say.failed), heard);
    worker.addEventListener("message", hear, heard);
    worker.postMessage({ ...question, wasm: new URL("micropython.wasm", base).href }, []);
  });
}

// The check's own sentence, or what this page has less of. Code that is only run says what it prints.
async function sentence({ correct, said, missing, lacks, above, own, traceback = "" }, say, code) {
  if (missing) return { kind: "wrong", text: fill(say.missing, { name: missing }) };
  if (lacks) return { kind: "lacking", text: fill(say.lacks, { name: lacks }) };
  if (own) return { kind: "wrong", text: fill(say.own, { name: own, said }) };
  if (above) return { kind: "lacking", text: fill(say.above, { name: above }) };
  const line = correct ? undefined : [...traceback.matchAll(/"<yours>",\sline\s(\d+)/g)].at(-1)?.[1];
  if (!correct && /SyntaxError|IndentationError|NotImplementedError|unsupported types/.test(said)) {
    const [{ spelled }, words] = await Promise.all([
      import(new URL("syntax.js", base)),
      get(new URL("syntax.json", base)),
    ]);
    const told = spelled({ code, line, said }, words);
    if (told) return told;
  }
  return { kind: correct ? "right" : "wrong", line, text: said };
}

/**
 * @param {object} question
 * @param {string} question.code
 * @param {string} [question.name]  of what the code defines, if that is checked
 * @param {URL} question.sent  where the check is
 * @param {HTMLElement} out  for what it prints and draws
 * @returns {Promise<{ kind: string, line?: string, text: string }>}
 */
export function ask(question, out) {
  turn = turn.catch(() => {}).then(() => answered(question, out));
  return turn;
}

const asksFor = (text, names) => names.some((name) => new RegExp(`\\b${name}\\b`).test(text));
const field = (id) => document.querySelector(`[data-write*="-${id}.json"] textarea`)?.value ?? "";

// What the reader wrote in the stubs above, as far as the code asks for it: names and code.
function writtenAbove(code, stubs) {
  const own = [];
  for (const [id, name] of stubs.toReversed())
    if (asksFor([code, ...own.flat()].join("\n"), [name]) && field(id)) own.unshift([name, ready(field(id))]);
  return own;
}

// What the chapter defines above a place, if the code asks for any of it.
async function definedAbove(code, { defined, above, place }, sent) {
  if (!asksFor(code, defined)) return [];
  const { definitions } = await get(new URL(above, sent));
  const latest = new Map(definitions.filter(([at]) => at < place).map((each) => [each[1], each]));
  return [...latest.values()].map(([, , line]) => line).filter(Boolean);
}

// What fewer ask for: names of Handful, and modules.
async function rare(text, { names, modules }) {
  const asked = modules.filter((name) => asksFor(text, [name]));
  const found = await Promise.all(asked.map((name) => get(new URL(`${name}.json`, base))));
  return { more: new RegExp(`\\.(${names})\\b`).test(text), modules: Object.assign({}, ...found) };
}

async function answered({ code, name, sent }, out) {
  const [python, check] = await Promise.all([get(new URL("python.json", base)), get(sent)]);
  const above = name ? writtenAbove(code, check.written) : check.after.map((id) => ["", ready(field(id))]);
  const text = [code, ...above.flat()].join("\n");
  const given = name ? await definedAbove(text, check, sent) : [];
  const lines = (check.given ?? []).filter(([, brought]) => asksFor(text, [brought])).flat();
  const question = {
    ...(await rare([text, check.source, ...given, ...lines].join("\n"), python)),
    files: python.files,
    code: ready(code),
    name: name ?? "",
    given,
    above,
    sent: check,
  };
  const { say } = python;
  const answer = await verdict({ ...question, id: sent.href }, say, out);
  if (!name && answer.correct) return { kind: "done", text: out.hidden ? say.silent : "" };
  if (answer.unknown) {
    const { names } = await get(new URL(check.above, sent));
    answer.above = names[answer.unknown] < check.place && answer.unknown;
  }
  return sentence(answer, say, code);
}
