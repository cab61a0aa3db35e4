"""Limits of time and memory for a graded notebook. Its copies state them, and the sandbox enforces them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds for a cell, for a call and for all together, and megabytes."""

    cell: float = 20
    call: float = 10
    total: float = 120
    megabytes: int = 2048

    @classmethod
    def within(cls, seconds: float) -> "Limits":
        """Returns limits of so many seconds for all cells together, and of the others in proportion.

        >>> Limits.within(120) == Limits(), Limits.within(600).call
        (True, 50.0)
        """
        return cls(cell=seconds / 6, call=seconds / 12, total=seconds)
