// Makes the widgets of a page live: a host for the anywidget module format, with no kernel behind it.
// The state lies in the page, and stays there.

class Model {
  #first;
  #state;
  #events = new Map(); // of each listener, in the order in which they came: a later one may need what an earlier did
  constructor(first) {
    this.#first = first;
    this.#state = { ...first };
  }
  get(name) {
    return this.#state[name];
  }
  set(name, value) {
    this.#take({ [name]: value });
  }
  /**
   * @param {string} name
   * @returns {any} what it was at first
   */
  first(name) {
    return this.#first[name];
  }
  save_changes() {}
  on(event, listener) {
    if (!this.#events.has(listener)) this.#events.set(listener, new Set());
    this.#events.get(listener).add(event);
  }
  off(event, listener) {
    const events = this.#events.get(listener);
    events?.delete(event);
    if (!events?.size) this.#events.delete(listener);
  }
  /** @returns {Object<string, any>} what is no longer as it was at first */
  changes() {
    return Object.fromEntries(Object.entries(this.#state).filter(([name, value]) => !same(value, this.#first[name])));
  }
  /** @param {Object<string, any>} changes  from how it was at first; a value of another kind is not taken, nor a file */
  become(changes = {}) {
    const fits = ([name, value]) => Object.hasOwn(this.#first, name) && alike(value, this.#first[name]);
    this.#take({ ...this.#first, ...Object.fromEntries(Object.entries(changes).filter(fits)) });
  }
  #take(values) {
    const changed = Object.keys(values).filter((name) => !same(values[name], this.#state[name]));
    Object.assign(this.#state, values);
    const happened = changed.length ? [...changed.map((name) => `change:${name}`), "change"] : [];
    const told = [...this.#events].filter(([, events]) => happened.some((event) => events.has(event)));
    for (const [listener] of told) listener();
  }
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const kind = (value) => (Array.isArray(value) ? "array" : typeof value);
const isFile = (value) => /\.\w{8}\.bin$/.test(value);

function alike(value, first) {
  const items = kind(value) === "array" && kind(first) === "array" && value.length && first.length;
  return kind(value) === kind(first) && !isFile(first) && (!items || value.every((item) => alike(item, first[0])));
}

/**
 * Makes one widget live in place of its table.
 * @param {HTMLElement} node
 * @param {{ default: { render(place: { model: Model, el: HTMLElement }): void } }} module  the widget's own
 * @returns {Promise<void>}
 */
export async function mount(node, { default: widget }) {
  const told = (script) => JSON.parse(script.textContent);
  const state = told(node.querySelector('script[type="application/json"]'));
  const model = new Model({ ...state, _words: told(document.querySelector(`[data-words="${node.dataset.afm}"]`)) });
  const el = document.createElement("div");
  node.append(el); // first, so that the widget sees the language it stands in
  try {
    await widget.render({ model, el });
  } catch (error) {
    el.remove();
    throw error;
  }
  node.querySelector(".ab-fallback").remove();
  node.dataset.mounted = "";
  node.model = model; // for the words and the frame around it
  node.dispatchEvent(new CustomEvent("ab-live", { bubbles: true }));
}

const styles = new Map();

// The style of a kind of widget comes with its first.
function styled(kind) {
  if (!styles.has(kind)) {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = own(kind, "css");
    styles.set(
      kind,
      new Promise((done) => {
        for (const end of ["load", "error"]) link.addEventListener(end, done);
      }),
    );
    document.head.append(link);
  }
  return styles.get(kind);
}

const own = (kind, ending) => new URL(`../${kind}/${kind}.${ending}`, import.meta.url);

async function start(node) {
  const kind = node.dataset.afm;
  try {
    const [module] = await Promise.all([import(own(kind, "js")), styled(kind)]);
    await mount(node, module);
  } catch (error) {
    node.dataset.failed = "";
    console.error(`The widget ${kind} did not start; its table is shown instead.`, error);
  }
}

// The first starts at once, the others when they come near the window, or when the page goes to a printer.
const waiting = new Set(document.querySelectorAll("[data-afm]:not([data-mounted])"));
const startAll = (nodes) => {
  for (const node of nodes) {
    near.unobserve(node);
    if (waiting.delete(node)) start(node);
  }
};
const near = new IntersectionObserver(
  (entries) => startAll(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target)),
  { rootMargin: "100%" },
);
startAll([...waiting].slice(0, 1));
for (const node of waiting) near.observe(node);
addEventListener("beforeprint", () => startAll([...waiting]));

// A finger that swipes over a slider scrolls the page: the browser takes the touch away, and the slider goes back.
let [held, before] = [];
document.addEventListener("pointerdown", ({ target }) => {
  held = target.type === "range" ? target : undefined;
  before = held?.value;
});
document.addEventListener("pointercancel", () => {
  if (!held) return;
  held.value = before;
  held.dispatchEvent(new Event("input"));
});
