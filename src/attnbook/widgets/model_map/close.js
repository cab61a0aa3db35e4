// What one sees from nearer: a block, a head for one token, the product of its query and a key. All from one token.

import { button, dot, element, fill, heading, number, verbatim, whole } from "../shared/core.js";
import { spoken } from "../shared/spoken.js";
import { mostSeen } from "./seen.js";
import { signed } from "./stage.js";

/** @import { Shown } from "./stage.js" */
/** @typedef {{ query: ArrayLike<number>[], key: ArrayLike<number>[], value: ArrayLike<number>[] }} Vectors  of a block */

const K = 64;

const DOORS = { block: ["block"], head: ["projections", "scores", "softmax"], product: ["scores"] };

/**
 * @param {Object<string, any>} say  words for this, which arrive with it
 * @param {(part: string) => Element | string} door  to the chapter of a part
 * @param {(changes: object) => void} go  on to other traits
 * @returns {(zoom: string, shown: Shown, key: number, vectors: (block: number) => Promise<Vectors>) =>
 *   Promise<(Element | string)[]>}
 */
export function close(say, door, go) {
  const draw = async (zoom, shown, key, vectors) => {
    if (zoom === "block") return ofBlock(say, shown, (head) => go({ head, zoom: "head" }));
    const own = await vectors(Math.floor(shown.chosen / shown.heads));
    if (zoom === "head") return ofHead(say, shown, own, (j) => go({ key: j, zoom: "product" }));
    return ofProduct(say, shown, own, Math.min(key, shown.token));
  };
  return async (zoom, shown, key, vectors) => {
    // Vectors are stored as they are with all heads on; in the blocks after one that is off they would be others.
    const block = Math.floor(shown.chosen / shown.heads);
    const stale = zoom !== "block" && shown.isStored && shown.off.some((n) => Math.floor(n / shown.heads) < block);
    // A head that alone is off would do what it does with all on.
    const isOff = zoom !== "block" && shown.off.includes(shown.chosen);
    const asOn = stale || (isOff && shown.off.length === 1);
    const content = await draw(zoom, asOn ? { ...shown, picture: shown.whole } : shown, key, vectors);
    if (isOff || stale) content.unshift(element("p", { class: "ab-hint" }, isOff ? say.silent : say.stored));
    return [...content, element("p", {}, ...DOORS[zoom].map(door))];
  };
}

/**
 * The heads and the network of a block, each with its push.
 * @param {Object<string, any>} say
 * @param {Shown} shown
 * @param {(head: number) => void} enter
 * @returns {(Element | string)[]}
 */
function ofBlock(say, { picture, tokens, heads, off, chosen, token }, enter) {
  const first = chosen - (chosen % heads);
  const cards = Array.from({ length: heads }, (_, h) => {
    const most = mostSeen(picture, first + h, token);
    const card = button(fill(say.nth, { head: whole(h) }), () => enter(h));
    card.classList.toggle("ab-off", off.includes(first + h));
    card.prepend(map(tokens.length, (i, j) => picture.weight(first + h, i, j)));
    card.append(
      verbatim(`${spoken(tokens[most])} ${number(picture.weight(first + h, token, most))}`),
      element("b", {}, signed(picture.push(first + h, token))),
    );
    return card;
  });
  const on = [...cards.keys()].filter((h) => !off.includes(first + h));
  const brought = on.reduce((sum, h) => sum + picture.push(first + h, token), 0);
  const network = picture.network(first / heads, token);
  const sums = { sum: brought, network, both: brought + network };
  const last = Object.entries(sums).map(([name, push]) =>
    element("li", {}, `${say[name]} `, element("b", {}, signed(push))),
  );
  return [
    element("p", {}, fill(say.adds, { word: spoken(picture.final(token)) })),
    element("div", { class: "ab-cards" }, ...cards),
    element("ul", {}, ...last),
  ];
}

/**
 * All that a head does for a token: query times keys, softmax, values; and how far each look pushes.
 * @param {Object<string, any>} say
 * @param {Shown} shown
 * @param {Vectors} vectors
 * @param {(j: number) => void} enter  the product with a key
 * @returns {(Element | string)[]}
 */
