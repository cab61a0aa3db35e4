"""What every layer asks of what it is given: a wrong input gets an error that teaches, never a silent broadcast."""

import reprlib
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnbook.device import may_look
from attnbook.errors import ShapeError, meant


def check_sequences(**sequences: Tensor) -> None:
    """Raise unless these can meet in attention, (..., length, width) each: the first ask, the others answer."""
    (asker, queries), *others = sequences.items()
    for name, x in sequences.items():
        check_tensor(name, x, "(..., length, width)")
        if x.ndim < 2:
            wanted = ("...", "length", "width")
            raise ShapeError(name, "(..., length, width)", wanted, x.shape, "A single vector? Try x[None].")
        if not x.is_floating_point():
            hint = f"try {name}.float(); token ids go through an embedding first"
            raise ValueError(f"{name} must hold floating-point numbers, got {x.dtype}; {hint}.")
    check_device_and_dtype(queries, "the queries", **dict(others))
    for name, x in others:
        first, keys = others[0]
        if x.shape[-2] != keys.shape[-2]:
            wanted = ("...", keys.shape[-2], x.shape[-1])
            hint = f"{first} and {name} come in pairs: there must be as many of both."
            raise ShapeError(name, "(..., M, width)", wanted, x.shape, hint)
        if x.shape[:-2] != queries.shape[:-2]:
            wanted = (*queries.shape[:-2], *x.shape[-2:])
            hint = f"The batch of {asker} is {tuple(queries.shape[:-2])}; to share one set of {name}, try .expand."
            raise ShapeError(name, "(batch..., M, width)", wanted, x.shape, hint)


def check_width(name: str, x: Tensor, width: int, hint: str, letters: str = "(..., length, width)") -> None:
    """Raise unless the last axis of x (..., length, width) is that wide."""
    if x.shape[-1] != width:
        raise ShapeError(name, letters, ("...", *x.shape[-2:-1], width), x.shape, hint)


def check_fits(name: str, x: Tensor, layer: nn.Linear, role: str) -> None:
    """Raise unless the layer can project x: it is as wide as the weights, and lives where they do."""
    weight = layer.weight
    if x.shape[-1] == layer.in_features and _alike(x, weight):
        return
    check_width(name, x, layer.in_features, f"This layer was made for {role} of width {layer.in_features}.")
    check_device_and_dtype(weight, "the layer's weights", **{name: x})


def _alike(a: Tensor, b: Tensor) -> bool:
    """Whether both are on one device and of one type: the short way past a check that each call of a layer makes."""
    return a.dtype == b.dtype and a.device == b.device


def check_device_and_dtype(first: Tensor, whose: str, **others: Tensor) -> None:
    """Raise unless all are on the first one's device and of its type (autocast sees to all types but float64)."""
    for name, other in others.items():
        if other.device != first.device:
            rule = f"{name} must be on the same device as {whose}, {first.device}, got {other.device}"
            raise ValueError(f"{rule}; try {name}.to({str(first.device)!r}).")
        types = {first.dtype, other.dtype} - {torch.bool}
        if len(types) == 2 and not (torch.is_autocast_enabled(first.device.type) and torch.float64 not in types):
            rule = f"{name} must be of the same type as {whose}, {first.dtype}, got {other.dtype}"
            raise ValueError(f"{rule}; try {name}.to({first.dtype}).")


