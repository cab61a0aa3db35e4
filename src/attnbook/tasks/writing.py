"""Shakespeare's plays, and a small language model that has read nine tenths of them."""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import FOLDER, shakespeare, stored
from attnbook.layers.positions import Rotary
from attnbook.learning.bytepairs import BytePairs
from attnbook.models.transformer import LanguageModel

N, D, HEADS, HIDDEN, LAYERS, CONTEXT = 512, 96, 4, 256, 3, 128


def plays() -> tuple[str, str]:
    """The text to learn from, nine tenths of all letters; and the rest, which no model has seen.

    >>> [len(part) for part in plays()]
    [1003854, 111540]
    """
    text = shakespeare()
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:]


class SwiGLU(nn.Module):
    def __init__(self, D, hidden):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(*s, bias=False) for s in ((D, hidden), (D, hidden), (hidden, D)))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def untrained() -> LanguageModel:
    model = LanguageModel(
        N, D, HEADS, HIDDEN, LAYERS, 0.0, positions="none", norm="pre", bias=False,
        rotary=Rotary(D // HEADS, pairing="neighbours"),
    )
    for l in range(LAYERS):
        b = model.decoder.get_submodule(str(l))
        b.self_attention_norm, b.feed_forward_norm = nn.RMSNorm(D, eps=1e-5), nn.RMSNorm(D, eps=1e-5)
        b.feed_forward = SwiGLU(D, HIDDEN)
    model.decoder.norm = nn.RMSNorm(D, eps=1e-5)
    return model


def pieces(ids: Tensor, size: int, length: int = CONTEXT) -> Callable[[torch.Generator], Tensor]:
    """To be called in each step of training: pieces of a text, ids (size, length + 1)."""

    def draw(generator: torch.Generator) -> Tensor:
        starts = torch.randint(len(ids) - length, (size, 1), generator=generator)
        return ids[starts + torch.arange(length + 1)]

    return draw


def next_token_loss(model: nn.Module, ids: Tensor) -> Tensor:
    """The mean surprise, in nats, at each token of (B, L) after the first."""
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
