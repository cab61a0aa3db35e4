// What this browser keeps of a reader, their code and their place, as a Python file to take along; and back from one.
import { place, remember } from "./reader_progress.js";
import { fill } from "./widgets/shared/core.js";

const box = document.querySelector(".take");
const say = JSON.parse(box.dataset.words);
const [save, bring, clear] = box.querySelectorAll("button");
const [output, input] = [box.querySelector("output"), box.querySelector("input")];
const tell = (text) => {
  output.textContent = text;
};

const KEY = /^write \d\d-[a-z0-9-]+$/;
const PAGE = /^chapters\/\w+\.html(#[\w-]*)?$/;

// A piece of code begins with a line that editors read as the beginning of a cell.
function written(pieces, reading) {
  const head = [`# ${say.head}`, ...(reading ? [`# reading ${reading}`] : [])].join("\n");
  const cells = pieces.map(([key, code]) => `# %% ${key}\n${code.replace(/\n+$/, "")}`);
  return `${[head, ...cells].join("\n\n\n")}\n`;
}

function read(text) {
  const [head, ...parts] = text.replaceAll("\r\n", "\n").split(/^# %% (?=write )/m);
  const pieces = parts.map((part) => [part.split("\n", 1)[0], part.replace(/^.*\n/, "").replace(/\n+$/, "")]);
  return { pieces: pieces.filter(([key]) => KEY.test(key)), reading: told(/^# reading (.*)$/m.exec(head)?.[1]) };
}

// A place in the book, and nothing else that a file may say.
function told(text) {
  try {
    const { visited = [], last, done = [], touched = [], guessed = {} } = JSON.parse(text);
    const { chapter, page, title } = last;
    if (!visited.every(Number.isInteger) || !Number.isInteger(chapter) || !PAGE.test(page)) return null;
    const words = (list) => list.every((each) => typeof each === "string");
    if (!words(done) || !words(touched) || !words(Object.values(guessed))) return null;
    return { visited, last: { chapter, page, title: String(title) }, done, touched, guessed };
  } catch {
    return null;
  }
}

function mine() {
  const keys = Object.keys(localStorage).filter((key) => KEY.test(key));
  return keys.sort().map((key) => [key, localStorage.getItem(key)]);
}

save.addEventListener("click", () => {
  const [pieces, reading] = [mine(), localStorage.getItem("reading")];
  if (!pieces.length && !reading) {
    tell(say.nothing);
    return;
  }
  const file = new Blob([written(pieces, told(reading) && reading)], { type: "text/x-python" });
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: say.file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  tell(fill(say.saved, { n: pieces.length, file: say.file }));
});

bring.addEventListener("click", () => input.click());
input.addEventListener("change", async () => {
  const { pieces, reading } = read(await input.files[0].text());
  input.value = ""; // so that the same file may be chosen again
  if (!pieces.length && !reading) {
    tell(say.strange);
    return;
  }
  const here = new Map(mine());
  const others = pieces.filter(([key, code]) => here.has(key) && here.get(key).replace(/\n+$/, "") !== code);
  const replaces = !others.length || confirm(fill(say.differ, { n: others.length }));
  const taken = pieces.filter((piece) => replaces || !others.includes(piece));
  for (const [key, code] of taken) localStorage.setItem(key, code);
  if (reading) {
    const before = place();
    const both = (name) => [...new Set([...before[name], ...reading[name]])];
    const guessed = { ...before.guessed, ...reading.guessed };
    remember({ last: reading.last, visited: both("visited"), done: both("done"), touched: both("touched"), guessed });
    dispatchEvent(new Event("ab-place")); // book.js shows it
  }
  tell(fill(say.brought, { n: taken.length }));
});
clear.addEventListener("click", () => {
  const pieces = mine();
  if (!pieces.length && !localStorage.getItem("reading")) {
    tell(say.nothing);
    return;
  }
  if (!confirm(fill(say.sure, { n: pieces.length }))) return;
  for (const key of ["reading", ...pieces.map(([key]) => key)]) localStorage.removeItem(key);
  dispatchEvent(new Event("ab-place"));
  tell(say.cleared);
});
try {
  box.hidden = !localStorage;
} catch {
  /* nothing is kept here */
}
