"""Pictures of two handwritten digits, with words: questions to be answered, and names to be found.

>>> from attnbook.tasks.digits import digits
>>> pictures_BHW, numbers_B2 = two_digits(digits(), 3)(torch.Generator().manual_seed(0))
>>> pictures_BHW.shape, [answer("the larger digit", *numbers) for numbers in numbers_B2.tolist()]
(torch.Size([3, 8, 16]), [4, 9, 3])
"""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import FOLDER, stored
from attnbook.models.transformer import DecoderBlock, EncoderBlock
from attnbook.tasks.digits import PATCH, by_label, digits, one_of_each, patches

QUESTIONS = ("the left digit", "the right digit", "the larger digit", "the smaller digit", "the sum")
WORDS = ("", "the", "left", "right", "larger", "smaller", "digit", "sum")
P = 8 * 16 // PATCH**2
HELD_OUT, APART = 360, 57  # digits held out, and how far apart the two of a picture of these are


def two_digits(
    data: tuple[Tensor, Tensor], size: int, allowed: Tensor | None = None
) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    """To be called in each step of training: pictures (size, 8, 16) and their two digits (size, 2).

    allowed    which numbers may be drawn, (10, 10): a tens and a ones digit
    """
    images_NHW, labels_N = data
    of_digit = by_label(labels_N)
    numbers_K2 = (torch.ones(10, 10) if allowed is None else allowed).nonzero()

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        numbers_B2 = numbers_K2[torch.randint(len(numbers_K2), (size,), generator=generator)]
        chosen_B2 = one_of_each(of_digit, numbers_B2, generator)
        return torch.cat([*images_NHW[chosen_B2].unbind(1)], -1), numbers_B2

    return draw


@cache
def held_out_pictures() -> tuple[Tensor, Tensor]:
    """Of the digits held out one picture each (360, 8, 16): that digit on the left; and their two digits (360, 2).

    >>> held_out_pictures()[1][:3].tolist()
    [[0, 0], [2, 1], [3, 5]]
    """
    images_BHW, labels_B = digits(held_out=True)
    others_BHW, others_B = (x.roll(-APART, 0) for x in (images_BHW, labels_B))
    return torch.cat([images_BHW, others_BHW], -1), torch.stack([labels_B, others_B], -1)


def answer(question: str, left: int, right: int) -> int:
    """What is right.

    >>> [answer(question, 3, 8) for question in QUESTIONS]
    [3, 8, 8, 3, 11]
    """
    return (left, right, max(left, right), min(left, right), left + right)[QUESTIONS.index(question)]


def asked(size: int) -> Tensor:
    """The questions one after the other, as ids of words (size, 3)."""
    rows = [[WORDS.index(word) for word in f"{question}  ".split(" ")[:3]] for question in QUESTIONS]
    return torch.tensor(rows)[torch.arange(size) % len(QUESTIONS)]


def questions(data: tuple[Tensor, Tensor], size: int) -> Callable[[torch.Generator], tuple[Tensor, Tensor, Tensor]]:
    """Returns a function that draws the batch of a training step: pictures, questions (size, 3) and answers (size,)."""
    pictures = two_digits(data, size)

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        pictures_BHW, numbers_B2 = pictures(generator)
        left, right = numbers_B2.T
        answers_QB = torch.stack([left, right, numbers_B2.amax(1), numbers_B2.amin(1), left + right])
        return pictures_BHW, asked(size), answers_QB.gather(0, torch.arange(size)[None] % len(QUESTIONS))[0]

    return draw


class Asker(nn.Module):
    """Scores (B, 19) for the answers 0 to 18: the words of a question look at the patches of a picture."""

    def __init__(self, D: int = 32, heads: int = 4, hidden: int = 64):
        super().__init__()
        self.embed, self.places = nn.Linear(PATCH * PATCH, D), nn.Parameter(0.5 * torch.randn(P, D))
        self.words, self.order = nn.Embedding(len(WORDS), D), nn.Parameter(torch.randn(3, D))
        options = {"dropout": 0.0, "norm": "pre"}
        self.sees = nn.Sequential(*[EncoderBlock(D, heads, hidden, **options) for _ in range(2)])
        self.asks = DecoderBlock(D, heads, hidden, **options)
        self.norm, self.scores = nn.LayerNorm(D), nn.Linear(D, 19)

    def forward(self, pictures_BHW: Tensor, questions_BL: Tensor) -> Tensor:
        memory_BPD = self.sees(self.embed(patches(pictures_BHW)) + self.places)
        words_BLD = self.asks(self.words(questions_BL) + self.order, memory_BPD)
        return self.scores(self.norm(words_BLD.mean(1)))


def question_loss(model: nn.Module, given: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Cross-entropy of the answers."""
    pictures_BHW, questions_BL, answers_B = given
    return F.cross_entropy(model(pictures_BHW, questions_BL), answers_B)


@cache
def asker() -> Asker:
    """The `Asker` that AskPicture runs in the page: 32,147 parameters, a byte each, after 1,000 steps.

    >>> pictures_BHW, numbers_B2 = held_out_pictures()
    >>> numbers_B2[2:5].tolist(), asker()(pictures_BHW[2:5], asked(1).expand(3, -1)).argmax(-1).tolist()
    ([[3, 5], [4, 0], [6, 9]], [3, 4, 6])
    """
    model = Asker()
    stored.unpack_single(FOLDER / "asker.bin", model)
    return model
