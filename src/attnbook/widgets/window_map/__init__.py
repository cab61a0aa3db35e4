"""Windows on top of one another: which tokens can reach a token of the last layer, and what that costs."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import count, number, whole
from attnbook.layers.masks import causal, sliding_window
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table

TOKENS, DEEPEST = 32, 8
# Named models, made smaller: window, every so many layers one sees all (0: none), first tokens kept, layers.
PRESETS = {
    "Mistral 7B": (4, 0, 0, 8),
    "Gemma 3 27B": (4, 6, 0, 8),
    "OLMo 3 32B": (6, 4, 0, 8),
    "gpt-oss-120b": (3, 2, 0, 8),
}


class WindowMap(BookWidget):
    """A text of 32 tokens and up to 8 layers, the lowest first; of every so many the last one sees all tokens.

    >>> widget = WindowMap(window=4, layers=3)
    >>> widget.reach()[0].nonzero().flatten().tolist()  # of the last token: 3 · (4 - 1) + 1 tokens
    [22, 23, 24, 25, 26, 27, 28, 29, 30, 31]
    >>> widget.kept()
    [4, 4, 4]
    """

    token = traitlets.Int(TOKENS - 1, min=0, max=TOKENS - 1).tag(sync=True)
    layers = traitlets.Int(6, min=1, max=DEEPEST).tag(sync=True)
    window = traitlets.Int(3, min=1, max=TOKENS).tag(sync=True)
    every = traitlets.Int(0, min=0, max=DEEPEST).tag(sync=True)
    sinks = traitlets.Int(0, min=0, max=4).tag(sync=True)

    def masks(self) -> list[Tensor]:
        """Of each layer, the lowest first."""
        local = sliding_window(TOKENS, window=self.window, sinks=self.sinks)
        return [causal(TOKENS) if self.sees_all(n) else local for n in range(1, self.layers + 1)]

    def sees_all(self, n: int) -> bool:
        return self.every > 0 and n % self.every == 0

    def reach(self) -> Tensor:
        """What can reach the token: of the tokens themselves, then of each layer's vectors."""
        lit = [torch.arange(TOKENS) == self.token]
        for mask in reversed(self.masks()):
            lit.insert(0, mask[lit[0]].any(0))
        return torch.stack(lit)

    def pairs(self) -> float:
        """The share of all pairs of a query and a key up to its own that are computed."""
        return sum(int(mask.sum()) for mask in self.masks()) / (self.layers * TOKENS * (TOKENS + 1) / 2)

    def kept(self) -> list[int]:
        """Tokens in the cache of each layer while the last one is computed."""
        return [int(mask[-1].sum()) for mask in self.masks()]

    def alone(self) -> int:
        """How far windows alone reach, in a text that is long enough."""
        return self.layers * (self.window - 1) + 1

    def table(self) -> str:
        words = self.edition_words()
        say, found = words["table"], self.reach()
        caption = say["caption"].format(
            layers=count(say["layers"], self.layers),
            window=whole(self.window),
            share=number(100 * self.pairs(), 1),
        )
        rows = [
            (
                words["level"].format(n=whole(n)),
                [whole(int(found[n].sum())), whole(self.kept()[n - 1])],
            )
            for n in range(self.layers, 0, -1)
        ]
        return html_table(caption, say["columns"], [*rows, (words["tokens"], [whole(int(found[0].sum())), ""])])
