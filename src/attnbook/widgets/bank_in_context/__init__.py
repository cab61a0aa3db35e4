"""A word among its neighbours: what it looks at, and what it becomes; with or without learned matrices."""

import traitlets
from torch import Tensor

from attnbook.data import english_vectors
from attnbook.language import number
from attnbook.tasks.senses import three_matrices
from attnbook.widgets.shared.base import Asset, BookWidget, Verbatim, html_table
from attnbook.widgets.shared.words import Word

MOST, SHOWN = 14, 5


class BankInContext(BookWidget):
    """A sentence of words that can be moved about, and one of them that asks. With `asked` its answer is on show.

    >>> BankInContext().nearest()[0][0]
    'bank'
    >>> BankInContext(matrices="learned").nearest()[0][0]
    'shore'
    """

    tokens = traitlets.List(Word("the"), ["the", "bank", "of", "the", "river"], minlen=1, maxlen=MOST).tag(sync=True)
    place = traitlets.Int(1, min=0).tag(sync=True)
    extra = Word("").tag(sync=True)
    matrices = traitlets.Enum(["none", "learned"], "none").tag(sync=True)
    asked = traitlets.Bool(False).tag(sync=True)
    words = Asset("word_map.bin")
    vectors = Asset("vectors.bin")
    learned = Asset("three_matrices.bin")

    def __init__(self, tokens: str | list[str] = "the bank of the river", **traits):
        super().__init__(tokens=tokens.split() if isinstance(tokens, str) else tokens, **traits)

    @property
    def asks(self) -> int:
        """The place of the word that asks: words may be gone since it was chosen."""
        return min(self.place, len(self.tokens) - 1)

    def look(self) -> tuple[Tensor, Tensor]:
        """What the word that asks becomes, (D,), and its weights (L,)."""
        x_LD = english_vectors()[self.tokens]
        if self.matrices == "learned":
            became_LD, weights_LL = three_matrices()(x_LD)
        else:
            weights_LL = (x_LD @ x_LD.T).softmax(-1)
            became_LD = weights_LL @ x_LD
        return became_LD[self.asks], weights_LL[self.asks]

    def nearest(self) -> list[tuple[str, float]]:
        """The words nearest to what it becomes, with their cosines."""
        return english_vectors().neighbours(self.look()[0], SHOWN)

    def table(self) -> str:
        say = self.edition_words()
        near = (say["table"]["near"].format(word=word, cosine=number(cosine)) for word, cosine in self.nearest())
        caption = say["table"]["caption"].format(word=self.tokens[self.asks], nearest=say["list"].join(near))
        _, weights = self.look()
        rows = ((Verbatim(t), [number(weight)]) for t, weight in zip(self.tokens, weights.tolist(), strict=True))
        return html_table(caption, [say["weight"]], rows)
