"""An edition: the book in one language, as one value, which all that print it are given."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from nbformat import NotebookNode

from attnbook.language import ENGLISH, PSEUDO, speaking
from booktools.book import glossary
from booktools.book.address import Address, address
from booktools.book.assignment import Assignment, assignment_paths
from booktools.book.contents import (
    Chapter,
    chapters,
    deck_page,
    deck_paths,
    edition_language,
    own_language,
    pages,
    read_notebook,
    settings,
)
from booktools.book.formulas import Formulas
from booktools.book.from_scratch import from_scratch
from booktools.book.labels import Entry, Label, collect_labels, entries_of, texts_of
from booktools.book.localize import localize
from booktools.book.package import version
from booktools.book.references import References
from booktools.book.translation import overlay_path, share, translate_page, translated
from booktools.book.translation import texts_of as english_of

ENOUGH = 0.75  # of its letters must be translated for a page to be offered in a language
_spoken: ContextVar["Edition | None"] = ContextVar("edition", default=None)


@dataclass(frozen=True)
class Edition:
    """The book in one language: its pages, and what follows from them. Each is worked out once, when it is asked for.

    Pages go by their path in the repository, `chapters/05_dots.ipynb`; what belongs to a chapter, by its stem.
    """

    root: Path
    language: str = ENGLISH
    is_draft: bool = False  # whether it has all pages of which anything is translated

    @contextmanager
    def spoken(self) -> Iterator[None]:
        """Within it, everything is said in the edition's language, and `edition` gives this one."""
        before = _spoken.set(self)
        try:
            with speaking(self.language):
                yield
        finally:
            _spoken.reset(before)

    @cached_property
    def settings(self) -> dict:
        return settings(self.root)

    @cached_property
    def here(self) -> Address:
        return replace(address(self.root), folder=self.folder)

    @property
    def folder(self) -> str:
        """Where it stands on the site: an edition in another language than the book's own, beside that."""
        return "" if self.language == own_language(self.root) else f"{self.language}/"

    @cached_property
    def own(self) -> "Edition":
        """The edition in the book's own language, to which one is led for what this one lacks."""
        return replace(self, language=own_language(self.root)) if self.folder else self

    @cached_property
    def version(self) -> str:
        return version(self.root)

    @cached_property
    def wheel(self) -> str:
        """The name of the package's file on the site."""
        return f"attnbook-{self.version}-py3-none-any.whl"

    @cached_property
    def pages(self) -> list[str]:
        """The paths of all pages, in reading order."""
        return [path.relative_to(self.root).as_posix() for path in pages(self.root)]

    @cached_property
    def offered(self) -> list[str]:
        """The paths of the pages that are said in its language; for the others one is led to the book's own edition."""
        return [page for page in self.pages if self.has(page)]

    def has(self, page: str) -> bool:
        """Whether a page, an assignment or a deck is said in its language."""
        if not self.folder or self.language == PSEUDO:
            return True
        if page not in self._shares:
            with self.spoken():
                self._shares[page] = share(page, self.root)
        return self._shares[page] > (0 if self.is_draft else ENOUGH)

    @cached_property
    def _shares(self) -> dict[str, float]:
        return {}

    def overlay(self, page: str) -> Path:
        """Where a page's translation is, or would be."""
        with self.spoken():
            return overlay_path(page, self.root)

    def source_of(self, name: str) -> str:
        """The path of a page in the repository, from that on the site without its suffix; "" if it is made of none."""
        return next((page for page in [*self.pages, *self.outlines.values()] if page.rpartition(".")[0] == name), "")

    def address_of(self, page: str) -> str:
        return self.home_of(page).page(page)

    def home_of(self, page: str) -> Address:
        """The address of the edition that has a page: this one, or the book's own."""
        return self.here if self.has(page) else self.here.own

    @cached_property
    def chapters(self) -> list[Chapter]:
        written = (chapter.path for chapter in chapters(self.root))
        return [Chapter.of(path, self._notebook(f"chapters/{path.name}")) for path in written]

    @cached_property
    def outlines(self) -> dict[str, str]:
        """The paths of outlines of slides, by the stem of their chapter."""
        written, stems = deck_paths(self.root), [chapter.stem for chapter in self.chapters]
        return {stem: written[stem].relative_to(self.root).as_posix() for stem in stems if stem in written}

    @cached_property
    def decks(self) -> dict[str, str]:
        """Those of the decks that are said in its language, as their chapters are."""
        said = {chapter.stem for chapter in self.chapters if self.has(self.page_of(chapter))}
        return {stem: page for stem, page in self.outlines.items() if stem in said and self.has(page)}

    def taught(self, page: str) -> Chapter | None:
        """The chapter whose deck a page of the site is."""
        return next((each for each in self.chapters if each.stem in self.decks and deck_page(each.stem) == page), None)

    def notebook(self, page: str) -> NotebookNode:
        """A page that is a notebook: a copy, to be made into something else."""
        return deepcopy(self._notebook(page))

    def text(self, page: str) -> str:
        """A page that is Markdown."""
        with self.spoken():
            return translate_page((self.root / page).read_text(encoding="utf-8"), page, self.root)

    def _notebook(self, page: str) -> NotebookNode:
        if page not in self._notebooks:
            with self.spoken():
                self._notebooks[page] = localize(read_notebook(self.root / page), page, self.root)
        return self._notebooks[page]

    @cached_property
    def _notebooks(self) -> dict[str, NotebookNode]:
        return {}

    @cached_property
    def entries(self) -> dict[str, list[Entry]]:
        """The numbered things on each page that can be referred to."""
        with self.spoken():
            return {page: entries_of(page, self._texts(page), self._english(page)) for page in self.pages}

    def _texts(self, page: str) -> list[str]:
        return texts_of(self._notebook(page)) if page.endswith(".ipynb") else [self.text(page)]

    def _english(self, page: str) -> list[str]:
        """The texts that those of a page are translations of; none in English."""
        if self.language == ENGLISH:
            return []
        path = self.root / page
        return texts_of(read_notebook(path)) if page.endswith(".ipynb") else [path.read_text(encoding="utf-8")]

    @cached_property
    def labels(self) -> dict[str, Label]:
        return collect_labels(self.entries, self.address_of)

    @cached_property
    def sections(self) -> dict[str, str]:
        """What can be linked to, by page#anchor as it is on the site, and what it is called."""
        sites = (self.here.site, self.here.own.site)  # the longer first
        return {
            label.url.removeprefix(sites[0]).removeprefix(sites[1]).replace(".html", ""): label.text
            for label in self.labels.values()
        }

    @cached_property
    def glossary(self) -> list[glossary.Term]:
        """The terms, in their order; none where the book has no page for them."""
        if glossary.PAGE not in self.pages:
            return []
        terms = glossary.read_terms(self.root / glossary.FILE)
        glossary.check_sections(terms, self.sections)
        with self.spoken():
            said = translated(english_of(glossary.FILE, self.root), glossary.FILE, self.root)
        return [replace(term, says=said[term.anchor]) for term in terms]

    @cached_property
    def formulas(self) -> Formulas:
        return Formulas.read(self.settings)

    @cached_property
    def references(self) -> References:
        files = [self.root / name for name in self.settings.get("bibtex_bibfiles") or []]
        return References.read(files, self.address_of("references.md"))

    @cached_property
    def assignments(self) -> dict[str, Assignment]:
        with self.spoken():
            return {path.stem: Assignment.read(path, root=self.root) for path in assignment_paths(self.root)}

    @cached_property
    def from_scratch(self) -> dict[str, str]:
        """Returns the text of each chapter's file to take along, by the chapter's stem."""
        with self.spoken():
            texts = [from_scratch(self._notebook(self.page_of(each)), each, self.here) for each in self.chapters]
        return {each.stem: text for each, text in zip(self.chapters, texts, strict=True) if text}

    def page_of(self, chapter: Chapter) -> str:
        return f"chapters/{chapter.path.name}"


