"""Copies for students: an assignment with stubs, whose first cell installs the book's package."""

from pathlib import Path

import nbformat

from attnbook.language import words
from booktools.book.address import address
from booktools.book.assignment import Assignment, marks, minutes
from booktools.book.contents import read_notebook
from booktools.book.translation import translate
from booktools.printers.setup_cells import install, needs, set_up

HERE = Path(__file__).parent


def write_copy(assignment: Assignment, folder: Path, root: Path) -> Path:
    """Write the student's copy of an assignment into a folder; where it went."""
    notebook = assignment.student()
    set_up(notebook, note(assignment, root), install(root))
    nbformat.validate(notebook)
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{assignment.name}.ipynb")
    return folder / f"{assignment.name}.ipynb"


def note(assignment: Assignment, root: Path) -> str:
    """What a copy says first: its points and time, the chapter of the same name if there is one, how to begin."""
    say, about = words(HERE), {"points": marks(assignment.points), "minutes": minutes(assignment.minutes)}
    page = f"chapters/{assignment.name}.ipynb"
    if (root / page).is_file():
        chapter = translate(read_notebook(root / page), page, root)
        title = chapter.cells[0].source.partition("\n")[0].removeprefix("# ")
        link = f"[{title}]({address(root).page(page)})"
        told = say["student"]["chapter"].format(**about, chapter=link)
    else:
        told = say["student"]["alone"].format(**about)
    pip = f"`pip install {' '.join(needs(root))}`"
    return f"{told} {say['student']['begin']}\n\n{say['jupyter'].format(install=pip)}"
