"""Regression as attention: keys are where something was measured, values what was measured, the query is any place."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, plain, whole
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table

XS = [0.2, 0.6, 1.0, 1.4, 1.9, 2.3, 2.7, 3.1, 3.6, 4.0, 4.4, 4.8]
YS = [3.9, 4.3, 5.5, 5.0, 4.2, 2.4, 1.8, 0.6, 1.4, 2.3, 3.1, 3.8]


class KernelRegression(BookWidget):
    """Twelve points that can be moved, and the curve that attention draws through them.

    >>> KernelRegression(width=100.0).curve().std().item() < 0.01  # nearly a mean
    True
    """

    points = traitlets.List([list(point) for point in zip(XS, YS, strict=True)], minlen=2, maxlen=12).tag(sync=True)
    width = traitlets.Float(0.5, min=0.02, max=100.0).tag(sync=True)
    query = traitlets.Float(2.5, min=0.0, max=5.0).tag(sync=True)
    chosen = traitlets.Int(0, min=0).tag(sync=True)

    def weights(self, queries: Tensor, without_own: bool = False) -> Tensor:
        """Softmax over the points of -distance²/(2 width²); for the error, none may look at itself."""
        keys = torch.tensor(self.points).double()[:, 0]
        scores = -(queries[:, None] - keys).square() / (2 * self.width**2)
        if without_own:
            scores = scores.masked_fill(torch.eye(len(keys)).bool(), -torch.inf)
        return scores.softmax(-1)

    def curve(self) -> Tensor:
        """The answer at 101 places from 0 to 5."""
        return self.weights(torch.linspace(0, 5, 101).double()) @ torch.tensor(self.points).double()[:, 1]

    def errors(self) -> tuple[float, ...]:
        """Mean squared error at the points: each with itself among the keys, and without."""
        x, y = torch.tensor(self.points).double().T
        return tuple((self.weights(x, without) @ y - y).square().mean().item() for without in (False, True))

    def table(self) -> str:
        say = self.edition_words()["table"]
        weights = self.weights(torch.tensor([self.query]).double())[0].tolist()
        rows = (
            (say["point"].format(n=whole(j)), [number(x, 1), number(y, 1), number(weight)])
            for j, ((x, y), weight) in enumerate(zip(self.points, weights, strict=True), start=1)
        )
        caption = say["caption"].format(query=plain(self.query), width=plain(self.width))
        return html_table(caption, [say["key"], say["value"], say["weight"]], rows)
