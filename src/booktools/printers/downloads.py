"""What the site serves beside its pages: the package as a wheel, and the notebooks that install it."""

import shutil
import subprocess
import sys
from pathlib import Path

from attnbook.language import speaking
from booktools.book import BookError
from booktools.book.address import address
from booktools.book.assignment import Assignment, assignment_paths
from booktools.book.contents import LAST_GREEN, chapters, edition_language, last_green
from booktools.book.from_scratch import FOLDER, write_files
from booktools.printers.colab import Book, write_edition
from booktools.printers.student import write_copy


def complete(html: Path, root: Path) -> None:
    """Add the wheel, `colab/`, `assignments/` and `from_scratch/`; and `.nojekyll`, without which the host drops files
    that start with `_`.
    """
    if not (html / "index.html").is_file():
        raise BookError(f"{html} holds no index.html. Build the book first: `make book` does both.")
    for old in html.glob("attnbook-*.whl"):
        old.unlink()
    build_wheel(root, html)
    with speaking(edition_language(root)):
        book = Book.read(root)
        for chapter in chapters(root):
            write_edition(chapter.path, html / "colab", book, root)
        for path in assignment_paths(root):
            write_copy(Assignment.read(path, root=root), html / "assignments", root)
    write_files(html / FOLDER, address(root), root)
    if last_green(root):
        shutil.copy(root / LAST_GREEN, html / LAST_GREEN)
    (html / ".nojekyll").touch()


def build_wheel(root: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve())]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"the wheel did not build:\n{done.stdout}{done.stderr}")
