/**
 * @param {string} token  as people read it
 * @returns {string} without the sign for its blank
 */
export const spoken = (token) => token.replace(/^·(?=.)/, "");
