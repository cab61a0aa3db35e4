"""Additive attention at its smallest: a query and a key of one number each, and two hidden units."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, plain
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table


class TanhSum(BookWidget):
    """w₁ tanh(k + q) + w₂ tanh(k − q) over every key k, beside the dot product q·k.

    >>> widget = TanhSum(q=2.0, k=5.0, w1=1.0, w2=1.0)
    >>> round(widget.score().item(), 3), widget.dot().item()
    (1.995, 10.0)
    """

    q = traitlets.Float(1.0, min=-3.0, max=3.0).tag(sync=True)
    k = traitlets.Float(2.5, min=-6.0, max=6.0).tag(sync=True)
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
        say, weights = self.edition_words()["table"], [self.w1, self.w2]
        rows = [
            (Verbatim(name), [number(unit), number(w), number(w * unit)])
            for name, unit, w in zip(["tanh(k + q)", "tanh(k − q)"], self.units().tolist(), weights, strict=True)
        ]
        rows += [(say["score"], ["", "", number(self.score())]), (say["dot"], ["", "", number(self.dot())])]
        caption = say["caption"].format(q=plain(self.q), k=plain(self.k))
        return html_table(caption, [say["is"], say["weight"], say["gives"]], rows)
