"""Copies for students: an assignment with stubs, whose first cell installs the book's package."""

from pathlib import Path

import nbformat

from booktools.core.address import address
from booktools.core.assignment import Assignment, marks
from booktools.core.contents import read_chapter
from booktools.core.setup_cells import install, needs, set_up

NOTE = """{points} in all, about {minutes} minutes{chapter}. Run the cell below first: it installs the book's code, and
leaves everything else alone. In Colab, *File → Save a copy in Drive* keeps your work, and *File → Download → Download
.ipynb* gives you what you hand in.

In your own Jupyter you need these as well: `pip install {needs}`."""


def write_copy(assignment: Assignment, folder: Path, root: Path) -> Path:
    """Write the student's copy of an assignment into a folder; where it went."""
    notebook = assignment.student()
    note = NOTE.format(
        points=marks(assignment.points).capitalize(),
        minutes=assignment.minutes,
        chapter=where_it_belongs(assignment.name, root),
        needs=" ".join(needs(root)),
    )
    notebook.cells[1:1] = set_up(note, install(root))
    nbformat.validate(notebook)
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{assignment.name}.ipynb")
    return folder / f"{assignment.name}.ipynb"


def where_it_belongs(name: str, root: Path) -> str:
    """The chapter of the same name, if there is one."""
    path = root / f"chapters/{name}.ipynb"
    if not path.is_file():
        return ""
    chapter = read_chapter(path)
    return f", for chapter [{chapter.number}. {chapter.title}]({address(root).page(f'chapters/{path.name}')})"
