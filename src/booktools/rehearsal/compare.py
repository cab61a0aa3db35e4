"""Compares what a notebook prints with what it stores: equal, but for numbers that another processor may change."""

import math
import re

import nbformat

FIGURE = "<Figure: "  # tells its data in numbers of two digits: each may be off by one unit of the second
TWO_DIGITS = re.compile(r"(?<=[ ])-?\d[\d.]*(?:e[+-]\d+)?(?=[,; ])")
# In a widget: numbers of a byte each, which are not compared, and decimals, each within a unit of its last digit.
BYTES = re.compile(r'"[A-Za-z0-9+/]{1000,}={0,2}"')
DECIMAL = re.compile(r"(?<![\w.])\d+\.(\d+)(?![\w.])")
# One number, or the ends of a range: ≈ 0.996, ≈ 23–27.
APPROXIMATE = re.compile(r"[ ]*≈ (?P<value>[-−]?[\d,]+(?:\.(?P<decimals>\d+))?)(?:–(?P<to>[\d,]+(?:\.\d+)?))?")


def _settle(stored: str, fresh: str, within: float | None = None) -> str:
    """The fresh output, in which each `≈ 0.996` that agrees with the stored one reads like it.

    They agree within one unit of their last digit, or within what is given. One that does not says so, so that a
    comparison fails there and shows both.

    >>> _settle("right: ≈ 0.996", "right: ≈ 0.995")
    'right: ≈ 0.996'
    >>> _settle("right: ≈ 0.996", "right: ≈ 0.990", 0.004)
    'right: ≈ 0.990 (stored: 0.996, off by more than 0.004)'
    >>> _settle("of three seeds ≈ 23–27", "of three seeds ≈ 24–28"), _settle("≈ 23–27", "≈ 23")
    ('of three seeds ≈ 23–27', '≈ 23 (stored: 23–27, off by more than 1)')
    """
    if stored.startswith(FIGURE) and fresh.startswith(FIGURE):
        return _settle_figure(stored, fresh, within or 0.0)
    theirs = list(APPROXIMATE.finditer(stored))
    if len(theirs) != len(APPROXIMATE.findall(fresh)):
        return fresh
    before = iter(theirs)

    def settled(found: re.Match) -> str:
        then = next(before)
        unit = 10.0 ** -len(then["decimals"] or "")
        allowed = unit if within is None else within
        pairs = list(zip(_ends(found), _ends(then), strict=False))
        if len(_ends(found)) == len(_ends(then)) and all(abs(a - b) <= allowed * (1 + 1e-9) for a, b in pairs):
            return then[0]
        return f"{found[0]} (stored: {then[0].strip(' ≈')}, off by more than {allowed:g})"

    return APPROXIMATE.sub(settled, fresh)


def _settle_figure(stored: str, fresh: str, within: float) -> str:
    """Settles, in the same way, what a figure says of its data.

    >>> _settle_figure("<Figure: loss 4.7 to 3.3, mean 3.5, of 56>", "<Figure: loss 4.7 to 3.4, mean 3.7, of 56>", 0)
    '<Figure: loss 4.7 to 3.3, mean 3.7, of 56>'
    """
    before = TWO_DIGITS.findall(stored)
    if len(before) != len(TWO_DIGITS.findall(fresh)):
        return fresh
    then = iter(before)

    def settled(found: re.Match) -> str:
        a, b = float(found[0]), float(was := next(then))
        largest = max(abs(a), abs(b))
        unit = 10.0 ** (math.floor(math.log10(largest)) - 1) if largest else 0.0
        return was if abs(a - b) <= max(unit, within) * (1 + 1e-9) else found[0]

    return TWO_DIGITS.sub(settled, fresh)


def _settle_widget(stored: str, fresh: str) -> str:
    """The stored widget, if the fresh one agrees with it, and else the fresh one.

    >>> _settle_widget("<td>0.79</td>", "<td>0.80</td>"), _settle_widget("<td>0.79</td>", "<td>0.81</td>")
    ('<td>0.79</td>', '<td>0.81</td>')
    """
    then, now = (BYTES.sub("", text) for text in (stored, fresh))
    near = all(
        len(a[1]) == len(b[1]) and abs(float(a[0]) - float(b[0])) <= 1.001 * 10.0 ** -len(a[1])
        for a, b in zip(DECIMAL.finditer(then), DECIMAL.finditer(now), strict=False)
    )
    return stored if near and DECIMAL.sub("", then) == DECIMAL.sub("", now) else fresh


def _ends(found: re.Match) -> list[float]:
    return [_number(digits) for digits in (found["value"], found["to"]) if digits]


def _number(digits: str) -> float:
    return float(digits.replace(",", "").replace("−", "-"))


def tolerance(cell) -> float | None:
    """How far a cell's numbers may be off, where its metadata say so."""
    return cell.get("metadata", {}).get("attnbook", {}).get("within")


def settle_outputs(stored: list, fresh: list, within: float | None = None) -> list:
    """The same for the outputs of a cell, which are left as they are where there are more or fewer."""
    if len(stored) != len(fresh):
        return fresh
    return [_settled(then, now, within) for then, now in zip(stored, fresh, strict=True)]


def _settled(stored, fresh, within: float | None):
    """Streams and plain text; pictures and tables are compared as ever."""
    if "text" in fresh and "text" in stored:
        return nbformat.from_dict({**fresh, "text": _settle(stored["text"], fresh["text"], within)})
    data, before = fresh.get("data", {}), stored.get("data", {})
    if "data-afm" in data.get("text/html", "") and "text/html" in before:
        data = {**data, "text/html": _settle_widget(before["text/html"], data["text/html"])}
    if "text/plain" in data and "text/plain" in before:
        data = {**data, "text/plain": _settle(before["text/plain"], data["text/plain"], within)}
    return nbformat.from_dict({**fresh, "data": data}) if data else fresh
