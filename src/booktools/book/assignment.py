"""An assignment: a notebook in nbgrader's format, read as exercises and their tests."""

import ast
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from os.path import abspath
from pathlib import Path

from nbformat import NotebookNode

from attnbook.language import count, words
from booktools.book import HERE, BookError
from booktools.book.contents import read_notebook
from booktools.book.said_in_code import HIDDEN, nbgrader
from booktools.book.translation import translate
from booktools.book.variants import Draw, drawn_values, draws, fill_gaps, mark_of, seed_of

SOURCES, VARIANTS = "assignments/source", "assignments/variants"
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n.*?^[ \t]*### END SOLUTION[ \t]*$", re.DOTALL | re.MULTILINE)
SET_UP = "def set_up(needs, book, beside):"  # in the cell of a copy that installs what is missing
LOOK_OVER = "attnbook.handing_in"  # in the last cell of a copy, with which a student looks it over
ANOTHER_FOR_EACH = """{name} is another one for each student. It needs the file of your secret, --secret FILE,
and where copies are written, your roster, --roster FILE."""
STUB = r"\1# YOUR CODE HERE\n\1raise NotImplementedError()"


@dataclass(frozen=True)
class Test:
    """A graded cell: what students see of it, what they don't, and which part of the task that tries."""

    id: str
    points: float
    visible: str
    hidden: str
    tries: str = ""


@dataclass(frozen=True)
class Exercise:
    """A cell to complete, and the tests that follow it."""

    id: str
    title: str
    source: str
    forbidden: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()

    def followed_by(self, test: Test) -> "Exercise":
        """The same exercise with one more test."""
        return replace(self, tests=(*self.tests, test))

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests)

    @cached_property
    def defined(self) -> list[str]:
        """The functions and classes that a student writes."""
        return [node.name for node in ast.parse(self.source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]

    @cached_property
    def assigned(self) -> list[str]:
        """The values that a student gives a name: `guess = 3`."""
        targets = [
            target for node in ast.parse(self.source).body if isinstance(node, ast.Assign) for target in node.targets
        ]
        return [target.id for target in targets if isinstance(target, ast.Name)]


@dataclass(frozen=True)
class Assignment:
    """A notebook's exercises, and what the cells between them give to students."""

    name: str
    title: str
    minutes: int
    exercises: tuple[Exercise, ...]
    given: str
    notebook: NotebookNode
    variant_cell: str = ""  # where there is one, this is no assignment yet: each student has a variant of it
    drawn: Mapping[str, str] = field(default_factory=dict)  # what a student's variant has in the gaps
    mark: str = ""  # what the copy of a student's variant is known by

    @classmethod
    def read(cls, path: Path, overlay: Path | None = None, root: Path | None = None) -> "Assignment":
        """The assignment in a notebook; cells of the same name in the private `overlay` take the place of its own.

        With the book's folder, both are in the language spoken now, as far as they are translated.
        """
        notebook = _read_cells(path, root)
        if overlay is not None:
            private = overlay / path.name
            if not private.is_file():
                raise BookError(f"{private} does not exist. An overlay holds a notebook of the assignment's own name.")
            _replace_cells(notebook, _read_cells(private, root), private)
        return cls.of(notebook, path)

    @classmethod
    def of(cls, notebook, path: Path) -> "Assignment":
        opening = re.match(r"# (.+)", notebook.cells[0].source if notebook.cells else "")
        minutes = notebook.metadata.get("attnbook", {}).get("minutes")
        if not opening or not minutes:
            raise BookError(f"{path.name}: expected `# Title` first, and attnbook.minutes in its metadata.")
        variant_cell = "\n".join(cell.source for cell in notebook.cells if draws(cell))
        notebook.cells = [cell for cell in notebook.cells if not draws(cell)]
        given = [cell.source for cell in notebook.cells if cell.cell_type == "code" and not _is_graded(cell)]
        exercises = _read_exercises(notebook, path)
        return cls(path.stem, opening[1], minutes, exercises, "\n\n".join(given), notebook, variant_cell)

    def variant(self, student: str, secret: str | None, redrawn: int | None = None) -> "Assignment":
        """A student's variant; the assignment itself where it has none. `redrawn` as in `Draw`."""
        if not self.variant_cell:
            return self
        if secret is None:
            raise BookError(ANOTHER_FOR_EACH.format(name=self.name))
        values = drawn_values(self.variant_cell, Draw(seed_of(student, secret, self.name), redrawn))
        cells = [NotebookNode(cell, source=fill_gaps(cell.source, values)) for cell in self.notebook.cells]
        notebook = NotebookNode(self.notebook, cells=cells)
        variant = Assignment.of(notebook, Path(f"{self.name}.ipynb"))
        return replace(variant, drawn=values, mark=mark_of(student, secret, self.name))

    @property
    def draws(self) -> int:
        """How much is drawn for each student."""
        draw = Draw("")
        drawn_values(self.variant_cell, draw)
        return draw.count

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)

    def announce(self, links: str) -> str:
        """How a chapter tells of it, in Markdown."""
        about = {"points": marks(self.points), "minutes": minutes(self.minutes)}
        told = words(HERE)["assignment"].format(title=f"**{self.title}**", **about)
        tasks = "\n".join(_with_points(exercise.title, exercise.points) for exercise in self.exercises)
        return f"{told}\n\n{tasks}\n\n{links}"

    def student(self):
        """What a student gets: stubs, no hidden tests, points in the headings, and checks that say when they pass."""
        if self.variant_cell:
            raise BookError(ANOTHER_FOR_EACH.format(name=self.name))
        notebook = deepcopy(self.notebook)
        headings = {exercise.title: _with_points(exercise.title, exercise.points) for exercise in self.exercises}
        passes = {test.id: _passing(exercise, test) for exercise in self.exercises for test in exercise.tests}
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = re.sub(
                    r"(?<=^## ).+", lambda title: headings.get(title[0], title[0]), cell.source, flags=re.MULTILINE
                )
                cell.source = re.sub(r"\[(.*)\]\{\.older\}$", r"*\1*", cell.source)  # below a stale translation
                continue
            cell.source = HIDDEN.sub("", SOLUTION.sub(STUB, cell.source)).rstrip("\n")
            if said := passes.get(nbgrader(cell).get("grade_id", "")):
                cell.source += f"\n\nprint({said!r})"
            cell.outputs, cell.execution_count = [], None
            if re.search("(BEGIN|END) (SOLUTION|HIDDEN TESTS)", cell.source):
                raise BookError(f"{self.name}, cell {cell.id}: a BEGIN without its END, or the other way round.")
        return notebook


