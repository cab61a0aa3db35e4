"""A picture of two digits, a question about it in words, the answer of a network, and where its words look."""

import copy
from functools import cache

import torch
import traitlets
from torch import Tensor

from attnbook.data import FOLDER, stored
from attnbook.language import number, whole
from attnbook.layers.capture import capture_attention
from attnbook.tasks.pictures import HELD_OUT, QUESTIONS, Asker, answer, asked, asker, held_out_pictures
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table


@cache
def model() -> Asker:
    """In float64, as the page computes."""
    return copy.deepcopy(asker()).double()


@cache
def about() -> dict:
    """Of each question which pictures it gets wrong, how sure it is of these answers, how common the commonest is."""
    return stored.header(FOLDER / "asker.bin")


class AskPicture(BookWidget):
    """A `question` about `picture` 1 to 360, whose two digits may be `swapped`; none was learned from.

    The looks that are shown are those of a `word` of the question, 1 to 3, in one `head`, 1 to 4; 0 is the mean of all.

    >>> widget = AskPicture()
    >>> widget.question, widget.digits(), widget.scores().argmax().item()
    ('the left digit', (6, 9), 6)
    """

    picture = traitlets.Int(5, min=1, max=HELD_OUT).tag(sync=True)
    swapped = traitlets.Bool(False).tag(sync=True)
    question = traitlets.Enum(QUESTIONS, QUESTIONS[0]).tag(sync=True)
    word = traitlets.Int(0, min=0, max=3).tag(sync=True)
    head = traitlets.Int(0, min=0, max=4).tag(sync=True)
    model = Asset("asker.bin")
    held_out = Asset("held_out_digits.bin")

    def image(self) -> Tensor:
        """What the network is given (8, 16)."""
        image_HW = held_out_pictures()[0][self.picture - 1].double()
        return image_HW.roll(8, -1) if self.swapped else image_HW

    def digits(self) -> tuple[int, int]:
        """What the picture shows."""
        left, right = held_out_pictures()[1][self.picture - 1].tolist()
        return (right, left) if self.swapped else (left, right)

    def truth(self) -> int:
        """The right answer."""
        return answer(self.question, *self.digits())

    @torch.no_grad()
    def scores(self) -> Tensor:
        """For the answers 0 to 18."""
        return model()(self.image()[None], self._ids())[0]

    @torch.no_grad()
    def looks(self) -> Tensor:
        """The weights on the patches (4, 8)."""
        with capture_attention(model()) as maps:
            model()(self.image()[None], self._ids())
        weights_HLP = maps["asks.cross_attention"][0]
        if self.head:
            weights_HLP = weights_HLP[self.head - 1 : self.head]
        if self.word:
            weights_HLP = weights_HLP[:, self.word - 1 : self.word]
        return weights_HLP.mean((0, 1)).view(4, 8)

    def halves(self) -> Tensor:
        """How much of the looks is on the left digit, and on the right one (2,)."""
        return self.looks().view(4, 2, 4).sum((0, 2))

    def table(self) -> str:
        say = self.edition_words()["table"]
        rows = []
        for question in QUESTIONS:
            twin = AskPicture(picture=self.picture, swapped=self.swapped, question=question)
            chances = twin.scores().softmax(-1)
            texts = [whole(int(chances.argmax())), number(chances.max(), 2), whole(twin.truth())]
            rows.append((Verbatim(question), [*texts, *(number(half, 2) for half in twin.halves())]))
        columns = [say[name] for name in ("answer", "chance", "truth", "left", "right")]
        left, right = map(whole, self.digits())
        return html_table(say["caption"].format(left=left, right=right), columns, rows)

    def _ids(self) -> Tensor:
        return asked(len(QUESTIONS))[QUESTIONS.index(self.question)][None]