def edition(root: Path, language: str | None = None) -> Edition:
    """The edition of the book in a folder that is being made: one for all who ask.

    It is that in a language, if one is given; else the one that is spoken; else that of ATTNBOOK_LANGUAGE, with all
    that is begun; else that of `_config.yml`.
    """
    if language:
        return Edition(root.absolute(), language)
    spoken = _spoken.get()
    return spoken if spoken and spoken.root.absolute() == root.absolute() else _edition(root.absolute())


@cache
def _edition(root: Path) -> Edition:
    return Edition(root, edition_language(root), is_draft=bool(os.environ.get("ATTNBOOK_LANGUAGE")))


def editions(root: Path) -> list[Edition]:
    """All editions that the site has: in the book's own language, then those whose first page is translated."""
    own = own_language(root)
    tags = sorted(path.name for path in root.glob("translations/*") if path.is_dir() and path.name != own)
    return [Edition(root, own), *(each for each in (Edition(root, tag) for tag in tags) if each.has("index.md"))]


def to_print(html: Path) -> list[tuple[Edition, Path]]:
    """The editions of this folder's book, all or the one that ATTNBOOK_LANGUAGE asks for, and where each is printed."""
    one = edition(Path())
    return [(one, html)] if one.is_draft else [(each, html / each.folder) for each in editions(one.root)]
