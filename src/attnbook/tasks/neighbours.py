"""Which letter stands just before the star? A task about places, and a small layer with a choice of positions.

>>> letters_BL, stars_BL, answers_B = letters_with_a_star(1, length=6)(torch.Generator().manual_seed(1))
>>> " ".join(LETTERS[x] + "★" * s for x, s in zip(letters_BL[0], stars_BL[0].tolist(), strict=True))
'f d e★ a h b'
>>> LETTERS[answers_B[0]]
'd'
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.layers.multihead import MultiHeadAttention
from attnbook.layers.positions import ALiBi, LearnedPositions, RelativeBias, Rotary, SinusoidalPositions
from attnbook.tasks.marks import LETTERS

LENGTH, WIDTH, HEADS = 12, 32, 8
KINDS = ("none", "sinusoidal", "learned", "relative", "rotary", "alibi")


def letters_with_a_star(size: int, length: int = LENGTH) -> Callable[[torch.Generator], tuple[Tensor, Tensor, Tensor]]:
    """To be called in each step of training: letters (size, L), where the star is (size, L), the letters before it."""
    if length < 2:
        raise ValueError(f"length must be at least 2, or no letter stands before the star; got {length}.")

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        letters_BL = torch.randint(len(LETTERS), (size, length), generator=generator)
        places_B1 = torch.randint(1, length, (size, 1), generator=generator)
        stars_BL = F.one_hot(places_B1[:, 0], length)
        return letters_BL, stars_BL, letters_BL.gather(1, places_B1 - 1)[:, 0]

    return draw


class Neighbour(nn.Module):
    """One layer of self-attention, read where the star is: scores (B, 8) of the letter before it."""

    def __init__(self, kind: str):
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
        super().__init__()
        self.letters, self.stars = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(2, WIDTH)
        added = {"sinusoidal": lambda: SinusoidalPositions(WIDTH), "learned": lambda: LearnedPositions(LENGTH, WIDTH)}
        biases = {"relative": lambda: RelativeBias(HEADS, max_distance=8), "alibi": lambda: ALiBi(HEADS)}
        self.positions = added.get(kind, nn.Identity)()
        self.attention = MultiHeadAttention(
            WIDTH,
            HEADS,
            rotary=Rotary(WIDTH // HEADS) if kind == "rotary" else None,
            score_bias=biases[kind]() if kind in biases else None,
        )
        self.answers = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, letters: Tensor, stars: Tensor, mask: Tensor | None = None) -> Tensor:
        x_BLD = self.positions(self.letters(letters) + self.stars(stars))
        return self.answers(self.attention(x_BLD, mask=mask)[stars.bool()])

    @staticmethod
    def loss(model: nn.Module, given: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        letters, stars, answers = given
        return F.cross_entropy(model(letters, stars), answers)

    @torch.no_grad()
    def right(self, length: int, mask: Tensor | None = None, texts: int = 500) -> float:
        """The share of right answers in texts of a length, the same texts each time."""
        letters, stars, answers = letters_with_a_star(texts, length)(torch.Generator().manual_seed(0))
        return (self(letters, stars, mask).argmax(-1) == answers).double().mean().item()
