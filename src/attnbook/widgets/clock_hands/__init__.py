"""Sinusoidal positions as clocks: each pair of numbers is a hand, and each hand is slower than the one before."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number
from attnbook.layers.positions import sinusoidal
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

WIDTHS, BASES, LAST = [4, 8, 16, 32], [2, 10, 100, 1000, 10_000, 100_000], 59


class ClockHands(BookWidget):
    """Two positions on D / 2 clocks, and how alike any two positions are.

    >>> round(ClockHands(position=7, other=7).alike().item(), 6)
    1.0
    """

    position = traitlets.Int(5, min=0, max=LAST).tag(sync=True)
    other = traitlets.Int(8, min=0, max=LAST).tag(sync=True)
    width = traitlets.Enum(WIDTHS, 16).tag(sync=True)
    base = traitlets.Enum(BASES, 10_000).tag(sync=True)

    def vectors(self) -> Tensor:
        """Of every position from 0 to 59, (60, width)."""
        return sinusoidal(LAST + 1, self.width, base=self.base, dtype=torch.float64)

    def alike(self) -> Tensor:
        """The cosine of the two positions' vectors: 1 if all hands agree."""
        vectors = self.vectors()
        return vectors[self.position] @ vectors[self.other] / (self.width / 2)

    def table(self) -> str:
        say, vectors = self.edition_words(), self.vectors()[[self.position, self.other]]
        rows = [
            (say["hand"].format(n=j // 2 + 1), map(number, vectors[:, j : j + 2].flatten().tolist()))
            for j in range(0, self.width, 2)
        ]
        columns = [Verbatim(f"{name} {place}") for place in (self.position, self.other) for name in ("sin", "cos")]
        caption = say["table"].format(i=self.position, other=self.other, x=number(self.alike().item()))
        return html_table(caption, columns, rows)
