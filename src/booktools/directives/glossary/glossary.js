// The glossary's field: the terms that hold what is typed stay in sight, and so do their letters.
const [said] = document.querySelectorAll(".find-term [role=status]");
const forms = JSON.parse(said.dataset.found);
const field = said.parentNode.querySelector("input");
const lists = [...document.querySelectorAll(".terms dl")].map((list) => ({
  parts: [list.previousElementSibling, list],
  terms: [...list.querySelectorAll("dt")].map((name) => [name, name.nextElementSibling]),
}));

field.addEventListener("input", () => {
  const asked = field.value.trim().toLowerCase();
  let found = 0;
  for (const { parts, terms } of lists) {
    let here = 0;
    for (const term of terms) {
      const fits = term.some((part) => part.textContent.toLowerCase().includes(asked));
      for (const part of term) part.hidden = !fits;
      here += fits;
    }
    for (const part of parts) part.hidden = !here;
    found += here;
  }
  said.textContent = asked && (found === 1 ? forms.one : forms.other).replace("{n}", found);
});
said.parentNode.hidden = false;
