"""Dates written in eight ways, to be turned into one: a small translation whose every answer is known.

>>> for pair in date_pairs(3):
...     print(f"{pair.source:23}{pair.target}")
2/15/19                2019-02-15
Sunday, 7 April 1957   1957-04-07
26th of september 2041 2041-09-26
"""

import random
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache, partial
from statistics import mean
from string import Formatter
from typing import NamedTuple, TypeVar

from torch import Tensor, nn

from attnbook.data import FOLDER, stored
from attnbook.learning.text import Vocabulary
from attnbook.models.seq2seq import Seq2Seq
from attnbook.models.transformer import Transformer

_Model = TypeVar("_Model", bound=nn.Module)

FORMATS = [
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{day} {mon} {year}",
    "{mon} {day} {year}",
    "{weekday}, {day} {month} {year}",
    "{dd}.{mm}.{year}",
    "{m}/{day}/{yy}",
    "{day}{th} of {lower} {year}",
]
FIRST, LAST = date(1950, 1, 1), date(2049, 12, 31)  # a century: two digits tell the year
MONTHS = "January February March April May June July August September October November December"
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


class DatePair(NamedTuple):
    """A date as someone wrote it, the same as year-month-day, and where the source tells each of the three."""

    source: str
    target: str
    spans: dict[str, slice]


def date_pairs(count: int, seed: int = 0, *, held_out: bool = False) -> list[DatePair]:
    """So many dates at random, in formats at random.

    One day in ten is held out: what is drawn with `held_out` is never drawn without, in any format.
    """
    rng = random.Random(seed)
    pairs = []
    while len(pairs) < count:
        day = date.fromordinal(rng.randint(FIRST.toordinal(), LAST.toordinal()))
        if is_held_out(day) == held_out:
            pairs.append(write(day, rng.choice(FORMATS)))
    return pairs


def is_held_out(day: date) -> bool:
    return day.toordinal() % 10 == 0


def write(day: date, form: str) -> DatePair:
    """A date in one of the formats."""
    month, weekday = MONTHS.split()[day.month - 1], WEEKDAYS.split()[day.weekday()]
    fields: dict[str | None, tuple[str | None, str]] = {
        "day": ("day", f"{day.day}"),
        "dd": ("day", f"{day.day:02}"),
        "th": (None, "th" if 10 < day.day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")),
        "m": ("month", f"{day.month}"),
        "mm": ("month", f"{day.month:02}"),
        "mon": ("month", month[:3]),
        "month": ("month", month),
        "lower": ("month", month.lower()),
        "yy": ("year", f"{day.year % 100:02}"),
        "year": ("year", f"{day.year}"),
        "weekday": (None, weekday),
    }
    source, spans = "", {}
    for between, field, _, _ in Formatter().parse(form):
        source += between
        part, text = fields[field]
        if part:
            spans[part] = slice(len(source), len(source) + len(text))
        source += text
    return DatePair(source, day.isoformat(), spans)


def share_on_spans(weights: Tensor, pairs: Sequence[DatePair]) -> dict[str, float]:
    """Of the weights (B, L, M) with which the letters of a target were written: how much lay where the source tells
    the year while the year was written, and so on. `weights` may have a row and columns for what is not a letter.
    """
    written = {"year": slice(0, 4), "month": slice(5, 7), "day": slice(8, 10)}
    rows = list(zip(weights, pairs, strict=True))
    return {
        part: mean(map_LM[letters, pair.spans[part]].sum(-1).mean().item() for map_LM, pair in rows)
        for part, letters in written.items()
    }


@cache
def date_reader() -> tuple[Seq2Seq, Vocabulary]:
    """A small network that has learned to read dates, as in chapter 4, and the letters it knows.

    >>> model, letters = date_reader()
    >>> sum(numbers.numel() for numbers in model.parameters()), len(letters)
    (31025, 49)
    """
    return _with_letters("date_reader.bin", "reader", Seq2Seq)


@cache
def date_transformer() -> tuple[Transformer, Vocabulary]:
    """A small Transformer that has learned the same, as in chapter 9.

    >>> model, letters = date_transformer()
    >>> sum(numbers.numel() for numbers in model.parameters()), len(letters)
    (31392, 49)
    """
    sizes = {"D": 32, "heads": 4, "hidden": 128, "layers": 1, "dropout": 0.0, "norm": "pre"}
    return _with_letters("date_transformer.bin", "writer", partial(Transformer, **sizes))


def _with_letters(file: str, name: str, make: Callable[[int], _Model]) -> tuple[_Model, Vocabulary]:
    """The network of a file, made for as many tokens as the file knows, and these."""
    path = FOLDER / file
    letters = Vocabulary([stored.header(path)["letters"]])
    model = make(len(letters))
    stored.unpack(path, {name: model})
    return model, letters
