// What was asked for is marked in the section that was found. The page stays as it is: the browser paints over it.
import { termsAt } from "./excerpt.js";

const PASSED = "section section, script, style, .katex-mathml, .touch, .cell_input";

export function mark() {
  if (!CSS.highlights) return;
  const asked = new Set(new URLSearchParams(location.search).get("_find")?.split(" "));
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const section = (place ?? document.querySelector("h1")).closest("section, .exercise") ?? document.body;
  const ranges = [];
  const walker = document.createTreeWalker(section, NodeFilter.SHOW_TEXT, ({ parentElement }) => {
    const passed = parentElement.closest(PASSED);
    return passed && passed !== section && section.contains(passed)
      ? NodeFilter.FILTER_REJECT
      : NodeFilter.FILTER_ACCEPT;
  });
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const { 0: word, index } of node.data.matchAll(
      /\p{Script=Han}|(?:(?!\p{Script=Han})[^\s/()\u3000-\u303f\uff00-\uffef])+/gu,
    ))
      if (termsAt(node.data, index, word).some((term) => asked.has(term))) {
        const range = new Range();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        ranges.push(range);
      }
  CSS.highlights.set("found", new Highlight(...ranges));
}
