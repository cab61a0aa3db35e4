"""A language model in one picture, from a text to its next token: all heads, all streams, what it would say so far."""

from functools import cache
from typing import NamedTuple

import torch
import traitlets
from torch import Tensor

from attnbook.data import FOLDER
from attnbook.data.stored import header as first_line
from attnbook.language import number, whole
from attnbook.widgets.real_model import HeadsOff, N, OwnText, whole_maps
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table

TEXT = "The capital of France is the city of"
BLOCKS, HEADS, K = 30, 9, 64
MOST = 24  # tokens of a text
LIKELIEST = 6  # words that are said to be likely
OFF = ((23, 4), (29, 1), (29, 0), (0, 4))  # heads that can be switched off from what is stored, one at a time
UNIT = 1 / 512  # of queries, keys and values
ZOOMS = ("whole", "block", "head", "product")


class Picture(NamedTuple):
    """What is stored of the model while it reads `TEXT`, without one head or with all."""

    says: list[
        list[tuple[list[tuple[str, float]], float]]
    ]  # by token and block: likely words, and the final one's share
    maps: Tensor  # (blocks · heads, L, L), square roots of weights in steps of 1/255
    looks: Tensor  # (blocks · heads, L, L), pushes of the final word, in logits
    networks: Tensor  # (blocks, L), pushes

    @property
    def ends(self) -> list[list[tuple[str, float]]]:
        """By token: the likeliest next words."""
        return [stream[-1][0] for stream in self.says]

    @property
    def weights(self) -> Tensor:
        return (self.maps.double() / 255).square()


class ModelMap(BookWidget):
    """SmolLM2-135M-Instruct while it reads `TEXT`. `block`, `head`, `token` and `key` are counted from 0.

    One of the heads `OFF` can be switched off, as [(23, 4)]. A page of the book can fetch the model: then it reads any
    `text` of at most 24 tokens, without any heads, and writes on. `zoom` shows the whole, a block, a head for one
    token, or the product of that token's query and one key. `light` colours heads by what they look at, or by how far
    each pushes the likeliest word; `sink` shows looks at the first token. `doors` are addresses of pages, by part of
    the picture.

    >>> ModelMap(off=[(23, 4)]).picture().ends[-1][0]
    ('·Paris', 0.3243)
    """

    text = OwnText(TEXT).tag(sync=True)
    written = traitlets.List(traitlets.Int(min=0, max=N - 1), maxlen=MOST).tag(sync=True)
    block = traitlets.Int(23, min=0, max=BLOCKS - 1).tag(sync=True)
    head = traitlets.Int(4, min=0, max=HEADS - 1).tag(sync=True)
    token = traitlets.Int(7, min=0, max=MOST - 1).tag(sync=True)
    key = traitlets.Int(3, min=0, max=MOST - 1).tag(sync=True)
    zoom = traitlets.Enum(ZOOMS, "whole").tag(sync=True)
    light = traitlets.Enum(["looks", "pushes"], "pushes").tag(sync=True)
    sink = traitlets.Bool(False).tag(sync=True)
    off = HeadsOff().tag(sync=True)
    doors = traitlets.Dict().tag(sync=True)
    seen = Asset("model_map.bin")
    vectors = Asset("model_map_vectors.bin", later=True)

    def picture(self) -> Picture:
        """What is stored of the model with these heads off, or with all on."""
        off = [tuple(pair) for pair in self.off]
        return stored().get(off[0] if len(off) == 1 else None, stored()[None])

    def table(self) -> str:
        say, picture = self.edition_words()["table"], self.picture()
        word, chance = picture.ends[-1][0]
        rows = [
            (whole(block), [Verbatim(says), number(best, 3), number(final, 3)])
            for block, ([(says, best), *_], final) in enumerate(picture.says[-1])
        ]
        caption = say["caption"].format(text=TEXT, word=word, chance=number(chance, 3))
        return html_table(caption, [say["says"], say["chance"], say["final"].format(word=word)], rows)


def header() -> dict:
    """The first line of model_map.bin: tokens, words, and what is left to the likeliest word without each head."""
    return first_line(FOLDER / "model_map.bin")


@cache
def stored() -> dict[tuple[int, int] | None, Picture]:
    """All of model_map.bin, by the head that is off."""
    _, _, numbers = (FOLDER / "model_map.bin").read_bytes().partition(b"\n")
    about, numbers, at = header(), bytearray(numbers), 0
    L = len(about["tokens"])

    def take(dtype: torch.dtype, *shape: int) -> Tensor:
        nonlocal at
        found = torch.frombuffer(numbers, dtype=dtype, count=torch.Size(shape).numel(), offset=at).view(shape)
        at += found.nbytes
        return found

    sixteen, seen = [], L * (L + 1) // 2
    for each in about["pictures"]:
        blocks = BLOCKS - each["first"]
        sizes = ((blocks * HEADS * seen,), (blocks, L), (L, blocks, LIKELIEST + 1))
        sixteen.append([take(torch.int16, *size).double() for size in sizes])
    found = {}
    for each, (looks, networks, chances) in zip(about["pictures"], sixteen, strict=True):
        first, scale_L1 = each["first"], torch.tensor(each["scale"], dtype=torch.double)[:, None]
        maps = whole_maps(take(torch.uint8, (BLOCKS - first) * HEADS * seen), L)
        likeliest = take(torch.uint8, L, BLOCKS - first, LIKELIEST)
        looks, networks = whole_maps(looks, L) / 10000, networks / 500
        says = [
            [
                ([(about["words"][n], p) for n, p in zip(block, p, strict=False)], p[-1])
                for block, p in zip(*stream, strict=True)
            ]
            for stream in zip(likeliest.tolist(), (chances / 10000).tolist(), strict=True)
        ]
        if first:
            all_on = found[None]
            maps = torch.cat([all_on.maps[: first * HEADS], maps])
            looks = torch.cat([all_on.looks[: first * HEADS] * scale_L1, looks])
            networks = torch.cat([all_on.networks[:first] * scale_L1[:, 0], networks])
            says = [[*before[:first], *after] for before, after in zip(all_on.says, says, strict=True)]
        off = None if each["off"] is None else divmod(each["off"], HEADS)
        found[off] = Picture(says, maps, looks, networks)
    return found
