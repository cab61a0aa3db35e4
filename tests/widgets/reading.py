"""What a widget shows, read off the page or its table, beside what PyTorch says it must show."""

import re

import torch
from bs4 import BeautifulSoup


def flat(texts) -> list[str]:
    return [text for part in texts for text in flat(part)] if isinstance(texts, list) else [texts]


POWERS = {"": 0, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "quadrillion": 15}
POWERS |= {"kB": 3, "MB": 6, "GB": 9, "TB": 12, "PB": 15}


def agrees(text: str, x: float) -> bool:
    """
    >>> agrees("−0.33", -1 / 3), agrees("0.34", 1 / 3), agrees("1", 0.9)
    (True, False, False)
    >>> agrees("−∞", -torch.inf), agrees("∞", torch.inf), agrees("∞", -torch.inf)
    (True, True, False)
    >>> agrees("2.2 TB", 2.199e12), agrees("2.2 GB", 2.199e12), agrees("16.4 thousand", 16384)
    (True, False, True)
    >>> agrees("524,288", 2**19), agrees("52,4288", 2**19)
    (True, False)
    >>> agrees("NaN", torch.nan), agrees("NaN", 0.0), agrees("0.00", torch.nan)
    (True, False, False)
    """
    text, _, unit = text.partition(" ")
    if text in ("−∞", "∞", "NaN"):
        return x != x if text == "NaN" else x == float(text.replace("−", "-").replace("∞", "inf"))
    number = re.fullmatch(r"-?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.(\d+))?(?:e(-?\d+))?", text.replace("−", "-"))
    if not number:
        return False
    decimals = min(len(number[1]), 9) if number[1] else 9  # a number without decimals must be whole
    power = int(number[2] or 0) + POWERS[unit]
    return abs(value(number[0]) * 10.0 ** POWERS[unit] - x) <= 0.5001 * 10.0 ** (power - decimals)


def parsed(widget):
    return BeautifulSoup(widget.page_html(), "html.parser")


def numbers(widget):
    """The table of a widget, as numbers."""
    rows = parsed(widget).select("table tr")[1:]
    return torch.tensor([[value(cell.text) for cell in row.select("td")] for row in rows])


def value(text: str) -> float:
    """The number that an English text says.

    >>> value("−1,234.5")
    -1234.5
    """
    return float(text.replace("−", "-").replace(",", ""))


def codes(*texts: str) -> torch.Tensor:
    """The letters of texts as numbers, so that texts can stand among what a widget shows."""
    return torch.tensor([ord(letter) for text in texts for letter in text])
