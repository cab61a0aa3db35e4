"""Small data that travels with the package."""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from attnbook.data import stored
from attnbook.data.marks import Finder
from attnbook.seq2seq import Seq2Seq
from attnbook.text import Vocabulary
from attnbook.transformer import Transformer
from attnbook.vectors import WordVectors

FOLDER = Path(__file__).parent
Model = TypeVar("Model", bound=nn.Module)


@cache
def english_vectors() -> WordVectors:
    """8,000 frequent English words, each a vector of 128 numbers, from a model that has read a great deal.

    >>> [word for word, cosine in english_vectors().neighbours("river", 3)]
    ['rivers', 'creek', 'lake']
    """
    return WordVectors.load(FOLDER / "vectors.npz")


@cache
def word_vectors() -> dict[str, Tensor]:
    """4,000 frequent English words, each a vector of 16 numbers of typical size 1.

    >>> vectors = word_vectors()
    >>> max(vectors, key=lambda word: vectors["red"] @ vectors[word] if word != "red" else 0)
    'blue'
    """
    header, _, steps = (FOLDER / "words.bin").read_bytes().partition(b"\n")
    about = json.loads(header)
    table = torch.frombuffer(bytearray(steps), dtype=torch.int8).view(-1, about["width"]) * about["unit"]
    return dict(zip(about["words"].split(), table, strict=True))


@cache
def date_reader() -> tuple[Seq2Seq, Vocabulary]:
    """A small network that has learned to read dates, as in chapter 4, and the letters it knows.

    >>> model, letters = date_reader()
    >>> sum(numbers.numel() for numbers in model.parameters()), len(letters)
    (31025, 49)
    """
    return _with_letters("date_reader.bin", "reader", Seq2Seq)


@cache
def date_transformer() -> tuple[Transformer, Vocabulary]:
    """A small Transformer that has learned the same, as in chapter 9.

    >>> model, letters = date_transformer()
    >>> sum(numbers.numel() for numbers in model.parameters()), len(letters)
    (31392, 49)
    """
    sizes = {"D": 32, "heads": 4, "hidden": 128, "layers": 1, "dropout": 0.0, "norm": "pre"}
    return _with_letters("date_transformer.bin", "writer", partial(Transformer, **sizes))


def _with_letters(file: str, name: str, make: Callable[[int], Model]) -> tuple[Model, Vocabulary]:
    """The network of a file, made for as many tokens as the file knows, and these."""
    path = FOLDER / file
    letters = Vocabulary([stored.about(path)["letters"]])
    model = make(len(letters))
    stored.unpack(path, {name: model})
    return model, letters


@cache
def finders() -> dict[int, Finder]:
    """Three `Finder`s that have learned as in chapter 6, by their number of heads: 1, 2 and 4."""
    models = {heads: Finder(heads) for heads in (1, 2, 4)}
    stored.unpack(FOLDER / "finders.bin", models)
    return models
