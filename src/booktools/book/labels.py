"""What the book's pages can be referred to by: labels, their numbers and their places on the site."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from docutils.nodes import make_id
from myst_parser.mdit_to_docutils.base import default_slugify

from attnbook.language import words
from booktools.book import HERE, BookError
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
    english: str = ""  # what a heading says in English: its anchor is made of that


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


def entries_of(page: str, texts: Sequence[str], english: Sequence[str] = ()) -> list[Entry]:
    """The entries of a page, with their numbers: Exercise 5.2 is the second of chapter 5, and so is Figure 5.2.

    A translation has the texts that it was made of as well, `english`, whose headings name the anchors.
    """
    chapter, counts, found = re.match(r"(\d\d)_", Path(page).name), Counter(), []
    for entry in (entry for pair in zip(texts, english or texts, strict=True) for entry in _anchored(page, *pair)):
        if entry.kind in NUMBERED.values():
            counts[entry.kind] += 1
            number = f"{int(chapter[1])}.{counts[entry.kind]}" if chapter else str(counts[entry.kind])
            entry = replace(entry, number=number, said=words(HERE)["numbered"][entry.kind].format(n=number))
        found.append(entry)
    return found


def _anchored(page: str, text: str, english: str) -> Iterator[Entry]:
    """The entries of a text; each of its headings knows the English one in its place."""
    if text == english:
        yield from (replace(entry, english=entry.said) for entry in _entries_in(text))
        return
    listed, originals = list(_entries_in(text)), [each for each in _entries_in(english) if each.kind == "heading"]
    headings = [entry for entry in listed if entry.kind == "heading"]
    if len(headings) != len(originals):
        told = f"translates {len(originals)} headings into {len(headings)}"
        raise BookError(f"{page}: {headings[0].said if headings else text[:40]!r} {told}. Give each its own.")
    original = iter(originals)
    yield from (replace(each, english=next(original).said) if each.kind == "heading" else each for each in listed)


def collect_labels(pages: Mapping[str, list[Entry]], address_of: Callable[[str], str]) -> dict[str, Label]:
    """Every page (by its path), heading (path#slug) and label (#label) of the book."""
    found: dict[str, Label] = {}
    for page, listed in pages.items():
        for name, label in _page_labels(address_of(page), page, listed):
            if name.startswith("#") and name in found:
                raise BookError(f"the label {name[1:]} stands twice: {found[name].url} and {label.url}. Rename one.")
            found.setdefault(name, label)
    return found


def _page_labels(url: str, page: str, listed: Iterable[Entry]) -> Iterator[tuple[str, Label]]:
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
            slug, anchor = anchors_of(entry)
            yield f"{page}#{slug}", Label(f"{url}#{anchor}", entry.said)
        for name in [*waiting, *([entry.label] if entry.label else [])]:
            anchor = f"equation-{make_id(name)}" if entry.kind == "equation" else make_id(name)
            yield f"#{name}", Label(f"{url}#{anchor}", entry.said, entry.number)
        waiting = []


def anchors_of(heading: Entry) -> tuple[str, str]:
    """What a link in a text calls a heading, and its id on the page.

    >>> anchors_of(Entry("heading", None, "更进一步", english="Going further"))
    ('going-further', 'going-further')
    """
    bare = re.sub(r"[`$*]", "", heading.english)
    return default_slugify(bare), make_id(bare)


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
