"""Why √d: the same random queries and keys, scored with no scale, with √d and with d."""

import math

import traitlets
from torch import Tensor

from attnbook.language import number
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.random import normals
from attnbook.widgets.shared.tables import html_table

QUERIES, KEYS = 32, 64
SCALES = {"none": lambda width: 1.0, "sqrt": math.sqrt, "d": float}


class ScaleLab(BookWidget):
    """32 random queries meet 64 random keys of width 1 to 1024, under three scales side by side.

    >>> {scale: round(found["spread"], 1) for scale, found in ScaleLab(width=64).summary().items()}
    {'none': 8.2, 'sqrt': 1.0, 'd': 0.1}
    """

    width = traitlets.Int(256, min=1, max=1024).tag(sync=True)
    size = traitlets.Float(1.0, min=0.0).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)

    def scores(self) -> dict[str, Tensor]:
        """q·k divided by each scale, (queries, keys)."""
        rows = normals(self.seed, (QUERIES + KEYS) * 1024).view(-1, 1024)[:, : self.width] * self.size
        scores = rows[:QUERIES] @ rows[QUERIES:].T
        return {name: scores / scale(self.width) for name, scale in SCALES.items()}

    def summary(self) -> dict[str, dict[str, float]]:
        """What each panel says in numbers."""
        return {name: _summary(scores) for name, scores in self.scores().items()}

    def table(self) -> str:
        say, summary = self.edition_words()["table"], self.summary()
        caption = say["caption"].format(queries=QUERIES, keys=KEYS, width=self.width)
        columns = [say["columns"][name] for name in summary["none"]]
        rows = ((say["rows"][scale], map(number, found.values())) for scale, found in summary.items())
        return html_table(caption, columns, rows)


def _summary(scores: Tensor) -> dict[str, float]:
    p = scores.softmax(-1)
    squares = p.square().sum(-1)
    # the size of the softmax's Jacobian, diag(p) - p pᵀ
    jacobian = (squares - 2 * p.pow(3).sum(-1) + squares.square()).clamp(min=0).sqrt()
    return {
        "spread": scores.std(correction=0).item(),
        "largest": p.amax(-1).mean().item(),
        "entropy": -(p * p.clamp(min=1e-300).log()).sum(-1).mean().item(),
        "gradient": jacobian.median().item(),
    }
