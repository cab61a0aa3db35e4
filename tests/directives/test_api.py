"""The reference of the package: every public name has its entry, with an example that runs, and chapters lead there."""

import doctest
import re
from types import ModuleType

import pytest

import attnbook
from attnbook.widgets.shared.base import BookWidget
from booktools.book import api
from booktools.book.edition import edition
from booktools.site import api_links
from tests import ROOT
from tests.browser.pages import CHAPTERS

EVERY = [name for some in api.names().values() for name in some]
each_room = pytest.mark.parametrize("room", api.names())


def examples(thing) -> int:
    """How many lines of examples a docstring has, those that are skipped apart."""
    tests = doctest.DocTestFinder(recurse=isinstance(thing, ModuleType)).find(thing, "it", globs={})
    return sum(doctest.SKIP not in example.options for test in tests for example in test.examples)


# ---- the names ----


def test_every_public_name_has_a_place():
    there = {name.written.partition(".")[0] for name in EVERY}
    assert set(attnbook.__all__) <= there
    assert len({(name.room, name.anchor) for name in EVERY}) == len(EVERY), "two entries of a page have one address"


def test_a_public_name_says_what_it_is_and_has_an_example_that_runs():
    """`make test` runs them. What a check judges has its example in the chapter: the exercise's own solution."""
    assert not [name.written for name in EVERY if not name.doc], "these need a docstring"
    others = [name for name in EVERY if name.room != "checks"]
    assert not [name.written for name in others if not examples(name.thing)], "these need an example"
    used = api.uses(edition(ROOT))
    assert not [name.written for name in EVERY if name.room == "checks" and name.written not in used]


def test_examples_that_never_run_are_not_counted():
    def skipped():
        """
        >>> 1 / 0  # doctest: +SKIP
        """

    assert examples(skipped) == 0
    assert examples(attnbook.causal) == 2


# ---- how they are called, what is said ----


def test_a_call_fits_a_phone_and_takes_a_line_for_each_parameter():
    for name in EVERY:
        lines = api.call(name.written, name.thing).splitlines()
        assert max(map(len, lines)) <= 2 * api.WIDE, name.written
        assert len(lines) == 1 or (lines[0].endswith("(") and all(line.endswith(",") for line in lines[1:-1]))


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda a, *b, c=1, **d: 0, "f(a, *b, c=1, **d)"),
        (lambda a, *, c="x": 0, 'f(a, *, c="x")'),
    ],
)
def test_stars_stand_where_python_wants_them(function, told):
    assert api.call("f", function) == told


def test_a_widget_is_called_by_its_traits_and_not_by_its_files():
    assert api.call("ClockHands", attnbook.widgets.ClockHands) == (
        "ClockHands(\n    base=10000,\n    other=8,\n    position=5,\n    width=16,\n)"
    )
    assert "b'" not in "".join(api.call(name.written, name.thing) for name in EVERY if name.room == "widgets")
    assert all(issubclass(name.thing, BookWidget) for name in EVERY if name.room == "widgets")


def test_examples_become_code_without_their_directives():
    assert api.markdown("Adds.\n\n>>> 1 + 1  # doctest: +ELLIPSIS\n2") == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```"


# ---- in chapters ----

CELL = '<div class="cell{}"><span class="n">{}</span>'


@pytest.mark.parametrize("tags", [" tag_hide-input", " tag_stub", " tag_mistake"])
def test_what_is_folded_or_edited_has_no_links(tags):
    body = CELL.format(tags, "causal")
    assert api_links.link_names(body, {"causal"}, "") == body
    assert "<a " in api_links.link_names(body + CELL.format("", "causal"), {"causal"}, "")


def test_a_name_leads_once_and_only_where_it_is_the_packages():
    body = CELL.format("", "causal") * 2 + CELL.format("", "padding")
    assert api_links.link_names(body, {"causal"}, "").count("<a ") == 1
    assert api_links.link_names(
        '<div class="cell"><span class="n">causal</span><span class="o">=</span>', {"causal"}, ""
    ) == ('<div class="cell"><span class="n">causal</span><span class="o">=</span>'), "the name of an argument"
    taken = '<div class="cell"><span class="n">{}</span><span class="o">.</span><span class="n">causal</span>'
    assert 'checks.html#causal">' in api_links.link_names(taken.format("check"), {"check"}, "")
    assert "<a " not in api_links.link_names(taken.format("model"), {"causal", "check"}, "")


@pytest.mark.parametrize("path", [f"chapters/{path.stem}.html" for path in CHAPTERS])
def test_a_chapter_leads_to_the_reference(site, path):
    links = [link["href"] for link in site.soup(path).select('.highlight a[href*="/api/"]')]
    assert links
    assert len(set(links)) == len(links)


# ---- their pages ----


@each_room
def test_an_entry_leads_to_the_book_and_to_its_source(site, room):
    page, here = site.soup(f"api/{room}.html"), edition(ROOT).here
    for name in api.names()[room]:
        entry = page.find("section", id=name.anchor)
        assert entry.h2.code.text == name.written
        assert re.sub(r"\s", "", entry.select_one(".signature").text) == re.sub(
            r"\s", "", api.call(name.written, name.thing)
        )
        links = [link["href"] for link in entry.select(".api-leads a")]
        assert links[-1] == f"{here.repository}/blob/main/{name.file}"
        assert (ROOT / name.file.partition("#")[0]).is_file()
        if name.written in api.uses(edition(ROOT)):
            assert "chapters/" in links[0], f"{name.written} leads to no chapter"
        assert examples(name.thing) == 0 or entry.select(".highlight-pycon .gp"), name.written


def test_the_first_page_lists_every_name(site):
    page = site.soup("api.html")
    links = {link["href"].removeprefix("api/") for link in page.select(".api-names a")}
    assert links == {f"{name.room}.html#{name.anchor}" for name in EVERY}
