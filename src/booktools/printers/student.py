"""Copies for students: an assignment with stubs, whose first cell installs the book's package."""

from collections.abc import Iterable
from pathlib import Path

import nbformat

from attnbook.language import plain, words
from booktools.book.assignment import Assignment, marks, minutes
from booktools.book.edition import Edition
from booktools.book.limits import Limits
from booktools.book.package import project
from booktools.printers.setup_cells import set_up, setup_cell

HERE = Path(__file__).parent
LIMITS = Limits()


def write_copies(edition: Edition, folder: Path, assignments: Iterable[Assignment] | None = None) -> list[Path]:
    """Write the students' copies of assignments, or of all, into a folder; where they went."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    with edition.spoken():
        for assignment in edition.assignments.values() if assignments is None else assignments:
            notebook = assignment.student()
            set_up(notebook, note(assignment, edition), setup_cell(edition, notebook))
            nbformat.validate(notebook)
            nbformat.write(notebook, folder / f"{assignment.name}.ipynb")
            written.append(folder / f"{assignment.name}.ipynb")
    return written


def note(assignment: Assignment, edition: Edition) -> str:
    """What a copy says first: its points and time, its chapter if there is one, how to begin and how it is graded."""
    say, about = words(HERE), {"points": marks(assignment.points), "minutes": minutes(assignment.minutes)}
    page = f"chapters/{assignment.name}.ipynb"
    if (edition.root / page).is_file():
        title = edition.notebook(page).cells[0].source.partition("\n")[0].removeprefix("# ")
        link = f"[{title}]({edition.here.page(page)})"
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
    return f"{told} {say['student']['begin']}\n\n{rules}"