def assignment_paths(root: Path) -> list[Path]:
    """The book's assignments; one has the name of the chapter it belongs to."""
    return sorted((root / SOURCES).glob("*.ipynb"))


def variant_paths(root: Path) -> list[Path]:
    """What varies in the book's assignments from student to student."""
    return sorted((root / VARIANTS).glob("*.ipynb"))


def _is_graded(cell) -> bool:
    """Whether a cell is an exercise or a test."""
    return bool(nbgrader(cell).get("solution") or nbgrader(cell).get("grade"))


def _read_exercises(notebook, path: Path) -> tuple[Exercise, ...]:
    """The exercises of a notebook, each with the tests that follow it and the title of its section."""
    exercises, title = [], ""
    for cell in notebook.cells:
        here = f"{path.name}, cell {cell.id}"
        if cell.cell_type == "markdown":
            title = next(iter(re.findall(r"^## (.+)", cell.source, re.MULTILINE)), title)
        elif nbgrader(cell).get("solution"):
            exercises.append(_read_exercise(cell, title, here))
        elif nbgrader(cell).get("grade"):
            if not exercises:
                raise BookError(f"{here}: a test follows the cell it tests; there is none above.")
            exercises[-1] = exercises[-1].followed_by(_read_test(cell, here))
    names = [name for exercise in exercises for name in (exercise.id, *(test.id for test in exercise.tests))]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BookError(f"{path.name}: grade_id {', '.join(sorted(twice))} is used twice.")
    if untested := [exercise.id for exercise in exercises if not exercise.tests]:
        raise BookError(f"{path.name}: nothing tests {', '.join(untested)}.")
    return tuple(exercises)


def _read_exercise(cell, title: str, here: str) -> Exercise:
    if not SOLUTION.search(cell.source):
        raise BookError(f"{here}: a cell to complete has a part between ### BEGIN and END SOLUTION.")
    forbidden = tuple(cell.metadata.get("attnbook", {}).get("forbidden", ()))
    return Exercise(nbgrader(cell)["grade_id"], title, cell.source, forbidden)


def _read_test(cell, here: str) -> Test:
    hidden = "".join(HIDDEN.findall(cell.source))
    if not hidden.strip():
        raise BookError(f"{here}: every test has a hidden part, between ### BEGIN and END HIDDEN TESTS.")
    tries = cell.metadata.get("attnbook", {}).get("tries", "")
    return Test(nbgrader(cell)["grade_id"], nbgrader(cell)["points"], HIDDEN.sub("", cell.source), hidden, tries)


def _read_cells(path: Path, root: Path | None):
    """A notebook whose cells have ids; with the book's folder, in which it is, in the language spoken now."""
    notebook = read_notebook(path)
    if any("id" not in cell for cell in notebook.cells):
        raise BookError(f"{path}: cells have no ids. Open it in JupyterLab 3 or newer, where cells have, and save it.")
    if root is not None and (there := Path(abspath(path))).is_relative_to(abspath(root)):
        translate(notebook, there.relative_to(abspath(root)).as_posix(), root)
    return notebook


def _replace_cells(notebook, private, path: Path) -> None:
    places = {cell.id: place for place, cell in enumerate(notebook.cells)}
    for cell in private.cells:
        if draws(cell):
            notebook.cells.append(cell)
            continue
        if cell.id not in places:
            raise BookError(f"{path}: the assignment has no cell {cell.id}. Copy the cell you change, with its id.")
        notebook.cells[places[cell.id]] = cell


def _passing(exercise: Exercise, test: Test) -> str:
    """What a check says when it passes, where a student runs it."""
    about = {"number": exercise.tests.index(test) + 1, "title": exercise.title}
    return words(HERE)["passes"].format(**about)


def _with_points(title: str, points: float) -> str:
    """
    >>> _with_points("1. Shares", 5)
    '1. Shares (5 points)'
    """
    return words(HERE)["worth"].format(title=title, points=marks(points))


def marks(points: float) -> str:
    """
    >>> marks(1), marks(2.0), marks(2.5)
    ('1 point', '2 points', '2.5 points')
    """
    return count(words(HERE)["points"], points)


def minutes(n: int) -> str:
    return count(words(HERE)["minutes"], n)
