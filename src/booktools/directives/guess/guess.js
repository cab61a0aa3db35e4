// What a guess asks for comes in sight when the reader has committed, or would rather see it; and stays so.
import { page, place, remember } from "./reader_progress.js";

const fill = (text, gaps) => text.replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
for (const card of document.querySelectorAll(".guess")) {
  const choices = [...card.querySelectorAll("li")];
  const reply = card.querySelector(".said");
  const because = card.querySelector(".because");
  const right = choices.find((each) => each.querySelector(".right"));
  const truth = right?.textContent.trim() ?? (card.dataset.number && Number(card.dataset.number));
  const line = document.querySelector(`.veil.${card.id}`);
  const key = `${page} ${card.id}`;
  const keep = (said) => remember({ guessed: { ...place().guessed, [key]: said } });
  const answer = (said, kind, off = "") => {
    reply.textContent = kind && fill(card.dataset[kind], { said, truth, off });
    reply.append(" ", ...because.childNodes);
    card.classList.add("answered");
    for (const button of card.querySelectorAll("li button")) button.disabled = true;
    for (const hidden of document.querySelectorAll(`.${card.id}`)) hidden.classList.remove("veiled");
    line?.remove();
  };
  for (const choice of choices) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...choice.childNodes);
    choice.append(button);
    button.addEventListener("click", () => {
      choose(choice);
      keep(choice.textContent.trim());
      reply.focus();
    });
  }
  for (const button of [...card.querySelectorAll("[data-show]"), ...(line?.querySelectorAll("button") ?? [])])
    button.addEventListener("click", () => {
      answer("", truth === "" ? "" : "shown");
      reply.focus();
    });
  card.addEventListener("submit", (event) => {
    event.preventDefault();
    const said = card.querySelector("input").value.trim().replace(",", ".").replace("−", "-");
    if (said === "" || Number.isNaN(Number(said))) {
      reply.textContent = card.dataset.wanted;
      return;
    }
    judge(said);
    keep(said);
    reply.focus();
  });

  function choose(choice) {
    choice.classList.add("chosen");
    answer(choice.textContent.trim(), choice === right ? "yes" : "no");
  }

  function judge(said) {
    const off = Number(said) - truth;
    const size = Number(Math.abs(off).toPrecision(2)).toString();
    if (off === 0) answer(said, "yes");
    else if (Math.abs(off) <= 0.1 * Math.abs(truth)) answer(said, "close");
    else answer(said, off > 0 ? "high" : "low", size);
  }

  const before = place().guessed[key];
  const choice = choices.find((each) => each.textContent.trim() === before);
  if (choice) choose(choice);
  else if (before && card.dataset.number) judge(before);
}
