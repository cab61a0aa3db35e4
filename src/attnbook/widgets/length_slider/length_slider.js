import { body, element, fill, follower, heading, listed, number, update, words } from "../shared/core.js";
import { clamp, handle, put } from "../shared/dragging.js";

const ARROWS = ["a", "b"];
const [REACH, LONGEST, UNIT] = [3.05, 2.5, 56]; // the picture shows lengths up to 3.05, each 56 wide
const [TURN, STRETCH] = [5, 0.1]; // the steps of an angle, in degrees, and of a length
const EDGE = REACH * UNIT - 22; // so far out a name can stand

const inSteps = (x, step) => Math.round(x / step) * step;
// From the start of all arrows: the point at an angle and a distance.
function at(degrees, far) {
  const turn = (degrees * Math.PI) / 180;
  return [far * Math.cos(turn) * UNIT, -far * Math.sin(turn) * UNIT];
}

// What there is of an arrow: the arrow, the angle it opens, and the shadow that it throws on the line of q.
function arrow(name, lane = 0) {
  const [arc, plumb, shadow, shaft, head] = ["arc", "plumb", "shadow", "shaft", "head"].map((part) =>
    element("path", { class: `ab-${part} ab-${name}` }),
  );
  const text = element("text", { class: `ab-${name}`, "text-anchor": "middle", translate: "no" });
  head.setAttribute("d", "M2 0L-11 6L-11 -6Z");
  const draw = (degrees, long, label) => {
    const clear = 28 + 20 * Math.abs(Math.cos((degrees * Math.PI) / 180)); // of the tip, for a name wider than high
    const [tip, [x, y]] = [at(degrees, long), at(degrees, long + clear / UNIT)];
    const [from, to] = [at(0, 0.36 + 0.1 * lane), at(degrees, 0.36 + 0.1 * lane)];
    const above = Math.abs(x) > EDGE ? Math.sign(y || 1) * 28 : 0; // or below, where there is no room beside it
    const r = from[0];
    arc.setAttribute("d", `M${from.join(" ")}A${r} ${r} 0 0 ${degrees > 0 ? 0 : 1} ${to.join(" ")}`);
    plumb.setAttribute("d", `M${tip.join(" ")}L${tip[0]} 0`);
    shadow.setAttribute("d", `M0 ${4.5 * lane}L${tip[0]} ${4.5 * lane}`);
    shaft.setAttribute("d", `M0 0L${tip.join(" ")}`);
    head.style.transform = `translate(${tip[0]}px, ${tip[1]}px) rotate(${-degrees}deg)`;
    put(text, { x: clamp(x, -EDGE, EDGE), y: clamp(y + above, -EDGE, EDGE) + 6 });
    text.textContent = label;
    return tip;
  };
  return { name, shades: [plumb, shadow, arc], parts: [shaft, head, text], text, draw };
}

// The tip of an arrow to grab; keys turn it by left and right, and stretch it by up and down.
function grip(model, say, name) {
  const traits = [`angle_${name}`, `length_${name}`];
  const turnTo = (angle, long) =>
    update(model, {
      [traits[0]]: clamp(inSteps(angle, TURN), -180, 180),
      [traits[1]]: clamp(Math.round(long / STRETCH) / 10, 0.1, LONGEST),
    });
  return handle(
    fill(say.tip, { name }),
    21,
    (across, down) => {
      const [x, y] = [2 * REACH * (across - 0.5), -2 * REACH * (down - 0.5)];
      turnTo((Math.atan2(y, x) * 180) / Math.PI, Math.hypot(x, y));
    },
    (right, up) => {
      const [angle, long] = traits.map((trait) => model.get(trait));
      turnTo(angle + TURN * right, long + STRETCH * up);
    },
  );
}

// A column for each measure: the numbers of a and b, and which of them is nearer to q.
function comparison(say) {
  const columns = ["dot", "cosine"].map((measure) => {
    const cells = [...ARROWS.map((name) => `ab-number ab-${name}`), "ab-nearer"].map((kind) =>
      element("td", { class: kind }),
    );
    const [a, b, nearer] = cells;
    const draw = (measures) => {
      const [one, other] = ARROWS.map((name) => measures[name][measure]);
      const nearest = Math.abs(one - other) < 1e-9 ? "both" : one > other ? "a" : "b";
      a.textContent = number(one);
      b.textContent = number(other);
      a.toggleAttribute("data-lit", nearest !== "b");
      b.toggleAttribute("data-lit", nearest !== "a");
      nearer.dataset.nearer = nearest;
      nearer.translate = nearest === "both";
      nearer.textContent = nearest === "both" ? say.both : nearest;
    };
    return { cells, draw };
  });
  const heads = [
    ...ARROWS.map((name) => element("th", { scope: "row", class: `ab-${name}`, translate: "no" }, name)),
    element("th", { scope: "row" }, say.nearer),
  ];
  const rows = heads.map((head, i) => element("tr", {}, head, ...columns.map(({ cells }) => cells[i])));
  return {
    node: element("table", {}, heading(["", say.measures.dot, say.measures.cosine]), element("tbody", {}, ...rows)),
    draw: (measures) => columns.forEach(({ draw }) => draw(measures)),
  };
}

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const query = arrow("q");
  query.draw(0, 1, "q");
  put(query.text, { x: EDGE, y: -8 });
  const arrows = ARROWS.map((name, i) => ({ ...arrow(name, 2 * i - 1), grip: grip(model, say, name) }));
  const compared = comparison(say);
  const picture = element(
    "svg",
    {
      viewBox: [-REACH, -REACH, 2 * REACH, 2 * REACH].map((x) => x * UNIT).join(" "),
      role: "group",
      "aria-label": say.picture,
    },
    ...[1, 1.5, 2, LONGEST].map((r) => element("circle", { class: r === 1 ? "ab-ring ab-q" : "ab-ring", r: r * UNIT })),
    element("path", { class: "ab-line", d: `M${-REACH * UNIT} 0H${REACH * UNIT}` }),
    ...arrows.flatMap(({ shades }) => shades),
    ...query.parts,
    ...arrows.flatMap(({ parts }) => parts),
    ...arrows.map(({ grip: { node } }) => node),
  );
  body(el, "lengths", picture, element("div", {}, compared.node, element("p", { class: "ab-hint" }, say.how)));

  subscriptions.follow(
    ARROWS.flatMap((name) => [`angle_${name}`, `length_${name}`]),
    () => {
      const measures = {};
      for (const { name, draw, grip: tip } of arrows) {
        const [degrees, long] = [model.get(`angle_${name}`), model.get(`length_${name}`)];
        const cosine = Math.cos((degrees * Math.PI) / 180);
        measures[name] = { cosine, dot: long * cosine };
        const angle = fill(say.degrees, { x: number(degrees, 0) });
        const place = draw(degrees, long, `${name} ${angle}`);
        tip.put(...place, degrees, listed([angle, fill(say.length, { x: number(long, 1) })]));
      }
      compared.draw(measures);
    },
  );
  return subscriptions.end;
}

export default { render };
