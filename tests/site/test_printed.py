"""The site is printed anew where something changed that more than one page is made of, and after a failure."""

import os

import nbformat
import pytest

from booktools.book import BookError
from booktools.book.edition import Edition, edition
from booktools.printers import site as printer
from booktools.printers.site_files import changed_chapters
from tests import ROOT

CHAPTER = "chapters/05_dots.ipynb"


@pytest.fixture
def book(tmp_path):
    for folder in ("chapters", "assignments/source", "src/booktools", "translations/zh", "colab"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "_config.yml").write_text("repository:\n  url: https://github.com/ada/book\n")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters: [file: chapters/05_dots]\n")
    (tmp_path / "index.md").write_text("# Book\n")
    write(tmp_path, "# 5. Dots\n\n{text}")
    return tmp_path


def write(book, text):
    cells = [nbformat.v4.new_markdown_cell(text, id="title")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), book / CHAPTER)


@pytest.fixture
def printed(book, monkeypatch):
    """How often the site was printed from nothing; what Sphinx and the wheel would take is left out."""
    fresh = []

    def pages(root, to, strict):
        fresh.append(not to.exists())
        to.mkdir(parents=True, exist_ok=True)
        printer.doctrees(ROOT, to).mkdir(exist_ok=True)
        if (root / "broken").exists():
            raise BookError("Sphinx minds something")

    monkeypatch.setattr(printer, "print_pages", pages)
    monkeypatch.setattr(printer, "add_site_files", lambda edition, to: None)

    def again():
        printer.print_site(Edition(book), book / "_build/html")
        return fresh[-1]

    return again


def test_a_page_of_its_own_does_not_make_all_pages_anew(book, printed):
    assert printed()
    assert not printed()
    write(book, "# 5. Dots\n\nOther words.")
    (book / "index.md").write_text("# Book\n\nMore.\n")
    assert not printed()
    (book / "translations/zh/notation.md").write_text("")
    assert not printed()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("_toc.yml", "format: jb-book\nroot: index\n"),
        ("notation.md", "# Letters"),
        ("src/booktools/new.py", ""),
        ("glossary.toml", ""),
        ("assignments/source/05_dots.ipynb", "{}"),
        ("colab/last-green.json", "{}"),
        ("index.md", "# Another title, to which other pages may refer\n"),
    ],
)
def test_what_many_pages_are_made_of_does(book, printed, file, text):
    assert printed()
    (book / file).write_text(text)
    assert printed()


def test_a_failure_is_not_forgotten(book, printed):
    """What Sphinx minds it says once, when it reads the page: the next time it must read it again."""
    assert printed()
    (book / "broken").touch()
    for _ in range(2):
        with pytest.raises(BookError, match="Sphinx minds"):
            printed()
    (book / "broken").unlink()
    assert printed()


def test_a_colab_notebook_stays_while_its_chapter_does(book, tmp_path):
    """One that is as old as its chapter may be of before: clocks of files are coarse."""
    printed = tmp_path / "colab" / "05_dots.ipynb"
    assert [chapter.stem for chapter in changed_chapters(Edition(book), tmp_path / "colab")] == ["05_dots"]
    printed.touch()
    for age, behind in ((-1, []), (0, ["05_dots"]), (1, ["05_dots"])):
        time = printed.stat().st_mtime_ns + age * 10**9
        os.utime(book / CHAPTER, ns=(time, time))
        assert [chapter.stem for chapter in changed_chapters(Edition(book), tmp_path / "colab")] == behind


def test_there_is_one_edition_however_its_folder_is_called(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert edition(ROOT) is edition(ROOT.relative_to(ROOT))
