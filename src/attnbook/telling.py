"""Words held to what was computed: `says` compares each number of a text with its value.

>>> says("9 % of the words, a third of the time", 0.0912, 1 / 3)
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class About:
    """A value that differs a little from machine to machine, and by how much it may."""

    value: float
    within: float

    def __post_init__(self):
        if not math.isfinite(self.value):
            raise ValueError(f"about wants a finite number, got {self.value}.")
        if not 0 < self.within < math.inf:
            raise ValueError(f"within is how far the number may be off, more than 0; got {self.within}.")

    def __str__(self) -> str:
        return f"{self.value:.6g} within {self.within:g}"


def about(value: Any, within: float) -> About:
    """A value that another machine may compute a little differently, for `says`.

    >>> says("≈ 99 % are right", about(0.981, within=0.006))
    """
    return About(float(value), float(within))


@dataclass(frozen=True)
class Written:
    """A number in a text: what it says, half a unit of its last digit, and what the value is multiplied by first."""

    text: str
    place: slice
    value: float
    half: float
    scale: float = 1.0
    aside: bool = False  # a small integer, or one in words: it may be a way of speaking

    def fits(self, value: Any) -> bool:
        value, within = (value.value, value.within) if isinstance(value, About) else (float(value), 0.0)
        return abs(value * self.scale - self.value) <= (self.half + within * self.scale) * (1 + 1e-9)


SMALL = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
# The parts that have names. Words round generously: 0.30 is nearly a third.
PARTS = {"third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "tenth": 1 / 10}
ROUND = 0.035
SCALES = {"%": 100.0, "million": 1e-6, "billion": 1e-9, "trillion": 1e-12}
NUMBER = re.compile(
    r"(?<![\w.,/:−-]) (?P<digits>[−-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[−-]?\d+(?:\.\d+)?) (?!\w|[.,/:-]\d)"
    rf"(?:[\s\u00a0\u202f]?(?P<scale>%|(?:{'|'.join(list(SCALES)[1:])})\b))?"
    rf"| \b (?: (?P<many>a|{'|'.join(SMALL)})\s(?P<part>{'|'.join(PARTS)})s?"
    rf"        | (?P<word>half|twice|{'|'.join(SMALL)}) ) \b",
    re.VERBOSE | re.IGNORECASE,
)


def numbers_in(text: str) -> Iterator[Written]:
    """The numbers of a text, in digits and in words.

    >>> [(number.text, number.value) for number in numbers_in("GPT-2 has 1,024 places; two thirds, or 67 %.")]
    [('1,024', 1024.0), ('two thirds', 0.6666666666666666), ('67 %', 67.0)]
    """
    for found in NUMBER.finditer(text):
        said, place = found[0], slice(*found.span())
        if digits := found["digits"]:
            digits = digits.replace(",", "").replace("−", "-")
            half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
            value, scale = float(digits), SCALES.get((found["scale"] or "").lower(), 1.0)
            small = digits.isdigit() and value <= len(SMALL) and not found["scale"]
            yield Written(said, place, value, half, scale, aside=small)
        elif part := found["part"]:
            many = (found["many"] or "a").lower()
            count = 1 if many == "a" else SMALL.index(many) + 1
            yield Written(said, place, count * PARTS[part.lower()], ROUND, aside=True)
        else:
            word = found["word"].lower()
            value = {"half": 0.5, "twice": 2.0}.get(word) or SMALL.index(word) + 1.0
            yield Written(said, place, value, ROUND if word == "half" else 0.5, aside=True)


def says(text: str, *values: Any) -> None:
    """Fail unless the numbers of a text are the values, rounded as they are written.

    There is a value for each number, in order; small integers (to twelve) and numbers in words may go without, all
    of them. A share is written in percent, too; a value that is text stands in the text as it is.

    >>> says("7.88 and 2.12", 7.8812, 2.1188)
    >>> says("The first of four has 63.1 million parameters.", 63_082_496)
    >>> says("It writes `1913-11-12`.", "1913-11-12")
    >>> says("19 %", 0.0912)
    Traceback (most recent call last):
        ...
    AssertionError: "19 %" says 19 %, but the value is 0.0912. Write it rounded, or look what has changed.
    """
    rest = text
    for value in values:
        if isinstance(value, bool):
            raise TypeError(f"says wants numbers or texts, got {value}. For a statement, use assert.")
        if isinstance(value, str):
            if value not in text:
                raise AssertionError(f"{_quoted(text)} does not hold {value!r}, which is what was computed.")
            rest = rest.replace(value, "…")
    numbers = [value for value in values if not isinstance(value, str)]
    every = list(numbers_in(rest))
    asked = [written for written in every if not written.aside]
    if len(numbers) not in (len(every), len(asked)):
        found = ", ".join(written.text for written in every) or "none"
        raise AssertionError(f"{_quoted(text)} has {len(every)} numbers ({found}), got {len(numbers)} values.")
    for written, value in zip(every if len(numbers) == len(every) else asked, numbers, strict=True):
        if not written.fits(value):
            is_ = str(value) if isinstance(value, About) else f"{float(value):.6g}"
            raise AssertionError(
                f"{_quoted(text)} says {written.text}, but the value is {is_}. "
                "Write it rounded, or look what has changed."
            )


def _quoted(text: str) -> str:
    return f'"{text}"'
