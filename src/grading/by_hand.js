// Saves what is in the fields as the table that `attnbook grade --adjustments` reads.
const form = document.querySelector("form");
let unsaved = false;

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

function rows() {
  return [...form.querySelectorAll("fieldset")].flatMap(({ dataset, elements }) => {
    const [points, comment] = [...elements].map(({ value }) => value.trim());
    return points || comment ? [[dataset.login, dataset.exercise, points, comment]] : [];
  });
}

function save(event) {
  event.preventDefault();
  const table = [["login", "exercise", "points", "comment"], ...rows()];
  const text = table.map((row) => row.map(quoted).join(",")).join("\r\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`\ufeff${text}\r\n`], { type: "text/csv" }));
  link.download = "adjustments.csv";
  link.click();
  URL.revokeObjectURL(link.href);
  unsaved = false;
  form.querySelector("output").value = "";
}

form.addEventListener("submit", save);
form.addEventListener("input", () => {
  unsaved = true;
  const output = form.querySelector("output");
  output.value = output.dataset.of.replace("#", rows().length);
});
form.addEventListener(
  "invalid",
  ({ target }) => {
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  },
  true,
);
addEventListener("beforeunload", (event) => unsaved && event.preventDefault());
