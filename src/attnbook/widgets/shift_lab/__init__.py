"""One matrix moves every position equally far; and rotary positions, whose scores depend on the distance only."""

import math

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, whole
from attnbook.layers.positions import Rotary, sinusoidal
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

WIDTH, BASE, FIRST, LAST, FARTHEST = 4, 100.0, 10, 50, 10  # two hands, of speeds 1 and 1/10
QUERY, KEY = [1.0, 0.3, -0.5, 0.8], [0.6, -0.7, 0.9, 0.4]


class ShiftLab(BookWidget):
    """Position i and another one, so many later.

    >>> widget = ShiftLab(position=12, apart=3)
    >>> torch.allclose(widget.matrix() @ widget.place(12), widget.place(15))
    True
    >>> abs(widget.scores()[0] - ShiftLab(position=30, apart=3).scores()[0]) < 1e-9
    True
    """

    mode = traitlets.Enum(["moved", "turned"], "moved").tag(sync=True)
    position = traitlets.Int(12, min=FIRST, max=LAST).tag(sync=True)
    apart = traitlets.Int(3, min=-FARTHEST, max=FARTHEST).tag(sync=True)

    def place(self, i: int) -> Tensor:
        """The sinusoidal vector of a position."""
        return sinusoidal(1, WIDTH, start=i, base=BASE, dtype=torch.float64)[0]

    def matrix(self) -> Tensor:
        """It moves any position by `apart`: a turn for each hand."""
        turns = [self.apart, self.apart / BASE**0.5]
        return torch.block_diag(
            *(torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]).double() for a in turns)
        )

    def turned(self) -> tuple[Tensor, Tensor]:
        """The query at the position and the key so many later."""
        rotary = Rotary(WIDTH, pairing="neighbours", base=BASE)
        q, k = torch.tensor([QUERY]).double(), torch.tensor([KEY]).double()
        return rotary(q, start=self.position)[0], rotary(k, start=self.position + self.apart)[0]

    def scores(self) -> tuple[float, float]:
        """Query times key: both turned; and with their positions added instead."""
        q, k = self.turned()
        i, j = self.place(self.position), self.place(self.position + self.apart)
        added = (torch.tensor(QUERY).double() + i) @ (torch.tensor(KEY).double() + j)
        return (q @ k).item(), added.item()

    def table(self) -> str:
        every, i, j = self.edition_words(), self.position, self.position + self.apart
        say = every["table"]
        if self.mode == "moved":
            columns = [
                *map(Verbatim, ("sin 1", "cos 1", "sin 2", "cos 2")),
                say["position"].format(i=i),
                every["product"],
                say["position"].format(i=j),
            ]
            numbers = torch.stack([*self.matrix().T, self.place(i), self.matrix() @ self.place(i), self.place(j)], -1)
            caption = say["matrix"].format(apart=whole(self.apart))
        else:
            columns = [every["query"], say["turnedTo"].format(i=i), every["key"], say["turnedTo"].format(i=j)]
            q, k = self.turned()
            numbers = torch.stack([torch.tensor(QUERY).double(), q, torch.tensor(KEY).double(), k], -1)
            turned, added = map(number, self.scores())
            caption = say["scores"].format(turned=turned, added=added)
        rows = ((f"{n + 1}", map(number, row)) for n, row in enumerate(numbers.tolist()))
        return html_table(caption, columns, rows)