def check_mask(mask: Tensor | None, queries: Tensor, shape: Sequence[int], more: str = "") -> None:
    """Raise unless the mask is boolean and broadcasts to the scores' shape (..., L, M), never the other way round."""
    if mask is None:
        return
    check_boolean(mask)
    if mask.device != queries.device:
        check_device_and_dtype(queries, "the queries", mask=mask)
    if fits(mask.shape, shape):
        return
    letters, wanted = {1: "(M,)", 2: "(L, M)"}.get(len(shape), "(..., L, M)"), shape[-2:]
    if fits(mask.shape[-2:], shape[-2:]):
        wanted, hint = shape, f"Its axes before L and M must fit {tuple(shape[:-2])}, or be 1."
        if fits(mask[:, None].shape, shape):
            hint = "For one mask a sequence, the same for all heads, try mask[:, None]."
    elif mask.ndim == 2 and len(shape) > 2 and mask.shape == (shape[0], shape[-1]):
        hint = f"One row a sequence, (B, M)? Its queries share it: try mask[:, {'None, ' * (len(shape) - 3)}None]."
    else:
        turned = mask.ndim > 1 and fits(mask.mT.shape, shape)
        hint = "Rows are queries, columns are keys; " + ("try mask.mT." if turned else "check the two lengths.")
    raise ShapeError("mask", letters, wanted, mask.shape, f"{hint} {more}".rstrip())


def check_boolean(mask: object, sense: str = " with True = may attend") -> None:
    """Raise unless this is a mask at all."""
    if isinstance(mask, Tensor) and mask.dtype == torch.bool:
        return
    hint = "For a mask of zeros and ones, try mask.bool(); for one of 0 and -inf, try mask == 0."
    if isinstance(mask, str):
        hint = "Masks are made by functions: try attnbook.causal(L) or attnbook.padding(lengths)."
    elif not isinstance(mask, Tensor):
        hint = _made("mask", mask, "A query sees all keys without a mask: leave it out.")
    elif mask.ndim == 1 and not mask.is_floating_point():
        hint += " For one of lengths, try attnbook.padding(lengths, M)."
    raise ValueError(f"mask must be a boolean tensor{sense}, got {kind_of(mask)}. {hint}")


def check_tensor(name: str, x: object, letters: str) -> None:
    """Raise unless it is a tensor."""
    if not isinstance(x, Tensor):
        hint = _made(name, x, "help(attnbook) says what the letters mean.")
        raise ValueError(f"{name} must be a tensor {letters}, got {kind_of(x)}. {hint}")


def weights_of(name: str, given: object) -> Tensor:
    """A tensor, an array or lists of weights, as a tensor on the CPU; raise if it holds anything else.

    >>> weights_of("weights", [[0.25, 0.75], [0.0, 2.0]])
    Traceback (most recent call last):
        ...
    ValueError: weights must lie between 0 and 1, got 2 at weights[1, 1]. Scores, before softmax? Try \
scores.softmax(-1); plots.cells(numbers, low=…, high=…) shows any numbers.
    """
    if isinstance(given, Tensor):
        numbers = given.detach().cpu().float()
    else:
        parts = list(map(_array, given)) if isinstance(given, list | tuple) else given
        try:
            numbers = torch.from_numpy(np.array(parts, dtype=np.float32))
        except (TypeError, ValueError):
            rule = f"{name} must be numbers in rows of one length, as a tensor, an array or lists"
            raise ValueError(f"{rule}; got {reprlib.repr(given)}.") from None
    wrong = ~((numbers >= -1e-3) & (numbers <= 1 + 1e-3))
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        hint = "Scores, before softmax? Try scores.softmax(-1); plots.cells(numbers, low=…, high=…) shows any numbers."
        if numbers[place].isnan():
            hint = "A softmax over nothing but -inf? attnbook.masked_softmax gives zeros there."
        where = f"{name}{[*place]}" if place else name
        raise ValueError(f"{name} must lie between 0 and 1, got {numbers[place]:.3g} at {where}. {hint}")
    return numbers


def check_sizes(least: int = 1, **sizes: Any) -> None:
    """Raise unless each is an integer, and large enough."""
    check_integers(**sizes)
    for name, size in sizes.items():
        if size < least:
            raise ValueError(f"{name} must be at least {least}, got {size}.")


