// A Python with `torch` in it, and the judging of what a reader wrote.

import { handful } from "../../../handful/handful.js";
import { bridge, keep, makeRoom, pictured } from "./bridge.js";

const { URL } = self; // which the worker takes from the code that runs in it
const HEAP = 16 * 1024 * 1024;
const START = "import sys; sys.path.insert(0, '/book'); import torch, plain; sys.modules['math'] = plain; import trial";

/**
 * @param {object} files  Python's own, texts by their paths
 * @param {string} url  of micropython.wasm
 * @param {(line: string) => void} print
 * @param {(picture: object) => void} draw
 * @returns {Promise<(question: object) => Promise<object>>}  which answers with a verdict
 */
export async function start(files, url, print, draw) {
  const { loadMicroPython } = await import(new URL("micropython.mjs", import.meta.url));
  const python = await loadMicroPython({ url, heapsize: HEAP, stdout: print, stderr: print, linebuffer: true });
  python.registerJsModule("_tensors", { ...bridge, draw: (...what) => draw(pictured(...what)) });
  const write = (texts) => {
    for (const [path, text] of Object.entries(texts)) {
      path.split("/").forEach((_, depth, parts) => {
        const folder = `/book/${parts.slice(0, depth).join("/")}`;
        if (!python.FS.analyzePath(folder).exists) python.FS.mkdir(folder);
      });
      python.FS.writeFile(`/book/${path}`, text);
    }
  };
  write(files);
  python.runPython(START);
  let prepared = null;
  async function learn(modules, more) {
    write(modules);
    if (!more || handful.ops.einsum) return;
    (await import(new URL("more.js", import.meta.url))).default(handful);
    python.runPython("torch.learn()");
  }
  return async ({ id, modules, more, sent, code, name, given, above }) => {
    await learn(modules, more);
    makeRoom();
    if (prepared !== id) {
      keep(sent.tensors);
      python.globals.set("_sent", JSON.stringify({ ...sent, tensors: sent.tensors.length }));
      python.runPython("import json; trial.prepare(json.loads(_sent))");
      prepared = id;
    }
    python.globals.set("_asked", JSON.stringify([code, name, given, above]));
    python.runPython("import json; _verdict = json.dumps(trial.run(*json.loads(_asked)))");
    return JSON.parse(python.globals.get("_verdict"));
  };
}
