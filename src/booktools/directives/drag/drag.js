// Numbers in the words that are pressed and dragged, or moved with keys: the widget beside them answers.

const number = new Intl.NumberFormat(document.documentElement.lang, { maximumSignificantDigits: 6 });
const TRAVEL = 400; // pixels from the first stop to the last, if they are not too far apart
const [NEAR, FAR] = [4, 24];

// The widget before it in its section, else the next.
function widgetOf(node) {
  const kin = [...node.closest("section").querySelectorAll(`[data-afm="${node.dataset.of}"]`)];
  const before = kin.filter((widget) => widget.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING);
  return node.closest(".touch")?.querySelector("[data-afm]") ?? before.at(-1) ?? kin[0];
}

for (const node of document.querySelectorAll(".drag")) {
  const widget = widgetOf(node);
  const { trait } = node.dataset;
  const stops = JSON.parse(node.dataset.stops);
  const written = node.textContent;
  const first = stops.indexOf(Number(written.replaceAll(",", "").replace("−", "-")));
  const last = stops.length - 1;
  let at;
  const show = (place) => {
    at = Math.min(Math.max(place, 0), last);
    node.textContent = at === first ? written : number.format(stops[at]).replace("-", "−");
    node.setAttribute("aria-valuenow", stops[at]);
    node.setAttribute("aria-valuetext", node.textContent);
  };
  const move = (place) => {
    show(place);
    widget.model?.set(trait, stops[at]);
  };
  const keys = {
    ArrowRight: () => at + 1,
    ArrowUp: () => at + 1,
    ArrowLeft: () => at - 1,
    ArrowDown: () => at - 1,
    Home: () => 0,
    End: () => last,
    Escape: () => first,
    Enter: () => at,
    " ": () => at,
  };
  node.tabIndex = 0;
  node.role = "slider";
  node.setAttribute("aria-valuemin", stops[0]);
  node.setAttribute("aria-valuemax", stops[last]);
  show(first);
  node.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(keys[event.key]());
  });
  node.addEventListener("click", () => move(at)); // not when a finger comes down, which may be about to scroll
  node.addEventListener("pointerdown", (down) => {
    if (down.button) return;
    const from = at;
    const apart = Math.min(Math.max(TRAVEL / last, NEAR), FAR);
    node.setPointerCapture(down.pointerId);
    const drag = ({ clientX }) => {
      node.focus({ preventScroll: true }); // a mouse has done so, without a ring
      move(from + Math.round((clientX - down.clientX) / apart));
    };
    node.addEventListener("pointermove", drag);
    node.addEventListener("lostpointercapture", () => node.removeEventListener("pointermove", drag), { once: true });
  });
  // The words are true of what is written.
  node.addEventListener("blur", () => show(first));
}