def check_integers(**sizes: object) -> None:
    """Raise unless each is an integer.

    >>> check_integers(D=8.0)
    Traceback (most recent call last):
        ...
    ValueError: D must be an integer, got 8.0, a float. Try 8.
    """
    for name, size in sizes.items():
        scalar = isinstance(size, Tensor) and size.ndim == 0 and size.dtype == torch.int64
        if isinstance(size, bool) or not (isinstance(size, (Integral, torch.SymInt)) or scalar):
            got = kind_of(size) if isinstance(size, Tensor) else f"{size!r}, {kind_of(size)}"
            raise ValueError(f"{name} must be an integer, got {got}. Try {_integer(size)}.")


def check_module(name: str, given: object, or_else: str = "") -> None:
    """Raise unless it is a module; `or_else` says what it may be, too.

    >>> check_module("model", nn.Linear)
    Traceback (most recent call last):
        ...
    ValueError: model must be a torch.nn.Module, got the class Linear. Make one of it first: Linear(…).
    """
    if isinstance(given, nn.Module):
        return
    if isinstance(given, type) and issubclass(given, nn.Module):
        got = f"the class {given.__name__}. Make one of it first: {given.__name__}(…)."
    else:
        got = f"{kind_of(given)}."
    raise ValueError(f"{name} must be a torch.nn.Module{or_else}, got {got}")


def check_options(owner: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise unless all the options are known."""
    for name in given:
        if name not in known:
            raise TypeError(f"{owner} has no option {name!r}. {meant(name, known)}It takes {', '.join(known)}.")


def check_ids(ids: Tensor, N: int) -> None:
    """Raise unless these are token ids (..., L) of a vocabulary of N. (If they are in it, only a CPU sees.)"""
    if not isinstance(ids, Tensor) or ids.dtype not in (torch.int64, torch.int32) or ids.ndim == 0:
        way = "torch.tensor(ids)"
        if isinstance(ids, Tensor):
            way = "ids.long()" if ids.ndim else "ids[None]"
        raise ValueError(f"token ids must be a tensor (..., L) of int64, got {kind_of(ids)}; try {way}.")
    if may_look(ids) and ((ids < 0) | (ids >= N)).any():
        raise ValueError(f"token ids must lie between 0 and {N - 1}, got {ids.min()} to {ids.max()}.")


def not_right_padded(real: Tensor) -> Tensor:
    """Whether any of the tokens (B, L) that are real stands after padding, which belongs on the right."""
    return (real[:, 1:] & ~real[:, :-1]).any()


def check_lengths(L: int, M: int) -> None:
    """Raise unless L queries and M keys can be of one sequence."""
    check_sizes(0, L=L, M=M)
    if M < L:
        raise ValueError(f"M must be at least L: the L queries are the last of the M positions. Got L = {L}, M = {M}.")


def kind_of(x: object) -> str:
    """What an error says of something that should have been another kind of tensor."""
    if isinstance(x, np.ndarray):
        return f"a numpy array, {x.dtype} of {x.shape}"
    if isinstance(x, Tensor):
        return f"{x.dtype} of {tuple(x.shape)}"
    name = type(x).__name__
    return f"an {name}" if name[0] in "aeioAEIO" else f"a {name}"


def _array(part: object) -> object:
    """A part of a list: a tensor as an array, which numpy can join."""
    return part.detach().cpu().float().numpy() if isinstance(part, Tensor) else part


def _integer(size: Any) -> str:
    """The number that was perhaps meant."""
    try:
        return str(int(float(size)))
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return "a size, such as 8"


def _made(name: str, x: object, otherwise: str) -> str:
    """How to make a tensor of something."""
    if isinstance(x, np.ndarray):
        return f"Try torch.from_numpy({name})."
    return f"Try torch.tensor({name})." if isinstance(x, list | tuple) else otherwise


def fits(small: Sequence[int], large: Sequence[int]) -> bool:
    """Whether a tensor of the first shape fits one of the second without stretching it."""
    pairs = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(a in (1, b) for a, b in pairs)
