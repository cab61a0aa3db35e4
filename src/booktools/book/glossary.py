"""The book's terms, from `glossary.toml`: what each one means, and where the book teaches it."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from docutils.nodes import make_id

from booktools.book import BookError

FILE = "glossary.toml"
PAGE = "glossary.md"  # where all of them stand
NEEDED, FREE = {"name", "section", "says", "zh"}, {"also", "symbol", "hover"}


@dataclass(frozen=True)
class Term:
    """A word of the field, a symbol, or both."""

    name: str  # as the text writes it
    section: str  # page#anchor on the site
    says: str  # one or two sentences of Markdown, each understood alone
    zh: str  # in Chinese; empty where there is no established word
    also: Sequence[str] = ()  # other names, by which it is found
    symbol: str = ""  # TeX
    hover: Sequence[str] | None = None  # the words that explain themselves; all of its names if it doesn't say

    @property
    def anchor(self) -> str:
        """
        >>> Term("key-value cache", "", "", "").anchor
        'term-key-value-cache'
        """
        return f"term-{make_id(self.name)}"

    @property
    def page(self) -> str:
        return self.section.partition("#")[0]

    @property
    def place(self) -> str:
        return self.section.partition("#")[2]

    @property
    def words(self) -> Sequence[str]:
        """What is looked for in a text."""
        return (self.name, *self.also) if self.hover is None else self.hover


def read_terms(path: Path) -> list[Term]:
    """The terms of a file, which says all that is needed, and has each name once, in their order."""
    terms = [_read_term(entry) for entry in tomllib.loads(path.read_text("utf-8")).get("term", [])]
    names = Counter(name for each in terms for name in {each.name, *each.also})
    if twice := [name for name, times in names.items() if times > 1]:
        raise BookError(f"{FILE} has {', '.join(twice)} twice. Keep one, or take the word out of `also`.")
    for before, after in pairwise(terms):
        if _sort_key(before) > _sort_key(after):
            raise BookError(f"{FILE} is sorted by name: {after.name} stands behind {before.name}.")
    return terms


def _read_term(entry: dict) -> Term:
    name = entry.get("name", "?")
    if wrong := NEEDED - entry.keys() | entry.keys() - NEEDED - FREE:
        raise BookError(f"{FILE}, {name}: {', '.join(sorted(wrong))} is missing, or no field of a term.")
    for field, text in entry.items():
        kind = list if field in ("also", "hover") else str
        if not isinstance(text, kind) or (field in NEEDED - {"zh"} and not text):
            raise BookError(f"{FILE}, {name}: {field} must be {'a list of texts' if kind is list else 'a text'}.")
    return Term(**entry)


def _sort_key(each: Term) -> str:
    return each.name.casefold()


def check_sections(terms: Iterable[Term], known: Collection[str]) -> None:
    for each in terms:
        if each.section not in known:
            raise BookError(f"{FILE}, {each.name}: the book has no {each.section}. Was the heading changed?")


def term_finder(terms: Iterable[Term]) -> Callable[[str], Iterator[tuple[int, int, Term]]]:
    """Returns a function that finds terms in a text, in singular or plural, and yields (start, end, term) of each.

    >>> find = term_finder([Term("mask", "", "", ""), Term("causal mask", "", "", "")])
    >>> [(start, end, _read_term.name) for start, end, _read_term in find("Masks and causal masks, unmasked.")]
    [(0, 5, 'mask'), (10, 22, 'causal mask')]
    """
    words = sorted(((word, each) for each in terms for word in each.words), key=lambda pair: -len(pair[0]))
    ways = "|".join(f"({_word_pattern(word)})" for word, _ in words)
    pattern = re.compile(rf"(?<![\w-])(?:{ways})(?:e?s)?(?![\w-])")

    def find(text: str) -> Iterator[tuple[int, int, Term]]:
        for found in pattern.finditer(text):
            yield *found.span(), next(each for way, (_, each) in zip(found.groups(), words, strict=True) if way)

    return find


def _word_pattern(word: str) -> str:
    r"""A pattern for a word, which may begin a sentence, and whose blanks may be ends of lines.

    >>> _word_pattern("beam search"), _word_pattern("QK-norm")
    ('[bB]eam\\s+search', 'QK\\-norm')
    """
    first = f"[{word[0]}{word[0].upper()}]" if word[:2].islower() else re.escape(word[0])
    return first + re.escape(word[1:]).replace(r"\ ", r"\s+")
