"""Additive attention at its smallest: a query and a key of one number each, and two hidden units."""

import torch
import traitlets
from torch import Tensor

from attnbook.widgets.shared.base import BookWidget, html_table


class TanhSum(BookWidget):
    """w₁ tanh(k + q) + w₂ tanh(k − q) over every key k, beside the dot product q·k.

    >>> widget = TanhSum(q=2.0, k=5.0, w1=1.0, w2=1.0)
    >>> round(widget.score().item(), 3), widget.dot().item()
    (1.995, 10.0)
    """

    q = traitlets.Float(0.0, min=-3.0, max=3.0).tag(sync=True)
    k = traitlets.Float(1.0, min=-6.0, max=6.0).tag(sync=True)
    w1 = traitlets.Float(1.0, min=-2.0, max=2.0).tag(sync=True)
    w2 = traitlets.Float(1.0, min=-2.0, max=2.0).tag(sync=True)

    def units(self) -> Tensor:
        """What the two hidden units say: tanh(W_q q + W_k k), W_q = (1, -1) and W_k = (1, 1)."""
        return (torch.tensor([1.0, -1.0]).double() * self.q + self.k).tanh()

    def score(self) -> Tensor:
        return torch.tensor([self.w1, self.w2]).double() @ self.units()

    def dot(self) -> Tensor:
        return torch.tensor(self.q * self.k)

    def table(self) -> str:
        first, second = self.units().tolist()
        rows = {
            "tanh(k + q)": [first, self.w1, self.w1 * first],
            "tanh(k − q)": [second, self.w2, self.w2 * second],
        }
        written = lambda x: f"{round(float(x), 2) + 0.0:.2f}"  # noqa: E731 (adding 0 makes 0.00 of -0.00)
        numbers = [(name, [written(x) for x in row]) for name, row in rows.items()]
        sums = [("additive score", ["", "", written(self.score())]), ("dot product", ["", "", written(self.dot())])]
        return html_table(f"Query {self.q:g}, key {self.k:g}", ["is", "weight w", "gives"], numbers + sums)
