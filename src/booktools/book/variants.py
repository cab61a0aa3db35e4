"""A variant for each student: one assignment, in which some things are drawn from the student's login and a secret.

An assignment that varies has a cell with the tag `variant`. It is run for each student, and `choice` and `number` draw
in it. What it gives a name takes the place of <<name>> in all other cells: texts, stubs, solutions, tests. What it
says to students in words is in `text("…")`, so that it can be translated.
"""

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256

from booktools.book import BookError

TAG = "variant"
GAP = re.compile(r"<<(\w+)>>")
TEXT = re.compile(r'\btext\("([^"]*)"\)')  # what a cell that draws says to students in words


class Draw:
    """Draws the same from the same seed, on every machine and with every Python.

    `redrawn` is the number of one draw that comes out in another way; all others stay.

    >>> draw = Draw("ada")
    >>> draw.choice("rows", "columns"), draw.number(2, 99)
    ('columns', 24)
    >>> other = Draw("ada", redrawn=0)
    >>> other.choice("rows", "columns"), other.number(2, 99)
    ('rows', 24)
    """

    def __init__(self, seed: str, redrawn: int | None = None):
        self.seed, self.redrawn, self.count = seed, redrawn, 0

    def below(self, n: int) -> int:
        drawn = int.from_bytes(sha256(f"{self.seed} {self.count}".encode()).digest())
        first, step = drawn % n, 1 + drawn // n % max(1, n - 1)
        self.count += 1
        return (first + step) % n if self.redrawn == self.count - 1 else first

    def choice(self, *options):
        return options[self.below(len(options))]

    def number(self, first: int, last: int) -> int:
        """An integer from `first` to `last`."""
        return first + self.below(last + 1 - first)


def seed_of(student: str, secret: str, assignment: str) -> str:
    """Returns the seed of a student's variant. Without the secret nobody can compute it."""
    return hmac.new(secret.encode(), f"{assignment}/{student.strip().casefold()}".encode(), sha256).hexdigest()


def mark_of(student: str, secret: str, assignment: str) -> str:
    """Returns what a student's copy has in its metadata. Without the secret nobody can write another's."""
    return seed_of(student, secret, f"the copy of {assignment}")[:16]


def drawn_values(cell: str, draw: Draw) -> dict[str, str]:
    """Runs a variant cell, and returns the values of its names as text.

    >>> drawn_values("base = number(2, 99)\\nlog = 'log2' if base == 2 else f'log base {base}'", Draw("ada"))
    {'base': '45', 'log': 'log base 45'}
    """
    values = {"choice": draw.choice, "number": draw.number, "text": str}
    try:
        exec(compile(cell, "the variant cell", "exec"), values)
    except Exception as error:
        raise BookError(f"the cell with the tag {TAG}: {type(error).__name__}: {error}") from error
    return {name: str(value) for name, value in values.items() if isinstance(value, str | int | float)}


def draws(cell) -> bool:
    """Whether a cell of a notebook draws what is different for each student."""
    return TAG in cell.metadata.get("tags", ())


def fill_gaps(text: str, values: Mapping[str, str]) -> str:
    """
    >>> fill_gaps("to the base <<base>>", {"base": "7"})
    'to the base 7'
    """
    if unknown := sorted({name for name in GAP.findall(text) if name not in values}):
        raise BookError(f"the cell with the tag {TAG} draws no {', '.join(f'<<{name}>>' for name in unknown)}")
    return GAP.sub(lambda gap: values[gap[1]], text)
