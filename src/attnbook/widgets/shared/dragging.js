/**
 * A part of a picture that follows mouse or finger.
 * @param {SVGElement} part
 * @param {(x: number, y: number) => void} move  gets the place as shares of the picture's width and height
 */
export function draggable(part, move) {
  part.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false }); // the page stays where it is
  part.addEventListener("pointerdown", (event) => {
    if (event.isPrimary && event.button === 0) part.setPointerCapture(event.pointerId);
  });
  part.addEventListener("pointermove", (event) => {
    if (!part.hasPointerCapture(event.pointerId)) return;
    const box = part.ownerSVGElement.getBoundingClientRect();
    move((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  });
}
