/**
 * The places of each patch of 2 × 2 in an image that is so wide and 8 high.
 * @param {number} width
 * @returns {number[][]}
 */
export const patchesOf = (width) =>
  Array.from({ length: 2 * width }, (_, p) => {
    const corner = 2 * width * Math.floor((2 * p) / width) + ((2 * p) % width);
    return [corner, corner + 1, corner + width, corner + width + 1];
  });
