"""Copies for students: an assignment with stubs, whose first cell installs the book's package."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import nbformat

from attnbook.language import plain, words
from booktools.book import BookError
from booktools.book.assignment import Assignment, marks, minutes
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
            if assignment.drawn:
                notebook.metadata["attnbook"] |= {"student": student, "mark": assignment.mark}
            nbformat.validate(notebook)
            nbformat.write(notebook, folder / f"{assignment.name}.ipynb")
            written.append(folder / f"{assignment.name}.ipynb")
    return written


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
        python=project(edition.root)["requires-python"].removeprefix(">="),
    )
    own = f"{say['student']['own'].format(student=student)}\n\n" if student else ""
    return f"{own}{told} {say['student']['begin']}\n\n{rules}"
