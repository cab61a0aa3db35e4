"""Three encoders with positions, of which only one is right: which, only tests can tell."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number
from attnbook.layers.positions import sinusoidal
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.random import normals
from attnbook.widgets.shared.tables import Verbatim, html_table

KINDS, WIDTH = ["right", "batch", "none"], 4
WORDS = ["dog", "bites", "man", "cat", "hears", "rain"]  # two texts of three


class FindTheBug(BookWidget):
    """Two texts go through A, B and C: positions are added, then the words of a text attend to each other.

    One of the three adds to each word its position in the text, one the text's position in the batch, one nothing. The
    first and last word of the first text can be swapped, and the two texts.

    >>> [FindTheBug(words_swapped=True).moved(kind).any().item() for kind in ("right", "batch", "none")]
    [True, False, False]
    >>> [FindTheBug(texts_swapped=True).moved(kind).any().item() for kind in ("right", "batch", "none")]
    [False, True, False]
    """

    seed = traitlets.Int(1, min=0).tag(sync=True)
    words_swapped = traitlets.Bool(False).tag(sync=True)
    texts_swapped = traitlets.Bool(False).tag(sync=True)
    a = traitlets.Enum(["", *KINDS], "").tag(sync=True)
    b = traitlets.Enum(["", *KINDS], "").tag(sync=True)
    c = traitlets.Enum(["", *KINDS], "").tag(sync=True)
    revealed = traitlets.Bool(False).tag(sync=True)

    def order(self) -> list[str]:
        """What A, B and C are."""
        return [KINDS[j] for j in normals(self.seed, len(KINDS)).argsort().tolist()]

    def batch(self) -> Tensor:
        """The words that go in, by their numbers: (2, 3)."""
        return _batch(self.words_swapped, self.texts_swapped)

    def outputs(self, kind: str) -> Tensor:
        """What comes out, (2, 3, 4)."""
        return _encode(self.batch(), kind, self.seed)

    def moved(self, kind: str) -> Tensor:
        """Whose output is not what it was before anything was swapped: (2, 3)."""
        before = _encode(_batch(False, False), kind, self.seed).view(-1, WIDTH)
        return (self.outputs(kind) - before[self.batch()]).abs().amax(-1) > 1e-9

    def table(self) -> str:
        names = [Verbatim(WORDS[word]) for word in self.batch().flatten()]
        rows = (
            (name, map(number, self.outputs(kind)[..., 0].flatten().tolist()))
            for name, kind in zip("ABC", self.order(), strict=True)
        )
        return html_table(self.edition_words()["table"], names, rows)


def _batch(words_swapped: bool, texts_swapped: bool) -> Tensor:
    first, second = ([2, 1, 0] if words_swapped else [0, 1, 2]), [3, 4, 5]
    return torch.tensor([second, first] if texts_swapped else [first, second])


def _encode(batch: Tensor, kind: str, seed: int) -> Tensor:
    vectors = normals(100 + seed, len(WORDS) * WIDTH).view(-1, WIDTH)
    table, texts = sinusoidal(3, WIDTH, dtype=torch.float64), torch.arange(2)
    places = {"right": table, "batch": table[texts][:, None], "none": torch.zeros(1, WIDTH)}[kind]
    x = vectors[batch] + places
    return (x @ x.mT / WIDTH**0.5).softmax(-1) @ x
