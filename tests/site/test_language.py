"""A site in the language of nobody: every text in brackets, those of its pages since their translation has them.

What stands without brackets is in no file of words: somebody forgot it.
"""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from attnbook.language import PSEUDO
from booktools.book import glossary
from tests import ROOT
from tests.browser.visiting import Visitor, in_a_folder
from tests.pseudo import linked_book, translate_pages
from tests.widgets.forgotten import forgotten, left_over

CHAPTER = "chapters/02_masked_softmax"
KEPT = "09_the_transformer"  # a chapter whose own code has a page
FOLDERS = ["chapters", "assignments/source"]
PAGES = ["index", CHAPTER, f"chapters/{KEPT}", f"from_scratch/{KEPT}", "notation", "glossary", "references"]
TOC = f"""format: jb-book
root: index
parts:
  - caption: chapters
    chapters: [file: {CHAPTER}]
  - caption: at_hand
    chapters: [file: notation, file: glossary, file: references]
"""
# The same in every language: works and their authors, names of terms, formulas, what code prints. Widgets have tests
# of their own.
DATA = ", ".join(
    [
        ".language, .math, .terms :is(dt, h2), .letters a, .citation-list, a[href*='references.html#id'], .found a",
        ".cell_output > .output:not(:has([data-afm])), [data-afm]",
    ]
)
MARK_DATA = f"for (const data of document.querySelectorAll(`{DATA}`)) data.setAttribute('translate', 'no')"
CARDS = "meta[name=description], meta[property='og:title'], meta[property='og:description'], meta[property$=alt]"
PRINT = "from pathlib import Path; from booktools.printers.site import print_pages; "
WITHOUT_SCRIPTS = "for (const node of document.querySelectorAll('noscript')) node.outerHTML = node.textContent"


def build(book: Path) -> Path:
    """The site of a book, in the language of nobody."""
    command = [sys.executable, "-c", f"{PRINT}print_pages(Path(), Path('_build/html'))"]
    env = os.environ | {"ATTNBOOK_LANGUAGE": PSEUDO}
    done = subprocess.run(command, cwd=book, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return book / "_build/html"


def keep_terms(book: Path, chapters: list[str]) -> None:
    """Of the terms those that these chapters teach."""
    path = book / glossary.FILE
    before, *terms = path.read_text("utf-8").split("[[term]]")
    path.unlink()
    kept = (term for term in terms if any(f'"{chapter}#' in term for chapter in chapters))
    path.write_text("[[term]]".join([before, *kept]), "utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    book = linked_book(tmp_path_factory.mktemp("book"), TOC.replace(CHAPTER, f"{CHAPTER}, file: chapters/{KEPT}"))
    keep_terms(book, [CHAPTER, f"chapters/{KEPT}"])
    notebooks = [f"{folder}/{name}.ipynb" for name in (Path(CHAPTER).name, KEPT) for folder in FOLDERS]
    translate_pages(book, ["index.md", "notation.md", glossary.PAGE, glossary.FILE, "references.md", *notebooks])
    return build(book)


@pytest.fixture
def forgotten_on(browser):
    """What of a site's page is in no file of words and in no translation."""
    visitor = Visitor(browser, "")

    def read(site: Path, path: str, tried="2099-01-05") -> list[str]:
        with in_a_folder(site) as visitor.home:
            page = visitor(path, served={"colab/last-green.json": f'{{"date": "{tried}"}}'})
            page.mouse.move(9, 9)  # buttons that copy come with the pointer
            page.wait_for_load_state("networkidle")
            page.evaluate(MARK_DATA)
            page.evaluate(WITHOUT_SCRIPTS)
            parts = [page.locator("html"), *page.locator("time").all()]  # a date needs brackets inside its sentence's
            cards = [left_over(card.get_attribute("content")) for card in page.locator(CARDS).all()]
            return [*(text for part in parts for text in forgotten(part)), *filter(None, cards)]

    yield read
    for context in visitor.contexts:
        context.close()
    assert not visitor.complaints


@pytest.mark.parametrize("path", [*PAGES, "404", "search"])
def test_every_text_of_the_site_is_in_a_file_of_words(forgotten_on, site, path):
    assert forgotten_on(site, f"{path}.html") == []
    assert f'<html lang="{PSEUDO}"' in (site / f"{path}.html").read_text("utf-8")


@pytest.mark.parametrize("asked", ["softmax", "xylophone"])
def test_what_a_search_says_is_in_a_file_of_words(forgotten_on, site, asked):
    assert forgotten_on(site, f"search.html?q={asked}") == []


# An extension of the book that says what somebody could have written who forgot the files of words.
FORGETFUL = """
from booktools.site import chapter_head, frame, page

known = frame.words
forgotten = {
    "skip": "Skip this", "notebook": {"open": "Open here", "download": "⟦Take⟧"}, "solution": "Solution",
    "description": "A heat map",
}
for module in (frame, chapter_head, page):
    module.words = lambda folder: known(folder) | (forgotten if folder == frame.HERE else {})
chapter_head.day = lambda when: f"{when:%d %B %Y}"
frame.admonitionlabels = {}  # so that the real ones stay English
page.say_copy.__code__ = (lambda page: None).__code__

def setup(app):
    pass
"""
PLANTED = """# 2. ⟦Planted⟧

```{hint}
⟦Hear.⟧
```

```{exercise}
:label: one
⟦Do.⟧
```

```{solution} one
:class: dropdown
⟦Done.⟧
```

~~~python
code
~~~
"""


def test_forgotten_texts_are_noticed(forgotten_on, tmp_path, monkeypatch):
    book = linked_book(tmp_path, f"format: jb-book\nroot: index\nchapters:\n- file: {CHAPTER}\n")
    for name in ("_config.yml", "chapters", "index.md", "slides"):
        (book / name).unlink()
    config = (ROOT / "_config.yml").read_text("utf-8")
    (book / "_config.yml").write_text(config.replace(" booktools.site]", " forgetful, booktools.site]"), "utf-8")
    (book / "forgetful.py").write_text(FORGETFUL, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(book), prepend=os.pathsep)
    (book / "index.md").write_text("# ⟦Index⟧", "utf-8")
    (book / "chapters").mkdir()
    nbformat.write(new_notebook(cells=[new_markdown_cell(PLANTED)]), book / f"{CHAPTER}.ipynb")
    found = forgotten_on(build(book), f"{CHAPTER}.html", tried="2001-01-05")
    for text in ("Skip this Open here Hint Solution Copy to clipboard", "Copy", "November", "heat map"):
        assert text in found
