"""Four memories that are told the same pairs of key and value, and asked for one of them."""

import math
from typing import Any

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from attnbook.language import whole
from attnbook.layers.linear import linear_attention
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.random import normals, uniforms
from attnbook.widgets.shared.tables import Verbatim, html_table

MOST, WIDEST, DRAWS = 32, 32, 16
LETTERS = "ABCDEFGH"
SHARP, KEPT = 16, 0.9  # softmax multiplies its scores, decay keeps so much of the state at each step
KINDS = ("softmax", "linear", "decay", "delta")


class RecallRace(BookWidget):
    """Keys are random directions of a width, values are letters; what a memory answers is the letter with most.

    >>> widget = RecallRace(written=12, width=8)
    >>> {kind: int(known.sum()) for kind, known in widget.known().items()}
    {'softmax': 12, 'linear': 10, 'decay': 9, 'delta': 8}
    >>> widget.numbers("softmax"), widget.numbers("linear")
    (192, 64)

    Where the first pair is written `twice`, its key comes once more at the end, with the letter after its own.
    """

    written = traitlets.Int(12, min=1, max=MOST).tag(sync=True)
    width = traitlets.Enum([4, 8, 16, 32], 8).tag(sync=True)
    asked = traitlets.Int(1, min=1, max=MOST).tag(sync=True)
    first = traitlets.Enum(["once", "twice"], "once").tag(sync=True)

    def directions(self, draws: int = 1) -> Tensor:
        """The directions of each draw, (draws, pairs, K)."""
        all_NMK = torch.stack([normals(draw, MOST * WIDEST).view(MOST, WIDEST) for draw in range(draws)])
        return F.normalize(all_NMK[..., : self.width], dim=-1)

    def letters(self, draws: int = 1) -> Tensor:
        """The value of each pair, as the number of its letter, (draws, pairs)."""
        return torch.stack([(len(LETTERS) * uniforms(1000 + draw, MOST)).long() for draw in range(draws)])

    def told(self) -> tuple[Tensor, Tensor]:
        """What is written, in order: keys (M, K) and letters (M)."""
        keys_MK, letters_M = self.directions()[0, : self.written], self.letters()[0, : self.written]
        if self.first == "twice":
            keys_MK = torch.cat([keys_MK, keys_MK[:1]])
            letters_M = torch.cat([letters_M, (letters_M[:1] + 1) % len(LETTERS)])
        return keys_MK, letters_M

    def right(self) -> Tensor:
        """The letter that belongs to each pair now, (pairs,)."""
        _, letters_M = self.told()
        return torch.cat([letters_M[-1:], letters_M[1:-1]]) if self.first == "twice" else letters_M

    def answers(self) -> dict[str, Tensor]:
        """What each memory answers to the key of each pair, (pairs, letters)."""
        keys_MK, letters_M = self.told()
        asked_PK = self.directions()[0, : self.written]
        return {kind: read(kind, asked_PK, keys_MK, letters_M) for kind in KINDS}

    def known(self) -> dict[str, Tensor]:
        """Whether each memory still knows each pair."""
        return {kind: answers.argmax(-1) == self.right() for kind, answers in self.answers().items()}

    def race(self) -> dict[str, Tensor]:
        """The share of pairs that each still knows after 1, 2, … pairs, the mean over draws."""
        keys_NMK, letters_NM = self.directions(DRAWS), self.letters(DRAWS)
        return {
            kind: torch.stack(
                [
                    (read(kind, keys_NMK[:, :n], keys_NMK[:, :n], letters_NM[:, :n]).argmax(-1) == letters_NM[:, :n])
                    .double()
                    .mean()
                    for n in range(1, MOST + 1)
                ]
            )
            for kind in KINDS
        }

    def numbers(self, kind: str) -> int:
        """How many numbers the memory holds: rows of key and value, or a state."""
        rows = self.written + (self.first == "twice")
        return rows * (self.width + len(LETTERS)) if kind == "softmax" else self.width * len(LETTERS)

    @property
    def pair(self) -> int:
        """The position of the pair that is asked for: of those that have been written."""
        return min(self.asked, self.written) - 1

    def table(self) -> str:
        say = self.edition_words()
        known, answers = self.known(), self.answers()
        rows = (
            (
                say["kinds"][kind],
                [
                    whole(self.numbers(kind)),
                    whole(int(known[kind].sum())),
                    Verbatim(LETTERS[int(answers[kind][self.pair].argmax())]),
                ],
            )
            for kind in KINDS
        )
        letter = LETTERS[int(self.right()[self.pair])]
        caption = say["table"]["caption"].format(n=whole(self.written), pair=whole(self.pair + 1), letter=letter)
        return html_table(caption, list(say["table"]["columns"].values()), rows)


def state(kind: str, keys: Tensor, letters: Tensor) -> Tensor:
    """What is left in a state of keys by letters, (..., K, letters), after all has been written."""
    values = F.one_hot(letters, len(LETTERS)).to(keys.dtype)
    ones = torch.ones_like(keys[..., :1])
    more: dict[str, dict[str, Any]] = {"linear": {}, "decay": {"decay": math.log(KEPT) * ones}, "delta": {"beta": ones}}
    return linear_attention(keys, keys, values, **more[kind])[1]


def read(kind: str, asked: Tensor, keys: Tensor, letters: Tensor) -> Tensor:
    if kind == "softmax":
        return (SHARP * asked @ keys.mT).softmax(-1) @ F.one_hot(letters, len(LETTERS)).to(keys.dtype)
    return asked @ state(kind, keys, letters)
