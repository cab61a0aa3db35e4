"""Letters, two of them marked, and two questions at once: which letter is under the star, and which under the dot?

>>> letters_BM, marks_BM, answers_B2 = marked_letters(1)(torch.Generator().manual_seed(4))
>>> " ".join(LETTERS[letter] + MARKS[mark] for letter, mark in zip(letters_BM[0], marks_BM[0], strict=True))
'c g h● f★ b a h a'
>>> [LETTERS[letter] for letter in answers_B2[0]]
['f', 'h']
"""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import FOLDER, stored
from attnbook.layers.multihead import MultiHeadAttention

LETTERS, MARKS, LENGTH = "abcdefgh", ("", "★", "●"), 8


def marked_letters(size: int) -> Callable[[torch.Generator], tuple[Tensor, Tensor, Tensor]]:
    """To be called in each step of training: letters (size, 8), their marks, and the two answers (size, 2)."""

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        letters_BM = torch.randint(len(LETTERS), (size, LENGTH), generator=generator)
        places_B2 = torch.rand(size, LENGTH, generator=generator).argsort(-1)[:, :2]
        marks_BM = torch.zeros_like(letters_BM).scatter(1, places_B2, torch.tensor([[1, 2]]).expand(size, 2))
        return letters_BM, marks_BM, letters_BM.gather(1, places_B2)

    return draw


class Finder(nn.Module):
    """One query, the same for every text; keys are the marks, values the letters. Scores (B, 2, 8) of both answers."""

    def __init__(self, heads: int, D: int = 16):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, 1, D))
        self.marks, self.letters = nn.Embedding(len(MARKS), D), nn.Embedding(len(LETTERS), D)
        self.attention = MultiHeadAttention(D, heads)
        self.answers: nn.Module = nn.Linear(D, 2 * len(LETTERS))

    def forward(self, letters: Tensor, marks: Tensor) -> Tensor:
        asks = self.query.expand(len(letters), 1, -1)
        found = self.attention(asks, (self.marks(marks), self.letters(letters)))
        return self.answers(found[:, 0]).unflatten(-1, (2, len(LETTERS)))

    @staticmethod
    def loss(model: nn.Module, given: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        letters, marks, answers = given
        return F.cross_entropy(model(letters, marks).flatten(0, 1), answers.flatten())


@cache
def finders() -> dict[int, Finder]:
    """Three `Finder`s that have learned, for chapter 6's widget, by their number of heads: 1, 2 and 4."""
    models = {heads: Finder(heads) for heads in (1, 2, 4)}
    stored.unpack(FOLDER / "finders.bin", models)
    return models
