"""Copies for students: an assignment with stubs, whose first cell installs the book's package."""

from pathlib import Path

import nbformat

from attnbook.editions.colab import install, set_up
from attnbook.grading.assignment import Assignment, marks

NOTE = """In Colab, run the cell below first: it installs the book's code and leaves everything else alone.
In your own Jupyter run it once. {points} in all, about {minutes} minutes."""


def write_copy(assignment: Assignment, folder: Path, root: Path) -> Path:
    """Write the student's copy of an assignment into a folder; where it went."""
    notebook = assignment.student()
    note = NOTE.format(points=marks(assignment.points).capitalize(), minutes=assignment.minutes)
    notebook.cells[1:1] = set_up(note, install(root))
    nbformat.validate(notebook)
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{assignment.name}.ipynb")
    return folder / f"{assignment.name}.ipynb"
