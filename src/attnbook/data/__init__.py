"""Small data that travels with the package."""

import gzip
import json
import lzma
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from attnbook.learning.vectors import WordVectors

FOLDER = Path(__file__).parent


@cache
def english_vectors() -> WordVectors:
    """8,000 frequent English words, each a vector of 128 numbers, from a model that has read a great deal.

    >>> [word for word, cosine in english_vectors().neighbours("river", 3)]
    ['rivers', 'creek', 'lake']
    """
    words, steps, unit = table("vectors.bin")
    return WordVectors(words, steps * unit)


@cache
def word_vectors() -> dict[str, Tensor]:
    """4,000 frequent English words, each a vector of 16 numbers of typical size 1.

    >>> vectors = word_vectors()
    >>> max(vectors, key=lambda word: vectors["red"] @ vectors[word] if word != "red" else 0)
    'blue'
    """
    words, steps, unit = table("words.bin")
    return dict(zip(words, steps * unit, strict=True))


def table(file: str) -> tuple[list[str], Tensor, float]:
    """Words, their vectors in whole steps, and what a step is, from a file that widgets read, too.

    >>> words, steps, unit = table("words.bin")
    >>> len(words), steps.shape, unit
    (4000, torch.Size([4000, 16]), 0.03125)
    """
    header, _, steps = (FOLDER / file).read_bytes().partition(b"\n")
    about = json.loads(header)
    numbers = torch.frombuffer(bytearray(steps), dtype=torch.int8).view(-1, about["width"])
    return about["words"].split(), numbers, about["unit"]


@cache
def shakespeare() -> str:
    """A million letters of Shakespeare's plays, which are in the public domain; each speech under its speaker's name.

    >>> print(shakespeare()[:45])
    First Citizen:
    Before we proceed any further,
    """
    return lzma.decompress((FOLDER / "shakespeare.txt.xz").read_bytes()).decode("ascii")


@cache
def handwritten_digits() -> Tensor:
    """1,797 digits that people wrote: 8 × 8 numbers from 0 (paper) to 16 (ink), row by row, and which digit it is.

    >>> handwritten_digits().shape, handwritten_digits()[:5, -1].tolist()
    (torch.Size([1797, 65]), [0, 1, 2, 3, 4])
    """
    lines = gzip.decompress((FOLDER / "digits.csv.gz").read_bytes()).decode("ascii").split()
    return torch.tensor([[int(number) for number in line.split(",")] for line in lines])
