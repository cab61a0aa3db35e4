"""What a notebook prints, against what it printed: the same, but for numbers that say how far they may be off."""

import re

import nbformat

APPROXIMATE = re.compile(r"[ ]*≈ (?P<value>-?[\d,]+(?:\.\d+)?) ± (?P<within>[\d,]+(?:\.\d+)?)")


def settle(stored: str, fresh: str) -> str:
    """The fresh output, in which each `≈ 0.996 ± 0.004` that agrees with the stored one reads like it.

    One that does not says so, so that a comparison fails there and shows both.

    >>> settle("right: ≈ 0.996 ± 0.004", "right: ≈ 0.993 ± 0.004")
    'right: ≈ 0.996 ± 0.004'
    >>> settle("right: ≈ 0.996 ± 0.004", "right: ≈ 0.990 ± 0.004")
    'right: ≈ 0.990 ± 0.004 (stored: 0.996, off by more than 0.004)'
    """
    theirs = list(APPROXIMATE.finditer(stored))
    if len(theirs) != len(APPROXIMATE.findall(fresh)):
        return fresh
    before = iter(theirs)

    def settled(found: re.Match) -> str:
        then = next(before)
        if found["within"] != then["within"]:
            return found[0]
        if abs(number(found["value"]) - number(then["value"])) <= number(then["within"]) * (1 + 1e-9):
            return then[0]
        return f"{found[0]} (stored: {then['value']}, off by more than {then['within']})"

    return APPROXIMATE.sub(settled, fresh)


def number(digits: str) -> float:
    return float(digits.replace(",", ""))


def settle_outputs(stored: list, fresh: list) -> list:
    """The same for the outputs of a cell, which are left as they are where there are more or fewer."""
    if len(stored) != len(fresh):
        return fresh
    return [settled(then, now) for then, now in zip(stored, fresh, strict=True)]


def settled(stored, fresh):
    """Streams and plain text; pictures and tables are compared as ever."""
    if "text" in fresh and "text" in stored:
        return nbformat.from_dict({**fresh, "text": settle(stored["text"], fresh["text"])})
    data, before = fresh.get("data", {}), stored.get("data", {})
    if "text/plain" in data and "text/plain" in before:
        data = {**data, "text/plain": settle(before["text/plain"], data["text/plain"])}
        return nbformat.from_dict({**fresh, "data": data})
    return fresh
