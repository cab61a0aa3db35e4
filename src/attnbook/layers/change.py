"""Heads switched off, and weights exchanged, while a model runs: what does it need them for?"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from attnbook._inputs import check_sizes, fits, kind_of
from attnbook.errors import ShapeError, meant
from attnbook.layers._watch import Attended, Watcher, watching

Change = str | Tensor | Callable[[Tensor], Tensor]


@contextmanager
def change_attention(model: nn.Module, changes: Mapping[tuple[str | int, int | None], Change]) -> Iterator[None]:
    """Inside, some heads of `model` attend otherwise: `changes` says which, `(layer, head)`, and how.

    >>> from attnbook import MultiHeadAttention
    >>> layer, x_BLD = MultiHeadAttention(8, heads=2), torch.ones(1, 3, 8)
    >>> with change_attention(layer, {(0, 0): "off", (0, 1): "off"}):
    ...     layer(x_BLD).any()
    tensor(False)

    A layer has its name in `capture_attention`, or a number, counted from 0 in the order in which layers first attend
    inside. `None` for a head means all heads of the layer. A change is one of

    "off"        the head brings zeros
    "mean"       the head brings, to each query, the mean of what it brought to all queries of the call, in the whole
                 batch and with padding: mean ablation, of the output. Its weights stay what they were.
    "even"       all keys whose weight is above 0 get the same
    a tensor     these weights, (L, M) or (B, L, M), such as those of another run: `maps[name][:, head]`; for all heads
                 a whole map (B, H, L, M), too
    a function   from the head's weights (B, L, M) to those it is to use

    Later ones meet what earlier ones left, and those of an outer `change_attention` come first. Any model that
    `capture_attention` sees can be changed, and it shows the weights that were used. Gradients flow through them: with
    a function that keeps what it is given, `loss.backward()`, inside, says how much each weight mattered.

    >>> def held(weights_BLM):
    ...     held.weights_BLM = weights_BLM
    ...     weights_BLM.retain_grad()
    ...     return weights_BLM
    >>> with change_attention(layer, {(0, 1): held}):
    ...     layer(x_BLD).sum().backward()
    >>> held.weights_BLM.grad.shape
    torch.Size([1, 3, 3])

    Heads that aren't named compute what they computed to the last bit; to rounding in a layer of attnbook, which takes
    its readable path, and where PyTorch would take its fast path, which is left. Dropout comes after the change.
    Without an axis of heads, as in (B, L, K), there is one head, 0.
    """
    change = _Change(model, changes)
    with watching(change):
        yield
    change.check_met()


class _Change(Watcher):
    """Changes what it sees."""

    changes = True

    def __init__(self, model: nn.Module, changes: Mapping[tuple[str | int, int | None], Change]):
        _check(changes)
        super().__init__(model, [layer for layer, _ in changes])
        self.all = dict(changes)

    def see(self, name: str, seen: Attended) -> None:
        heads = range(seen.heads or 1)
        for (layer, head), change in self.all.items():
            if layer in (name, self.numbers[name]):
                if head is not None and head not in heads:
                    raise ValueError(f"head must be below {len(heads)}, counted from 0, in layer {name!r}; got {head}.")
                for each in heads if head is None else [head]:
                    _apply(_one_of(change, each, seen.heads) if head is None else change, each, seen)


def _apply(change: Change, head: int, seen: Attended) -> None:
    """One head attends otherwise."""
    if isinstance(change, str) and change == "mean":
        seen.bring(head, seen.brought(head).flatten(0, -2).mean(0))
    elif isinstance(change, str) and change == "off":
        seen.use(head, torch.zeros_like)
        seen.bring(head, torch.zeros_like(seen.brought(head)))
    else:
        seen.use(head, partial(_other, change))
        seen.bring(head, seen.mix(head))


def _one_of(change: Change, head: int, heads: int | None) -> Change:
    """What is meant for all heads, for one of them: its part of a whole map (B, H, L, M)."""
    if heads is None or not isinstance(change, Tensor) or change.ndim < 4:
        return change
    if change.shape[-3] != heads:
        hint = "A whole map has one matrix for each head of the layer."
        raise ShapeError("the weights of a change", "(B, H, L, M)", ("B", heads, "L", "M"), change.shape, hint)
    return change.select(-3, head)


def _other(change: Change, weights: Tensor) -> Tensor:
    """The weights that a head is to use instead."""
    if isinstance(change, str):
        return _even(weights)
    new = change if isinstance(change, Tensor) else change(weights)
    if not isinstance(new, Tensor):
        raise ValueError(f"a change must give weights, a tensor (B, L, M), got {kind_of(new)}. Does it return them?")
    if new.shape[-2:] != weights.shape[-2:] or not fits(new.shape, weights.shape):
        hint = "Rows are queries, columns are keys. A map of several heads? Take one, maps[name][:, head]."
        raise ShapeError("the weights of a change", "(..., L, M)", weights.shape, new.shape, hint)
    return new.to(weights).expand_as(weights)


def _even(weights: Tensor) -> Tensor:
    """Gives the same weight to each key that has any weight."""
    seen = (weights > 0).to(weights.dtype)
    return seen / seen.sum(-1, keepdim=True).clamp(min=1)


def _check(changes: object) -> None:
    """Raise unless it says which heads, and what becomes of them."""
    if not isinstance(changes, Mapping) or not changes:
        got = "an empty one" if isinstance(changes, Mapping) else kind_of(changes)
        raise ValueError(f"changes must be a dictionary such as {{(layer, head): 'off'}}, got {got}.")
    for place, change in changes.items():
        if not isinstance(place, tuple) or len(place) != 2:
            raise ValueError(f"changes goes by (layer, head), got {place!r}. All heads of a layer? Try (layer, None).")
        if place[1] is not None:
            check_sizes(0, head=place[1])
        if not (change in _NAMED if isinstance(change, str) else isinstance(change, Tensor) or callable(change)):
            got = f"{change!r}. {meant(change, _NAMED)}" if isinstance(change, str) else f"{kind_of(change)}."
            ways = ", ".join(map(repr, _NAMED))
            raise ValueError(f"a change must be {ways}, a tensor of weights or a function of them; got {got}".rstrip())


_NAMED = ("off", "mean", "even")
