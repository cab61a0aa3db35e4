"""Every directive has a test of its name; those that only print a line or two are tested here."""

from types import SimpleNamespace

import pytest

from booktools.book import BookError
from booktools.book.address import Address
from booktools.directives import ROOMS, rooms
from tests import ROOT
from tests.browser.pages import CHAPTERS

HERE = ("assignment", "from_scratch", "widget")
each_chapter = pytest.mark.parametrize("stem", [path.stem for path in CHAPTERS])


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in HERE])
def test_each_has_a_test(room):
    file = ROOT / f"tests/directives/test_{room}.py"
    assert file.is_file(), f"write {file.relative_to(ROOT)}: what {room} shows, and what it refuses"


def plainly(directive, name, **edition):
    """What a directive says in a notebook of somebody's own book."""
    here = Address("https://github.com/ada/book")
    return rooms()[directive].plain(
        None,
        SimpleNamespace(
            page=f"chapters/{name}", edition=SimpleNamespace(here=here, home_of=lambda page: here, **edition)
        ),
    )


@each_chapter
def test_an_assignment_is_announced(site, stem):
    page = site.soup(f"chapters/{stem}.html")
    assert page.select_one(f'a[href$="assignments/{stem}.ipynb"][href^="https://colab."]')
    assert (site / "assignments" / f"{stem}.ipynb").is_file()
    assert page.select_one(f'a[href="../assignments/{stem}.ipynb"][download]')


def test_an_assignment_in_a_notebook():
    announced = SimpleNamespace(announce=lambda links: f"Graded work. {links}")
    said = plainly("assignment", "05_dots", assignments={"05_dots": announced})
    assert "https://colab.research.google.com/github/ada/book/blob/gh-pages/assignments/05_dots.ipynb" in said
    assert "(https://ada.github.io/book/assignments/05_dots.ipynb)" in said
    with pytest.raises(BookError, match=r"there is no assignments/source/06_heads.ipynb to announce"):
        plainly("assignment", "06_heads", assignments={"05_dots": announced})


def test_the_file_to_take_along_in_a_notebook():
    said = plainly("from-scratch", "05_dots", from_scratch={"05_dots": "import torch\n\nq = torch.ones(2)\n"})
    assert "one file of 3 lines" in said
    for kind in ("html", "py"):
        assert f"(https://ada.github.io/book/from_scratch/05_dots.{kind})" in said
    with pytest.raises(BookError, match=r"06_heads keeps nothing to take along; tag its cells `keep`"):
        plainly("from-scratch", "06_heads", from_scratch={})


def test_a_widget_without_code(site):
    assert site.soup("index.html").select_one("[data-afm=bank_in_context] table"), "with its table, for want of scripts"
    tenths = [cell.text for cell in site.soup("notation.html").select(".scale .ab-weight")]
    assert tenths == ["0.0", *(f"0.{n}" for n in range(1, 10)), "1.0"]
    assert plainly("widget", "index") is plainly("scale", "notation") is None
