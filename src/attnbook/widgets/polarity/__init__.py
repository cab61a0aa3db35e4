"""Who sees whom? The same kind of tensor means one thing to one library and the opposite to the next."""

import torch
import traitlets
from torch import Tensor

from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.random import normals
from attnbook.widgets.shared.tables import Verbatim, html_table

L, M = 3, 4
CALLS = {
    "book": "attention(q, k, v, mask)",
    "sdpa": "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
    "sdpaAdded": "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
    "mha": "nn.MultiheadAttention: mha(q, k, v, attn_mask=mask)",
    "mhaPadding": "nn.MultiheadAttention: mha(q, k, v, key_padding_mask=mask)",
    "fill": "scores.masked_fill(mask, -torch.inf)",
    "d2l": "d2l.masked_softmax(scores, valid_lens)",
    "causal": "attention(q, k, v, causal(3, 4))",
    "isCausal": "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
}
_WITHOUT_MASK = ("causal", "isCausal")


class Polarity(BookWidget):
    """Three queries, four keys, a call and its mask: the reader marks who sees whom, then looks.

    >>> Polarity.question(seed=1, n=0)[0] in CALLS
    True

    `seen` are the cells marked for the question at hand, `given` the answers to those before it.
    """

    seed = traitlets.Int(1, min=0).tag(sync=True)
    seen = traitlets.List().tag(sync=True)
    given = traitlets.List().tag(sync=True)
    revealed = traitlets.Bool(False).tag(sync=True)

    @staticmethod
    def question(seed: int, n: int) -> tuple[str, Tensor | None]:
        """The n-th question: a call and its mask, if it has one. Every call comes once before any comes again."""
        turn, place = divmod(n, len(CALLS))
        call = list(CALLS)[int(normals(1000 * seed + turn, len(CALLS)).argsort()[place])]
        marks = normals(1000 * seed + 500 + n, L * M).view(L, M) > 0
        for row in marks:
            if row.all() or not row.any():  # a row that says something
                row[0] = ~row[0]
        masks = {
            "sdpaAdded": torch.zeros(L, M).masked_fill(~marks, -torch.inf),
            "mhaPadding": marks[0],
            "d2l": marks.sum(-1),
        }
        return call, None if call in _WITHOUT_MASK else masks.get(call, marks)

    def table(self) -> str:
        say = self.edition_words()["table"]
        calls = {name: Verbatim(call) for name, call in CALLS.items()}
        calls["sdpaAdded"] = say["floats"].format(call=CALLS["sdpaAdded"])
        rows = ((call, [say["meanings"][name]]) for name, call in calls.items())
        return html_table(say["caption"], [say["says"]], rows)
