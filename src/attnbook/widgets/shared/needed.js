// Files that wait until they are needed.

import { asset } from "./core.js";

/** @import { Model } from "./core.js" */

/**
 * An asset that is large, and fetched once, when it is first needed; until it is there the widget says so.
 * Where it failed, the next who needs it tries again.
 * @template T
 * @param {Model} model
 * @param {string} name  of the trait
 * @param {(bytes: ArrayBuffer) => T} read
 * @returns {(root: Element, status?: Element, text?: string) => Promise<T>}
 */
export function whenNeeded(model, name, read) {
  let found = null;
  return async (root, status, text) => {
    if (found) return found;
    root.setAttribute("aria-busy", "true");
    if (status) status.textContent = text;
    try {
      const bytes = await asset(model, name);
      return (found ??= read(bytes));
    } finally {
      if (status) status.textContent = "";
      root.removeAttribute("aria-busy");
    }
  };
}
