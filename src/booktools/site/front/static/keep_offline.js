// Chapters that were read are kept for times without a network; on the first page all of the book, if a reader likes.
const root = new URL(document.documentElement.dataset.content_root, location.href);
const { serviceWorker, connection } = navigator;
const box = document.querySelector(".keep");

async function ask(what, answer = () => {}) {
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener("message", ({ data }) => answer(data));
  port1.start();
  const { active } = await serviceWorker.ready;
  active.postMessage({ ask: what }, [port2]);
}

async function offer() {
  const { fill } = await import("./widgets/shared/core.js");
  const say = JSON.parse(box.dataset.words);
  const [button, output] = [box.querySelector("button"), box.querySelector("output")];
  const tell = ({ done, of, failed }) => {
    button.disabled = !failed && done < of;
    button.hidden = done === of && !failed;
    if (failed) output.textContent = say[failed] ?? say.failed;
    else output.textContent = done < of ? fill(say.step, { done, of }) : say.done;
  };
  button.addEventListener("click", () => ask("book", tell));
  await ask("size", ({ bytes, whole }) => {
    button.textContent = fill(say.whole, { size: Math.ceil(bytes / 1e6) });
    if (whole) tell({ done: 1, of: 1 });
    box.hidden = false;
  });
}

if (serviceWorker) {
  await serviceWorker.register(new URL("offline.js", root));
  if (!connection?.saveData) await ask("page");
  if (box) await offer();
}
