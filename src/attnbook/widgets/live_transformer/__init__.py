"""A Transformer that runs in the page: it reads a date, writes it as year-month-day, and shows all its attention."""

from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, whole
from attnbook.layers.capture import capture_attention
from attnbook.learning.text import START, STOP
from attnbook.tasks.dates import date_transformer
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.letters import LETTERS, readable, shown
from attnbook.widgets.shared.tables import Verbatim, html_table

MAPS = {
    "cross": "decoder.0.cross_attention",
    "decoder": "decoder.0.self_attention",
    "encoder": "encoder.0.self_attention",
}


class LiveTransformer(BookWidget):
    """The committed `date_transformer`, letter by letter; `step` letters are written.

    `where` is the attention that is shown, of one of the four heads or, with 0, the mean of all. In place of what the
    network would write, `forced` says what is written: a list of [position, id of the token].

    >>> widget = LiveTransformer("23rd of october 1962")
    >>> letters, chances, maps = widget.read()
    >>> "".join(letters), tuple(chances.shape), tuple(maps["cross"].shape)
    ('1962-10-23■', (11, 49), (4, 11, 21))
    """

    text = traitlets.Unicode("23rd of october 1962").tag(sync=True)
    step = traitlets.Int(3, min=0, max=LETTERS).tag(sync=True)
    where = traitlets.Enum(list(MAPS), "cross").tag(sync=True)
    head = traitlets.Int(4, min=0, max=4).tag(sync=True)
    forced = traitlets.List(traitlets.List(traitlets.Int(), minlen=2, maxlen=2)).tag(sync=True)
    model = Asset("date_transformer.bin")

    def __init__(self, text: str = "23rd of october 1962", **traits):
        super().__init__(text=text, **traits)

    @traitlets.validate("text")
    def _known(self, proposal) -> str:
        return readable(proposal["value"], date_transformer()[1])

    @traitlets.validate("forced")
    def _written(self, proposal) -> list[list[int]]:
        for place, token in proposal["value"]:
            if not (0 <= place < LETTERS and STOP <= token < len(date_transformer()[1])):
                raise traitlets.TraitError(
                    f"a position from 0 to {LETTERS - 1} and a token that is written; got {[place, token]}"
                )
        return proposal["value"]

    @torch.no_grad()
    def read(self) -> tuple[list[str], Tensor, dict[str, Tensor]]:
        """The letters that are written (■ ends them); the probabilities (L, N) of every token in place of each; and the
        weights (H, L, M) of each kind of attention.
        """
        model, known = date_transformer()
        source, ids = known.encode([self.text]), [START]
        forced: Any = dict(self.forced)
        state = model.start(source)
        while len(ids) <= LETTERS and ids[-1] != STOP:
            scores = model.step(torch.tensor([ids[-1:]]), state)[0, -1]
            likeliest = STOP + scores[STOP:].argmax().item()  # padding and the start are never written
            ids.append(forced.get(len(ids) - 1, likeliest))
        with capture_attention(model) as maps:
            chances = model(source, torch.tensor([ids[:-1]]))[0].softmax(-1)
        return [shown(known.tokens[n]) for n in ids[1:]], chances, {kind: maps[name][0] for kind, name in MAPS.items()}

    def table(self) -> str:
        say, own = self.edition_words()["letters"], self.edition_words()["table"]
        letters, chances, maps = self.read()
        _, known = date_transformer()
        ids = {shown(token): n for n, token in enumerate(known.tokens)}
        read = [*map(shown, self.text), "■"]
        rows = []
        for letter, chance, row in zip(letters, chances, maps["cross"].mean(0), strict=True):
            share, place = row.max(-1)
            looked = say["place"].format(letter=read[place], n=whole(place + 1))
            rows.append((Verbatim(letter), [number(chance[ids[letter]]), looked, number(share)]))
        caption = say["becomes"].format(text=self.text, letters="".join(letters))
        return html_table(caption, [own["chance"], say["looked"], say["weight"]], rows)
