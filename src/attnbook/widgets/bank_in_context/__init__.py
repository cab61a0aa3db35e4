"""A word among its neighbours: what it looks at, and what it becomes; with or without learned matrices."""

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from attnbook.data import english_vectors
from attnbook.language import number
from attnbook.tasks.senses import MEANINGS, three_matrices
from attnbook.tasks.sentences import SENSES
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table
from attnbook.widgets.shared.words import Word

MOST, SHOWN = 14, 5
TRIES = {  # and the place of the word that asks
    "the boat tied up at the bank of the river": 6,
    "the bank gave her another loan": 1,
    "the player hit the ball with the bat": 7,
    "the bat flew in the dark cave the bank gave her another loan": 1,
    "the bank of the river": 1,
}
TRAY = ["river", "water", "boat", "money", "loan", "customer", "sat", "the"]
BETWEEN = {word: [MEANINGS[sense] for sense in senses] for word, senses in SENSES.items()}


class BankInContext(BookWidget):
    """A sentence of words that can be moved about, and one of them that asks. With `asked` its answer is on show.

    >>> BankInContext().nearest()[0][0]
    'bank'
    >>> BankInContext(matrices="learned").nearest()[0][0]
    'shore'

    Without `tables` it is a picture and one row of controls.
    """

    tokens = traitlets.List(Word("the"), ["the", "bank", "of", "the", "river"], minlen=1, maxlen=MOST).tag(sync=True)
    place = traitlets.Int(1, min=0).tag(sync=True)
    matrices = traitlets.Enum(["none", "learned"], "none").tag(sync=True)
    asked = traitlets.Bool(False).tag(sync=True)
    tables = traitlets.Bool(True).tag(sync=True)
    words = Asset("bank.bin")
    vectors = Asset("vectors.bin", later=True)
    stars = Asset("stars.bin", later=True)
    learned = Asset("three_matrices.bin")

    def __init__(self, tokens: str | list[str] = "the bank of the river", **traits):
        super().__init__(tokens=tokens.split() if isinstance(tokens, str) else tokens, **traits)

    @property
    def asks(self) -> int:
        """The position of the word that looks around: words may be gone since it was chosen."""
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

    def meanings(self) -> list[str] | None:
        """Two meanings of the word that asks, or else of the word with two that it looks at most."""
        weights = self.look()[1].tolist()
        weights[self.asks] = 2
        asked = [(weight, word) for weight, word in zip(weights, self.tokens, strict=True) if word in BETWEEN]
        return BETWEEN[max(asked)[1]] if asked else None

    def needle(self) -> float | None:
        """Where what it becomes, y, lies between two meanings a and b, if a word of the sentence has two.

        1/2 + (cos(y, b) - cos(y, a)) / (2 - 2 cos(a, b)), no less than 0 and no more than 1: 0 where y points like a,
        1 where it points like b, and 1/2 where it is as near to one as to the other.

        >>> round(BankInContext(matrices="learned").needle(), 2)  # 0 is shore, 1 is finance
        0.25
        """
        if not (meanings := self.meanings()):
            return None
        y, a, b = F.normalize(torch.stack([self.look()[0], *english_vectors()[meanings]]), dim=-1)
        return (0.5 + (y @ b - y @ a) / (2 - 2 * a @ b)).clamp(0, 1).item()

    def table(self) -> str:
        say = self.edition_words()
        near = (say["table"]["near"].format(word=word, cosine=number(cosine)) for word, cosine in self.nearest())
        caption = say["table"]["caption"].format(word=self.tokens[self.asks], nearest=say["list"].join(near))
        if (meanings := self.meanings()) and (needle := self.needle()) is not None:
            a, b = meanings
            caption += " " + say["table"]["needle"].format(a=a, b=b, at=number(needle))
        _, weights = self.look()
        rows = ((Verbatim(t), [number(weight)]) for t, weight in zip(self.tokens, weights.tolist(), strict=True))
        return html_table(caption, [say["table"]["weight"]], rows)
