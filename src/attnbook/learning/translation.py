"""Pairs of texts to learn from: what a step of training is given, what is made smaller, how many come out right."""

from collections.abc import Callable, Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.learning.text import PAD, START, STOP, Vocabulary
from attnbook.models.decoding import beam


class Translation:
    """Source and target texts as ids, by one vocabulary, letter by letter or word by word.

    >>> pairs = [("one two", "two one"), ("two three", "three two")]
    >>> task = Translation(pairs, words=True)
    >>> source_BM, target_BL = task.batch(4)(torch.Generator().manual_seed(0))
    >>> source_BM.shape, target_BL.shape
    (torch.Size([4, 3]), torch.Size([4, 4]))
    >>> rest = Translation([("three one", "one three")], vocabulary=task.vocabulary)

    `fit(model, task.loss, task.batch(64), steps, metric=rest.exact)` then trains a model, such as a `Seq2Seq` or a
    `Transformer`, and watches how it does on pairs that it is not taught.
    """

    def __init__(
        self, pairs: Iterable[Sequence], *, words: bool = False, vocabulary: Vocabulary | None = None, device=None
    ):
        self.pairs = list(pairs)
        if not self.pairs:
            raise ValueError("there is nothing to learn from: pairs are (source, target), one at least.")
        sources, targets = ([pair[side] for pair in self.pairs] for side in (0, 1))
        self.vocabulary = vocabulary or Vocabulary([*sources, *targets], words=words)
        self.source = self.vocabulary.encode(sources).to(device)
        self.target = self.vocabulary.encode(targets, start=True).to(device)

    def batch(self, size: int) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
        """To be called in each step of training: so many pairs at random, as ids (size, M) and (size, L)."""

        def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
            rows = torch.randint(len(self.pairs), (size,), generator=generator)
            return self.source[rows], self.target[rows]

        return draw

    @staticmethod
    def loss(model: nn.Module, given: tuple[Tensor, Tensor]) -> Tensor:
        """-log of the probability of each token of the target, given those before it, on average. (Teacher forcing.)"""
        source, target = given
        scores = model(source, target[:, :-1])
        return F.cross_entropy(scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)

    def translate(self, model: nn.Module, *, width: int = 1) -> list[str]:
        """What the model makes of each source by itself, with a beam of so many; as long as the longest target."""
        prompt = torch.full_like(self.source[:, :1], START)
        ids = beam(model, prompt, self.source, stop=STOP, length=self.target.shape[1], width=width, pad=PAD)
        return self.vocabulary.decode(ids)

    def exact(self, model: nn.Module) -> float:
        """The share of targets that `translate` gets right to the last letter."""
        pairs = zip(self.translate(model), self.vocabulary.decode(self.target), strict=True)
        return sum(got == want for got, want in pairs) / len(self.pairs)
