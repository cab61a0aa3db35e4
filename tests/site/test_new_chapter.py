"""A chapter is its file and a line in _toc.yml: a fifteenth comes, the tenth goes, and nothing else is touched."""

import weakref
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from booktools.book import BookError
from booktools.book.contents import read_chapter
from booktools.book.edition import Edition
from booktools.book.repeated import sync_address
from booktools.directives.map.drawing import Lead, draw_map
from booktools.printers.colab import write_notebooks
from booktools.printers.site import print_pages
from booktools.printers.site_files import write_from_scratch
from tests.pseudo import linked_book

TOC = """format: jb-book
root: index
parts:
  - caption: chapters
    chapters: [file: chapters/09_nine, file: chapters/15_fifteen]
"""
ABOUT = {"promise": "What nobody has promised.", "pictogram": '<path d="M8 8h80"/>', "map": ["cache"]}
EXERCISE = "```{exercise} Try\n:label: ch15-ex-try\nTry.\n```\n\nSee {ref}`ch15-ex-try` and {eq}`eq-fifteen`."


def write(book: Path, name: str, title: str, **about) -> None:
    keep = {"tags": ["keep"]}
    cells = [
        new_markdown_cell(f"# {title}\n\nMore.\n\n$$x$$ (eq-{name[3:]})", id="title"),
        new_code_cell("import torch", id="imports"),
        new_code_cell("x = torch.ones(2)", id="ones", metadata=keep),
        new_markdown_cell(f"## Exercises\n\n{EXERCISE}" if name == "15_fifteen" else "So.", id="end"),
    ]
    metadata = {"description": title, "attnbook": about}
    nbformat.write(new_notebook(cells=cells, metadata=metadata), book / f"chapters/{name}.ipynb")


@pytest.fixture
def book(tmp_path):
    book = linked_book(tmp_path, TOC)
    for name in ("chapters", "index.md", "README.md", "README.zh-CN.md", "CITATION.cff", "pyproject.toml"):
        text = (book / name).read_text("utf-8") if name.isupper() or "." in name else ""
        (book / name).unlink()
        if text:
            (book / name).write_text(text, "utf-8")
    (book / "index.md").write_text("# Book\n\n```{chapters}\n```\n", "utf-8")
    (book / "chapters").mkdir()
    write(book, "09_nine", "9. Nine", map=["norm"])
    write(book, "15_fifteen", "15. Fifteen", **ABOUT)
    return book


@pytest.fixture
def dead_proxy():
    """What any library may leave behind in a process."""
    return weakref.proxy({1})


@pytest.mark.slow
def test_a_chapter_comes_and_another_goes(book, monkeypatch, dead_proxy):
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "en")  # which a build sets
    site, edition = book / "_build/html", Edition(book)
    print_pages(book, site)
    first = BeautifulSoup((site / "index.html").read_text("utf-8"), "html.parser")
    cards = {int(card["data-chapter"]): card for card in first.select(".card")}
    assert list(cards) == [9, 15]
    assert cards[15].a["href"] == "chapters/15_fifteen.html"
    assert ABOUT["promise"] in cards[15].text
    assert "M8 8h80" in str(cards[15].svg)
    (part,) = first.select(".map a[data-chapter='15']")
    assert part.title.text == "cache: chapter 15, Fifteen"
    assert len(first.select(".map a")) == 2, "parts that no chapter builds lead nowhere"
    page = BeautifulSoup((site / "chapters/15_fifteen.html").read_text("utf-8"), "html.parser")
    assert page.select_one(".chapter-head .number").text == "Chapter 15"
    assert "Exercise 15.1" in page.text
    assert "(15.1)" in page.text

    (colab,) = write_notebooks(edition, book / "_build/colab", [read_chapter(book / "chapters/15_fifteen.ipynb")])
    assert "[Exercise 15.1](" in colab.read_text("utf-8")
    assert [path.name for path in write_from_scratch(edition, book / "_build/from_scratch")] == [
        "09_nine.py",
        "15_fifteen.py",
    ]
    assert "README.md" in sync_address(book)
    assert "| 15 | [Fifteen](" in (book / "README.md").read_text("utf-8")
    assert "| 10 | " not in (book / "README.md").read_text("utf-8")


def test_what_the_map_does_not_have_is_named(book):
    write(book, "15_fifteen", "15. Fifteen", map=["flux"])
    chapter = read_chapter(book / "chapters/15_fifteen.ipynb")
    with pytest.raises(BookError, match="chapter 15 builds flux; the map has vectors, masked"):
        draw_map([Lead(chapter.number, chapter.map)])


def test_what_a_chapter_is_not_is_named(book):
    write(book, "15_fifteen", "15. Fifteen", pictogramm="")
    with pytest.raises(BookError, match="says promise, pictogram, map; got pictogramm as well"):
        read_chapter(book / "chapters/15_fifteen.ipynb")
