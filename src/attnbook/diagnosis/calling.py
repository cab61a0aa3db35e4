"""How a layer is called: which tensors it wants, of which widths, in which order of axes, and what a mask is to it.

It is tried. Signatures only say what to try first.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

B, L = 7, 5  # of what a layer is tried on; few layers have 7 heads, so that a batch is not taken for them
GENERIC = 16, 8, 12, 32, 64  # widths for layers that have none of their own
SIZES = "embed_dim", "d_model", "hidden_size", "n_embd", "dim", "D"
PAIRS = "attn_mask", "mask", "src_mask", "tgt_mask", "attention_mask", "valid_lens"


@dataclass(frozen=True)
class Form:
    """How a boolean mask with True = may attend is handed over: in which sense, with which axes."""

    sense: str
    axes: str

    def __call__(self, may_BLM: Tensor, like: Tensor) -> Tensor:
        """The argument for a mask of its own for each sequence; forms without a batch axis take the first one's."""
        may = {
            "L, M": lambda: may_BLM[0],
            "B, L, M": lambda: may_BLM,
            "B, 1, L, M": lambda: may_BLM[:, None],
            "B, M": lambda: may_BLM[:, -1],
            "B, L": lambda: may_BLM,
            "B": lambda: may_BLM[:, -1],
        }[self.axes]().to(like.device)
        if self.sense == "lens":
            return may.sum(-1)
        if self.sense == "added":
            return torch.zeros(may.shape, dtype=like.dtype, device=like.device).masked_fill(~may, -torch.inf)
        return ~may if self.sense == "hidden" else may

    @property
    def by_query(self) -> bool:
        """Whether each query can have a mask of its own."""
        return "L" in self.axes


# By how many tensors a layer asks for. A decoder's memory is one and the same token everywhere.
WAYS = {
    1: {"layer(x)": lambda q, k, v: (q,)},
    2: {
        "layer(x, memory)": lambda q, k, v: (q, torch.ones_like(q)),
        "layer(x, context)": lambda q, k, v: (q, k),
    },
    3: {"layer(q, k, v)": lambda q, k, v: (q, k, v)},
}
SENSES = "may", "hidden", "added"
FORMS = [Form(sense, axes) for axes in ("L, M", "B, L, M", "B, 1, L, M") for sense in SENSES]
ROWS = [Form(sense, axes) for axes in ("B, M", "B, L, M", "B, 1, L, M") for sense in SENSES]


@dataclass(frozen=True)
class Caller:
    """A layer that can be called: `caller(x)`, or `caller(q, k, v, mask)`, (B, L, width) in, (B, L, width) out."""

    layer: Any
    call: Callable[..., Any]  # (layer, q, k, v, {name: mask})
    shown: str
    widths: tuple[int, ...]  # one, or those of queries, keys and values
    masks: tuple[str, ...] = ()  # names of what takes a mask
    sequence_first: bool = False

    @property
    def crosses(self) -> bool:
        """Whether queries, keys and values are given apart."""
        return len(self.widths) == 3

    def inputs(self, b: int = B, n: int = L) -> list[Tensor]:
        """Standard normal tokens, one tensor for each width."""
        like = _like(self.layer)
        source = torch.Generator().manual_seed(0)
        return [
            torch.randn(b, n, width, generator=source, dtype=torch.float64).to(like.device, like.dtype)
            for width in self.widths
        ]

    def __call__(self, *inputs: Tensor, **masks: Tensor) -> Tensor:
        """The output; inputs are one for each width, or one for all."""
        given = inputs * len(self.widths) if len(inputs) == 1 else inputs
        given = [x.transpose(0, 1) if self.sequence_first else x for x in given]
        q, k, v = given if self.crosses else (given[0],) * 3
        y = first_tensor(self.call(self.layer, q, k, v, masks))
        return y.transpose(0, 1) if self.sequence_first else y

    def turned(self) -> "Caller":
        """The same layer, called with the sequence first."""
        return replace(self, sequence_first=True)

    def of(self, layer: Any) -> "Caller":
        """Another layer of the same kind, called in the same way."""
        return replace(self, layer=layer)


def caller_of(layer: Any, width: int | tuple[int, ...] | None, call: Callable | None) -> Caller | None:
    """The first way to call the layer that gives an output (B, L, …); None if none does."""
    for way, count, shown, masks in _told(call) if call else _ways(layer):
        for widths in _widths(layer, width, count):
            caller = Caller(layer, way, shown, widths, masks)
            y = attempt(lambda caller=caller: caller(*caller.inputs()))
            if y is None or y.ndim != 3 or y.shape[:2] != (B, L):
                continue
            if "memory" not in shown or any(mixing(caller)):
                return caller
    return None


def mixing(caller: Caller) -> tuple[bool, bool]:
    """Whether anything passes between sequences of a batch, and between the tokens of one."""
    inputs = caller.inputs()
    y = caller(*inputs)

    def passes(axis: int) -> bool:
        for here, others in ((0, slice(1, None)), (-1, slice(None, -1))):
            place = (here,) if axis == 0 else (slice(None), here)
            rest = (others,) if axis == 0 else (slice(None), others)
            if differs(caller(*disturbed(inputs, place))[rest], y[rest]):
                return True
        return False

    return passes(0), passes(1)


