"""A dictionary that answers between its entries: keys are places, values are degrees, the query is where you stand."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, plain
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

STATIONS = {
    "Bay": ([2, 3], 14.0),
    "Hill": ([4, 8], 8.0),
    "Lake": ([7, 2], 16.0),
    "Town": ([5, 4], 19.0),
    "Peak": ([9, 8], 2.0),
}


class SoftDictionary(BookWidget):
    """Five weather stations on a map of 10 by 10, and a query among them.

    >>> widget = SoftDictionary(x=2.0, y=3.0, temperature=0.1)  # at the Bay
    >>> widget.answer().item()
    14.0
    """

    names = traitlets.List(list(STATIONS)).tag(sync=True)
    keys_MK = traitlets.List([place for place, _ in STATIONS.values()]).tag(sync=True)
    values_M = traitlets.List([value for _, value in STATIONS.values()]).tag(sync=True)
    x = traitlets.Float(4.0, min=0.0, max=10.0).tag(sync=True)
    y = traitlets.Float(3.0, min=0.0, max=10.0).tag(sync=True)
    temperature = traitlets.Float(5.0, min=0.1, max=1000.0).tag(sync=True)
    score = traitlets.Enum(["near", "dot"], "near").tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**traits)
        sizes = [len(self.names), len(self.keys_MK), len(self.values_M)]
        if len(set(sizes)) > 1:
            raise ValueError(f"each key has one name and one value; got {sizes} names, keys and values.")

    def weights(self) -> Tensor:
        """How much each station counts: a softmax of its nearness to the query (or of their dot product)."""
        query, keys = torch.tensor([self.x, self.y]).double(), torch.tensor(self.keys_MK).double()
        scores = keys @ query if self.score == "dot" else -(keys - query).square().sum(-1)
        return (scores / self.temperature).softmax(-1)

    def answer(self) -> Tensor:
        """The weighted mean of the values."""
        return self.weights() @ torch.tensor(self.values_M).double()

    def table(self) -> str:
        say = self.edition_words()
        names = (say["stations"].get(name, Verbatim(name)) for name in self.names)
        numbers = (
            [number(weight), number(value, 1)]
            for weight, value in zip(self.weights().tolist(), self.values_M, strict=True)
        )
        answer = say["degrees"].format(x=number(self.answer().item(), 1))
        caption = say["table"]["caption"].format(x=plain(self.x), y=plain(self.y), answer=answer)
        return html_table(caption, [say["weight"], say["table"]["unit"]], zip(names, numbers, strict=True))
