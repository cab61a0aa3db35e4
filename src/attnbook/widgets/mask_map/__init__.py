"""All masks of a Transformer in one picture, to be edited: which words can then reach which?"""

import torch
import traitlets
from torch import Tensor

from attnbook.layers.masks import causal, padding
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table, painted

N = 5  # tokens of the source, and of the target
SOURCE, TARGET = ["the", "black", "cat", "sleeps"], ["start", "le", "chat", "noir", "dort"]
MISTAKES = ["none", "ahead", "strict", "pads", "cross", "encoder"]


class MaskMap(BookWidget):
    """Rows are queries, columns are keys: first the source's tokens, then the target's. The decoder asks both.

    `mistake` is one of the usual ones: the decoder looks "ahead", or is "strict" and not shown its own token; "pads"
    are read; "cross"-attention or the "encoder" is given the decoder's causal mask. Cells in `flipped` are the other
    way round.

    >>> MaskMap().findings()
    {}
    >>> MaskMap(flipped=[[6, 8]]).findings()["told"]  # one cell: le sees noir
    ['le', 'chat']
    """

    source = traitlets.Int(4, min=2, max=N).tag(sync=True)
    target = traitlets.Int(N, min=1, max=N).tag(sync=True)
    layers = traitlets.Int(2, min=1, max=3).tag(sync=True)
    mistake = traitlets.Enum(MISTAKES, "none").tag(sync=True)
    flipped = traitlets.List(traitlets.List(traitlets.Int(), minlen=2, maxlen=2)).tag(sync=True)
    row = traitlets.Int(7, min=0, max=2 * N - 1).tag(sync=True)

    def tokens(self) -> list[str]:
        read = [*SOURCE[: self.source - 1], "stop"]
        return read + ["pad"] * (N - self.source) + TARGET[: self.target] + ["pad"] * (N - self.target)

    def mask(self) -> Tensor:
        """True where the row may look at the column, (2N, 2N); the source never looks at the target."""
        read = padding(torch.tensor([N if self.mistake == "pads" else self.source]), N)[0].expand(N, N)
        before = causal(N)
        own = {"ahead": torch.ones_like(before), "strict": before.tril(-1)}.get(self.mistake, before)
        own_source = read & before if self.mistake == "encoder" else read
        across = before if self.mistake == "cross" else read
        mask = torch.cat([torch.cat([own_source, torch.zeros_like(before)], 1), torch.cat([across, own], 1)])
        flipped = painted(self.flipped, 2 * N, 2 * N)
        flipped[:N, N:] = False
        return mask ^ flipped

    def reach(self) -> Tensor:
        """True where the column can have an effect on the row, after all layers of encoder and decoder."""
        mask = self.mask()
        once = (mask | torch.eye(2 * N, dtype=torch.bool)).float()
        once[N:, :N] = 0  # each stack by itself
        memory = torch.linalg.matrix_power(once, self.layers)[:N]
        known = torch.eye(2 * N)[N:]
        for _ in range(self.layers):
            known = once[N:, N:] @ known
            known = known + mask[N:, :N].float() @ memory
        return torch.cat([memory, known]) > 0

    def findings(self) -> dict[str, list[str]]:
        """What is wrong with it, by the tokens of the text: who is told what comes later, sees nothing, knows of
        padding, or can't know all of the source.
        """
        names, mask, reach = self.tokens(), self.mask(), self.reach()
        real = torch.tensor([name != "pad" for name in names])
        decoder = torch.arange(2 * N) >= N
        looks = torch.stack([mask[:, :N].any(1), torch.where(decoder, mask[:, N:].any(1), True)], 1)
        found = {
            "told": decoder & (reach.triu(1) & decoder & real).any(1),
            "blind": ~looks.all(1),
            "pads": (reach & ~real).any(1),
            "missed": (~reach & real & ~decoder).any(1),
        }
        rows = {what: [names[i] for i in (is_so & real).nonzero()[:, 0].tolist()] for what, is_so in found.items()}
        return {what: named for what, named in rows.items() if named}

    def table(self) -> str:
        say, names, mask = self.edition_words(), [*map(Verbatim, self.tokens())], self.mask()
        rows = ((name, [say["looks"] if sees else "" for sees in line]) for name, line in zip(names, mask, strict=True))
        return html_table(say["map"], names, rows)
