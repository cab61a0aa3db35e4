"""The files that the site serves beside its pages: the package as a wheel, notebooks, a published model, a feed."""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

from booktools.book import BookError
from booktools.book.address import Address
from booktools.book.contents import LAST_GREEN, Chapter, last_green
from booktools.book.edition import Edition
from booktools.book.from_scratch import FOLDER
from booktools.book.package import package_files, project, version
from booktools.printers.colab import write_notebooks
from booktools.printers.feed import add_feed
from booktools.printers.offline import add_worker
from booktools.printers.parts import write_parts
from booktools.printers.student import write_copies


def add_site_files(edition: Edition, html: Path) -> None:
    """Add `colab/`, `assignments/`, `from_scratch/` and `sitemap.xml`; what all editions share, the wheel, a model's
    parts, a feed of changes and `.nojekyll`, without which the host drops files that start with `_`; and what it takes
    to be there without a network. Colab notebooks stay that are newer than their chapters.
    """
    write_notebooks(edition, html / "colab", changed_chapters(edition, html / "colab"))
    given = [each for name, each in edition.assignments.items() if edition.has(f"assignments/source/{name}.ipynb")]
    write_copies(edition, html / "assignments", given)
    write_from_scratch(edition, html / FOLDER)
    if last_green(edition.root):
        shutil.copy(edition.root / LAST_GREEN, html / LAST_GREEN)
    (html / "sitemap.xml").write_text(_sitemap(edition.offered, edition.here), "utf-8")
    if not edition.folder:  # what all editions share
        if not (html / edition.wheel).is_file():
            build_wheel(edition.root, html)
        write_parts(html / "_static/models")
        add_feed(edition, html)
        (html / ".nojekyll").touch()
    add_worker(html)


def changed_chapters(edition: Edition, folder: Path) -> list[Chapter]:
    """The chapters that were saved after what is printed of them in a folder, and those of which nothing is."""

    def is_behind(chapter: Chapter) -> bool:
        printed = folder / chapter.path.name
        written = [chapter.path, edition.overlay(edition.page_of(chapter))]
        newest = max(path.stat().st_mtime for path in written if path.is_file())
        return not printed.is_file() or printed.stat().st_mtime <= newest

    return [each for each in edition.chapters if edition.has(edition.page_of(each)) and is_behind(each)]


def build_wheel(root: Path, folder: Path) -> None:
    """The package as a wheel of its own version, in place of an earlier one."""
    for earlier in folder.glob("attnbook-*.whl"):
        earlier.unlink()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve())]
    with TemporaryDirectory() as copy:
        for path in (*package_files(root), root / "LICENSE"):
            target = Path(copy, path.relative_to(root))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        about = (root / "pyproject.toml").read_text("utf-8")
        named = about.replace(f'version = "{project(root)["version"]}"', f'version = "{version(root)}"', 1)
        Path(copy, "pyproject.toml").write_text(named, "utf-8")
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"the wheel did not build:\n{done.stdout}{done.stderr}")


def write_from_scratch(edition: Edition, folder: Path) -> list[Path]:
    """Write the file of each chapter that keeps something into a folder; where they went."""
    folder.mkdir(parents=True, exist_ok=True)
    has = {chapter.stem: edition.has(edition.page_of(chapter)) for chapter in edition.chapters}
    paths = {folder / f"{name}.py": text for name, text in edition.from_scratch.items() if has[name]}
    for path, text in paths.items():
        path.write_text(text, encoding="utf-8")
    return list(paths)


def _sitemap(pages: list[str], here: Address) -> str:
    """Where the pages are, for search engines.

    >>> print(_sitemap(["index.md"], Address("https://github.com/ada/book")))
    <?xml version="1.0" encoding="UTF-8"?>
    <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    <url><loc>https://ada.github.io/book/index.html</loc></url>
    </urlset>
    """
    entries = [f"<url><loc>{escape(here.page(page))}</loc></url>" for page in pages]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return "\n".join([head, *entries, "</urlset>"])
