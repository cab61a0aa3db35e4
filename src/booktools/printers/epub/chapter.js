/**
 * A part of the book as a reading system takes it: XHTML without scripts, formulas as MathML, widgets as pictures.
 * @param {{ part: string, html: string, pictures: string[], say: { live: string, solutions: string } }} given
 * @returns {{ body: string, images: string[], math: boolean, svg: boolean }}
 */
export function chapter({ part, html, pictures, say }) {
  const { body } = new DOMParser().parseFromString(html, "text/html");

  for (const touch of body.querySelectorAll(".touch")) {
    const widget = touch.querySelector("[data-afm]");
    const id = touch.id.replace(`${part}--`, "");
    const image = document.createElement("img");
    image.src = `images/${part}--${id}.png`;
    image.alt = touch.querySelector("header p")?.textContent.replace(/\s+/g, " ").trim() ?? "";
    if (pictures.includes(id)) widget?.replaceWith(image);
    const live = touch.querySelector("a.live");
    if (live) live.textContent = say.live;
  }
  for (const formula of body.querySelectorAll(".katex")) formula.replaceWith(formula.querySelector("math"));
  for (const choice of body.querySelectorAll(".guess li button")) choice.replaceWith(...choice.childNodes);
  for (const folded of body.querySelectorAll(".cell summary")) folded.remove();
  const solutions = [...body.querySelectorAll("details.solution")];
  if (solutions.length) {
    const back = body.appendChild(document.createElement("section"));
    back.appendChild(document.createElement("h2")).textContent = say.solutions;
    for (const solution of solutions) {
      const title = body.querySelector(`[id="${solution.dataset.exercise}"] > .admonition-title`);
      solution.querySelector("summary").replaceChildren(...title.cloneNode(true).childNodes);
      back.append(solution);
    }
  }
  for (const note of body.querySelectorAll("annotation")) note.remove();
  for (const gone of body.querySelectorAll(
    "button, input, select, output, nav, style, .find-term, .tag_checks, .acts, .veil, [hidden]",
  ))
    gone.remove();
  for (const summary of body.querySelectorAll("summary")) boxed(summary).className = "admonition-title";
  for (const box of body.querySelectorAll("form, fieldset, label, details")) boxed(box);

  const images = new Set();
  for (const image of body.querySelectorAll("img")) {
    if (!/^https?:/.test(image.getAttribute("src"))) continue; // a picture of a widget, or one that holds its data
    images.add(image.src);
    image.setAttribute("src", `images/${image.src.split("/").at(-1).split("?")[0]}`);
  }
  for (const link of body.querySelectorAll('a[href^="#"]')) {
    const [to, id] = link.getAttribute("href").slice(1).split("--");
    if (to !== part) link.setAttribute("href", `${to}.xhtml${id ? `#${to}--${id}` : ""}`);
    else if (!id) link.setAttribute("href", `${part}.xhtml`);
  }
  for (const node of body.querySelectorAll("*")) {
    for (const name of node.getAttributeNames()) {
      if (/^(data-|on|aria-controls|aria-expanded|translate|tabindex|role)/.test(name) || name === "style")
        node.removeAttribute(name);
    }
  }
  const text = [...body.childNodes].map((node) => new XMLSerializer().serializeToString(node)).join("");
  return { body: text, images: [...images], math: text.includes("<math"), svg: text.includes("<svg") };
}

// A plain box in place of a node that a reader without scripts can't use.
function boxed(node) {
  const box = document.createElement("div");
  box.className = node.className;
  if (node.id) box.id = node.id;
  box.append(...node.childNodes);
  node.replaceWith(box);
  return box;
}
