"""Comparisons as tables: each ratio beside its goal, bold where it falls short."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import compress

import torch

from benchmarks.measure import Build, Work, in_child, memory_ratio, time_ratio

Goals = tuple[tuple[float | None, float | None], ...]  # (time, memory) to reach: forward, with backward
NO_GOALS = ((None, None), (None, None))
PASSES = ["forward", "with backward"]
COLUMNS = ["pass", "time", "goal", "memory", "goal"]  # what `rows` adds to a case's names
NO_ROOM = "out of memory"


@dataclass(frozen=True)
class Case:
    """Two to compare: the first columns of their rows; then who, each a function of whether to go backward."""

    names: tuple[str, ...]
    theirs: Callable[[bool], Work]
    ours: Callable[[bool], Work]
    goals: Goals = NO_GOALS

    def builds(self, backward: bool) -> tuple[Build, Build]:
        return partial(self.theirs, backward), partial(self.ours, backward)


def same(theirs: Build, ours: Build) -> None:
    """Both compute the same; otherwise there is nothing to compare."""
    theirs, ours = (build()() for build in (theirs, ours))
    tolerance = 3e-2 if ours.dtype == torch.bfloat16 else 1e-4
    torch.testing.assert_close(theirs, ours, rtol=tolerance, atol=tolerance)


def versus(make: Callable[..., Work], sizes: tuple, goals: dict[str, Goals], ours: str = "ours", **where) -> list[Case]:
    """Ours against each peer: `make(who, *sizes, backward)`, where the last of the sizes is the mask."""
    names, mine = (", ".join(map(str, sizes[:-1])), sizes[-1]), partial(make, ours, *sizes, **where)
    return [Case((who, *names), partial(make, who, *sizes, **where), mine, goal) for who, goal in goals.items()]


def rows(cases: list[Case]) -> list[list[str]]:
    """Two for each case, forward and with backward."""
    found = []
    for case in cases:
        in_child(partial(same, *case.builds(False)))
        for backward, goals in enumerate(case.goals):
            row = [*case.names, PASSES[backward]]
            for ratio, goal in zip((time_ratio, memory_ratio), goals, strict=True):
                row += [cell(ratio, *case.builds(bool(backward)), goal), "" if goal is None else f"{goal:g}"]
            found.append(progress(row))
    return found


def cell(ratio: Callable[[Build, Build], float], theirs: Build, ours: Build, goal: float | None = None) -> str:
    try:
        number = ratio(theirs, ours)
    except (MemoryError, torch.OutOfMemoryError):
        return NO_ROOM
    text = f"{number:.2f}" if number < 9.995 else f"{number:.0f}"
    return f"**{text}**" if goal is not None and number < goal else text


def table(head: list[str], rows: list[list[str]]) -> str:
    """Without the columns in which nothing stands."""
    rows = [row + [""] * (len(head) - len(row)) for row in rows]
    filled = [any(column) for column in zip(*rows, strict=True)]
    lines = (compress(row, filled) for row in (head, ["---"] * len(head), *rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables(report: str) -> dict[str, list[list[str]]]:
    """The rows of each table by the title above it, without what makes some of them bold."""
    found = {}
    for section in re.split(r"^##+ ", report, flags=re.M)[1:]:
        title, *lines = section.splitlines()
        rows = [line[2:-2].replace("**", "").split(" | ") for line in lines if line.startswith("| ")]
        if rows:
            head, _, *rest = rows
            found[title] = [head, *rest]
    return found


def progress(row: list[str]) -> list[str]:
    """The row, shown on the way to its table."""
    print("  ".join(filter(None, row)), file=sys.stderr)
    return row
