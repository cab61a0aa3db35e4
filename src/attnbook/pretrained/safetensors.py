"""Safetensors files: the weights of a language model; its sizes are in a `config.json` beside them.

A file begins with a length. So many bytes of JSON follow, with the name, dtype, shape and place of each weight, and
then the weights themselves, little-endian. Nobody vouches for such a file, so each place is checked against its size.
"""

import json
import mmap
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnbook.errors import FileError
from attnbook.pretrained.model_file import Kind, ModelFile, Packed

FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "I32": 4, "U32": 4, "I64": 8, "U64": 8}
HINT = "Is it complete, and a safetensors file? Try to get it again."


def read_safetensors(path: str | Path) -> ModelFile:
    """What is in a safetensors file, and the facts of the `config.json` beside it; the weights stay on the disk.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.safetensors")
    ...     _ = file.with_name("config.json").write_text('{"model_type": "gpt2"}')
    ...     _ = file.write_bytes((2).to_bytes(8, "little") + b"{}")
    ...     read_safetensors(file).facts
    {'model_type': 'gpt2'}
    """
    path = Path(path)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size - 8:
            raise FileError(path, f"{length:,} bytes of names should follow its first 8, and it is shorter", HINT)
        places = read_json(path, file.read(length))
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    data = torch.frombuffer(content, dtype=torch.uint8)[8 + length :]
    weights = {name: _packed(path, name, place, data) for name, place in places.items() if name != "__metadata__"}
    told = path.with_name("config.json")
    if not told.is_file():
        raise FileError(path, "its family and how many heads it has are in config.json beside it, which is missing")
    facts = {name: fact for name, fact in read_json(told).items() if fact is not None}
    return ModelFile(path, facts, weights, told)


def _packed(path: Path, name: str, place: Any, data: Tensor) -> Packed:
    match place:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [int(first), int(last)]} if all(
            type(size) is int and size >= 0 for size in shape
        ):
            if dtype not in FLOATS and dtype not in SIZES:
                raise FileError(path, f"{name} is stored as {dtype}, which is not known here")
            size = FLOATS[dtype].itemsize if dtype in FLOATS else SIZES[dtype]
            if 0 <= first <= last <= len(data) and last - first == prod(shape) * size:
                return Packed(Kind(1, size, lambda data: _floats(name, dtype, data)), tuple(shape), data[first:last])
    raise FileError(path, f"{name} can't lie at {place!r} in {len(data):,} bytes", HINT)


def _floats(name: str, dtype: str, data: Tensor) -> Tensor:
    if dtype not in FLOATS:
        raise ValueError(f"{name} is stored as {dtype}; what is known here is {', '.join(FLOATS)}")
    return data.clone().view(FLOATS[dtype]).float()  # a clone begins where its numbers may


def read_json(path: Path, content: bytes | None = None) -> dict[str, Any]:
    """The object in a file of JSON, or in these bytes of a file."""
    try:
        found = json.loads(path.read_bytes() if content is None else content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise FileError(path, "where an object in JSON should be, there is none", "" if content is None else HINT)
    return found
