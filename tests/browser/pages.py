"""The built site as files, and pages as they stand when everything on them has arrived."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect

from attnbook.widgets import all_widgets
from attnbook.widgets.shared.base import BookWidget, page_words
from attnbook.widgets.shared.files import Asset
from booktools.book.contents import pages
from tests import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
# Every page of the site, named by what it is made of, so that tests can be collected before the site is built.
WRITTEN = [path.relative_to(ROOT).with_suffix("") for path in pages(ROOT)]
MADE = ["404", "search", *(f"from_scratch/{path.stem}" for path in CHAPTERS)]
PAGES = sorted(f"{name}.html" for name in [*WRITTEN, *MADE])
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}

# Beside all that axe-core does by itself, three of its rules that are too new to be on.
MORE_RULES = ["target-size", "label-content-name-mismatch", "td-has-header"]
AXE = {"resultTypes": ["violations"], "rules": {rule: {"enabled": True} for rule in MORE_RULES}}
OF_WHOLE_PAGES = {"region", "landmark-one-main", "page-has-heading-one"}  # which a bare page of widgets is not


WIDGET = re.compile(r'data-afm="(\w+)">.*?<script type="application/json">(.*?)</script>', re.S)


class Site:
    """The built site: `site / "search.html"` is a file of it."""

    def __init__(self, folder: Path):
        self.folder, self._trees, self._ids = folder, {}, {}

    def __truediv__(self, path: str | Path) -> Path:
        sys.audit("book.read", self.folder / path)
        return self.folder / path

    def text(self, path: str) -> str:
        return (self / path).read_text(encoding="utf-8")

    def soup(self, path: str) -> BeautifulSoup:
        """A page as a tree, which all tests share."""
        file = self / path
        if file not in self._trees:
            self._trees[file] = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
        return self._trees[file]

    def ids(self, path: str) -> set[str]:
        """Of all elements of a page."""
        file = self / path
        if file not in self._ids:
            self._ids[file] = {node["id"] for node in self.soup(path).find_all(id=True)}
        return self._ids[file]

    @cached_property
    def widgets(self) -> list[tuple[str, int, BookWidget]]:
        """Of every widget that the book shows: its page, its place among the page's widgets, and its Python twin."""
        classes = {widget.name: widget for widget in all_widgets()}
        found = []
        sys.audit("book.known", True)  # of what pages hold, no more than widgets is read: tests/proven knows of these
        for path in PAGES:
            for place, (name, state) in enumerate(WIDGET.findall(self.text(path))):
                widget = classes[name]
                inputs = {n: t for n, t in widget.inputs().items() if not isinstance(t, Asset)}
                found.append((path, place, widget(**{name: json.loads(state)[name] for name in inputs})))
        sys.audit("book.known", False)
        return found


# A browser that draws no frame any more is given up, so that what waits for a widget says so.
GO_TO_ALL = """async () => {
    for (const widget of document.querySelectorAll("[data-afm]")) {
        widget.scrollIntoView({ behavior: "instant" });
        const drawn = new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        await Promise.race([drawn, new Promise((done) => setTimeout(done, 10_000))]);
    }
    scrollTo({ top: 0, behavior: "instant" });
}"""


def settle(page: Page) -> Page:
    """Go where widgets are, wait until they are live, then open all that can be opened, but for parts of widgets."""
    page.evaluate(GO_TO_ALL)
    expect(page.locator("[data-afm]:not([data-mounted])"), "a widget did not start").to_have_count(0)
    page.evaluate("for (const box of document.querySelectorAll('details:not([data-afm] *)')) box.open = true")
    return page


def bare(*widgets: BookWidget, body: str = "") -> str:
    """A page of nothing but widgets, with the scripts and styles of the built site."""
    html = "".join(widget.page_html() for widget in widgets)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Widgets</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="_static/widgets/shared/base.css"></head>'
        f"<body>{html}{body}{page_words(sorted({*map(type, widgets)}, key=str))}"
        '<script type="module" src="_static/widgets/shared/host.js"></script></body></html>'
    )


@contextmanager
def opened(browser: Browser, path: Path) -> Iterator[Page]:
    """A file as it opens from a disk, which asks for no address and has nothing to complain of."""
    context = browser.new_context()
    page = context.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    assert not said
