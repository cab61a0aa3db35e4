"""Learning what words with two senses mean where they stand, by one self-attention layer on real word vectors.

>>> text = two_stories(2)[1]
>>> " ".join(text.words)
'the team won the match by two goals the girl hit the ball with the bat'
>>> [text.words[place] for place in text.places], text.senses
(['match', 'bat'], ('game', 'club'))
>>> x_BLD, mask_B1L, places_B2, meanings_B2 = as_tensors([text])
>>> x_BLD.shape, [english_vectors().words[row] for row in meanings_B2[0]]
(torch.Size([1, 16, 128]), ['game', 'stick'])
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import count, islice, pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attnbook.data import FOLDER, english_vectors, stored
from attnbook.layers.dot_product import attention
from attnbook.layers.masks import padding
from attnbook.tasks.sentences import SENSES, two_senses

MEANINGS = {  # of each sense: a word that says it
    "river": "shore",
    "money": "finance",
    "animal": "animal",
    "club": "stick",
    "season": "season",
    "metal": "wire",
    "green": "flower",
    "factory": "factory",
    "game": "game",
    "fire": "flame",
}
_NEW = (  # words kept back from training, with every sentence that has one
    "stream wet credit cash flew cold wooden she late flowers machine gate light dry trucks chemical points players "
    "cigarette lamp"
)
NEW_WORDS = frozenset(_NEW.split())
SHARPNESS = 20  # cosines lie within 1 of each other; times this, their softmax can be sure


class TwoStories(NamedTuple):
    """Two sentences in a row: their words, the positions of the two with two senses, and which they have here."""

    words: tuple[str, ...]
    places: tuple[int, int]
    senses: tuple[str, str]


class ThreeMatrices(nn.Module):
    """Self-attention in its plainest form: queries, keys and values are the words times W_q, W_k and W_v.

    >>> reader = ThreeMatrices(128, 16)
    >>> y_BLD, weights_BLL = reader(torch.randn(2, 5, 128))
    """

    def __init__(self, D: int = 128, K: int = 16):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(D, width, bias=False) for width in (K, K, D))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return attention(self.query(x), self.key(x), self.value(x), mask)

    @staticmethod
    def loss(model: nn.Module, given: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
        """Of all 8,000 words, what a word becomes should be nearest to the one that says what it means."""
        x, mask, places, meanings = given
        cosines = F.normalize(became(model(x, mask)[0], places), dim=-1) @ _directions(x.device).T
        return F.cross_entropy((SHARPNESS * cosines).flatten(0, 1), meanings.flatten())


def two_stories(n: int, seed: int = 0, *, new: bool = False) -> list[TwoStories]:
    """n texts at random. With `new`, both sentences of each have a word that is kept back; else none has."""

    def sentences():
        for s in count(1000 * seed):
            for sentence in two_senses(100, s):
                if new != NEW_WORDS.isdisjoint(sentence.text.split()):
                    yield tuple(sentence.text.split()), sentence.place, sentence.sense

    texts = (
        TwoStories(words + more, (place, len(words) + other), (sense, another))
        for (words, place, sense), (more, other, another) in pairwise(sentences())
        if words[place] != more[other]
    )
    return list(islice(texts, n))


def as_tensors(texts: Sequence[TwoStories]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Vectors (B, L, D), the mask of padding (B, 1, L), the two positions (B, 2), the rows of their meanings (B, 2)."""
    vectors = english_vectors()
    return (
        pad_sequence([vectors[text.words] for text in texts], batch_first=True),
        padding(torch.tensor([len(text.words) for text in texts])),
        torch.tensor([text.places for text in texts]),
        torch.tensor([[vectors.index[MEANINGS[sense]] for sense in text.senses] for text in texts]),
    )


def texts_to_read(size: int) -> Callable[[torch.Generator], tuple[Tensor, ...]]:
    """To be called in each step of training: texts without words that are kept back."""
    everything = as_tensors(two_stories(2000))

    def draw(generator: torch.Generator) -> tuple[Tensor, ...]:
        rows = torch.randint(len(everything[0]), (size,), generator=generator)
        return tuple(part[rows] for part in everything)

    return draw


def became(y_BLD: Tensor, places_B2: Tensor) -> Tensor:
    """What stands at the positions of the two words, (B, 2, D)."""
    return y_BLD.gather(1, places_B2[..., None].expand(-1, -1, y_BLD.shape[-1]))


def understood(y_BLD: Tensor, texts: Sequence[TwoStories]) -> tuple[float, ...]:
    """How often a word became nearer to what it means than to what it means elsewhere, and nearest of all 8,000."""
    *_, places_B2, meanings_B2 = as_tensors(texts)
    cosines_B2N = F.normalize(became(y_BLD, places_B2), dim=-1) @ _directions(y_BLD.device).T
    own = torch.tensor([[_two_rows(text.words[place]) for place in text.places] for text in texts])
    nearer = own.gather(-1, cosines_B2N.gather(-1, own).argmax(-1, keepdim=True))[..., 0]
    return tuple((said == meanings_B2).double().mean().item() for said in (nearer, cosines_B2N.argmax(-1)))


def _two_rows(word: str) -> list[int]:
    return [english_vectors().index[MEANINGS[sense]] for sense in SENSES[word]]


@cache
def _directions(device: torch.device) -> Tensor:
    return F.normalize(english_vectors().vectors, dim=-1).to(device)


@cache
def three_matrices() -> ThreeMatrices:
    """One that has learned the ten meanings, as in chapter 7.

    >>> vectors = english_vectors()
    >>> became_LD, _ = three_matrices()(vectors[["bank", "of", "the", "river"]])
    >>> vectors.neighbours(became_LD[0], 1)[0][0]
    'shore'
    """
    model = ThreeMatrices()
    stored.unpack(FOLDER / "three_matrices.bin", {"reader": model})
    return model