def disturbed(inputs: list[Tensor], place: tuple) -> list[Tensor]:
    """The same inputs with other tokens in one place."""
    changed = [x.clone() for x in inputs]
    for x in changed:
        x[place] = x[place].flip(-1) + 1
    return changed


def differs(a: Tensor, b: Tensor, within: float = 1e-7) -> bool:
    """Whether two outputs are different, and not only in their last digits; NaN equals NaN."""
    return not torch.allclose(a, b, rtol=0, atol=within * scale_of(b), equal_nan=True)


def scale_of(x: Tensor) -> float:
    """How large its numbers are."""
    finite = x.detach()[x.isfinite()].abs()
    return max(finite.max().item(), 1e-30) if finite.numel() else 1.0


def copied(layer: Any) -> Any:
    """A copy of a layer, also of one that keeps what it computed last; a function is itself."""
    if not isinstance(layer, nn.Module):
        return layer
    kept = [x for module in layer.modules() for x in _tensors(list(vars(module).values()))]
    return deepcopy(layer, {id(x): x.detach() for x in kept if not x.is_leaf})


def _tensors(things: Any) -> Iterator[Tensor]:
    """The tensors in lists of lists."""
    for thing in things.values() if isinstance(things, dict) else things:
        if isinstance(thing, Tensor):
            yield thing
        elif isinstance(thing, list | tuple | dict):
            yield from _tensors(thing)


def attempt(run: Callable[[], Any]) -> Any:
    """Returns what `run()` returns, or None if it raises an error."""
    try:
        return run()
    except Exception:
        return None


def first_tensor(output: Any) -> Tensor:
    """The output itself, of layers that return more than that."""
    if isinstance(output, Mapping):
        output = next(iter(output.values()))
    while isinstance(output, tuple | list):
        output = output[0]
    return output


def _told(call: Callable) -> Iterator[tuple]:
    """The caller's own way: call(layer, x), (layer, x, mask), (layer, q, k, v) or (layer, q, k, v, mask)."""
    count = len(inspect.signature(call).parameters)
    if count not in (2, 3, 4, 5):
        raise ValueError(
            "call must be a function (layer, x), (layer, x, mask), (layer, q, k, v) or (layer, q, k, v, mask); "
            f"got one of {count} arguments."
        )

    def way(layer, q, k, v, masks):
        tensors = (q, k, v) if count > 3 else (q,)
        return call(layer, *tensors, *([masks.get("mask")] if count in (3, 5) else []))

    yield way, 3 if count > 3 else 1, "call", ("mask",) if count in (3, 5) else ()


def _ways(layer: Any) -> Iterator[tuple]:
    """What the signature makes likely: layer(x), layer(x, context) or layer(q, k, v), masks by name."""
    try:
        parameters = inspect.signature(layer.forward if isinstance(layer, nn.Module) else layer).parameters.values()
    except ValueError:  # a builtin
        parameters, known = (), False
    else:
        known = True
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    masks = [p.name for p in named if re.search("mask|valid_len", p.name) and not re.search("memory|head", p.name)]
    masks.sort(key=lambda name: PAIRS.index(name) if name in PAIRS else len(PAIRS) + ("padding" in name))
    needed = [p for p in named if p.default is p.empty]
    if {"src", "tgt"} <= {p.name for p in needed}:
        return  # a whole Transformer reads two texts
    empty = dict.fromkeys(p.name for p in needed if p.name in masks)
    count = len(needed) - len(empty)
    open_ended = not known or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for n in dict.fromkeys([count, 1, 3] if open_ended else [count]):
        for shown, tensors in WAYS.get(n, {}).items():

            def way(layer, q, k, v, masks, tensors=tensors):
                return layer(*tensors(q, k, v), **{**empty, **masks})

            wide = 3 if "context" in shown or n == 3 else 1
            yield way, wide, shown, tuple(masks or ([] if known else ["attn_mask"]))


def _widths(layer: Any, width: int | tuple[int, ...] | None, count: int) -> Iterator[tuple[int, ...]]:
    """What to try: the width given, else those that the layer's sizes and parameters name."""
    if width is not None:
        given = (width,) if isinstance(width, int) else tuple(width)
        yield given * count if len(given) == 1 else given
        return
    modules = list(layer.modules()) if isinstance(layer, nn.Module) else []
    own = [getattr(module, name, None) for module in modules for name in SIZES]
    for module in modules:
        for parameter in module.parameters(recurse=False):
            lazy = nn.parameter.is_lazy(parameter)
            own += [getattr(module, "out_features", None)] if lazy else [*reversed(parameter.shape)]
    likely = list(dict.fromkeys(size for size in own if isinstance(size, int) and size > 1))
    for size in dict.fromkeys([*likely, *GENERIC]):
        yield (size,) * count
    if count == 3:
        yield from product(likely[:5], repeat=3)


def _like(layer: Any) -> Tensor:
    """A tensor on the layer's device and of its type: a parameter, if it has any."""
    tensors = [*layer.parameters(), *layer.buffers()] if isinstance(layer, nn.Module) else []
    return next((x for x in tensors if x.is_floating_point()), torch.zeros((), dtype=torch.float64))
