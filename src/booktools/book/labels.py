"""What the book's pages can be referred to by: labels, their numbers and their places on the site."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docutils.nodes import make_id
from myst_parser.mdit_to_docutils.base import default_slugify

from attnbook.language import words
from booktools.book import HERE, BookError
from booktools.book.address import Address
from booktools.book.contents import pages, read_notebook
from booktools.book.myst import Directive, blocks
from booktools.book.translation import translate, translate_page

NUMBERED = {"exercise": "exercise", "exercise-start": "exercise", "figure": "figure", "math": "equation"}


@dataclass(frozen=True)
class Label:
    url: str
    text: str  # what a reference without words of its own says, in MyST
    number: str = ""


def markdown_of(page: str, root: Path) -> list[str]:
    """The Markdown of a page, cell by cell, in the language spoken now; of a cell that draws, its figure's label."""
    if page.endswith(".md"):
        return [translate_page((root / page).read_text(encoding="utf-8"), page, root)]
    notebook = translate(read_notebook(root / page), page, root)
    return [cell.source if cell.cell_type == "markdown" else figure_of(cell) for cell in notebook.cells]


def figure_of(cell) -> str:
    """
    >>> from nbformat.v4 import new_code_cell
    >>> figure_of(new_code_cell("draw()", metadata={"mystnb": {"figure": {"name": "fig-bars"}}}))
    '```{figure} -\\n:name: fig-bars\\n```'
    """
    name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
    return f"```{{figure}} -\n:name: {name}\n```" if name else ""


def collect(root: Path, here: Address) -> dict[str, Label]:
    """Every page (by its path), heading (path#slug) and label (#label) of the book."""
    found: dict[str, Label] = {}
    for path in pages(root):
        page = path.relative_to(root).as_posix()
        for name, label in page_labels(page, markdown_of(page, root), here):
            if name.startswith("#") and name in found:
                raise BookError(f"the label {name[1:]} stands twice: {found[name].url} and {label.url}. Rename one.")
            found.setdefault(name, label)
    return found


def page_labels(page: str, texts: list[str], here: Address) -> Iterator[tuple[str, Label]]:
    url, chapter = here.page(page), re.match(r"(\d\d)_", Path(page).name)
    counts: Counter[str] = Counter()
    waiting = []  # targets whose heading or figure has not come yet
    titled = False
    for kind, label, said in (entry for text in texts for entry in entries(text)):
        if kind == "target":
            waiting.append(label)
            continue
        number = ""
        if kind in NUMBERED.values():
            counts[kind] += 1
            number = f"{int(chapter[1])}.{counts[kind]}" if chapter else str(counts[kind])
            said = words(HERE)["numbered"][kind].format(n=number)
        if kind == "heading":
            if not titled:
                yield page, Label(url, said)
            titled = True
            bare = re.sub(r"[`$*]", "", said)
            yield f"{page}#{default_slugify(bare)}", Label(f"{url}#{make_id(bare)}", said)
        for name in [*waiting, *([label] if label else [])]:
            anchor = f"equation-{make_id(name)}" if kind == "equation" else make_id(name)
            yield f"#{name}", Label(f"{url}#{anchor}", said, number)
        waiting = []


def entries(source: str) -> Iterator[tuple[str, str | None, str]]:
    """(kind, label, words) of everything in a text that has or gives a label."""
    for block in blocks(source):
        if block.type == "myst_target":
            yield "target", block.content, ""
        elif block.type == "heading":
            yield "heading", None, block.content
        elif block.type == "math_block_label":
            yield "equation", block.info, ""
        elif block.type in ("fence", "colon_fence") and (directive := Directive.of(block)):
            if directive.name in NUMBERED and (directive.label or directive.name != "math"):
                yield NUMBERED[directive.name], directive.label, ""
            elif directive.label:
                yield "other", directive.label, directive.argument
            if directive.name != "math":
                yield from entries(directive.body)
        else:
            yield "other", None, ""
