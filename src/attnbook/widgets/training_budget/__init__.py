"""How large should a model be? It depends on how many operations there are to train it with."""

from typing import NamedTuple

import traitlets

from attnbook.data.seeds import seeds
from attnbook.language import number, whole
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table

SIZES = ("small", "middle", "large")
STEPS = (200, 400, 800, 1600, 3200)


class Run(NamedTuple):
    """A model of so many parameters, trained once: its steps, its operations, and the bits per character it reached."""

    parameters: int
    steps: int
    operations: int
    bits: float


class TrainingBudget(BookWidget):
    """Chapter 11's three models, each trained for several numbers of steps, and a budget of operations, in billions.

    >>> TrainingBudget(billions=64).best()
    Run(parameters=12416, steps=800, operations=61027123200, bits=2.947)
    """

    billions = traitlets.Enum([16, 32, 64, 125, 250, 500, 1000, 2000, 5000], 125).tag(sync=True)

    @staticmethod
    def runs() -> list[Run]:
        """All that were made, by size and steps; the bits are the mean of three seeds."""
        rows = seeds("sizes")
        return [
            Run(
                rows[0][f"{size}_parameters"],
                steps,
                steps * rows[0][f"{size}_operations"],
                round(sum(row[f"{size}_{steps}"] for row in rows) / len(rows), 3),
            )
            for size in SIZES
            for steps in STEPS
            if f"{size}_{steps}" in rows[0]
        ]

    def bought(self) -> list[Run]:
        """The runs that need no more operations than the budget has."""
        return [run for run in self.runs() if run.operations <= self.billions * 1e9]

    def best(self) -> Run:
        return min(self.bought(), key=lambda run: run.bits)

    def table(self) -> str:
        say = self.edition_words()
        rows = (
            (whole(run.parameters), [whole(run.steps), whole(round(run.operations / 1e9)), number(run.bits)])
            for run in self.bought()
        )
        caption = say["table"].format(n=whole(self.billions))
        return html_table(caption, [say["steps"], say["operations"], say["bits"]], rows)
