"""The contents of the book: the pages that `_toc.yml` names, and the chapters among them."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

from attnbook.language import ENGLISH
from booktools.book import BookError

LAST_GREEN = "colab/last-green.json"  # in the repository and on the site
DECK = ".slides.md"  # how the name of an outline ends


@dataclass(frozen=True)
class Chapter:
    """What a chapter is: its title, and what its notebook's metadata say of it under `attnbook`."""

    number: int
    title: str
    path: Path
    promise: str = ""  # what its card says
    pictogram: str = ""  # lines of an SVG of 96 × 64
    map: tuple[str, ...] = ()  # the parts of the Transformer that it builds

    @classmethod
    def of(cls, path: Path, notebook) -> "Chapter":
        """The chapter in a notebook, be it a translation."""
        first = notebook.cells[0].source.partition("\n")[0] if notebook.cells else ""
        title = without_number(first.removeprefix("# ").strip())
        about = notebook.metadata.get("attnbook", {})
        known = ("promise", "pictogram", "map")
        if strange := set(about) - set(known):
            told = f"got {', '.join(sorted(strange))} as well"
            raise BookError(f"{path}: of a chapter, attnbook in the metadata says {', '.join(known)}; {told}.")
        parts = tuple(about.get("map", ()))
        return cls(int(path.name[:2]), title, path, about.get("promise", ""), about.get("pictogram", ""), parts)

    @property
    def stem(self) -> str:
        return self.path.stem


def without_number(title: str) -> str:
    """
    >>> without_number("5. Dots")
    'Dots'
    """
    return re.sub(r"^\d+\. ", "", title)


def settings(root: Path) -> dict:
    """The contents of `_config.yml`."""
    return _read_yaml(root / "_config.yml")


def edition_language(root: Path) -> str:
    """The language of the edition that is being made: what ATTNBOOK_LANGUAGE says, else the book's own."""
    return os.environ.get("ATTNBOOK_LANGUAGE") or own_language(root)


def own_language(root: Path) -> str:
    """The language of the edition that stands at the book's own address, as `_config.yml` says."""
    config = (settings(root).get("sphinx") or {}).get("config") or {}
    return config.get("language", ENGLISH)


def contents_without(root: Path, absent: Callable[[str], tuple[str, str] | None]) -> dict:
    """What `_toc.yml` says, with a link for each page that is absent, of which the function says title and address."""

    def kept(entry):
        if isinstance(entry, list):
            return [kept(item) for item in entry]
        if not isinstance(entry, dict):
            return entry
        if "file" in entry and (link := absent(entry["file"])):
            return {"title": link[0], "url": link[1]}
        return {key: kept(value) for key, value in entry.items()}

    return kept(_read_yaml(root / "_toc.yml"))


def pages(root: Path) -> list[Path]:
    """The source files of every page, in reading order."""
    toc = _read_yaml(root / "_toc.yml")
    return [_find_page(root, name) for name in _page_names(toc)]


def deck_paths(root: Path) -> dict[str, Path]:
    """The outlines of slides, by the stem of their chapter."""
    return {path.name.removesuffix(DECK): path for path in sorted(root.glob(f"slides/*{DECK}"))}


def deck_page(stem: str) -> str:
    """The page on which the site has the deck of a chapter.

    >>> deck_page("05_dots")
    'slides/05_dots.slides'
    """
    return f"slides/{stem}{DECK.removesuffix('.md')}"


def chapters(root: Path) -> list[Chapter]:
    """The pages whose file name starts with a chapter's number, such as `05_scaled_dot_product_attention`."""
    return [read_chapter(page) for page in pages(root) if re.match(r"\d\d_.*\.ipynb$", page.name)]


def last_green(root: Path) -> dict:
    """When every notebook last ran with Colab's packages, and what they were; empty before the first time."""
    path = root / LAST_GREEN
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _read_yaml(path: Path) -> dict:
    if not path.is_file():
        raise BookError(f"{path} does not exist. Run this in the book's folder, the one that holds _config.yml.")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read_notebook(path: Path) -> NotebookNode:
    try:
        return nbformat.read(path, as_version=4)  # pyrefly: ignore[bad-return] (as of that version)
    except nbformat.reader.NotJSONError:
        raise BookError(f"{path} is not a notebook that can be read. Was a merge left half done?") from None


def _page_names(entry) -> list[str]:
    """Every `root:` and `file:` in a table of contents, however deep.

    >>> _page_names({"root": "index", "parts": [{"chapters": [{"file": "notation"}, {"url": "elsewhere"}]}]})
    ['index', 'notation']
    """
    if isinstance(entry, list):
        return [name for item in entry for name in _page_names(item)]
    if not isinstance(entry, dict):
        return []
    own = [entry[key] for key in ("root", "file") if key in entry]
    return own + [name for value in entry.values() for name in _page_names(value)]


def _find_page(root: Path, name: str) -> Path:
    found = [path for suffix in ("", ".ipynb", ".md") if (path := root / f"{name}{suffix}").is_file()]
    if not found:
        raise BookError(f"_toc.yml names {name}, but there is no {name}.ipynb or {name}.md. Write it, or take it out.")
    return found[0]


def read_chapter(path: Path) -> Chapter:
    notebook = read_notebook(path)
    first, number = notebook.cells[0].source if notebook.cells else "", int(path.name[:2])
    if not re.match(rf"# {number}\. .", first):
        raise BookError(
            f"{path} must open with a Markdown cell whose first line is `# {number}. Title`, got {first[:40]!r}."
        )
    return Chapter.of(path, notebook)
