"""Writing with a cache, step by step: which rows are computed, which keys they see, and what the cache weighs."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import whole
from attnbook.layers.masks import causal
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table

WORDS = ["the", "cat", "sat", "on", "the", "mat", "and", "slept"]
N = len(WORDS)
KV_HEADS = {"MHA": 32, "GQA": 8, "MQA": 1}
LAYERS, WIDTH, BYTES = 32, 128, 2  # of Llama 3.1 8B, in bfloat16


class CacheStepper(BookWidget):
    """A prompt of `prompt` tokens is read in chunks, then one token is written after the other.

    >>> widget = CacheStepper(prompt=5, chunk=3, step=2)
    >>> widget.rows()
    (3, 5)
    >>> widget.mask().int().tolist()
    [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    """

    cache = traitlets.Enum(["with", "without"], "with").tag(sync=True)
    align = traitlets.Enum(["last", "first"], "last").tag(sync=True)
    prompt = traitlets.Int(5, min=1, max=N).tag(sync=True)
    chunk = traitlets.Int(3, min=1, max=N).tag(sync=True)
    step = traitlets.Int(3, min=1, max=N).tag(sync=True)
    heads = traitlets.Enum(list(KV_HEADS), "GQA").tag(sync=True)
    tokens = traitlets.Int(8192, min=1).tag(sync=True)

    def ends(self) -> list[int]:
        """How many tokens are known after each step."""
        read = [*range(self.chunk, self.prompt, self.chunk), self.prompt]
        return [*read, *range(self.prompt + 1, N + 1)]

    def rows(self, step: int | None = None) -> tuple[int, int]:
        """The first row that a step computes, this one unless told otherwise, and where it ends."""
        ends = [0, *self.ends()]
        step = min(step or self.step, len(ends) - 1)
        return (ends[step - 1] if self.cache == "with" else 0), ends[step]

    def mask(self, step: int | None = None) -> Tensor:
        """Which keys its rows see: aligned to the last key, as they should be, or to the first."""
        start, end = self.rows(step)
        if self.align == "last":
            return causal(end - start, end)
        return torch.ones(end - start, end, dtype=torch.bool).tril()

    def bytes(self) -> int:
        """Of all keys and values, for so many tokens."""
        return 2 * self.tokens * LAYERS * KV_HEADS[self.heads] * WIDTH * BYTES

    def table(self) -> str:
        say, rows = self.edition_words()["table"], []
        for step in range(1, len(self.ends()) + 1):
            start, end = self.rows(step)
            rows.append((say["step"].format(n=step), map(whole, (end, end - start, int(self.mask(step).sum())))))
        return html_table(say["caption"], [say["known"], say["computed"], say["seen"]], rows)
