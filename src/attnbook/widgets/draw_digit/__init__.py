"""A digit, drawn or held out, and what a vision Transformer makes of it: how sure, what it looked at, what it needs."""

import copy
from functools import cache

import torch
import traitlets
from torch import Tensor

from attnbook.data import FOLDER, stored
from attnbook.language import number, whole
from attnbook.tasks.digits import PATCH, VisionTransformer, digit_reader, digits, drops, looks, patches
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table, painted

SIDE, BITS = 16, 32  # cells of the sheet that is drawn on, and of the bitmap that is made of it
PEN, WIDTH, LARGEST = 2.4, 26, 4  # half of the pen, how wide a digit may be, and how many times its size it may become
TWO = [67, 52, 37, 22, 23, 24, 41, 58, 74, 90, 105, 120, 135, 150, 165, 180, 195, 210, *range(211, 219)]
HELD_OUT = 382


@cache
def model() -> VisionTransformer:
    """In float64, as the page computes."""
    return copy.deepcopy(digit_reader()).double()


@cache
def about() -> dict:
    """The mean image, and which of the digits held out are read wrong."""
    return stored.header(FOLDER / "digit_reader.bin")


class DrawDigit(BookWidget):
    """A digit in `strokes`, each a list of cells of a sheet of 16 × 16; or with `digit` from 1 one that is held out.

    Patches (row, column) that are `covered` show the mean of all images. `view` is what their numbers say: how much the
    class token looks at each in the "first" or the "second" block, or what its cover "costs" the first choice.

    >>> widget = DrawDigit()
    >>> widget.scores().argmax().item(), widget.counts()[0].tolist()
    (2, [0, 0, 0, 10, 16, 13, 1, 0])
    """

    strokes = traitlets.List(traitlets.List(traitlets.Int(min=0, max=SIDE * SIDE - 1)), [TWO]).tag(sync=True)
    digit = traitlets.Int(0, min=0, max=HELD_OUT).tag(sync=True)
    covered = traitlets.List().tag(sync=True)
    view = traitlets.Enum(["first", "second", "costs"], "second").tag(sync=True)
    model = Asset("digit_reader.bin")
    held_out = Asset("held_out.bin", later=True)

    def counts(self) -> Tensor:
        """The 8 × 8 numbers from 0 to 16 before anything is covered."""
        if self.digit:
            return (16 * digits(held_out=True, by="form")[0][self.digit - 1]).long()
        return reduced(self.strokes)

    def image(self) -> Tensor:
        """What the network is given (8, 8)."""
        mask = painted(self.covered, 4, 4).repeat_interleave(PATCH, 0).repeat_interleave(PATCH, 1)
        return torch.where(mask, mean(), self.counts().double() / 16)

    @torch.no_grad()
    def scores(self) -> Tensor:
        """Of the ten digits."""
        return model()(self.image()[None])[0]

    def numbers(self) -> Tensor:
        """What stands on the patches (16,)."""
        if self.view == "costs":
            return drops(model(), self.image()[None], self.scores().argmax()[None], mean())[0]
        return looks(model(), self.image()[None])[0, ["first", "second"].index(self.view)].mean(0)

    def label(self) -> int | None:
        """What a digit held out is."""
        return int(digits(held_out=True, by="form")[1][self.digit - 1]) if self.digit else None

    def table(self) -> str:
        say = self.edition_words()["table"]
        chances = self.scores().softmax(-1)
        rows = [(Verbatim(whole(digit)), [number(chances[digit], 2)]) for digit in range(10)]
        return html_table(say["caption"].format(first=whole(int(chances.argmax()))), [say["chance"]], rows)


def reduced(strokes: list[list[int]]) -> Tensor:
    """The ink in each pixel (8, 8), 0 to 16, of strokes made as tall as a bitmap (32, 32) and drawn with one pen."""
    lines = [torch.tensor(stroke) for stroke in strokes if stroke]
    if not lines:
        return torch.zeros(8, 8, dtype=torch.long)
    lines = [torch.stack([2.0 * (cells % SIDE), 2.0 * (cells // SIDE)], -1).double() for cells in lines]
    low, high = torch.cat(lines).amin(0), torch.cat(lines).amax(0)
    room = torch.tensor([WIDTH - 2 * PEN, BITS - 2 * PEN], dtype=torch.float64)
    scale = (room / (high - low).clamp(min=1e-9)).min().clamp(max=LARGEST)
    lines = [(line - (low + high) / 2) * scale + BITS / 2 for line in lines]
    a = torch.cat(lines)[:, None, None]
    along = torch.cat([torch.cat([line[1:], line[-1:]]) for line in lines])[:, None, None] - a
    middles = torch.arange(BITS) + 0.5
    away = torch.stack(torch.meshgrid(middles, middles, indexing="xy"), -1) - a
    share = ((away * along).sum(-1) / along.square().sum(-1).clamp(min=1e-9)).clamp(0, 1)
    inked = ((away - share[..., None] * along).square().sum(-1) <= PEN * PEN).any(0)
    return inked.view(8, 4, 8, 4).sum((1, 3))


def mean() -> Tensor:
    """The mean of all images it has learned from (8, 8)."""
    return torch.tensor(about()["mean"], dtype=torch.float64).view(8, 8)


def inks(counts: Tensor) -> Tensor:
    """Of each patch its four pixels, as shares of ink (16, 4)."""
    return patches(counts[None].double() / 16)[0]
