import { body, element, follower, number, update, slider, words } from "../shared/core.js";
import { draggable } from "../shared/dragging.js";

const TEXT = {
  en: {
    angle: (name) => `Angle of ${name}`,
    length: (name) => `Length of ${name}`,
    picture: "Three arrows from one point: the query q to the right, and a and b, which can be dragged.",
    measures: { dot: "q · vector", cosine: "cosine" },
    nearer: "nearer to q",
    same: "both",
  },
};
const ARROWS = ["a", "b"];
const ANGLES = Array.from({ length: 73 }, (_, i) => 5 * i - 180);
const LENGTHS = Array.from({ length: 40 }, (_, i) => (i + 1) / 10);
const [REACH, UNIT] = [4.3, 40]; // the picture shows lengths up to 4.3, each 40 wide

function render({ model, el }) {
  const say = words(TEXT, el);
  const subscriptions = follower(model);

  const head = (name) => element("path", { class: `ab-head ab-${name}`, d: "M0 0L-11 5L-11 -5Z" });
  const arrow = (name) => ({
    name,
    shaft: element("path", { class: `ab-shaft ab-${name}` }),
    head: head(name),
    tip: element("circle", { class: "ab-tip", r: 16 }),
    text: element("text", { class: `ab-${name}`, "text-anchor": "middle" }, name),
  });
  const arrows = ["q", ...ARROWS].map(arrow);
  const svg = element(
    "svg",
    {
      viewBox: [-REACH, -REACH, 2 * REACH, 2 * REACH].map((x) => x * UNIT).join(" "),
      role: "img",
      "aria-label": say.picture,
    },
    ...[1, 2, 3, 4].map((r) => element("circle", { class: "ab-ring", r: r * UNIT })),
    ...arrows.flatMap(({ name, shaft, head: point, text, tip }) => [
      shaft,
      point,
      text,
      ...(name === "q" ? [] : [tip]),
    ]),
  );

  // The tip follows the pointer, in the steps of the sliders.
  for (const { name, tip } of arrows.slice(1)) {
    draggable(tip, (across, down) => {
      const [x, y] = [2 * REACH * (across - 0.5), -2 * REACH * (down - 0.5)];
      const [angle, long] = [5 * Math.round((Math.atan2(y, x) * 36) / Math.PI), Math.round(10 * Math.hypot(x, y)) / 10];
      update(model, { [`angle_${name}`]: angle, [`length_${name}`]: Math.min(Math.max(long, 0.1), 4) });
    });
  }

  const cells = {};
  const rows = Object.entries(say.measures).map(([measure, text]) => {
    cells[measure] = {
      a: element("td", { class: "ab-number" }),
      b: element("td", { class: "ab-number" }),
      nearer: element("td", { class: "ab-nearer" }),
    };
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, text),
      cells[measure].a,
      cells[measure].b,
      cells[measure].nearer,
    );
  });
  const heads = [...ARROWS, say.nearer].map((text) =>
    element("th", { scope: "col", class: ARROWS.includes(text) ? `ab-${text}` : "" }, text),
  );
  body(
    el,
    "lengths",
    svg,
    element(
      "div",
      {},
      element(
        "div",
        { class: "ab-controls" },
        ...ARROWS.flatMap((name) => [
          slider(model, subscriptions, {
            trait: `angle_${name}`,
            label: say.angle(name),
            values: ANGLES,
            show: (x) => `${number(x, 0)}°`,
          }),
          slider(model, subscriptions, {
            trait: `length_${name}`,
            label: say.length(name),
            values: LENGTHS,
            show: (x) => number(x, 1),
          }),
        ]),
      ),
      element(
        "table",
        {},
        element("thead", {}, element("tr", {}, element("td"), ...heads)),
        element("tbody", {}, ...rows),
      ),
    ),
  );

  subscriptions.follow(
    ARROWS.flatMap((name) => [`angle_${name}`, `length_${name}`]),
    () => {
      const found = { dot: {}, cosine: {} };
      for (const { name, shaft, head: point, tip, text } of arrows) {
        const [degrees, long] = name === "q" ? [0, 1] : [model.get(`angle_${name}`), model.get(`length_${name}`)];
        const turn = (degrees * Math.PI) / 180;
        found.cosine[name] = Math.cos(turn);
        found.dot[name] = long * Math.cos(turn);
        const [x, y] = [long * Math.cos(turn) * UNIT, -long * Math.sin(turn) * UNIT];
        shaft.setAttribute("d", `M0 0L${x} ${y}`);
        point.setAttribute("transform", `translate(${x} ${y}) rotate(${-degrees})`);
        tip.setAttribute("cx", x);
        tip.setAttribute("cy", y);
        text.setAttribute("x", x + 14 * Math.cos(turn));
        text.setAttribute("y", y - 14 * Math.sin(turn) + 5);
      }
      for (const [measure, { a, b, nearer }] of Object.entries(cells)) {
        const [one, other] = ARROWS.map((name) => found[measure][name]);
        a.textContent = number(one);
        b.textContent = number(other);
        nearer.textContent = Math.abs(one - other) < 1e-9 ? say.same : one > other ? "a" : "b";
      }
    },
  );
  return subscriptions.end;
}

export default { render };
