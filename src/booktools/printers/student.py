"""Copies for students: an assignment with stubs, whose first cell installs the book's package."""

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import nbformat

from attnbook.language import plain, words
from booktools.book import BookError
from booktools.book.assignment import LOOK_OVER, Assignment, marks, minutes
from booktools.book.edition import Edition
from booktools.book.limits import Limits
from booktools.book.package import project
from booktools.book.variants import GAP
from booktools.printers.setup_cells import set_up, setup_cell

HERE = Path(__file__).parent
LIMITS = Limits()


def write_copies(
    edition: Edition, folder: Path, assignments: Iterable[Assignment] | None = None, student: str = ""
) -> list[Path]:
    """Write the students' copies of assignments, or of all, into a folder; where they went.

    A copy of a variant says which student's it is.
    """
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    with edition.spoken():
        for assignment in edition.assignments.values() if assignments is None else assignments:
            notebook = assignment.student()
            set_up(
                notebook,
                _copy_note(assignment, edition, student if assignment.drawn else ""),
                setup_cell(edition, notebook),
            )
            notebook.cells += _last_cells(assignment, edition)
            if assignment.drawn:
                notebook.metadata["attnbook"] |= {"student": student, "mark": assignment.mark}
            nbformat.validate(notebook)
            nbformat.write(notebook, folder / f"{assignment.name}.ipynb")
            written.append(folder / f"{assignment.name}.ipynb")
    return written


def _last_cells(assignment: Assignment, edition: Edition) -> list:
    """The cells at the end of a copy with which a student looks it over."""
    ids = {one.title: " ".join([one.id, *(test.id for test in one.tests)]) for one in assignment.exercises}
    lines = [f"        {json.dumps(title, ensure_ascii=False)}: {json.dumps(cells)}," for title, cells in ids.items()]
    limits = (
        f"seconds={plain(LIMITS.cell)}, total={plain(LIMITS.total)}, python=({', '.join(_python(edition).split('.'))})"
    )
    call = ["look_over(", f'    "{assignment.name}.ipynb",', "    {", *lines, "    },", f"    {limits},", ")"]
    code = "\n".join([f"from {LOOK_OVER} import look_over", "", *call])
    return [
        nbformat.v4.new_markdown_cell(words(HERE)["student"]["look_over"], id="look-over-note"),
        nbformat.v4.new_code_cell(code, id="look-over"),
    ]


def _python(edition: Edition) -> str:
    return project(edition.root)["requires-python"].removeprefix(">=")


def write_variants(
    edition: Edition, folder: Path, assignments: list[Assignment], logins: list[str], secret: str | None
) -> list[Path]:
    """Write each student's own copies into a folder of the student's name; where they went."""
    for assignment in assignments:
        if pairs := same_for_neighbours(assignment, logins, secret):
            (one, other), title = pairs[0]
            raise BookError(f"{one} and {other} would get the same exercise, {title}. Take another secret.")
    return [
        path
        for login in logins
        for path in write_copies(edition, folder / login, [each.variant(login, secret) for each in assignments], login)
    ]


def same_for_neighbours(
    assignment: Assignment, logins: list[str], secret: str | None
) -> list[tuple[tuple[str, str], str]]:
    """Neighbours in the list who would get the same exercise, of those that vary, and its title."""
    variants = {login: assignment.variant(login, secret) for login in logins}
    varying = [place for place, one in enumerate(assignment.exercises) if GAP.search(one.source)]
    return [
        (pair, variants[pair[0]].exercises[place].title)
        for pair in pairwise(logins)
        for place in varying
        if len({variants[login].exercises[place].source for login in pair}) == 1
    ]


def _copy_note(assignment: Assignment, edition: Edition, student: str = "") -> str:
    """What a copy says first: its points and time, its chapter if there is one, how to begin and how it is graded."""
    say, about = words(HERE), {"points": marks(assignment.points), "minutes": minutes(assignment.minutes)}
    page = f"chapters/{assignment.name}.ipynb"
    if (edition.root / page).is_file():
        title = edition.notebook(page).cells[0].source.partition("\n")[0].removeprefix("# ")
        link = f"[{title}]({edition.address_of(page)})"
        told = say["student"]["chapter"].format(**about, chapter=link)
    else:
        told = say["student"]["alone"].format(**about)
    rules = say["student"]["rules"].format(
        cell=plain(LIMITS.cell),
        call=plain(LIMITS.call),
        total=plain(LIMITS.total),
        gigabytes=plain(LIMITS.megabytes / 1024),
        python=_python(edition),
    )
    own = f"{say['student']['own'].format(student=student)}\n\n" if student else ""
    return f"{own}{told} {say['student']['begin']}\n\n{rules}"
