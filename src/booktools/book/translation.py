"""Translations of the book's texts: each by its name, beside the English, which stays where it is.

The translation of `chapters/05_dots.ipynb` into Chinese is `translations/zh/chapters/05_dots.md`: a block for each
Markdown cell. It opens with a line of the cell's id and the hash of the English that was translated,

    +++ why-variance 3f2a9c1b

A cell whose English has changed since then keeps its translation, with a small note, as long as both have the same
numbers, formulas, code and links; else it is shown in English. Code is in no translation.

Words, in `src/…/zh.json`, have no such lines: their hashes are in `translations/zh/words.json`.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from pathlib import Path

import nbformat

from attnbook.language import ENGLISH, is_plural, language, words
from booktools.book import HERE, BookError, glossary
from booktools.book.parity import MEANT, differences, differences_in_code, raw_stars
from booktools.book.said_in_code import lines_said, nbgrader, say_instead

OPENING = re.compile(r"^\+\+\+ (\S+) ([0-9a-f]{8})$", re.MULTILINE)
# Where the metadata of a code cell hold a text: of its figure, or of what a hidden test tries.
IN_METADATA = {"alt": ("mystnb", "image"), "caption": ("mystnb", "figure"), "tries": ("attnbook",)}
IN_CODE = ":says"  # the end of the name of what the code of a cell says
LOCK = "words.json"
PAGE = "page"  # the one text of a page that is no notebook


@dataclass(frozen=True)
class Block:
    """A text in another language, and the hash of the English it was made from."""

    text: str
    source: str

    def is_of(self, english: str) -> bool:
        """Whether it is a translation of the English as it is now."""
        return self.source == digest(english)

    def fits(self, english: str, name: str = "") -> bool:
        """Whether it can stand for the English of now: one says what the other says, as far as that can be counted.

        What code says has to be exactly of it, since no note can be put below.
        """
        if name.endswith(IN_CODE):
            return self.is_of(english) and not differences_in_code(english, self.text)
        return self.is_of(english) or not differences(english, self.text)

    @property
    def shown(self) -> str:
        return MEANT.sub("", self.text)


def digest(english: str) -> str:
    """
    >>> digest("# 5. Dots")
    '0fc23f5b'
    """
    return sha256(english.encode()).hexdigest()[:8]


def _notebook_texts(notebook) -> dict[str, str]:
    """Returns a notebook's texts by name: description, promise, Markdown by cell, and what code cells hold of texts.

    Those are `CELL:alt`, `CELL:caption` and `CELL:tries`; and of an assignment `CELL:says`, what its code says, line by
    line.
    """
    about = notebook.metadata
    found = {":description": about.get("description", ""), ":promise": about.get("attnbook", {}).get("promise", "")}
    is_graded = any(map(nbgrader, notebook.cells))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            found[cell.id] = cell.source
        for kind, place in _in_metadata(cell).items():
            found[f"{cell.id}:{kind}"] = place[kind]
        found[f"{cell.id}{IN_CODE}"] = "\n".join(lines_said(cell)) if is_graded else ""
    return {name: text for name, text in found.items() if text}


def _in_metadata(cell) -> dict[str, dict]:
    """Where the metadata of a cell hold a text, by its kind."""
    places = {
        kind: reduce(lambda at, part: at.get(part, {}), path, cell.metadata) for kind, path in IN_METADATA.items()
    }
    return {kind: place for kind, place in places.items() if place.get(kind)}


def translate(notebook, page: str, root: Path):
    """A notebook, whose path in the book is `page`, with its texts in the language spoken now. Code stays as it is."""
    in_language = translated(_notebook_texts(notebook), page, root)
    if ":description" in in_language:
        notebook.metadata["description"] = in_language[":description"]
    if ":promise" in in_language:
        notebook.metadata["attnbook"]["promise"] = in_language[":promise"]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = in_language.get(cell.id, cell.source)
        for kind, place in _in_metadata(cell).items():
            place[kind] = in_language[f"{cell.id}:{kind}"]
        if lines := in_language.get(f"{cell.id}{IN_CODE}"):
            cell.source = say_instead(cell, lines.split("\n"))
    return notebook


def translate_page(text: str, page: str, root: Path) -> str:
    """Returns a page in Markdown with its texts in the language spoken now."""
    return translated({PAGE: text}, page, root)[PAGE]


def translated(english: dict[str, str], page: str, root: Path) -> dict[str, str]:
    """The texts of a page in the language spoken now; in English those without a translation, and those of which
    it says something else by now. One that is only older says so.
    """
    if language() == ENGLISH:
        return english
    blocks = _read_blocks(overlay_path(page, root), english)
    fit = {name: block for name, block in blocks.items() if block.fits(english[name], name)}
    return english | {name: block.shown + _note(name, block, english[name]) for name, block in fit.items()}


def _note(name: str, block: Block, english: str) -> str:
    """Below Markdown whose English has changed, that it has."""
    is_line = ":" in name or name == PAGE
    return "" if block.is_of(english) or is_line else f"\n\n[{words(HERE)['older']}]{{.older}}"


def share(page: str, root: Path) -> float:
    """How much of a page is said in the language spoken now, from 0 to 1, by its letters."""
    english = texts_of(page, root)
    blocks = blocks_of(page, root, english)
    said = (name for name, text in english.items() if name in blocks and blocks[name].fits(text, name))
    done = [name for name in said if blocks[name].text != english[name].strip("\n")]
    return sum(len(english[name]) for name in done) / sum(map(len, english.values())) if english else 0.0


def overlay_path(page: str, root: Path) -> Path:
    """Where the translation of a page into the language spoken now is, or would be; that of the terms is one, too."""
    return _place("terms.md" if page == glossary.FILE else Path(page).with_suffix(".md").as_posix(), root)


def _place(name: str, root: Path) -> Path:
    places = [root / "translations" / tag / name for tag in _tags()]
    return next((place for place in places if place.is_file()), places[0])


def _tags() -> tuple[str, str]:
    """The language spoken now, and the one that it is a kind of."""
    return language(), language().partition("-")[0]


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
    stale: list[str]  # whose English has changed
    missing: list[str]
    faults: dict[str, list[str]]  # by text, what differs though its English has not changed; and stars in the text
    broken: dict[str, list[str]]  # by text, why a stale one is shown in English


def translation_state(page: str, root: Path) -> State:
    english = texts_of(page, root)
    blocks = blocks_of(page, root, english)
    alike = {name for name in blocks if not _is_words(page) and blocks[name].text == english[name].strip("\n")}
    missing = [name for name in english if name not in blocks or (name in alike and _says_something(english[name]))]
    done = [name for name in english if name not in missing]
    stale = [name for name in done if not blocks[name].is_of(english[name])]
    counted = [] if _is_words(page) else done  # the gaps of words have a test of their own
    differ = {name: found for name in counted if (found := _differences(name, english[name], blocks[name].text))}
    starred = {name: [f"has ** in {each!r}" for each in raw_stars(blocks[name].text)] for name in counted}
    wrong = {name: starred.get(name, []) + differ.get(name, []) * (name not in stale) for name in done}
    faults = {name: found for name, found in wrong.items() if found}
    broken = {name: found for name, found in differ.items() if name in stale}
    return State([name for name in done if name not in stale], stale, missing, faults, broken)


def _differences(name: str, english: str, translated: str) -> list[str]:
    return (differences_in_code if name.endswith(IN_CODE) else differences)(english, translated)


def _says_something(text: str) -> bool:
    """
    >>> _says_something("```{from-scratch}\\n```"), _says_something("A word.")
    (False, True)
    """
    return bool(re.search(r"\w", re.sub(r"^(?:[`:]{3,}|:\w+:).*$", "", text, flags=re.MULTILINE)))


def write_missing(page: str, root: Path) -> Path:
    """Write the English of what has no block, for somebody to write over; where it went."""
    english, path = texts_of(page, root), overlay_path(page, root)
    if _is_words(page):
        raise BookError(f"{page} is translated in a file beside it. Copy what is missing into that by hand.")
    blocks = {name: Block(text.strip("\n"), digest(text)) for name, text in english.items()}
    blocks |= _read_blocks(path, english)
    return _write_blocks(path, blocks)


def write_seen(page: str, root: Path) -> Path:
    """Write the hashes of today's English behind all that is translated, since somebody has looked at it; where."""
    english = texts_of(page, root)
    blocks = {name: Block(block.text, digest(english[name])) for name, block in blocks_of(page, root, english).items()}
    if not _is_words(page):
        if not blocks:
            raise BookError(f"Nothing of {page} is translated. Name the English page that its translation is of.")
        return _write_blocks(overlay_path(page, root), blocks)
    path = _place(LOCK, root)
    lock = {page: {name: block.source for name, block in blocks.items()}}
    known = {name: hashes for name, hashes in (_read_lock(root) | lock).items() if hashes}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
    return path


