// Code that Python does not read, in words of somebody who has made the mistake before.

import { TEXT, fill } from "./ask.js";

const OPENS = /^\s*(async |def|class|if|elif|else|for|while|with|try|except|finally)\b/;
const BRACKETS = { ")": "(", "]": "[", "}": "{" };

// What Python reads and MicroPython does not: by the error, and by how the line looks.
const LIMITS = [
  [/SyntaxError/, /\{.*\*\*/, "stars"],
  [/SyntaxError/, /[[({,]\s*\*\s*\w.*[\])}]|return .*,\s*\*/, "star"],
  [/SyntaxError/, /^\s*match\b/, "match"],
  [/SyntaxError/, /def .*[(,]\s*\/\s*[,)]/, "slash"],
  [/NotImplementedError/, /\[[^\]]*:[^\]]*:[^\]]*\]/, "step"],
  [/unsupported types for __[lg][et]__:\s'(int|float)',\s'Tensor'/, /./, "turned"],
];

/**
 * What this page's Python can't read in some code; or what is not Python, and in which line: a bracket, a colon, the
 * blanks in front; else what Python says.
 * @param {{ code: string, line?: string, said: string }} wrong  and what Python says of it
 * @param {Object<string, string>} say  the words
 * @returns {{ kind: string, line?: string | number, text: string } | undefined}
 */
export function spelled({ code, line, said }, say) {
  const written = code.split("\n")[line - 1] ?? "";
  const limit = LIMITS.find(([error, way]) => error.test(said) && way.test(written))?.[2];
  if (limit) return { kind: "lacking", line, text: say[limit] };
  if (!/^(?:Syntax|Indentation)Error/.test(said)) return;
  return { kind: "wrong", ...misspelled(code, line, said, say) };
}

function misspelled(code, line, said, say) {
  const lines = code.split("\n");
  const open = [];
  for (const found of code.matchAll(TEXT)) {
    const sign = found[0];
    const n = code.slice(0, found.index).split("\n").length;
    if ("([{".includes(sign)) open.push({ sign, n });
    else if (sign in BRACKETS && open.pop()?.sign !== BRACKETS[sign])
      return { line: n, text: fill(say.closed, { sign }) };
  }
  if (open.length) return { line: open.at(-1).n, text: fill(say.open, open.at(-1)) };
  const bare = (text) => text.replace(/#.*/, "").trimEnd();
  const near = (i) => Math.abs(i + 1 - (line ?? i + 1)) <= 1; // Python stops there, or at the next line
  const isWhole = (text) => text.match(/[[({]/g)?.length === text.match(/[\])}]/g)?.length;
  const lacksColon = (text) =>
    OPENS.test(text) &&
    isWhole(text) &&
    !bare(text)
      .replace(/[[({].*[\])}]/, "")
      .includes(":");
  const colon = lines.findIndex((text, i) => near(i) && lacksColon(text));
  if (colon >= 0) return { line: colon + 1, text: fill(say.colon, { word: lines[colon].trim().split(/\W/)[0] }) };
  const single = lines.findIndex((text, i) => near(i) && /^\s*(if|elif|while)\b[^=!<>]*[^=!<>:]=[^=]/.test(bare(text)));
  if (single >= 0) return { line: single + 1, text: say.equals };
  return { line, text: /indent/i.test(said) ? say.indent : fill(say.other, { said }) };
}
