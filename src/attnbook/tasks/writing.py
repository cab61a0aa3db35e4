"""Shakespeare's plays, and a small language model that has read nine tenths of them."""

from collections.abc import Callable
from functools import cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import FOLDER, shakespeare, stored
from attnbook.layers.positions import Rotary
from attnbook.learning.bytepairs import BytePairs
from attnbook.models.transformer import LanguageModel, SwiGLU

N, CONTEXT = 512, 128
D, HEADS, HIDDEN, LAYERS = 96, 4, 256, 3


def plays() -> tuple[str, str]:
    """The text to learn from, nine tenths of all letters; and the rest, which no model has seen.

    >>> [len(part) for part in plays()]
    [1003854, 111540]
    """
    text = shakespeare()
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:]


def pieces(ids: Tensor, size: int, length: int = CONTEXT) -> Callable[[torch.Generator], Tensor]:
    """To be called in each step of training: pieces of a text, ids (size, length + 1), from anywhere in it."""

    def draw(generator: torch.Generator) -> Tensor:
        starts = torch.randint(len(ids) - length, (size, 1), generator=generator)
        return ids[starts + torch.arange(length + 1)]

    return draw


def next_token_loss(model: nn.Module, ids: Tensor) -> Tensor:
    """The mean surprise, in nats, at each token of (B, L) after the first."""
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def todays(N: int, D: int, heads: int, hidden: int, layers: int, **options) -> LanguageModel:
    """A model of the design of chapter 11, but for the options that are given."""
    design = {"norm": "pre", "norm_layer": partial(nn.RMSNorm, eps=1e-5), "feed_forward": SwiGLU, "bias": False}
    design |= {"positions": Rotary(D // heads, pairing="neighbours"), "scale_embeddings": False, "dropout": 0.0}
    return LanguageModel(N, D, heads, hidden, layers, **design | options)


def untrained() -> LanguageModel:
    """The writer before it has read anything. Unlike chapter 11's, its embeddings are multiplied by √D."""
    return todays(N, D, HEADS, HIDDEN, LAYERS, scale_embeddings=True)


@cache
def writer_pairs() -> BytePairs:
    """The model's 512 tokens, learned on what it has read.

    >>> [writer_pairs().decode(torch.tensor([token])) for token in writer_pairs().encode("Come, my lord")]
    ['C', 'ome', ',', ' my', ' lord']
    """
    merges = stored.header(FOLDER / "pairs.bin")["merges"]
    return BytePairs((a.encode("latin-1"), b.encode("latin-1")) for a, b in merges)


@cache
def writer() -> LanguageModel:
    """The `LanguageModel` that the TextGenerator runs in the page: 381,600 parameters, a byte each.

    >>> scores_BLN = writer()(writer_pairs().encode("O Romeo, Rome")[None])
    >>> writer_pairs().decode(scores_BLN[0, -1:].argmax(-1))
    'o'
    """
    model = untrained()
    stored.unpack_single(FOLDER / "writer.bin", model)
    return model
