"""What the book's pages can be referred to by: labels, their numbers and their places on the site."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from docutils.nodes import make_id
from myst_parser.mdit_to_docutils.base import default_slugify

from attnbook.language import words
from booktools.book import HERE, BookError
from booktools.book.address import Address
from booktools.book.myst import Directive, blocks

NUMBERED = {"exercise": "exercise", "exercise-start": "exercise", "figure": "figure", "math": "equation"}


@dataclass(frozen=True)
class Label:
    url: str
    text: str  # what a reference without words of its own says, in MyST
    number: str = ""


@dataclass(frozen=True)
class Entry:
    """Something in a text that has or gives a label."""

    kind: str  # a target, a heading, one of the kinds that are NUMBERED, or anything else
    label: str | None = None
    said: str = ""
    number: str = ""


def texts_of(notebook) -> list[str]:
    """The Markdown of a notebook, cell by cell; of a cell that draws, its figure's label."""
    return [cell.source if cell.cell_type == "markdown" else _figure_line(cell) for cell in notebook.cells]


def _figure_line(cell) -> str:
    """
    >>> from nbformat.v4 import new_code_cell
    >>> _figure_line(new_code_cell("draw()", metadata={"mystnb": {"figure": {"name": "fig-bars"}}}))
    '```{figure} -\\n:name: fig-bars\\n```'
    """
    name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
    return f"```{{figure}} -\n:name: {name}\n```" if name else ""


def entries_of(page: str, texts: Iterable[str]) -> list[Entry]:
    """The entries of a page, with their numbers: Exercise 5.2 is the second of chapter 5, and so is Figure 5.2."""
    chapter, counts, found = re.match(r"(\d\d)_", Path(page).name), Counter(), []
    for entry in (entry for text in texts for entry in _entries_in(text)):
        if entry.kind in NUMBERED.values():
            counts[entry.kind] += 1
            number = f"{int(chapter[1])}.{counts[entry.kind]}" if chapter else str(counts[entry.kind])
            entry = replace(entry, number=number, said=words(HERE)["numbered"][entry.kind].format(n=number))
        found.append(entry)
    return found


def collect_labels(pages: Mapping[str, list[Entry]], here: Address) -> dict[str, Label]:
    """Every page (by its path), heading (path#slug) and label (#label) of the book."""
    found: dict[str, Label] = {}
    for page, listed in pages.items():
        for name, label in _page_labels(page, listed, here):
            if name.startswith("#") and name in found:
                raise BookError(f"the label {name[1:]} stands twice: {found[name].url} and {label.url}. Rename one.")
            found.setdefault(name, label)
    return found


def _page_labels(page: str, listed: Iterable[Entry], here: Address) -> Iterator[tuple[str, Label]]:
    url = here.page(page)
    waiting = []  # targets whose heading or figure has not come yet
    titled = False
    for entry in listed:
        if entry.kind == "target":
            waiting.append(entry.label)
            continue
        if entry.kind == "heading":
            if not titled:
                yield page, Label(url, entry.said)
            titled = True
            bare = re.sub(r"[`$*]", "", entry.said)
            yield f"{page}#{default_slugify(bare)}", Label(f"{url}#{make_id(bare)}", entry.said)
        for name in [*waiting, *([entry.label] if entry.label else [])]:
            anchor = f"equation-{make_id(name)}" if entry.kind == "equation" else make_id(name)
            yield f"#{name}", Label(f"{url}#{anchor}", entry.said, entry.number)
        waiting = []


def _entries_in(source: str) -> Iterator[Entry]:
    """Everything in a text that has or gives a label, in its order."""
    for block in blocks(source):
        if block.type == "myst_target":
            yield Entry("target", block.content)
        elif block.type == "heading":
            yield Entry("heading", None, block.content)
        elif block.type == "math_block_label":
            yield Entry("equation", block.info)
        elif block.type in ("fence", "colon_fence") and (directive := Directive.of(block)):
            if directive.name in NUMBERED and (directive.label or directive.name != "math"):
                yield Entry(NUMBERED[directive.name], directive.label)
            elif directive.label:
                yield Entry("other", directive.label, directive.argument)
            if directive.name != "math":
                yield from _entries_in(directive.body)
        else:
            yield Entry("other")
