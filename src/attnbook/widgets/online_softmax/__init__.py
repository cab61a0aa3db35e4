"""A softmax-weighted mean in one pass over the keys, block by block: running maximum, running sum, running output."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table

SCORES = {
    "mixed": [1, 3, 2, 5, 0, 4, 2, 1],
    "rising": [0, 1, 2, 3, 4, 5, 6, 7],
    "falling": [7, 6, 5, 4, 3, 2, 1, 0],
    "huge": [997, 999, 998, 1000, 995, 996, 999, 998],
}
VALUES = [4, 0, 8, 2, 6, 10, 0, 4]


class OnlineSoftmax(BookWidget):
    """One query and eight keys, of which the first `read` have been read, `block` at a time.

    `way`: "rescale" what was summed when the maximum grows, "forget" to, or subtract "no maximum" at all.

    >>> m, parts = OnlineSoftmax(block=4).states()[-1]
    >>> m, round(parts.sum().item(), 3)
    (5.0, 1.646)
    >>> round((parts @ values()).item() / parts.sum().item(), 3) == round(OnlineSoftmax().exact(), 3)
    True
    """

    scores = traitlets.Enum(list(SCORES), "mixed").tag(sync=True)
    block = traitlets.Enum([1, 2, 4, 8], 2).tag(sync=True)
    way = traitlets.Enum(["rescale", "forget", "no maximum"], "rescale").tag(sync=True)
    read = traitlets.Int(2, min=0, max=8).tag(sync=True)

    def states(self) -> list[tuple[float, Tensor]]:
        """After each block: the maximum, and what each key so far has in the sum."""
        scores, states = torch.tensor(SCORES[self.scores]).double(), []
        m, parts = torch.tensor(0.0 if self.way == "no maximum" else -torch.inf).double(), scores[:0]
        for block in scores.split(self.block):
            new = m if self.way == "no maximum" else torch.maximum(m, block.max())
            kept = (m - new).exp() if self.way == "rescale" else 1.0
            parts, m = torch.cat([parts * kept, (block - new).exp()]), new
            states.append((m.item(), parts))
        return states

    def exact(self) -> float:
        """The softmax of all scores at once, over the values."""
        return (torch.tensor(SCORES[self.scores]).double().softmax(-1) @ values()).item()

    def table(self) -> str:
        say, log, rows = self.edition_words()["table"], self.edition_words()["log"], []
        for n, (m, parts) in enumerate(self.states(), 1):
            total, output = parts.sum().item(), (parts @ values()[: len(parts)]).item()
            rows.append((say["after"].format(n=n), [number(x, 3) for x in (m, total, output, output / total)]))
        columns = [say["maximum"], log["sum"], log["output"], log["answer"]]
        return html_table(say["caption"].format(exact=number(self.exact(), 3)), columns, rows)


def values() -> Tensor:
    return torch.tensor(VALUES).double()
