// What the widgets share: elements, controls bound to a model, a grid for keyboard and touch, numbers, assets.
// A widget is drawn from its model alone. A control writes to the model; whoever shows something follows it.

/** @typedef {Element | string} Content  what an element may hold */

/**
 * A widget's traits, as anywidget gives them.
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, listener: () => void) => void} on
 * @property {(event: string, listener: () => void) => void} off
 */

/**
 * What follows a model, until its end.
 * @typedef {object} Subscriptions
 * @property {(names: string[], draw: () => void) => void} follow  call `draw` now and at every change of these traits
 * @property {() => void} end
 */

// ---- elements ----

/**
 * An element of HTML, or of SVG where it is one of SVG's.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...Content} children
 * @returns {Element}
 */
export function element(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "circle", "path", "line", "text"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/**
 * The widget's outermost element. JupyterLab listens for keys on the whole page; inside a widget they are ours.
 * @param {HTMLElement} el  where anywidget wants the widget
 * @param {string} name  of the widget's room
 * @param {...Content} children
 * @returns {Element}
 */
export function body(el, name, ...children) {
  const attributes = {
    class: `ab-body ab-stage ab-${name}`,
    lang: written.language,
    "data-lm-suppress-shortcuts": "true",
  };
  const root = element("div", attributes, ...children);
  root.addEventListener("keydown", (event) => event.stopPropagation());
  el.classList.add("ab-widget");
  el.append(root);
  return root;
}

// ---- words ----

// How the edition writes numbers and lists: one way for a whole page, and for the module of a widget in a notebook.
let written = { language: "en", number: { decimal: ".", group: ",", minus: "−" }, list: ", " };

/**
 * The widget's texts by their ids, in the language of its edition (en.json in its room, and in shared).
 * @param {Model} model
 * @returns {Object<string, any>}
 */
export function words(model) {
  written = model.get("_words");
  return written;
}

/**
 * A text with what belongs in its gaps: fill("{n} of {all}", { n: 1, all: 3 }).
 * @param {string} text
 * @param {Object<string, string | number>} gaps
 * @returns {string}
 */
export const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);

/**
 * The same where elements fill the gaps.
 * @param {string} text
 * @param {Object<string, Content>} gaps
 * @returns {Content[]}
 */
export const fillNodes = (text, gaps) => text.split(/\{(\w+)\}/).map((part, i) => (i % 2 ? gaps[part] : part));

/**
 * The text for so many, from one for each plural form.
 * @param {Object<string, string>} forms  by the names that Intl.PluralRules gives them
 * @param {number} n
 * @param {Object<string, string>} [gaps]
 * @returns {string}
 */
export const count = (forms, n, gaps = {}) =>
  fill(forms[new Intl.PluralRules(written.language).select(n)] ?? forms.other, { n: whole(n), ...gaps });

/**
 * @param {string[]} texts
 * @returns {string}
 */
export const listed = (texts) => texts.join(written.list);

/**
 * What is data, a word that is asked about or a piece of code: the same in every language.
 * @param {string} text
 * @param {Object<string, any>} [attributes]
 * @returns {Element}
 */
export const verbatim = (text, attributes = {}) => element("span", { translate: "no", ...attributes }, text);

// ---- the model ----

/**
 * @param {Model} model
 * @param {Object<string, any>} changes  new values of traits
 */
export function update(model, changes) {
  for (const [name, value] of Object.entries(changes)) model.set(name, value);
  model.save_changes();
}

/**
 * @param {Model} model
 * @returns {Subscriptions}
 */
export function follower(model) {
  const ends = [];
  return {
    follow(names, draw) {
      for (const name of names) model.on(`change:${name}`, draw);
      ends.push(() => {
        for (const name of names) model.off(`change:${name}`, draw);
      });
      draw();
    },
    end() {
      for (const end of ends.splice(0)) end();
    },
  };
}

/**
 * The bytes of an Asset trait: a DataView where a kernel sent it, a file name on a page, themselves where a page is all.
 * @param {Model} model
 * @param {string} name  of the trait
 * @param {"first." | ""} [part]  only that with which a widget can start (booktools/make/first.py), if on a page; its head
 *   says `part`
 * @returns {Promise<ArrayBuffer>}
 */
export async function asset(model, name, part = "") {
  const value = model.get(name);
  if (typeof value !== "string") return value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
  if (value.startsWith("data:")) return (await fetch(value)).arrayBuffer();
  return files.get(part + value) ?? fetched(part + value);
}

// Of a page, by name: one that several widgets read is fetched once.
const files = new Map();

function fetched(name) {
  const bytes = fetch(new URL(`../${name}`, import.meta.url)).then((answer) => {
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer.arrayBuffer();
  });
  files.set(name, bytes);
  bytes.catch(() => files.delete(name));
  return bytes;
}

