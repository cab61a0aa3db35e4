"""A published language model: what each of its heads looks at, and, where a page runs it, what some are good for."""

import json
from functools import cache
from typing import Any, NamedTuple

import torch
import traitlets
from torch import Tensor

from attnbook.data import FOLDER
from attnbook.language import number, whole
from attnbook.widgets.head_browser import KINDS
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table

TEXTS = (
    "The capital of France is the city of",
    "When Mary and John went to the store, John gave a drink to",
    "Zorblat sells green lamps. Everyone knows that Zorblat sells green",
    "The animal did not cross the street because it was too tired.",
    "She sold her boat at the bank of the river and took the money to the bank",
    "The opposite of hot is cold. The opposite of tall is",
    "def add(a, b):\n    return a +",
)
LAYERS, HEADS, N = 30, 9, 49152
LONGEST, MOST = 400, 64  # letters and tokens of a text


class Stored(NamedTuple):
    """What is stored of a text."""

    tokens: list[str]
    next: list[tuple[str, float]]
    maps: Tensor

    @property
    def weights(self) -> Tensor:
        """(layers, heads, L, L)."""
        return (self.maps.double() / 255).square()


class OwnText(traitlets.Unicode):
    """A trait: a text that the model may be given."""

    def validate(self, obj, value) -> str:
        text = super().validate(obj, value)
        if not 0 < len(text) <= LONGEST:
            raise traitlets.TraitError(f"a text of 1 to {LONGEST} letters; got {len(text)}")
        return text


class HeadsOff(traitlets.List):
    """A trait: heads of the model, each a pair [block, head]."""

    def __init__(self):
        super().__init__(traitlets.List(traitlets.Int(min=0), minlen=2, maxlen=2))

    def validate(self, obj, value) -> list[list[int]]:
        heads: Any = super().validate(obj, value)
        for block, head in heads:
            if block >= LAYERS or head >= HEADS:
                raise traitlets.TraitError(f"off lists (block, head) below ({LAYERS}, {HEADS}); got ({block}, {head})")
        return heads


class RealModel(BookWidget):
    """SmolLM2-135M-Instruct on a text, token by token. `block`, `head` and `token` are counted from 0.

    A page of the book can fetch the model. Then it reads any text of at most 64 tokens, switches heads off, each a pair
    (block, head), and writes on. Until then, and everywhere else, it shows what is stored of `TEXTS`, of another text
    what is stored of the first.

    >>> RealModel(TEXTS[1]).stored().next[0]
    ('·Mary', 0.9229)
    """

    text = OwnText(TEXTS[0]).tag(sync=True)
    written = traitlets.List(traitlets.Int(min=0, max=N - 1), maxlen=MOST).tag(sync=True)
    block = traitlets.Int(23, min=0, max=LAYERS - 1).tag(sync=True)
    head = traitlets.Int(4, min=0, max=HEADS - 1).tag(sync=True)
    token = traitlets.Int(MOST - 1, min=0, max=MOST - 1).tag(sync=True)
    kind = traitlets.Enum(["all", *KINDS], "all").tag(sync=True)
    off = HeadsOff().tag(sync=True)
    maps = Asset("real_model.bin", first=True)

    def __init__(self, text: str = TEXTS[0], **traits):
        super().__init__(text=text, **traits)

    def stored(self) -> Stored:
        """What is stored of the text, or of the first."""
        return stored().get(self.text) or stored()[TEXTS[0]]

    def table(self) -> str:
        say, (tokens, _, _) = self.edition_words(), self.stored()
        shares, places = self.stored().weights[self.block, self.head].max(-1)
        rows = [
            (Verbatim(asks), [Verbatim(f"{tokens[place]} ({place})"), number(share)])
            for asks, share, place in zip(tokens, shares.tolist(), places.tolist(), strict=True)
        ]
        caption = say["table"]["caption"].format(
            here=say["here"].format(block=whole(self.block), head=whole(self.head)),
            next="".join(self.stored().next[0][0]),
            chance=number(self.stored().next[0][1]),
        )
        return html_table(caption, [say["table"]["most"], say["table"]["weight"]], rows)


@cache
def stored() -> dict[str, Stored]:
    """All of real_model.bin, by its texts."""
    head, _, steps = (FOLDER / "real_model.bin").read_bytes().partition(b"\n")
    about, at, found = json.loads(head), 0, {}
    for text, picture in zip(about["texts"], about["pictures"], strict=True):
        L = len(picture["tokens"])
        size = LAYERS * HEADS * L * (L + 1) // 2
        rows = torch.frombuffer(bytearray(steps[at : at + size]), dtype=torch.uint8)
        maps_NHLL = whole_maps(rows, L).view(LAYERS, HEADS, L, L)
        found[text] = Stored(picture["tokens"], [(token, chance) for token, chance in picture["next"]], maps_NHLL)
        at += size
    return found


def whole_maps(rows: Tensor, L: int) -> Tensor:
    """Causal maps (heads, L, L) of numbers that stand row after row, of all heads, as far as each row sees.

    >>> whole_maps(torch.tensor([1, 2, 3]), L=2).tolist()
    [[[1, 0], [2, 3]]]
    """
    heads = len(rows) * 2 // (L * (L + 1))
    maps = rows.new_zeros(heads, L, L)
    for i, row in enumerate(rows.split([heads * (i + 1) for i in range(L)])):
        maps[:, i, : i + 1] = row.view(heads, i + 1)
    return maps
