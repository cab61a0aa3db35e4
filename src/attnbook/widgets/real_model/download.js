// The model's file, fetched from the site in parts. Each is checked, then kept by the browser for the next visit.

/** A reason why the model can't run here, as one of the words for it. */
export class Trouble extends Error {}

const KEPT = "attention-model-";
const kept = (folder) => KEPT + folder.split("/").at(-2);

/** @typedef {{ name: string, size: number, sha256: string }} Part */

/**
 * @param {string} folder  whose last part is the hash of the file
 * @returns {Promise<boolean>} whether all of the file is kept here
 */
export async function isKept(folder) {
  const found = globalThis.caches && (await caches.match(`${folder}parts.json`, { cacheName: kept(folder) }));
  return Boolean(found);
}

/**
 * Throws away what is kept of the file, and of others that were in its place.
 * @param {string} folder
 * @param {boolean} [others]  only of these
 */
export async function forget(folder, others = false) {
  if (!globalThis.caches) return;
  for (const name of await caches.keys())
    if (name.startsWith(KEPT) && !(others && name === kept(folder))) await caches.delete(name);
}

/**
 * @param {string} folder
 * @returns {Promise<Response>} the list of parts
 */
async function parts(folder) {
  const url = `${folder}parts.json`;
  return (await isKept(folder)) ? caches.match(url) : answered(url);
}

/**
 * Fetches the parts that have not arrived yet.
 * @param {string} folder
 * @param {object} options
 * @param {(size: number) => Uint8Array} options.place  room for so many bytes
 * @param {Set<string>} options.arrived  names of parts; grows
 * @param {(news: { done: number, size: number } | { full: true }) => void} options.tell
 * @param {() => Promise<void>} options.pause  is waited for between pieces
 */
export async function download(folder, { place, arrived, tell, pause }) {
  await forget(folder, true);
  const list = await parts(folder);
  const about = await list.clone().json();
  const bytes = place(about.size);
  const store = await globalThis.caches?.open(kept(folder)).catch(() => null);
  let [start, room] = [0, Boolean(store)];
  const keep = async (url, content) => {
    await store.put(url, content).catch(() => (room = false));
  };
  for (const { name, size, sha256 } of about.parts) {
    const into = bytes.subarray(start, (start += size));
    const told = (done) => tell({ done: start - size + done, size: about.size });
    if (arrived.has(name)) continue;
    const url = folder + name;
    const before = await store?.match(url);
    const good = before && (await filled(before, into, sha256, told, pause).catch(() => false));
    if (!good) {
      await store?.delete(url);
      if (!(await filled(await answered(url), into, sha256, told, pause))) throw new Trouble("damaged");
      if (room) await keep(url, new Response(into.slice()));
    }
    arrived.add(name);
  }
  if (room) await keep(`${folder}parts.json`, list);
  if (!room) tell({ full: true });
}

async function answered(url) {
  const answer = await fetch(url).catch(() => {
    throw new Trouble("offline");
  });
  if (!answer.ok) throw new Trouble("missing");
  return answer;
}

// Whether an answer is what it should be, once it is where it belongs.
async function filled(answer, into, sha256, told, pause) {
  const reader = answer.body.getReader();
  let done = 0;
  for (;;) {
    await pause();
    const piece = await reader.read().catch(() => {
      throw new Trouble("offline");
    });
    if (piece.done) break;
    if (done + piece.value.length > into.length) return false;
    into.set(piece.value, done);
    told((done += piece.value.length));
  }
  return done === into.length && (await hash(into)) === sha256;
}

// Where a page is not from a safe address, browsers neither hash nor keep anything.
async function hash(bytes) {
  if (!globalThis.crypto?.subtle) throw new Trouble("insecure");
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
