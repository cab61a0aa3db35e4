"""From one tensor to several heads and back, cell by cell: with the transpose, and as a `view` alone would have it."""

from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.language import whole
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

B, L, D, STEPS = 2, 3, 6, 6


class HeadSplit(BookWidget):
    """Two texts of three words (a b c, d e f), six numbers per word, on their way into heads and out again.

    >>> HeadSplit(heads=2, step=2).cells().shape
    torch.Size([2, 2, 3, 3])
    >>> HeadSplit(heads=2, step=2).names()[0][0]  # what the first head of the first text gets
    ['a0 a1 a2', 'b0 b1 b2', 'c0 c1 c2']
    >>> HeadSplit(heads=2, step=2, way="view").names()[0][0]
    ['a0 a1 a2', 'a3 a4 a5', 'b0 b1 b2']
    """

    heads = traitlets.Enum([2, 3, 6], 2).tag(sync=True)
    step = traitlets.Int(0, min=0, max=STEPS - 1).tag(sync=True)
    way = traitlets.Enum(["transpose", "view"], "transpose").tag(sync=True)

    def cells(self) -> Tensor:
        """The number of each cell, counted through (B, L, D), where it stands at this step."""
        numbers, H, K = torch.arange(B * L * D), self.heads, D // self.heads
        if self.step in (0, STEPS - 1):
            return numbers.view(B, L, D)
        if self.way == "view":
            return numbers.view(B, H, L, K)
        split = numbers.view(B, L, H, K)
        return split if self.step in (1, 4) else split.transpose(1, 2)

    def names(self) -> list:
        """The same in words: row by row, `a0 a1 a2`."""

        def written(rows: list) -> Any:
            if isinstance(rows[0], list):
                return [written(row) for row in rows]
            return " ".join(f"{'abcdef'[n // D]}{n % D}" for n in rows)

        return written(self.cells().tolist())

    def table(self) -> str:
        say, twin = self.edition_words(), HeadSplit(heads=self.heads, step=2, way=self.way)
        rows = (
            (say["table"]["row"].format(text=whole(b), head=whole(h)), map(Verbatim, head))
            for b, text in enumerate(twin.names(), start=1)
            for h, head in enumerate(text, start=1)
        )
        code = "q.view(B, H, L, K)" if self.way == "view" else "q.view(B, L, H, K).transpose(1, 2)"
        columns = [say["row"].format(n=whole(i + 1)) for i in range(L)]
        return html_table(say["table"]["caption"].format(code=code), columns, rows)
