"""How low is low enough? One row of scores, some of them hidden by a number, in three number formats."""

import math

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, plain
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

SCORES = [2.0, 1.0, 0.0, 3.0, 1.0]
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class FillValue(BookWidget):
    """Five scores, the last two or all of them hidden, each time by PyTorch's own arithmetic.

    >>> FillValue(fill="-10").weights(torch.float16)[3:].tolist()  # hidden, but not gone
    [4.112720489501953e-06, 4.112720489501953e-06]

    `shift` is added to every score: softmax does not mind. The fill is written over the hidden scores, or added to them
    as (1 - mask) * fill.
    """

    fill = traitlets.Enum(["0", "-10", "-1e4", "-1e9", "lowest", "-inf"], "-1e9").tag(sync=True)
    shift = traitlets.Int(0, min=-20_000, max=0).tag(sync=True)
    hidden = traitlets.Enum(["two", "all"], "two").tag(sync=True)
    how = traitlets.Enum(["write", "add"], "write").tag(sync=True)

    @property
    def is_hidden(self) -> Tensor:
        """Which of the scores."""
        return torch.arange(len(SCORES)) >= (3 if self.hidden == "two" else 0)

    def scores(self, dtype: torch.dtype) -> Tensor:
        return torch.tensor(SCORES, dtype=dtype) + self.shift

    def masked(self, dtype: torch.dtype) -> Tensor | None:
        """The scores, once some are hidden; None where PyTorch raises an error."""
        fill = torch.finfo(dtype).min if self.fill == "lowest" else float(self.fill)
        if self.how == "add":
            return self.scores(dtype) + self.is_hidden.to(dtype) * fill
        try:
            return self.scores(dtype).masked_fill(self.is_hidden, fill)
        except RuntimeError:  # the number does not fit into the format
            return None

    def weights(self, dtype: torch.dtype) -> Tensor | None:
        """What PyTorch makes of it; None where it raises an error."""
        masked = self.masked(dtype)
        return None if masked is None else masked.softmax(-1)

    def table(self) -> str:
        say = self.edition_words()["table"]
        fill = say["lowest"] if self.fill == "lowest" else self.fill
        caption = say[self.hidden][self.how].format(fill=fill, shift=number(self.shift, 0))
        keys = [say["key"].format(n=j + 1) for j in range(len(SCORES))]
        rows = []
        for dtype in DTYPES:
            weights = self.weights(dtype)
            cells = [say["error"]] * len(SCORES) if weights is None else map(_written, weights.tolist())
            rows.append((Verbatim(str(dtype).removeprefix("torch.")), cells))
        return html_table(caption, keys, rows)


def _written(x: float) -> str:
    return number(x) if math.isnan(x) else plain(float(f"{x:.3g}"))
