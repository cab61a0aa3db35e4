"""Values on their way into a sandbox and out again: JSON for the shape of things, raw bytes for tensors, never pickle.

A message is a JSON header and the bytes of its tensors, each with its length in front; a transposed tensor arrives
transposed. Whatever comes from a sandbox was written by somebody we don't trust: `receive` reads no more than its
limits, and `unpack` raises BadMessage for everything that `pack` would not have written.
"""

import json
import math
import select
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from attnbook.language import whole
from grading.wording import say

HEADER, BYTES = 1 << 20, 1 << 26  # at most 1 MB of JSON and 64 MB of tensors
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool),
    )
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
LENGTHS = struct.Struct("!IQ")
Patience = Callable[[], float]


def endless() -> float:
    return math.inf


class BadMessage(Exception):
    """Something that came is no message; the text says in a student's words what is wrong with the answer."""


def pack(value, other: Callable | None = None) -> tuple[Any, list[Tensor]]:
    """A value as JSON, and the tensors in it, each once; `other` writes what is neither plain nor a tensor.

    >>> pack({"x": (1, torch.ones(2))})
    ({'dict': [['x', {'tuple': [1, {'tensor': 0}]}]]}, [tensor([1., 1.])])
    """
    tensors = []

    def write(value):
        match value:
            case None | bool() | int() | float() | str():
                return value
            case np.number() | np.bool_():
                return value.item()
            case Tensor() if type(value) in (Tensor, Parameter):  # a subclass could compute when it is read
                place = next((i for i, tensor in enumerate(tensors) if tensor is value), len(tensors))
                tensors[place:] = [value, *tensors[place + 1 :]]
                return {"tensor": place}
            case list():
                return {"list": [write(item) for item in value]}
            case tuple():
                return {"tuple": [write(item) for item in value]}
            case dict() if all(isinstance(key, str | int) for key in value):
                return {"dict": [[key, write(item)] for key, item in value.items()]}
            case torch.dtype() if value in NAMES:
                return {"dtype": NAMES[value]}
            case torch.device():
                return {"device": value.type}
        if other is None:
            raise BadMessage(say("unsendable", type=type(value).__name__))
        return other(value)

    try:
        return write(value), tensors
    except RecursionError:
        raise BadMessage(say("nested")) from None


def unpack(form, tensors: list[Tensor], other: Callable | None = None) -> Any:
    """The value that `pack` wrote.

    >>> unpack(*pack([1.5, {"a": None}, torch.tensor([True])]))
    [1.5, {'a': None}, tensor([True])]
    """

    def read(form):
        match form:
            case None | bool() | int() | float() | str():
                return form
            case {"tensor": int(place)} if 0 <= place < len(tensors):
                return tensors[place]
            case {"list": list(items)}:
                return [read(item) for item in items]
            case {"tuple": list(items)}:
                return tuple(read(item) for item in items)
            case {"dict": list(items)}:
                return {key: read(item) for key, item in items if isinstance(key, str | int)}
            case {"dtype": str(name)} if name in DTYPES:
                return DTYPES[name]
            case {"device": "cpu"}:
                return torch.device("cpu")
            case dict() if other is not None:
                return other(form)
        raise BadMessage(say("unreadable_answer"))

    try:
        return read(form)
    except (RecursionError, TypeError, ValueError):
        raise BadMessage(say("unreadable_answer")) from None


def send(pipe: socket.socket, header: dict, tensors: Sequence[Tensor] = (), patience: Patience = endless) -> None:
    """Sends a message; `patience` as in `receive`."""
    rows, bodies = [], []
    for tensor in tensors:
        if tensor.dtype not in NAMES:
            raise BadMessage(say("unsendable_dtype", dtype=tensor.dtype))
        order = sorted(range(tensor.ndim), key=lambda axis: -tensor.stride(axis))
        inner = tensor.detach().permute(order)
        rows.append([NAMES[tensor.dtype], list(inner.shape), order, tensor.requires_grad])
        bodies.append(raw(inner))
    head, body = json.dumps(header | {"tensors": rows}).encode(), b"".join(bodies)
    if len(head) > HEADER or len(body) > BYTES:
        raise BadMessage(say("too_large_by", size=whole(round((len(head) + len(body)) / 1e6))))
    for part in (LENGTHS.pack(len(head), len(body)), head, body):
        _write_bytes(pipe, part, patience)


def raw(tensor: Tensor) -> bytes:
    """The numbers of a tensor, row by row."""
    plain = torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.reshape(-1))
    return plain.view(torch.uint8).numpy().tobytes()


def receive(pipe: socket.socket, patience: Patience = endless) -> tuple[dict, list[Tensor], list[bool]]:
    """A message: its header, its tensors and which of them carry a gradient. EOFError when nobody is there any more.

    `patience` says how many seconds are left; when there are none, a TimeoutError is raised.
    """
    head_size, body_size = LENGTHS.unpack(_read_bytes(pipe, LENGTHS.size, patience))
    if head_size > HEADER or body_size > BYTES:
        raise BadMessage(say("too_large"))
    head, body = _read_bytes(pipe, head_size, patience), _read_bytes(pipe, body_size, patience)
    try:
        header = json.loads(bytes(head))
        tensors, start = [], 0
        for row in header["tensors"]:
            tensors.append(_read_tensor(body, start, *row[:3]))
            start += tensors[-1].nbytes
        return header, tensors, [bool(row[3]) for row in header["tensors"]]
    except (ValueError, LookupError, TypeError, RuntimeError, RecursionError, OverflowError):
        raise BadMessage(say("unreadable_answer")) from None


def _read_tensor(body: bytearray, start: int, name: str, shape: list[int], order: list[int]) -> Tensor:
    dtype = DTYPES[name]
    size = math.prod(shape) * dtype.itemsize
    if start + size > len(body) or min(shape, default=0) < 0 or len(shape) > 64:
        raise ValueError
    flat = (
        torch.frombuffer(body, dtype=dtype, offset=start, count=math.prod(shape))
        if size
        else torch.empty(0, dtype=dtype)
    )
    return flat.reshape(shape).permute([order.index(axis) for axis in range(len(shape))])


def _read_bytes(pipe: socket.socket, size: int, patience: Patience) -> bytearray:
    got = bytearray()
    while len(got) < size:
        _wait(pipe, select.POLLIN, patience)
        with suppress(BlockingIOError):  # somebody said that there was something to read, and there wasn't
            piece = pipe.recv(min(size - len(got), 1 << 20), socket.MSG_DONTWAIT)
            if not piece:
                raise EOFError
            got += piece
    return got


def _write_bytes(pipe: socket.socket, what: bytes, patience: Patience) -> None:
    rest = memoryview(what)
    while rest:
        _wait(pipe, select.POLLOUT, patience)
        with suppress(BlockingIOError):  # there was room for less than that
            rest = rest[pipe.send(rest, socket.MSG_DONTWAIT) :]


def _wait(pipe: socket.socket, what: int, patience: Patience) -> None:
    """Waits until a pipe can be read or written; a busy machine may have to be asked more than once."""
    poll = select.poll()
    poll.register(pipe, what)
    ready = []
    while not ready:
        if (left := patience()) <= 0:
            raise TimeoutError
        ready = poll.poll(1000 * min(left, 3600))
