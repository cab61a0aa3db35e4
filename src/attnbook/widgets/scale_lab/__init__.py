"""Why √d: the same random queries and keys, scored with no scale, with √d and with d."""

import math

import traitlets
from torch import Tensor

from attnbook.widgets.shared.base import BookWidget, html_table
from attnbook.widgets.shared.random import normals

QUERIES, KEYS = 32, 64
SCALES = {"none": lambda width: 1.0, "√d": math.sqrt, "d": float}


class ScaleLab(BookWidget):
    """32 random queries meet 64 random keys of width 1 to 1024, under three scales side by side."""

    width = traitlets.Int(64, min=1, max=1024).tag(sync=True)
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
        summary = self.summary()
        columns = list(next(iter(summary.values())))
        names = {"none": "as they are"} | {name: f"divided by {name}" for name in ("√d", "d")}
        rows = ((names[name], [f"{x:.2f}" for x in numbers.values()]) for name, numbers in summary.items())
        return html_table(f"{QUERIES} random queries, {KEYS} random keys, d = {self.width}", columns, rows)


def _summary(scores: Tensor) -> dict[str, float]:
    p = scores.softmax(-1)
    squares = p.square().sum(-1)
    # the size of the softmax's Jacobian, diag(p) - p pᵀ
    jacobian = (squares - 2 * p.pow(3).sum(-1) + squares.square()).clamp(min=0).sqrt()
    return {
        "spread of scores": scores.std(correction=0).item(),
        "largest weight": p.amax(-1).mean().item(),
        "entropy": -(p * p.clamp(min=1e-300).log()).sum(-1).mean().item(),
        "gradient": jacobian.median().item(),
    }
