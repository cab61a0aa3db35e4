"""What the site serves beside its pages: the package as a wheel, and the notebooks that install it."""

import shutil
import subprocess
import sys
from pathlib import Path

from booktools.book import BookError
from booktools.book.contents import LAST_GREEN, Chapter, last_green
from booktools.book.edition import Edition
from booktools.book.from_scratch import FOLDER
from booktools.printers.colab import write_notebooks
from booktools.printers.scratch import write_files
from booktools.printers.student import write_copies


def add_downloads(edition: Edition, html: Path) -> None:
    """Add the wheel, `colab/`, `assignments/` and `from_scratch/`; and `.nojekyll`, without which the host drops files
    that start with `_`. Colab notebooks stay that are newer than their chapters.
    """
    if not list(html.glob("attnbook-*.whl")):
        build_wheel(edition.root, html)
    write_notebooks(edition, html / "colab", changed(edition, html / "colab"))
    write_copies(edition, html / "assignments")
    write_files(edition, html / FOLDER)
    if last_green(edition.root):
        shutil.copy(edition.root / LAST_GREEN, html / LAST_GREEN)
    (html / ".nojekyll").touch()


def changed(edition: Edition, folder: Path) -> list[Chapter]:
    """The chapters that were saved after what is printed of them in a folder, and those of which nothing is."""

    def is_behind(chapter: Chapter) -> bool:
        printed = folder / chapter.path.name
        return not printed.is_file() or printed.stat().st_mtime <= chapter.path.stat().st_mtime

    return [chapter for chapter in edition.chapters if is_behind(chapter)]


def build_wheel(root: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve())]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"the wheel did not build:\n{done.stdout}{done.stderr}")