def _write_blocks(path: Path, blocks: dict[str, Block]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = (f"+++ {name} {block.source}\n\n{block.text}\n" for name, block in blocks.items())
    path.write_text("\n".join(written), encoding="utf-8")
    return path


def texts_of(page: str, root: Path) -> dict[str, str]:
    """The English texts of a page of the book, of its glossary's terms, or of a file of words."""
    return texts_in(page, (root / page).read_text(encoding="utf-8"))


def texts_in(page: str, content: str) -> dict[str, str]:
    """The same, from what the file says, now or earlier."""
    if page == glossary.FILE:
        return {term.anchor: term.says for term in glossary.terms_in(content)}
    if _is_words(page):
        return _leaves(json.loads(content))
    return {PAGE: content} if page.endswith(".md") else _notebook_texts(nbformat.reads(content, as_version=4))


def word_files(root: Path) -> list[Path]:
    """The files of English words that somebody has translated some of."""
    found = {path.with_name("en.json") for tag in _tags() for path in root.glob(f"src/**/{tag}.json")}
    return sorted(path.relative_to(root) for path in found)


def _is_words(page: str) -> bool:
    return page.endswith("/en.json")


def _leaves(said, name: str = "") -> dict[str, str]:
    """Words by where they stand, a plural and a list as one.

    >>> _leaves({"frame": {"on": "Next", "found": {"one": "1 word", "other": "{n} words"}}, "list": ["a", "b"]})
    {'frame.on': 'Next', 'frame.found': '1 word | {n} words', 'list': '["a", "b"]'}
    """
    if isinstance(said, dict) and not is_plural(said):
        dot = f"{name}." if name else ""
        return {key: text for part, inside in said.items() for key, text in _leaves(inside, dot + part).items()}
    if isinstance(said, dict):
        return {name: " | ".join(said.values())}
    return {name: said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)}


def blocks_of(page: str, root: Path, english: dict[str, str]) -> dict[str, Block]:
    """What is translated of a page, or of a file of words."""
    if not _is_words(page):
        return _read_blocks(overlay_path(page, root), english)
    files = [root / Path(page).with_name(f"{tag}.json") for tag in _tags()]
    said = next((json.loads(file.read_text("utf-8")) for file in files if file.is_file()), {})
    hashes = _read_lock(root).get(page, {})
    return {name: Block(text, hashes.get(name, "")) for name, text in _leaves(said).items() if name in english}


def _read_lock(root: Path) -> dict[str, dict[str, str]]:
    path = _place(LOCK, root)
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}
