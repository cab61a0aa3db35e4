/**
 * Makes a change, and lets elements glide from where they were to where it puts them.
 * @param {Element[]} nodes
 * @param {() => void} change
 */
export function glide(nodes, change) {
  const places = () => nodes.map((node) => node.getBoundingClientRect());
  const before = places();
  change();
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  places().forEach((now, i) => {
    const zoom = nodes[i].currentCSSZoom ?? 1; // in full screen
    const [x, y] = [(before[i].left - now.left) / zoom, (before[i].top - now.top) / zoom];
    if (!before[i].width || !now.width || (!x && !y)) return; // it was hidden, it is hidden, it stays
    nodes[i].animate([{ translate: `${x}px ${y}px` }, { translate: "0" }], { duration: 280, easing: "ease-out" });
  });
}
