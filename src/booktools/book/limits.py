"""What a graded notebook may use: its copies say it, and the sandbox holds it to that."""

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
        """So many seconds for all together, and for the rest in proportion.

        >>> Limits.within(120) == Limits(), Limits.within(600).call
        (True, 50.0)
        """
        return cls(cell=seconds / 6, call=seconds / 12, total=seconds)
