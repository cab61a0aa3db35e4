"""A trained network with one, two or four heads, which can be switched off: what it then gets wrong, and how much."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, whole
from attnbook.layers.capture import capture_attention
from attnbook.tasks.marks import LENGTH, LETTERS, MARKS, finders
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.random import normals
from attnbook.widgets.shared.tables import Verbatim, html_table

TESTS = 200  # texts, the same whatever the seed


class HeadAblation(BookWidget):
    """The committed `Finder` with so many heads, some of them off.

    >>> HeadAblation(heads=2).right().tolist()  # under the star, under the dot
    [1.0, 1.0]
    >>> HeadAblation(heads=2, off=[0, 1]).right().max().item() < 0.3
    True
    """

    heads = traitlets.Enum([1, 2, 4], 2).tag(sync=True)
    off = traitlets.List(traitlets.Int(min=0)).tag(sync=True)
    seed = traitlets.Int(1, min=1).tag(sync=True)
    models = Asset("finders.bin")

    def texts(self) -> tuple[Tensor, Tensor, Tensor]:
        """The text on show, then those for the test: letters, marks and answers."""
        draws = torch.cat([normals(self.seed, 2 * LENGTH), normals(0, 2 * LENGTH * TESTS)]).view(-1, 2, LENGTH)
        letters = (draws[:, 0].abs() * 1000).long() % len(LETTERS)
        places = torch.stack([draws[:, 1].argmax(-1), draws[:, 1].argmin(-1)], -1)
        marks = torch.zeros_like(letters).scatter(1, places, torch.tensor([[1, 2]]).expand(len(places), 2))
        return letters, marks, letters.gather(1, places)

    def scores(self) -> tuple[Tensor, Tensor]:
        """Of both answers for all texts, (texts, 2, 8), without the heads that are off; and all weights."""
        letters, marks, _ = self.texts()
        model = finders()[self.heads]
        on = torch.tensor([head not in self.off for head in range(self.heads)]).repeat_interleave(16 // self.heads)
        with capture_attention(model) as maps:
            hook = model.attention.output.register_forward_pre_hook(lambda _, given: (given[0] * on,))
            scores = model(letters, marks)
            hook.remove()
        return scores, maps["attention"][:, :, 0]

    def right(self) -> Tensor:
        """The share of the test's answers that are right, under the star and under the dot."""
        return (self.scores()[0].argmax(-1) == self.texts()[2])[1:].float().mean(0)

    def table(self) -> str:
        say = self.edition_words()
        letters, marks, _ = self.texts()
        names = [Verbatim(LETTERS[x] + MARKS[mark]) for x, mark in zip(letters[0], marks[0], strict=True)]
        heads = [say["table"]["off"] if h in self.off else say["head"] for h in range(self.heads)]
        weights = self.scores()[1][0].tolist()
        rows = [
            (head.format(n=whole(h)), map(number, row))
            for h, (head, row) in enumerate(zip(heads, weights, strict=True), start=1)
        ]
        star, dot = (number(100 * share, 0) for share in self.right().tolist())
        return html_table(say["table"]["caption"].format(star=star, dot=dot), names, rows)
