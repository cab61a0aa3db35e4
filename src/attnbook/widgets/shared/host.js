// Makes the widgets of a page live: a host for the anywidget module format, with no kernel behind it.
// The state lies in the page, and stays there.

class Model {
  #state;
  #listeners = new Map();
  constructor(state) {
    this.#state = state;
  }
  get(name) {
    return this.#state[name];
  }
  set(name, value) {
    if (JSON.stringify(this.#state[name]) === JSON.stringify(value)) return;
    this.#state[name] = value;
    for (const listener of Array.from(this.#listeners.get(`change:${name}`) ?? [])) listener();
  }
  save_changes() {}
  on(event, listener) {
    if (!this.#listeners.has(event)) this.#listeners.set(event, new Set());
    this.#listeners.get(event).add(listener);
  }
  off(event, listener) {
    this.#listeners.get(event)?.delete(listener);
  }
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
}

const begun = new WeakSet();

/**
 * Makes all widgets live; where one does not start, its table stays.
 * @param {ParentNode} [page]
 * @returns {Promise<void[]>}
 */
export function mountAll(page = document) {
  const waiting = [...page.querySelectorAll("[data-afm]:not([data-mounted])")].filter((node) => !begun.has(node));
  return Promise.all(
    waiting.map(async (node) => {
      begun.add(node);
      try {
        await mount(node, await import(new URL(`../${node.dataset.afm}/${node.dataset.afm}.js`, import.meta.url)));
      } catch (error) {
        console.error(`The widget ${node.dataset.afm} did not start; its table is shown instead.`, error);
      }
    }),
  );
}

mountAll();

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