/**
 * Of a file of numbers the line of JSON at its head, and where the numbers begin.
 * @param {ArrayBuffer} bytes
 * @returns {Object<string, any> & { start: number }}
 */
export function headed(bytes) {
  const end = new Uint8Array(bytes).indexOf(10);
  return { ...JSON.parse(new TextDecoder().decode(bytes.slice(0, end))), start: end + 1 };
}

/**
 * The head of a table: a cell for each text, an empty one for no text.
 * @param {string[]} texts
 * @returns {Element}
 */
export function heading(texts) {
  return element(
    "thead",
    {},
    element("tr", {}, ...texts.map((text) => (text ? element("th", { scope: "col" }, text) : element("td")))),
  );
}

// ---- controls ----

/**
 * One of several, by radio buttons.
 * @param {Model} model
 * @param {Subscriptions} subscriptions
 * @param {object} options
 * @param {string} options.trait
 * @param {string} options.label
 * @param {Object<string, Content>} options.options  what stands beside each value
 * @param {Object<string, any>} [options.with]  what else a choice sets
 * @returns {Element}
 */
export function choice(model, subscriptions, { trait, label, options, with: more = {} }) {
  const group = `${trait}-${Math.random().toString(36).slice(2)}`;
  const inputs = Object.entries(options).map(([value, text]) => {
    const input = element("input", { type: "radio", name: group, value });
    // Keys of an object are texts.
    const given = () => (typeof model.get(trait) === "number" ? Number(value) : value);
    input.addEventListener("change", () => update(model, { [trait]: given(), ...more }));
    return [input, text];
  });
  subscriptions.follow([trait], () => {
    for (const [input] of inputs) input.checked = input.value === String(model.get(trait));
  });
  return element(
    "fieldset",
    { class: "ab-control" },
    element("legend", {}, label),
    element(
      "div",
      { class: "ab-choices" },
      ...inputs.map(([input, text]) => element("label", {}, input, element("span", {}, text))),
    ),
  );
}

/**
 * @param {Content} label
 * @param {() => void} press
 * @returns {Element}
 */
export function button(label, press) {
  const node = element("button", { type: "button", class: "ab-button" }, label);
  node.addEventListener("click", press);
  return node;
}

// ---- numbers ----

/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 * @returns {number}
 */
export const dot = (a, b) => {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += a[i] * b[i];
  return total;
};

/**
 * @param {ArrayLike<number>} a
 * @returns {number}
 */
export const length = (a) => Math.sqrt(dot(a, a));
/**
 * @template {number[] | Float32Array | Float64Array} T
 * @param {T} a
 * @param {ArrayLike<number>} b
 * @returns {T}
 */
export const plus = (a, b) => a.map((x, i) => x + b[i]);
/**
 * @param {ArrayLike<number>[]} matrix
 * @param {ArrayLike<number>} x
 * @returns {number[]}
 */
export const times = (matrix, x) => matrix.map((row) => dot(row, x));

/**
 * Softmax of the scores that are not -Infinity; all zeros where none is left.
 * @template {number[] | Float32Array | Float64Array} T
 * @param {T} scores
 * @returns {T}
 */
export const softmax = (scores) => softened(scores.slice());

/**
 * The same, in the place of the scores.
 * @template {number[] | Float32Array | Float64Array} T
 * @param {T} scores
 * @returns {T}
 */
export function softened(scores) {
  let [top, total] = [-Infinity, 0];
  for (let i = 0; i < scores.length; i++) top = Math.max(top, scores[i]);
  if (top === -Infinity) return scores.fill(0);
  for (let i = 0; i < scores.length; i++) total += scores[i] = Math.exp(scores[i] - top);
  for (let i = 0; i < scores.length; i++) scores[i] /= total;
  return scores;
}

/**
 * The largest size of any finite number, to draw the others against.
 * @param {number[]} numbers
 * @returns {number}
 */
export const largestOf = (numbers) => Math.max(...numbers.map(Math.abs).filter(Number.isFinite), 1e-9);

/**
 * A number with so many decimals, as the language writes it.
 * @param {number} x
 * @param {number} [digits]
 * @returns {string}
 */
export function number(x, digits = 2) {
  if (Math.abs(x) === Infinity) return `${x < 0 ? written.number.minus : ""}∞`;
  return marked(x.toFixed(digits).replace(/^-(?=[0.]*$)/, ""));
}

/**
 * An integer, its digits in groups of three.
 * @param {number} n
 * @returns {string}
 */
export const whole = (n) => marked(String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ","));

/**
 * A number as it is, with all its decimals.
 * @param {number} x
 * @returns {string}
 */
export const plain = (x) => marked(String(x));

// Digits as JavaScript writes them, with the marks of the language.
function marked(digits) {
  const { decimal, group, minus } = written.number;
  return digits.replace(/[.,-]/g, (mark) => ({ ".": decimal, ",": group, "-": minus })[mark]);
}
