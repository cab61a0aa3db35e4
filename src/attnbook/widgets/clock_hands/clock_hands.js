import { clock } from "../shared/clock.js";
import { body, count, element, fill, follower, number, update, whole, words } from "../shared/core.js";
import { slider } from "../shared/slider.js";
import { draggable } from "../shared/dragging.js";

const LAST = 59;
const STOPS = {
  position: Array.from({ length: LAST + 1 }, (_, i) => i),
  width: [4, 8, 16, 32],
  base: [2, 10, 100, 1000, 1e4, 1e5],
};
STOPS.other = STOPS.position;
const MOST = Math.max(...STOPS.width) / 2;
const [WIDE, TALL, MARGIN] = [590, 130, 30];

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const clocks = Array.from({ length: MOST }, (_, j) => {
    const { node: dial, show } = clock(["ab-other", "ab-query"]);
    return { show, node: element("div", {}, dial, element("span", {}, fill(say.hand, { n: j + 1 }))) };
  });
  const face = element("div", { class: "ab-faces", role: "img" }, ...clocks.map(({ node }) => node));
  const curve = element("path", { class: "ab-curve" });
  const marks = ["ab-query", "ab-other"].map((kind) => element("circle", { class: kind, r: 8 }));
  const grips = ["position", "other"].map((trait) => {
    const grip = element("circle", { class: "ab-grip", r: 26 });
    draggable(grip, (share) => {
      const place = Math.round(((share * (WIDE + 2 * MARGIN) - MARGIN) * LAST) / WIDE);
      update(model, { [trait]: Math.min(Math.max(place, 0), LAST) });
    });
    return grip;
  });
  const found = element("text", { class: "ab-found" });
  const plot = element(
    "svg",
    {
      class: "ab-plot",
      viewBox: `${-MARGIN} -14 ${WIDE + 2 * MARGIN} ${TALL + 44}`,
      role: "img",
      "aria-label": say.curve,
    },
    ...[1, 0, -1].map((y) =>
      element("line", { class: "ab-rule", x1: 0, x2: WIDE, y1: (TALL * (1 - y)) / 2, y2: (TALL * (1 - y)) / 2 }),
    ),
    ...[1, 0, -1].map((y) =>
      element("text", { x: -8, y: (TALL * (1 - y)) / 2 + 5, "text-anchor": "end" }, number(y, 0)),
    ),
    ...[0, 20, 40, LAST].map((i) =>
      element(
        "text",
        { class: i ? "" : "ab-first", x: (i * WIDE) / LAST, y: TALL + 27, "text-anchor": "middle" },
        `${i}`,
      ),
    ),
    curve,
    ...marks,
    found,
    ...grips,
  );
  const [name, alike, apart, period] = [element("dt"), ...[0, 0, 0].map(() => element("dd", { class: "ab-number" }))];
  body(
    el,
    "clocks",
    element(
      "div",
      { class: "ab-controls" },
      ...Object.entries(say.sliders).map(([trait, label]) =>
        slider(model, subscriptions, { trait, label, values: STOPS[trait], show: whole }),
      ),
    ),
    face,
    element("figure", {}, plot, element("figcaption", {}, say.axis)),
    element("dl", {}, name, alike, element("dt", {}, say.apart), apart, element("dt", {}, say.period), period),
  );

  subscriptions.follow(["position", "other", "width", "base"], () => {
    const [i, other, width, base] = ["position", "other", "width", "base"].map((trait) => model.get(trait));
    const speeds = Array.from({ length: width / 2 }, (_, j) => base ** ((-2 * j) / width));
    const cosine = (far) => speeds.reduce((sum, speed) => sum + Math.cos(far * speed), 0) / speeds.length;
    clocks.forEach(({ show, node }, j) => {
      node.hidden = j >= speeds.length;
      const hand = (place) => [Math.sin(place * speeds[j]), Math.cos(place * speeds[j])];
      if (!node.hidden) show(hand(other), hand(i));
    });
    face.setAttribute("aria-label", count(say.clocks, speeds.length, { i, other }));
    const at = (place) => [place * (WIDE / LAST), (TALL * (1 - cosine(place - i))) / 2];
    curve.setAttribute("d", `M${Array.from({ length: LAST + 1 }, (_, place) => at(place).join(" ")).join("L")}`);
    [i, other].forEach((place, n) => {
      const [x, y] = at(place);
      for (const part of [marks[n], grips[n]]) {
        part.setAttribute("cx", x);
        part.setAttribute("cy", y);
      }
    });
    name.textContent = fill(say.alike, { i, other });
    alike.textContent = found.textContent = number(cosine(other - i));
    const [x, y] = at(other);
    found.setAttribute("x", x);
    found.setAttribute("y", y > TALL / 2 ? y - 16 : y + 30);
    found.setAttribute("text-anchor", x < 30 ? "start" : x > WIDE - 30 ? "end" : "middle");
    apart.textContent = `${Math.abs(other - i)}`;
    const round = (2 * Math.PI) / speeds.at(-1);
    period.dataset.n = round;
    period.textContent = count(say.positions, round, { n: round >= 1000 ? whole(round) : number(round, 1) });
  });
  return subscriptions.end;
}

export default { render };