function ofHead(say, { picture, tokens, heads, chosen, token }, vectors, enter) {
  const { query, key, value } = parts(vectors, chosen % heads, heads, token);
  const weights = key.map((_, j) => picture.weight(chosen, token, j));
  const most = mostSeen(picture, chosen, token);
  const rows = weights.map((weight, j) => {
    const name = verbatim(spoken(tokens[j]));
    const cells = [
      strip(key[j], "key"),
      number(dot(query, key[j]) / Math.sqrt(K)),
      element("span", { class: "ab-share", style: `--w: ${weight}` }, number(weight)),
      strip(value[j], "value", weight),
      signed(picture.look(chosen, token, j)),
    ];
    const press = button(name, () => enter(j));
    const row = element(
      "tr",
      {},
      element("th", { scope: "row" }, press),
      ...cells.map((cell) => element("td", {}, cell)),
    );
    row.classList.toggle("ab-most", j === most);
    return row;
  });
  const taken = query.map((_, i) => value.reduce((sum, v, j) => sum + weights[j] * v[i], 0));
  const word = spoken(picture.final(token));
  const gaps = { asks: spoken(tokens[token]), best: spoken(tokens[most]), share: number(weights[most]), word };
  const push = signed(picture.look(chosen, token, most));
  const sums = ["", "", "", number(1), strip(taken, "value"), signed(picture.push(chosen, token))];
  return [
    tile(say, tokens, token, (i, j) => picture.weight(chosen, i, j)),
    element("p", {}, fill(say.best, { ...gaps, push })),
    element("p", { class: "ab-query" }, fill(say.query, { word: spoken(tokens[token]) }), strip(query, "query")),
    table(
      [say.looked, say.key, say.score, say.weight, say.value, fill(say.pushes, { word })],
      [...rows, element("tr", {}, ...sums.map((sum) => element("td", {}, sum)))],
    ),
  ];
}

/**
 * A query times a key, number by number.
 * @param {Object<string, any>} say
 * @param {Shown} shown
 * @param {Vectors} vectors
 * @param {number} j  the key's token
 * @returns {(Element | string)[]}
 */
function ofProduct(say, { tokens, heads, chosen, token }, vectors, j) {
  const { query, key } = parts(vectors, chosen % heads, heads, token);
  const products = query.map((x, i) => x * key[j][i]);
  const top = Math.max(...products.map(Math.abs));
  const sum = products.reduce((all, x) => all + x, 0);
  const gaps = { asks: spoken(tokens[token]), word: spoken(tokens[j]), sum: number(sum, 1) };
  const score = number(sum / Math.sqrt(K));
  return [
    element("p", {}, fill(say.product, { ...gaps, n: whole(K), root: whole(Math.sqrt(K)), score })),
    element(
      "ol",
      { class: "ab-products", translate: "no" },
      ...products.map((x, i) =>
        element(
          "li",
          { class: "ab-signed", style: `--s: ${x / top}` },
          `${number(query[i])} · ${number(key[j][i])}`,
          element("b", {}, number(x)),
        ),
      ),
    ),
  ];
}

// A head's vectors: neighbouring heads share keys and values.
function parts({ query, key, value }, head, heads, token) {
  const of = (x, n) => [...x.subarray(n * K, (n + 1) * K)];
  const there = Math.floor((head * key[0].length) / K / heads);
  const seen = (rows) => [...rows].slice(0, token + 1).map((x) => of(x, there));
  return { query: of(query[token], head), key: seen(key), value: seen(value) };
}

const table = (names, rows) => element("table", {}, heading(names), element("tbody", {}, ...rows));

// A map: how opaque a point is says the root of its weight.
function map(n, weight) {
  const canvas = element("canvas", { "aria-hidden": "true", width: n, height: n });
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(n, n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) image.data.set([255, 214, 107, 16 + 239 * Math.sqrt(weight(i, j))], 4 * (i * n + j));
  pen.putImageData(image, 0, 0);
  return canvas;
}

// The same with words on its rows and columns; the row that looks is framed.
function tile(say, tokens, token, weight) {
  const names = (kind) =>
    element(
      "ol",
      { class: kind },
      ...tokens.map((name, i) => element("li", i === token ? { class: "ab-asks" } : {}, verbatim(spoken(name)))),
    );
  const row = element("i", { style: `--i: ${token}` });
  return element(
    "div",
    { class: "ab-tile", style: `--n: ${tokens.length}` },
    element("small", {}, say.tile),
    names("ab-columns"),
    names("ab-rows"),
    element("div", { class: "ab-big" }, map(tokens.length, weight), row),
  );
}

// Numbers as points of a vector's colour: how far from zero is how opaque; below zero they are hollow.
function strip(numbers, kind, light = 1) {
  const canvas = element("canvas", { class: `ab-strip attn-${kind}`, "aria-hidden": "true" });
  [canvas.width, canvas.height] = [numbers.length, 1];
  const pen = canvas.getContext("2d");
  const top = Math.max(...numbers.map(Math.abs));
  const image = pen.createImageData(numbers.length, 1);
  numbers.forEach((x, i) =>
    image.data.set([...COLOURS[x < 0 ? "below" : kind], 255 * Math.sqrt((Math.abs(x) / top) * light)], 4 * i),
  );
  pen.putImageData(image, 0, 0);
  return canvas;
}
const COLOURS = { query: [120, 180, 255], key: [255, 143, 184], value: [212, 200, 74], below: [120, 112, 150] };
