"""What a notebook prints, against what it printed: the same, but for the numbers that a machine may print otherwise."""

import re

import nbformat

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
    if "text/plain" in data and "text/plain" in before:
        data = {**data, "text/plain": _settle(before["text/plain"], data["text/plain"], within)}
        return nbformat.from_dict({**fresh, "data": data})
    return fresh
