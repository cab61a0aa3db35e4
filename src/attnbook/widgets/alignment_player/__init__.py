"""A network reads a date and writes it as year-month-day: where it looks for each letter that it writes."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, whole
from attnbook.learning.text import START, STOP
from attnbook.models.decoding import greedy
from attnbook.tasks.dates import date_reader
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.letters import LETTERS, readable, shown
from attnbook.widgets.shared.tables import Verbatim, html_table


class AlignmentPlayer(BookWidget):
    """The committed `date_reader`, letter by letter; `step` letters are written.

    >>> widget = AlignmentPlayer("23rd of october 1962")
    >>> letters, weights = widget.read()
    >>> "".join(letters), tuple(weights.shape)
    ('1962-10-23■', (11, 21))
    """

    text = traitlets.Unicode("23rd of october 1962").tag(sync=True)
    step = traitlets.Int(2, min=0, max=LETTERS).tag(sync=True)
    model = Asset("date_reader.bin")

    def __init__(self, text: str = "23rd of october 1962", **traits):
        super().__init__(text=text, **traits)

    @traitlets.validate("text")
    def _known(self, proposal) -> str:
        return readable(proposal["value"], date_reader()[1])

    def read(self) -> tuple[list[str], Tensor]:
        """The letters that are written (■ ends them), and for each the weights (L, M) of the letters read."""
        model, known = date_reader()
        source = known.encode([self.text])
        ids = greedy(model, torch.tensor([[START]]), source, stop=STOP, length=LETTERS + 1)
        letters = [shown(known.tokens[number]) for number in ids[0, 1:].tolist()]
        return letters, model.alignment(source, ids[:, :-1])[0]

    def table(self) -> str:
        say = self.edition_words()["letters"]
        letters, weights = self.read()
        read = [*map(shown, self.text), shown("<stop>")]
        rows = []
        for letter, row in zip(letters, weights, strict=True):
            share, place = row.max(-1)
            looked = say["place"].format(letter=read[place], n=whole(place + 1))
            rows.append((Verbatim(letter), [looked, number(share)]))
        caption = say["becomes"].format(text=self.text, letters="".join(letters))
        return html_table(caption, [say["looked"], say["weight"]], rows)
