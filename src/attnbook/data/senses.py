"""Learning what a word with two senses means where it stands, by one self-attention layer on real word vectors.

>>> x_BLD, mask_B1L, place_B, meaning_B = as_tensors(two_senses(3))
>>> x_BLD.shape, [english_vectors().words[row] for row in meaning_B]
(torch.Size([3, 8, 128]), ['factory', 'game', 'wire'])
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import count, islice

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attnbook.data import FOLDER, english_vectors, stored
from attnbook.data.sentences import SENSES, TwoSenses, two_senses
from attnbook.dot_product import attention
from attnbook.masks import padding

MEANINGS = {  # of each sense: another word, one that has no second
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


class ThreeMatrices(nn.Module):
    """Self-attention in its plainest form: queries, keys and values are the words times M_q, M_k and M_v.

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
        """Of all 8,000 words, what the word becomes should be nearest to the one that says what it means."""
        x, mask, place, meaning = given
        became = model(x, mask)[0][torch.arange(len(x)), place]
        return F.cross_entropy(
            20 * F.normalize(became, dim=-1) @ F.normalize(english_vectors().vectors, dim=-1).T, meaning
        )


def sentences_with(new: bool, n: int, seed: int = 0) -> list[TwoSenses]:
    """n sentences, each with a new word or each without."""
    drawn = (sentence for s in count(1000 * seed) for sentence in two_senses(100, s))
    return list(islice((s for s in drawn if new != NEW_WORDS.isdisjoint(s.text.split())), n))


def as_tensors(sentences: Sequence[TwoSenses]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Vectors (B, L, D), the mask of padding (B, 1, L), the word's place (B,), its meaning (B,)."""
    vectors = english_vectors()
    words = [sentence.text.split() for sentence in sentences]
    return (
        pad_sequence([vectors[line] for line in words], batch_first=True),
        padding(torch.tensor([len(line) for line in words])),
        torch.tensor([sentence.place for sentence in sentences]),
        torch.tensor([vectors.index[MEANINGS[sentence.sense]] for sentence in sentences]),
    )


def sentences_to_read(size: int) -> Callable[[torch.Generator], tuple[Tensor, Tensor, Tensor, Tensor]]:
    """To be called in each step of training: sentences, none with a word that is kept back."""
    everything = as_tensors(sentences_with(new=False, n=2000))

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        rows = torch.randint(len(everything[0]), (size,), generator=generator)
        return tuple(part[rows] for part in everything)

    return draw


def understood(became_BLD: Tensor, sentences: Sequence[TwoSenses]) -> float:
    """How often what the word became is nearer to what it means than to what it means elsewhere."""
    vectors, right = english_vectors(), 0
    for became, sentence in zip(became_BLD, sentences, strict=True):
        senses = list(SENSES[sentence.text.split()[sentence.place]])
        meanings = vectors[[MEANINGS[sense] for sense in senses]]
        nearest = F.cosine_similarity(became[sentence.place], meanings).argmax()
        right += senses[nearest] == sentence.sense
    return right / len(sentences)


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
