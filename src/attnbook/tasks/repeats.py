"""Random letters said twice, and networks of attention alone: what comes next is known to who looks back.

>>> ids_BL = repeats(1)(torch.Generator().manual_seed(3))
>>> "".join(LETTERS[letter] for letter in ids_BL[0])
'gfdaksplgfdakspl'
"""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import FOLDER, stored
from attnbook.layers.masks import causal
from attnbook.layers.multihead import MultiHeadAttention
from attnbook.layers.positions import Rotary

LETTERS = "abcdefghijklmnopqrstuvwxyz"
HEADS = 2  # of a layer


def repeats(size: int, shortest: int = 4, longest: int = 12) -> Callable[[torch.Generator], Tensor]:
    """To be called in each step of training: ids (size, 2n), n letters and the same again.

    How many letters is drawn, too, so that no fixed distance leads back to the first time.
    """

    def draw(generator: torch.Generator) -> Tensor:
        n = int(torch.randint(shortest, longest + 1, (), generator=generator))
        return torch.randint(len(LETTERS), (size, n), generator=generator).repeat(1, 2)

    return draw


class Copier(nn.Module):
    """Layers of attention with shortcuts and nothing else: the scores (B, L, 26) for the letter after each.

    >>> Copier(layers=2)(torch.tensor([[0, 1, 0]])).shape
    torch.Size([1, 3, 26])
    """

    def __init__(self, layers: int, heads: int = HEADS, D: int = 32):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), D)
        rotary = Rotary(D // heads, pairing="neighbours", base=100)
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(layers))
        self.layers = nn.ModuleList(MultiHeadAttention(D, heads, rotary=rotary) for _ in range(layers))
        self.norm, self.next = nn.LayerNorm(D), nn.Linear(D, len(LETTERS), bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self.letters(ids), causal(ids.shape[-1], device=ids.device)
        for norm, attention in zip(self.norms, self.layers, strict=True):
            x = x + attention(norm(x), mask=mask)
        return self.next(self.norm(x))

    @staticmethod
    def loss(model: nn.Module, ids: Tensor) -> Tensor:
        """The mean surprise at the letters of the second time but the first, which no one can know."""
        n = ids.shape[1] // 2
        return F.cross_entropy(model(ids)[:, n:-1].flatten(0, 1), ids[:, n + 1 :].flatten())


def right(model: nn.Module, ids: Tensor) -> float:
    """The share of those letters that the model would say."""
    n = ids.shape[1] // 2
    return (model(ids)[:, n:-1].argmax(-1) == ids[:, n + 1 :]).float().mean().item()


@cache
def copiers() -> dict[int, Copier]:
    """Two `Copier`s that have learned, by their number of layers: 1 and 2.

    >>> ids_BL = repeats(200, 8, 8)(torch.Generator().manual_seed(1))
    >>> {layers: right(model, ids_BL) > 0.9 for layers, model in copiers().items()}
    {1: False, 2: True}
    """
    models = {layers: Copier(layers) for layers in (1, 2)}
    stored.unpack(FOLDER / "induction.bin", models)
    return models
