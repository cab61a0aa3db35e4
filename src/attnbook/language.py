"""The language of an edition, its words and its numbers.

Words stand beside what says them, a file for each language: `en.json`, and `zh.json` once somebody has translated it.
What a translation lacks is said in English. The edition decides on the language, never the reader's browser or system.

>>> number(-1234.5, 1), whole(1234)
('−1234.5', '1,234')
>>> with speaking(PSEUDO):
...     words(HERE)["date"].format(day=1, month="May", year=2026)
'⟦1 May 2026⟧'
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex

HERE = Path(__file__).parent
ENGLISH = "en"
PLURALS = {"zero", "one", "two", "few", "many", "other"}
PSEUDO = "en-XA"  # nobody's language: English in brackets, so that a text which is in no file of words stands out
_spoken: ContextVar[str | None] = ContextVar("language", default=None)


def language() -> str:
    """The language spoken now: a tag such as "en" or "zh-Hans"."""
    return _spoken.get() or os.environ.get("ATTNBOOK_LANGUAGE", ENGLISH)


@contextmanager
def speaking(tag: str) -> Iterator[None]:
    """Within it, everything is said in another language."""
    before = _spoken.set(tag)
    try:
        yield
    finally:
        _spoken.reset(before)


def words(folder: Path) -> dict:
    """The words that a folder keeps: texts by their ids, in groups."""
    return _words(folder, language())


def marks() -> dict:
    """The language's tag, and how it writes numbers and lists."""
    return {name: words(HERE)[name] for name in ("language", "number", "list")}


def count(forms: dict[str, str], n: float, **gaps: str) -> str:
    """The text for so many, from one for each plural form.

    >>> count({"one": "{n} point", "other": "{n} points"}, 1)
    '1 point'
    """
    form = forms["one"] if n == 1 and "one" in forms else forms["other"]
    return form.format(n=whole(int(n)) if n == int(n) else plain(n), **gaps)


def number(x: SupportsFloat, digits: int = 2) -> str:
    """A number with so many decimals, as the language writes it.

    >>> number(2 / 3), number(-float("inf")), number(float("nan"))
    ('0.67', '−∞', 'NaN')
    """
    text = re.sub(r"^-(?=[0.]*$)", "", f"{x:.{digits}f}")
    return _written(text.replace("inf", "∞").replace("nan", "NaN"))


def plain(x: float) -> str:
    """A number with the decimals it has.

    >>> plain(-2.0), plain(0.25)
    ('−2', '0.25')
    """
    return _written(f"{x:g}")


def whole(n: SupportsIndex) -> str:
    """An integer, its digits in groups of three."""
    return _written(f"{n:,}")


def large(x: int, sizes: list, least: float = 0) -> str:
    """An integer, from `least` on rounded, in the words for its size.

    >>> large(335_544_320, [[1e9, "{x} billion"], [1e6, "{x} million"]])
    '335.5 million'
    """
    for size, text in sizes:
        if x >= max(size, least):
            return text.format(x=number(x / size, 1))
    return whole(x)


def day(when: date) -> str:
    """A date in words.

    >>> day(date(2026, 11, 2))
    '2 November 2026'
    """
    say = words(HERE)
    return say["date"].format(day=when.day, month=say["months"][when.month - 1], year=when.year)


def _written(digits: str) -> str:
    marks = words(HERE)["number"]
    return digits.translate({ord("."): marks["decimal"], ord(","): marks["group"], ord("-"): marks["minus"]})


@cache
def _words(folder: Path, tag: str) -> dict:
    english = _read(folder / f"{ENGLISH}.json")
    if tag == PSEUDO:
        return {**_bracketed(english)} | ({"language": PSEUDO} if "language" in english else {})
    files = [folder / f"{name}.json" for name in (tag, tag.partition("-")[0])]
    return _over(english, next((_read(file) for file in files if file.is_file()), {}))


def _read(file: Path) -> dict:
    return json.loads(file.read_text("utf-8"))


def is_plural(said: object) -> bool:
    """Whether words are the forms of one plural.

    >>> is_plural({"one": "1 word", "other": "{n} words"}), is_plural({"two": "both", "many": "all"})
    (True, False)
    """
    return isinstance(said, dict) and "other" in said and said.keys() <= PLURALS


def _over(english, translated):
    """A translation where there is one, the English elsewhere."""
    if isinstance(english, dict) and isinstance(translated, dict) and not is_plural(english):
        return {name: _over(text, translated.get(name, text)) for name, text in english.items()}
    return translated  # of a plural all forms: those that the language has, and none of the English ones


def _bracketed(english: Any) -> Any:
    if isinstance(english, dict):
        return {name: _bracketed(text) for name, text in english.items()}
    if isinstance(english, list):
        return [_bracketed(text) for text in english]
    return f"⟦{english}⟧" if english and isinstance(english, str) else english
