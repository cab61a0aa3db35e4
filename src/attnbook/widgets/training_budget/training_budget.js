import { body, element, fill, follower, heading, number, whole, words } from "../shared/core.js";
import { slider } from "../shared/slider.js";

const BILLION = 1e9;
const BUDGETS = [16, 32, 64, 125, 250, 500, 1000, 2000, 5000];
// Parameters, operations of a step, and the bits per character after so many steps: data/seeds.json, sizes.
const MODELS = [
  [12416, 76283904, { 200: 3.214, 400: 3.051, 800: 2.947, 1600: 2.88, 3200: 2.827 }],
  [86400, 530841600, { 200: 3.064, 400: 2.864, 800: 2.69, 1600: 2.561 }],
  [500736, 3076521984, { 200: 2.984, 400: 2.788, 1600: 2.47 }],
];
const [LEAST, MOST] = [3.3, 2.4]; // bits at the top and the bottom of the picture
const [WIDE, HIGH, MARGIN, HEAD, FOOT] = [400, 190, 34, 22, 45];

// Where so many operations and bits lie in the picture.
const across = (operations) => (WIDE * Math.log2(operations / BILLION / 12)) / Math.log2(6000 / 12);
const down = (bits) => (HIGH * (LEAST - bits)) / (LEAST - MOST);

function render({ model, el }) {
  const say = words(model);
  const subscriptions = follower(model);
  const text = (x, y, content, anchor) => element("text", { x, y, "text-anchor": anchor, translate: "no" }, content);

  const models = MODELS.map(([parameters, each, bits], i) => {
    const runs = Object.entries(bits).map(([steps, reached]) => {
      const operations = steps * each;
      return { steps, bits: reached, operations, dot: element("circle", { cx: across(operations), r: 5 }) };
    });
    const cells = ["ab-number ab-steps", "ab-number ab-bits", "ab-mark"].map((kind) => element("td", { class: kind }));
    const row = element("tr", { class: `ab-model-${i}` }, element("th", { scope: "row" }, whole(parameters)), ...cells);
    const line = element("path");
    const curve = element("g", { class: `ab-model-${i}` }, line, ...runs.map(({ dot }) => dot));
    return { runs, cells, row, line, curve };
  });
  const [edge, beyond] = [element("line", { class: "ab-edge", y2: HIGH }), element("rect", { height: HIGH })];
  const ticks = [16, 125, 1000, 5000].map((n) => text(across(n * BILLION), HIGH + 21, whole(n), "middle"));
  const rules = [3.2, 3, 2.8, 2.6].flatMap((bits) => [
    element("line", { x2: WIDE, y1: down(bits), y2: down(bits) }),
    text(-6, down(bits) + 4, number(bits, 1), "end"),
  ]);
  const picture = element(
    "svg",
    {
      class: "ab-pin",
      viewBox: `${-MARGIN} ${-HEAD} ${WIDE + MARGIN + 12} ${HEAD + HIGH + FOOT}`,
      role: "img",
      "aria-label": say.picture,
    },
    beyond,
    ...rules,
    ...ticks,
    element("text", { x: -MARGIN, y: -6 }, say.up),
    element("text", { x: WIDE, y: HIGH + 40, "text-anchor": "end" }, say.across),
    edge,
    ...models.map(({ curve }) => curve),
  );
  const heads = heading([say.parameters, say.steps, say.bits, ""]);
  const rows = element("tbody", {}, ...models.map(({ row }) => row));
  body(
    el,
    "training-budget",
    picture,
    element(
      "div",
      { class: "ab-beside" },
      slider(model, subscriptions, {
        trait: "billions",
        label: say.budget,
        values: BUDGETS,
        show: (n) => fill(say.billions, { n: whole(n) }),
      }),
      element(
        "div",
        { role: "status" },
        element("p", { class: "ab-hint" }, say.longest),
        element("table", {}, heads, rows),
      ),
      element("p", { class: "ab-hint" }, say.waiting),
    ),
  );

  subscriptions.follow(["billions"], () => {
    const budget = model.get("billions") * BILLION;
    const bought = models.map(({ runs }) => runs.filter(({ operations }) => operations <= budget));
    const best = bought.flat().toSorted((a, b) => a.bits - b.bits)[0];
    const x = across(budget);
    for (const end of ["x1", "x2"]) edge.setAttribute(end, x);
    beyond.setAttribute("x", x);
    beyond.setAttribute("width", WIDE + 12 - x);
    models.forEach(({ runs, cells, row, line }, i) => {
      const [steps, bits, mark] = cells;
      const longest = bought[i].at(-1);
      const points = bought[i].map(({ operations, bits }) => `${across(operations)} ${down(bits)}`);
      line.setAttribute("d", points.length ? `M${points.join("L")}` : "");
      for (const run of runs) {
        const isBought = bought[i].includes(run);
        run.dot.setAttribute("cy", isBought ? down(run.bits) : HIGH); // what it would reach is still open
        run.dot.classList.toggle("ab-beyond", !isBought);
        run.dot.classList.toggle("ab-best", run === best);
      }
      steps.textContent = longest ? whole(longest.steps) : say.none;
      bits.textContent = longest ? number(longest.bits) : "";
      mark.textContent = longest === best ? say.best : "";
      row.classList.toggle("ab-best", longest === best);
    });
  });
  return subscriptions.end;
}

export default { render };
