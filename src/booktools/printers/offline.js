// The book without a network, as a service worker. While the host answers, nothing comes from here, so no page is stale.
// What is kept is of one build: each file is compared with its digest, and a page comes last, after all that it needs.

/** @type {{ version: string, say: object, files: Record<string, [string, number]>, pages: Record<string, number[]> }} */
const { version, say, files, pages } = self.BOOK;
const home = new URL("./", location.href).href;
const [ours, now] = [`book ${home} `, `book ${home} ${version}`];
const names = Object.keys(files);
const address = (name) => new URL(name, home).href;
const nameOf = (url) => url.slice(home.length).replace(/[?#].*/s, "") || "index.html";
const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function fetched(name) {
  const response = await fetch(address(name), { cache: "no-cache" });
  const content = await response.arrayBuffer();
  const digest = hex(await crypto.subtle.digest("SHA-256", content)).slice(0, files[name][0].length);
  if (!response.ok || digest !== files[name][0]) throw new Error(`${name} is not of this build`);
  return new Response(content, { headers: { "content-type": response.headers.get("content-type"), digest } });
}

async function bring(cache, name) {
  if (!(await cache.match(address(name)))) await cache.put(address(name), await fetched(name));
}

async function keep(page) {
  const cache = await caches.open(now);
  const needed = pages[page].map((place) => names[place]);
  while (needed.length) await Promise.all(needed.splice(0, 6).map((name) => bring(cache, name)));
  await bring(cache, page);
}

async function kept() {
  const cache = await caches.open(now);
  const there = (await cache.keys()).map(({ url }) => nameOf(url));
  return there.filter((name) => Object.hasOwn(pages, name));
}

// A new build takes over when all pages that were kept are here in it; until then the one before stays as it is.
async function renew() {
  const cache = await caches.open(now);
  const read = new Set(["index.html"]);
  for (const earlier of (await caches.keys()).filter((name) => name.startsWith(ours) && name !== now)) {
    const old = await caches.open(earlier);
    for (const { url } of await old.keys()) {
      const [name, response] = [nameOf(url), await old.match(url)];
      if (response.headers.get("digest") === files[name]?.[0] && !pages[name]) await cache.put(url, response);
      if (pages[name]) read.add(name);
    }
  }
  for (const page of read) await keep(page);
  self.skipWaiting();
}

async function takeOver() {
  const others = (await caches.keys()).filter((name) => name.startsWith(ours) && name !== now);
  await Promise.all(others.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function fromKept(request) {
  const cache = await caches.open(now);
  const found = await cache.match(address(nameOf(request.url)));
  if (found || request.mode !== "navigate") return found ?? Response.error();
  const there = (await kept()).sort();
  const list = there.map((page) => `<li><a href="${address(page)}">${say.titles[page]}</a>`).join("");
  const page = `<!DOCTYPE html><meta name="viewport" content="width=device-width"><title>${say.title}</title>
    <meta name="color-scheme" content="light dark"><body style="font: 1.1rem/1.6 serif; max-width: 32rem; margin: 3rem auto; padding: 0 1rem">
    <h1>${say.title}</h1><p>${say.text}</p><ul>${list}</ul>`;
  return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
}

async function keepAll(tell) {
  const all = Object.keys(pages);
  for (const [done, page] of all.entries()) {
    tell({ done, of: all.length });
    await keep(page);
  }
  tell({ done: all.length, of: all.length });
}

self.addEventListener("install", (event) => event.waitUntil(renew()));
self.addEventListener("activate", (event) => event.waitUntil(takeOver()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && request.url.startsWith(home))
    event.respondWith(fetch(request).catch(() => fromKept(request)));
});
self.addEventListener("message", (event) => {
  const [{ ask }, [port], page] = [event.data, event.ports, nameOf(event.source.url)];
  const answers = {
    page: async () => pages[page] && (await keep(page)),
    book: () => keepAll((step) => port.postMessage(step)),
    size: async () => {
      const bytes = names.reduce((sum, name) => sum + files[name][1], 0);
      port.postMessage({ bytes, whole: (await kept()).length === Object.keys(pages).length });
    },
  };
  event.waitUntil(answers[ask]().catch(({ name }) => port?.postMessage({ failed: name })));
});
