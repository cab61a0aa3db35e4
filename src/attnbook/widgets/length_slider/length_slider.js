import { body, element, fill, follower, number, slider, update, words } from "../shared/core.js";
import { draggable } from "../shared/dragging.js";

const ARROWS = ["a", "b"];
const ANGLES = Array.from({ length: 73 }, (_, i) => 5 * i - 180);
const LENGTHS = Array.from({ length: 40 }, (_, i) => (i + 1) / 10);
const [REACH, UNIT] = [4.3, 40]; // the picture shows lengths up to 4.3, each 40 wide

const arrow = (name) => ({
  name,
  shaft: element("path", { class: `ab-shaft ab-${name}` }),
  head: element("path", { class: `ab-head ab-${name}`, d: "M0 0L-11 5L-11 -5Z" }),
  tip: element("circle", { class: "ab-tip", r: 16 }),
  text: element("text", { class: `ab-${name}`, "text-anchor": "middle", translate: "no" }, name),
});

function picture(label, arrows) {
  const attributes = {
    viewBox: [-REACH, -REACH, 2 * REACH, 2 * REACH].map((x) => x * UNIT).join(" "),
    role: "img",
    "aria-label": label,
  };
  return element(
    "svg",
    attributes,
    ...[1, 2, 3, 4].map((r) => element("circle", { class: "ab-ring", r: r * UNIT })),
    ...arrows.flatMap(({ name, shaft, head, text, tip }) => [shaft, head, text, ...(name === "q" ? [] : [tip])]),
  );
}

function pointTo({ shaft, head, tip, text }, degrees, long) {
  const turn = (degrees * Math.PI) / 180;
  const [x, y] = [long * Math.cos(turn) * UNIT, -long * Math.sin(turn) * UNIT];
  shaft.setAttribute("d", `M0 0L${x} ${y}`);
  head.setAttribute("transform", `translate(${x} ${y}) rotate(${-degrees})`);
  tip.setAttribute("cx", x);
  tip.setAttribute("cy", y);
  text.setAttribute("x", x + 14 * Math.cos(turn));
  text.setAttribute("y", y - 14 * Math.sin(turn) + 5);
}

// The tip follows the pointer, in the steps of the sliders.
function follow(model, { name, tip }) {
  draggable(tip, (across, down) => {
    const [x, y] = [2 * REACH * (across - 0.5), -2 * REACH * (down - 0.5)];
    const [angle, long] = [5 * Math.round((Math.atan2(y, x) * 36) / Math.PI), Math.round(10 * Math.hypot(x, y)) / 10];
    update(model, { [`angle_${name}`]: angle, [`length_${name}`]: Math.min(Math.max(long, 0.1), 4) });
  });
}

// A row for each measure: the numbers of a and b, and which of them is nearer to q.
function comparison(say) {
  const rows = ["dot", "cosine"].map((measure) => {
    const [a, b, nearer] = ["ab-number", "ab-number", "ab-nearer"].map((kind) => element("td", { class: kind }));
    return {
      node: element("tr", {}, element("th", { scope: "row" }, say.measures[measure]), a, b, nearer),
      draw(measures) {
        const [one, other] = ARROWS.map((name) => measures[name][measure]);
        const nearest = Math.abs(one - other) < 1e-9 ? "both" : one > other ? "a" : "b";
        a.textContent = number(one);
        b.textContent = number(other);
        nearer.dataset.nearer = nearest;
        nearer.translate = nearest === "both";
        nearer.textContent = nearest === "both" ? say.both : nearest;
      },
    };
  });
  const heads = ARROWS.map((name) => element("th", { scope: "col", class: `ab-${name}`, translate: "no" }, name));
  return {
    node: element(
      "table",
      {},
      element("thead", {}, element("tr", {}, element("td"), ...heads, element("th", { scope: "col" }, say.nearer))),
      element("tbody", {}, ...rows.map(({ node }) => node)),
    ),
    draw: (measures) => rows.forEach(({ draw }) => draw(measures)),
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const arrows = ARROWS.map(arrow);
  const query = arrow("q");
  for (const each of arrows) follow(model, each);
  pointTo(query, 0, 1);
  const compared = comparison(say);
  const sliders = ARROWS.flatMap((name) => [
    slider(model, subscriptions, {
      trait: `angle_${name}`,
      label: fill(say.angle, { name }),
      values: ANGLES,
      show: (x) => fill(say.degrees, { x: number(x, 0) }),
    }),
    slider(model, subscriptions, {
      trait: `length_${name}`,
      label: fill(say.length, { name }),
      values: LENGTHS,
      show: (x) => number(x, 1),
    }),
  ]);
  body(
    el,
    "lengths",
    picture(say.picture, [query, ...arrows]),
    element("div", {}, element("div", { class: "ab-controls" }, ...sliders), compared.node),
  );

  subscriptions.follow(
    ARROWS.flatMap((name) => [`angle_${name}`, `length_${name}`]),
    () => {
      const measures = {};
      for (const each of arrows) {
        const [degrees, long] = [model.get(`angle_${each.name}`), model.get(`length_${each.name}`)];
        const cosine = Math.cos((degrees * Math.PI) / 180);
        measures[each.name] = { cosine, dot: long * cosine };
        pointTo(each, degrees, long);
      }
      compared.draw(measures);
    },
  );
  return subscriptions.end;
}

export default { render };
