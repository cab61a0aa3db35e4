"""The book's terms, from `glossary.toml`: what each one means, and where the book teaches it."""

import re
import tomllib
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from docutils.nodes import make_id

from attnbook.language import language
from booktools.book import BookError

LETTERS = "ABCDEFGHJKLMNOPQRSTWXYZ"
FIRST = "啊芭擦搭蛾发噶哈击喀垃妈拿哦啪期然撒塌挖昔压匝"  # of each letter
RARE = "亍"  # GB 2312 has its common signs by their sound, and the rare ones, from here on, by their form
SOUNDS_LIKE = {"熵": "伤", "重": "虫"}  # rare signs, and those said otherwise in the names of terms
HAN = re.compile(r"[\u4e00-\u9fff]")
FILE = "glossary.toml"
PAGE = "glossary.md"  # where all of them stand
NEEDED, FREE = {"name", "section", "says", "zh"}, {"also", "symbol", "hover", "zh_within"}
INSIDE = r"(?:[^\W\u4e00-\u9fff]|-)"  # what a word of Latin letters goes on with


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
    zh_within: Sequence[str] = ()  # Chinese words that hold its one sign and mean something else

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
    def names(self) -> Sequence[str]:
        """What it is called: in Chinese first so, then in English, unless that is the same."""
        return [self.zh, self.name][: 2 - (self.zh == self.name)] if _is_chinese() and self.zh else [self.name]

    @property
    def words(self) -> Sequence[str]:
        """What is looked for in a text; in Chinese its Chinese names, too."""
        english = (self.name, *self.also) if self.hover is None else self.hover
        return [*self.hanzi, *english] if _is_chinese() else english

    @property
    def hanzi(self) -> Sequence[str]:
        """Its Chinese names that can be found in a text; one of a single sign only if it says in which words it isn't.

        >>> Term("teacher forcing", "", "", "强制教学（又称教师强制）").hanzi, Term("value", "", "", "值").hanzi
        (['强制教学', '教师强制'], [])
        >>> Term("key", "", "", "键", zh_within=["关键"]).hanzi
        ['键']
        """
        names = map(str.strip, re.split(r"（又称|[（）/、]", self.zh))
        return [name for name in names if len(HAN.findall(name)) > (not self.zh_within)]


def _is_chinese() -> bool:
    return language().startswith("zh")


def by_letter(terms: Iterable[Term]) -> list[tuple[str, list[Term]]]:
    """Terms as one looks them up, by the letter with which a name begins; in Chinese by its sound.

    >>> from attnbook.language import speaking
    >>> with speaking("zh"):
    ...     found = by_letter([Term(zh, "", "", zh) for zh in ("熵", "softmax 函数", "重计算", "采样")])
    ...     [(letter, [term.name for term in some]) for letter, some in found]
    [('C', ['采样', '重计算']), ('S', ['softmax 函数', '熵'])]
    """
    placed = sorted(((*_place(term.names[0]), term) for term in terms), key=lambda row: row[:2])
    return [(letter, [term for *_, term in some]) for letter, some in groupby(placed, key=lambda row: row[0])]


def _place(name: str) -> tuple[str, bytes]:
    """The letter of a name, and what sorts it among others of the same letter."""
    sign, code = SOUNDS_LIKE.get(name[0], name[0]), name.casefold().encode("gb18030")
    if sign.isascii():
        return sign.upper(), code
    code = sign.encode("gb18030") + name[1:].casefold().encode("gb18030")
    if code >= RARE.encode("gb18030"):
        raise BookError(f"{FILE}, {name}: {sign} is a rare sign. Say in SOUNDS_LIKE which common one sounds like it.")
    return LETTERS[bisect([first.encode("gb18030") for first in FIRST], code[:2]) - 1], code


def read_terms(path: Path) -> list[Term]:
    """The terms of a file, which says all that is needed, and has each name once, in their order."""
    return terms_in(path.read_text("utf-8"))


def terms_in(text: str) -> list[Term]:
    """The same, from what the file says."""
    terms = [_read_term(entry) for entry in tomllib.loads(text).get("term", [])]
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
        kind = list if field in ("also", "hover", "zh_within") else str
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
    >>> [(start, end, term.name) for start, end, term in find("Masks and causal masks, unmasked.")]
    [(0, 5, 'mask'), (10, 22, 'causal mask')]

    Chinese has no blanks, so that a word of it is found wherever it stands.

    >>> from attnbook.language import speaking
    >>> with speaking("zh"):
    ...     find = term_finder([Term("mask", "", "", "掩码"), Term("key", "", "", "键", zh_within=["关键"])])
    ...     [(start, end, term.name) for start, end, term in find("关键是给键加掩码：masks也行。")]
    [(4, 5, 'key'), (6, 8, 'mask'), (9, 14, 'mask')]
    """
    named = [(word, each) for each in terms for word in each.words]
    others = [(word, None) for each in terms for word in each.zh_within]
    words = sorted(named + others, key=lambda pair: -len(pair[0]))
    pattern = re.compile("|".join(f"({_word_pattern(word)})" for word, _ in words))

    def find(text: str) -> Iterator[tuple[int, int, Term]]:
        for found in pattern.finditer(text):
            term = next(each for way, (_, each) in zip(found.groups(), words, strict=True) if way)
            if term:
                yield *found.span(), term

    return find


def _word_pattern(word: str) -> str:
    """A pattern for a word, which may begin a sentence or be a plural, and whose blanks may be ends of lines.

    >>> [re.findall(_word_pattern("beam search"), text) for text in ("Beam\\nsearches", "beam-search", "beam searched")]
    [['Beam\\nsearches'], [], []]
    """
    if HAN.search(word):
        return re.escape(word)
    first = f"[{word[0]}{word[0].upper()}]" if word[:2].islower() else re.escape(word[0])
    spelled = first + re.escape(word[1:]).replace(r"\ ", r"\s+")
    return rf"(?<!{INSIDE}){spelled}(?:e?s)?(?!{INSIDE})"
