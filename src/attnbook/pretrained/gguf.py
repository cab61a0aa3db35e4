"""GGUF files: what a language model is called and how large it is, its tokens, and its weights in few bits each.

A file begins with how many weights and how many facts there are. Then come the facts, each with a name and a type; then
the name, shape, kind and place of each weight; then, from the next multiple of 32 bytes on, the weights themselves. All
numbers are little-endian. Nobody vouches for such a file, so every length in it is checked against what is left of it.
"""

import mmap
import struct
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from attnbook.errors import FileError
from attnbook.pretrained.model_file import Kind, ModelFile, Packed

T = TypeVar("T")
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9
HINT = "Is it complete, and a GGUF file? Try to get it again."


def unpack_q8_0(data: Tensor) -> Tensor:
    """Blocks of 34 bytes as rows of 32 numbers: a scale d in float16, then 32 integers n, and each weight is d n.

    >>> block = torch.tensor([0x00, 0x38, 3, *[0] * 30, 0xFF], dtype=torch.uint8)  # 0x3800 is ½
    >>> unpack_q8_0(block)[0, [0, -1]]
    tensor([ 1.5000, -0.5000])
    """
    blocks = data.view(-1, 34)
    return blocks[:, 2:].view(torch.int8).float().mul_(blocks[:, :2].view(torch.float16))


def unpack_q4_1(data: Tensor) -> Tensor:
    """Unpacks blocks of 20 bytes into rows of 32 numbers, each d n + m of a scale d, a minimum m and 4 bits n.

    Two numbers share a byte: its low half is one of the first 16, its high half the one 16 positions on.

    >>> block = torch.tensor([0x00, 0x38, 0x00, 0xBC, 0x42, *[0] * 15], dtype=torch.uint8)  # d = ½, m = -1
    >>> unpack_q4_1(block)[0, [0, 1, 16]]
    tensor([ 0., -1.,  1.])
    """
    blocks = data.view(-1, 20)
    scale, least = blocks[:, :4].view(torch.float16).float().split(1, dim=1)
    return torch.cat([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], 1).float().mul_(scale).add_(least)


KINDS = {
    0: Kind(1, 4, lambda data: data.view(torch.float32).clone()),
    1: Kind(1, 2, lambda data: data.view(torch.float16).float()),
    3: Kind(32, 20, unpack_q4_1),
    8: Kind(32, 34, unpack_q8_0),
}


def read_gguf(path: str | Path) -> ModelFile:
    """What is in a GGUF file; its weights stay on the disk.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.gguf")
    ...     _ = file.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 0))  # version 3, no weights, no facts
    ...     read_gguf(file).weights
    {}
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.stat().st_size < 24:
        raise FileError(path, "it is shorter than any GGUF file", HINT)
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return _Reader(path, content).read()


class _Reader:
    """Reads a file from its beginning, and says where it can't."""

    def __init__(self, path: Path, content: mmap.mmap):
        self.path, self.content, self.at = path, content, 0

    def read(self) -> ModelFile:
        magic, version = self.take(4), self.number("I")
        if magic != b"GGUF" or version not in (2, 3):
            raise self.error(f"it begins with {magic!r} and version {version}, not with b'GGUF' and 2 or 3")
        n_weights, n_facts = self.number("Q"), self.number("Q")
        facts = self.named("fact", n_facts, lambda: self.value(self.number("I")))
        align = facts.get("general.alignment", 32)
        if type(align) is not int or align < 8 or align % 8:
            raise self.error(f"general.alignment must be a multiple of 8, and is {align!r}")
        places = self.named("weight", n_weights, self.place)
        start = -(-self.at // align) * align
        weights, end = {}, start
        for name, (kind, shape, offset) in sorted(places.items(), key=lambda item: item[1][-1]):
            first, size = start + offset, prod(shape) // kind.weights * kind.size
            if offset % align or first < end or first + size > len(self.content):
                raise self.error(f"{name} can't have {size:,} bytes from byte {first:,} on")
            end = first + size
            weights[name] = Packed(kind, shape, torch.frombuffer(self.content, dtype=torch.uint8)[first:end])
        return ModelFile(self.path, facts, weights, self.path, HINT)

    def named(self, what: str, count: int, read: Callable[[], T]) -> dict[str, T]:
        found: dict[str, T] = {}
        for _ in range(count):
            name = self.text()
            if name in found:
                raise self.error(f"there are two {what}s of the name {name!r}")
            found[name] = read()
        return found

    def place(self) -> tuple[Kind, tuple[int, ...], int]:
        axes = self.number("I")
        if not 1 <= axes <= 4:
            raise self.error(f"weights can't have {axes:,} axes")
        shape, kind = tuple(self.number("Q") for _ in range(axes))[::-1], self.number("I")
        if kind not in KINDS:
            raise self.error(f"weights are packed in a way that is not known here, {kind}; F32, F16, Q4_1, Q8_0 are")
        if not all(shape) or shape[-1] % KINDS[kind].weights:
            raise self.error(f"weights of shape {shape} don't make whole blocks of {KINDS[kind].weights}")
        return KINDS[kind], shape, self.number("Q")

    def value(self, kind: int) -> Any:
        if kind == TEXT:
            return self.text()
        if kind == LIST:
            inner, count = self.number("I"), self.number("Q")
            if inner == TEXT:
                return [self.text() for _ in range(count)]
            self.known(inner)
            numbers = np.dtype("<" + NUMBERS[inner])
            return np.frombuffer(self.take(count * numbers.itemsize), numbers)
        self.known(kind)
        return self.number(NUMBERS[kind])

    def known(self, kind: int) -> None:
        if kind not in NUMBERS:
            raise self.error(f"{kind} is no type of a number")

    def text(self) -> str:
        try:
            return self.take(self.number("Q")).decode()
        except UnicodeDecodeError:
            raise self.error("a text is no UTF-8") from None

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def take(self, size: int) -> bytes:
        if size > len(self.content) - self.at:
            raise self.error(f"{size:,} bytes should follow, and it has {len(self.content) - self.at:,}")
        self.at += size
        return self.content[self.at - size : self.at]

    def error(self, reason: str) -> FileError:
        return FileError(self.path, f"up to byte {self.at:,}, {reason}", HINT)
