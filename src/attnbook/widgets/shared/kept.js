// What a browser keeps of a published model for the next visit. `folder` is the address of its parts, which ends in its hash.

const KEPT = "attention-model-";

/**
 * @param {string} folder
 * @returns {string} the name of the cache
 */
export const cacheOf = (folder) => KEPT + folder.split("/").at(-2);

/**
 * @param {string} folder
 * @returns {Promise<boolean>} whether the whole file is kept
 */
export async function isKept(folder) {
  const list = globalThis.caches?.match(`${folder}parts.json`, { cacheName: cacheOf(folder) });
  return Boolean(await list?.catch(() => null));
}

/**
 * Throws away what is kept of the file, and of others that were in its place.
 * @param {string} folder
 * @param {boolean} [others]  only of these
 */
export async function forget(folder, others = false) {
  if (!globalThis.caches) return;
  for (const name of await caches.keys())
    if (name.startsWith(KEPT) && !(others && name === cacheOf(folder))) await caches.delete(name);
}
