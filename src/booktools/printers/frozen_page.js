// A page of the site as a part of a book: what is live stands still, and no name in it is another part's.

/** Until every widget is there, as it is when nobody has touched it. */
export async function settle() {
  dispatchEvent(new Event("beforeprint")); // all of them start
  const going = () => document.querySelector("article [data-afm]:not([data-mounted], [data-failed])");
  while (going()) await new Promise((done) => setTimeout(done, 50));
  await document.fonts.ready;
  await Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {})));
}

/**
 * @param {{ part: string, parts: Object<string, string>, site: string }} given  what this part is called, all parts by
 *   the addresses of their pages here, and where the published site is
 * @returns {{ title: string, html: string, styles: string[] }}
 */
export function gather({ part, parts, site }) {
  const article = document.querySelector("article.bd-article");
  const own = (id, of = part) => `${of}--${id}`;

  for (const details of article.querySelectorAll("details")) details.open = true;

  for (const canvas of article.querySelectorAll("canvas")) {
    const image = new Image(canvas.width, canvas.height);
    image.src = canvas.toDataURL();
    image.alt = canvas.getAttribute("aria-label") ?? "";
    image.className = canvas.className;
    image.style.cssText = `width: ${canvas.clientWidth}px; height: ${canvas.clientHeight}px`;
    canvas.replaceWith(image);
  }
  for (const touch of article.querySelectorAll(".touch")) {
    const live = document.createElement("a");
    live.className = "live";
    live.href = new URL(`#${touch.id}`, location.href);
    touch.querySelector("header")?.append(live);
  }
  const exercises = [...article.querySelectorAll(".exercise")];
  for (const solution of article.querySelectorAll("details.solution")) {
    const { id } = exercises.findLast(
      (exercise) => exercise.compareDocumentPosition(solution) & Node.DOCUMENT_POSITION_FOLLOWING,
    );
    solution.dataset.exercise = own(id);
  }
  for (const gone of article.querySelectorAll(
    "script, template, .headerlink, .copybtn, label.done, .run-row, .ran, .ending, .go-on, .been",
  )) {
    gone.remove();
  }

  const home = new URL(document.documentElement.dataset.content_root, location.href).href;
  for (const link of article.querySelectorAll("a[href]")) {
    const to = new URL(link.getAttribute("href"), location.href);
    const [page, id] = [to.href.split("#")[0], decodeURIComponent(to.hash.slice(1))];
    const inside = page in parts && !link.classList.contains("live");
    const where = inside ? `#${id ? own(id, parts[page]) : parts[page]}` : to.href.replace(home, site);
    link.setAttribute("href", where);
  }
  for (const image of article.querySelectorAll("img[src]"))
    image.src = new URL(image.getAttribute("src"), location.href);

  const lists = ["aria-labelledby", "aria-describedby", "aria-controls", "for", "headers"];
  for (const node of article.querySelectorAll("*")) {
    if (node.id) node.id = own(node.id);
    for (const { name, value } of node.attributes) {
      if (lists.includes(name))
        node.setAttribute(
          name,
          value
            .split(" ")
            .map((id) => own(id))
            .join(" "),
        );
      else if (value.includes("url(#")) node.setAttribute(name, value.replaceAll("url(#", `url(#${own("")}`));
      else if (/^(xlink:)?href$/.test(name) && node.localName === "use")
        node.setAttribute(name, value.replace("#", `#${own("")}`));
    }
  }
  const title = article.querySelector("h1").textContent.trim();
  const styles = [...document.querySelectorAll('link[rel="stylesheet"]')].filter((link) => !link.closest("noscript"));
  return { title, html: article.innerHTML, styles: styles.map((link) => link.href) };
}
