"""A softmax with a mask, painted by hand: scores, their exponentials, row sums and weights."""

from collections.abc import Sequence

import torch
import traitlets
from torch import Tensor

from attnbook.language import number
from attnbook.layers.softmax import masked_softmax
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table, painted

MOST_TOKENS = 4
WORDS = ["the", "cat", "sat", "pad"]
LATER = [[0, 1], [0, 2], [0, 3]]  # what the first word may not see
SCORES = [[1.0, 1.5, -0.5, 0.0], [0.5, 2.0, 1.0, 0.0], [-1.0, 2.5, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]]


class PaintMask(BookWidget):
    """A few words and the scores they give each other; the reader hides cells, in a right way or a wrong one.

    >>> widget = PaintMask()
    >>> widget.blocked
    [[0, 1], [0, 2], [0, 3]]
    >>> widget.weights()[0].tolist()
    [1.0, 0.0, 0.0, 0.0]

    `pads` are the positions of padding. `hide` is how: "before" the softmax with −∞, with "zero" in place
    of the score, or "after" the softmax.
    """

    tokens = traitlets.List(traitlets.Unicode(), minlen=1, maxlen=MOST_TOKENS).tag(sync=True)
    scores_LM = traitlets.List().tag(sync=True)
    pads = traitlets.List(traitlets.Int()).tag(sync=True)
    blocked = traitlets.List(default_value=LATER).tag(sync=True)
    hide = traitlets.Enum(["before", "zero", "after"], "before").tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.1, max=10.0).tag(sync=True)

    def __init__(
        self, tokens: Sequence[str] = WORDS, scores_LM: Sequence = SCORES, pads: Sequence[int] = (3,), **traits
    ):
        L = len(tokens)
        if any(len(row) != L for row in scores_LM) or len(scores_LM) != L:
            rows = [len(row) for row in scores_LM]
            raise ValueError(f"{L} tokens need {L} rows of {L} scores; got rows of {rows}.")
        rows = [[float(score) for score in row] for row in scores_LM]
        super().__init__(tokens=list(tokens), scores_LM=rows, pads=list(pads), **traits)

    def weights(self) -> Tensor:
        """What the widget shows as weights, wrong ways of masking included."""
        scores = torch.tensor(self.scores_LM, dtype=torch.float64) / self.temperature
        mask = ~painted(self.blocked, *scores.shape)
        if self.hide == "zero":
            return (scores * mask).softmax(-1)
        return scores.softmax(-1) * mask if self.hide == "after" else masked_softmax(scores, mask)

    def table(self) -> str:
        tokens = list(map(Verbatim, self.tokens))
        rows = ((token, map(number, row)) for token, row in zip(tokens, self.weights().tolist(), strict=True))
        return html_table(self.edition_words()["table"], tokens, rows)
