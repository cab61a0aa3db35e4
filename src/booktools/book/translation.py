"""Translations of the book's pages: texts by their names, beside the English, which stays where it is.

The translation of `chapters/05_dots.ipynb` into Chinese is `translations/zh/chapters/05_dots.md`: a block for each
Markdown cell. It opens with a line of the cell's id and the hash of the English that was translated,

    +++ why-variance 3f2a9c1b

A cell whose English has changed since then is stale: it is shown in English until somebody has looked at it. Code is
in no translation.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from attnbook.language import ENGLISH, language
from booktools.book import BookError, glossary
from booktools.book.contents import read_notebook

OPENING = re.compile(r"^\+\+\+ (\S+) ([0-9a-f]{8})$", re.MULTILINE)
FIGURE_TEXTS = {"alt": "image", "caption": "figure"}
PAGE = "page"  # the one text of a page that is no notebook


@dataclass(frozen=True)
class Block:
    """A text in another language, and the hash of the English it was made from."""

    text: str
    source: str

    def fits(self, english: str) -> bool:
        return self.source == digest(english)


def digest(english: str) -> str:
    """
    >>> digest("# 5. Dots")
    '0fc23f5b'
    """
    return sha256(english.encode()).hexdigest()[:8]


def _notebook_texts(notebook) -> dict[str, str]:
    """Returns a notebook's texts by name: description, promise, Markdown by cell, `CELL:alt`, `CELL:caption`."""
    about = notebook.metadata
    found = {":description": about.get("description", ""), ":promise": about.get("attnbook", {}).get("promise", "")}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            found[cell.id] = cell.source
        for kind, text in _figure_texts(cell).items():
            found[f"{cell.id}:{kind}"] = text
    return {name: text for name, text in found.items() if text}


def _figure_texts(cell) -> dict[str, str]:
    """What an author says of a figure in the metadata of the cell that draws it: `alt` and `caption`."""
    said = cell.metadata.get("mystnb", {})
    return {kind: said[part][kind] for kind, part in FIGURE_TEXTS.items() if said.get(part, {}).get(kind)}


def translate(notebook, page: str, root: Path):
    """A notebook, whose path in the book is `page`, with its texts in the language spoken now. Code stays as it is."""
    said = translated(_notebook_texts(notebook), page, root)
    if ":description" in said:
        notebook.metadata["description"] = said[":description"]
    if ":promise" in said:
        notebook.metadata["attnbook"]["promise"] = said[":promise"]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = said.get(cell.id, cell.source)
        for kind in _figure_texts(cell):
            cell.metadata["mystnb"][FIGURE_TEXTS[kind]][kind] = said[f"{cell.id}:{kind}"]
    return notebook


def translate_page(text: str, page: str, root: Path) -> str:
    """Returns a page in Markdown with its texts in the language spoken now."""
    return translated({PAGE: text}, page, root)[PAGE]


def translated(english: dict[str, str], page: str, root: Path) -> dict[str, str]:
    """The texts of a page in the language spoken now; those without a translation, or with a stale one, in English."""
    if language() == ENGLISH:
        return english
    blocks = _read_blocks(_overlay_path(page, root), english)
    return english | {name: block.text for name, block in blocks.items() if block.fits(english[name])}


def _overlay_path(page: str, root: Path) -> Path:
    """Where the translation of a page into the language spoken now is, or would be; that of the terms is one, too."""
    tags = (language(), language().partition("-")[0])
    name = "terms.md" if page == glossary.FILE else Path(page).with_suffix(".md")
    places = [root / "translations" / tag / name for tag in tags]
    return next((place for place in places if place.is_file()), places[0])


def _read_blocks(path: Path, names: Iterable[str]) -> dict[str, Block]:
    """The blocks of a translation, which can only have these names."""
    if not path.is_file():
        return {}
    before, *parts = OPENING.split(path.read_text(encoding="utf-8"))
    if before.strip():
        raise BookError(f"{path} must open with a line `+++ CELL HASH`, got {before.strip()[:40]!r}.")
    blocks: dict[str, Block] = {}
    for name, source, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if name in blocks:
            raise BookError(f"{path} has the cell {name} twice. Keep one of the two.")
        if name not in names:
            raise BookError(f"{path}: there is no cell {name}. Was it renamed, or taken out? Then do the same here.")
        blocks[name] = Block(text.strip("\n"), source)
    return blocks


@dataclass(frozen=True)
class State:
    """How far the translation of a page is: the names of its texts. (One that says the English still is missing.)"""

    translated: list[str]
    stale: list[str]
    missing: list[str]


def translation_state(english: dict[str, str], page: str, root: Path) -> State:
    blocks = _read_blocks(_overlay_path(page, root), english)
    missing = [name for name, text in english.items() if name not in blocks or blocks[name].text == text.strip("\n")]
    done = [name for name in english if name not in missing]
    stale = [name for name in done if not blocks[name].fits(english[name])]
    return State([name for name in done if name not in stale], stale, missing)


def write_missing(english: dict[str, str], page: str, root: Path) -> Path:
    """Write the English of what has no block, for somebody to write over; where it went."""
    path = _overlay_path(page, root)
    blocks = {name: Block(text.strip("\n"), digest(text)) for name, text in english.items()}
    blocks |= _read_blocks(path, english)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = (f"+++ {name} {block.source}\n\n{block.text}\n" for name, block in blocks.items())
    path.write_text("\n".join(written), encoding="utf-8")
    return path


def texts_of(page: str, root: Path) -> dict[str, str]:
    """The English texts of a page of the book, or of its glossary's terms."""
    path = root / page
    if page == glossary.FILE:
        return {term.anchor: term.says for term in glossary.read_terms(path)}
    return {PAGE: path.read_text(encoding="utf-8")} if path.suffix == ".md" else _notebook_texts(read_notebook(path))
