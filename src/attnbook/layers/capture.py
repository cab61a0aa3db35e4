"""Attention weights on demand, and nothing kept when nobody asks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn


class AttentionLayer(nn.Module):
    """What every attention layer inherits: dropout on the weights, and where to show them while somebody is looking."""

    _watchers: tuple[Callable[[Tensor], None], ...] = ()

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, the share of weights to drop; got {dropout}.")
        self.dropout = dropout

    @property
    def dropout_now(self) -> float:
        """The share of weights to drop: none outside training."""
        return self.dropout if self.training else 0.0

    def _applied(self, weights: Tensor) -> Tensor:
        """The weights as they meet the values: shown to whoever is looking, then, in training, some dropped."""
        for watcher in self._watchers:
            watcher(weights.detach())
        return F.dropout(weights, self.dropout_now)

    def extra_repr(self) -> str:
        return f"dropout={self.dropout}"

    def __getstate__(self) -> dict:
        """A copy, made while somebody is looking, is not looked at."""
        return {name: value for name, value in self.__dict__.items() if name != "_watchers"}


@contextmanager
def capture_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """The weights of every attention layer in `model`, by the layer's name; `""` is the model itself.

    >>> import torch
    >>> from attnbook import DotProductAttention
    >>> layer, x_BLD = DotProductAttention(), torch.zeros(1, 2, 8)
    >>> with capture_attention(layer) as maps:
    ...     _ = layer(x_BLD, x_BLD, x_BLD)
    >>> maps[""]
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])

    Inside the block dot-product layers take the readable path, which has weights to show. Of a layer called twice, the
    last call is shown. The maps are detached, and taken before dropout.
    """
    layers = {_plain(name): m for name, m in model.named_modules() if isinstance(m, AttentionLayer)}
    if not layers:
        raise ValueError(f"{type(model).__name__} holds no attention layer of attnbook: there is nothing to capture.")
    maps: dict[str, Tensor] = {}
    watchers = {layer: partial(maps.__setitem__, name) for name, layer in layers.items()}
    try:
        for layer, watcher in watchers.items():
            layer._watchers = (*layer._watchers, watcher)
        yield maps
    finally:
        for layer, watcher in watchers.items():
            layer._watchers = tuple(other for other in layer._watchers if other is not watcher)
            if not layer._watchers:
                del layer._watchers


def _plain(name: str) -> str:
    """A module's name without what `torch.compile` puts into it."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")
