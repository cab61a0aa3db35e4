// What answers a further question: it is out of sight until somebody asks.

import { element } from "./core.js";

/**
 * @param {string} question
 * @param {...(Element | string)} parts
 * @returns {Element}
 */
export const folded = (question, ...parts) =>
  element("details", { class: "ab-more" }, element("summary", {}, question), ...parts);
