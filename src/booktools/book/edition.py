"""An edition: the book in one language, as one value, which all that print it are given."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from nbformat import NotebookNode

from attnbook.language import ENGLISH, speaking
from booktools.book import glossary
from booktools.book.address import Address, address
from booktools.book.assignment import Assignment, assignment_paths
from booktools.book.contents import Chapter, chapters, deck_paths, edition_language, pages, read_notebook, settings
from booktools.book.formulas import Formulas
from booktools.book.from_scratch import from_scratch
from booktools.book.labels import Entry, Label, collect_labels, entries_of, texts_of
from booktools.book.localize import localize
from booktools.book.package import version
from booktools.book.references import References
from booktools.book.translation import texts_of as english_of
from booktools.book.translation import translate_page, translated


@dataclass(frozen=True)
class Edition:
    """The book in one language: its pages, and what follows from them. Each is worked out once, when it is asked for.

    Pages go by their path in the repository, `chapters/05_dots.ipynb`; what belongs to a chapter, by its stem.
    """

    root: Path
    language: str = ENGLISH

    @contextmanager
    def spoken(self) -> Iterator[None]:
        """Within it, everything is said in the edition's language."""
        with speaking(self.language):
            yield

    @cached_property
    def settings(self) -> dict:
        return settings(self.root)

    @cached_property
    def here(self) -> Address:
        return address(self.root)

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
    def chapters(self) -> list[Chapter]:
        written = (chapter.path for chapter in chapters(self.root))
        return [Chapter.of(path, self._notebook(f"chapters/{path.name}")) for path in written]

    @cached_property
    def decks(self) -> dict[str, str]:
        """The paths of outlines of slides, by the stem of their chapter."""
        written, stems = deck_paths(self.root), [chapter.stem for chapter in self.chapters]
        return {stem: written[stem].relative_to(self.root).as_posix() for stem in stems if stem in written}

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
            return {page: entries_of(page, self._texts(page)) for page in self.pages}

    def _texts(self, page: str) -> list[str]:
        return texts_of(self._notebook(page)) if page.endswith(".ipynb") else [self.text(page)]

    @cached_property
    def labels(self) -> dict[str, Label]:
        return collect_labels(self.entries, self.here)

    @cached_property
    def sections(self) -> dict[str, str]:
        """What can be linked to, by page#anchor as it is on the site, and what it is called."""
        site = self.here.site
        return {label.url.removeprefix(site).replace(".html", ""): label.text for label in self.labels.values()}

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
        return References.read(files, self.here.page("references.md"))

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


def edition(root: Path) -> Edition:
    """The edition of the book in a folder that ATTNBOOK_LANGUAGE or `_config.yml` says: one for all who ask."""
    return _edition(root.absolute())


@cache
def _edition(root: Path) -> Edition:
    return Edition(root, edition_language(root))
