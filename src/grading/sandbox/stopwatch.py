"""How long a process has worked, and how long it has waited, whatever else the machine has to do meanwhile.

The time in which a process could have worked, but another one had the processor, is not counted at all. So a busy
machine makes nobody late.
"""

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Spent:
    """Seconds in which a processor worked, and seconds of waiting for anything but a processor.

    >>> Spent(3, 1) - Spent(1, 0.5) + Spent(waiting=4), Spent(3, 1).longer
    (Spent(working=2, waiting=4.5), 3)
    """

    working: float = 0
    waiting: float = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.working + other.working, self.waiting + other.waiting)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.working - other.working, self.waiting - other.waiting)

    @property
    def longer(self) -> float:
        """What a limit is compared with: it is one for work, and as much again for waiting."""
        return max(self.working, self.waiting)


class Stopwatch:
    """Reads from the kernel how long another process has worked; from when on waiting is counted is arbitrary."""

    def __init__(self, process: int):
        self.process, self.working, self.queued = process, 0.0, 0.0

    def read(self) -> Spent:
        try:
            with open(f"/proc/{self.process}/schedstat") as file:
                self.working, self.queued, _ = (int(number) / 1e9 for number in file.read().split())
        except (OSError, ValueError):
            pass  # it has ended; or nothing counts here, and all time is one of waiting
        return Spent(self.working, time.monotonic() - self.working - self.queued)
