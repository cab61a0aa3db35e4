"""Decoding a position at a time: with the keys and values kept, and with everything computed again."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from attnbook import KVCache, MultiHeadAttention, causal
from benchmarks.measure import Work, in_child, time_ratio
from benchmarks.tables import cell, progress, same, table

TOKENS, LAYERS, D, HEADS = 256, 4, 256, 8
GOALS = {1: 16, 8: 34}  # by batch size


class Layer(nn.Module):
    """Attention, then a feed-forward network four times as wide, each added to what came in."""

    def __init__(self):
        super().__init__()
        self.attention = MultiHeadAttention(D, HEADS)
        self.feed_forward = nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D))

    def forward(self, x: Tensor, mask: Tensor | None = None, cache: KVCache | None = None) -> Tensor:
        x = x + self.attention(x, mask=mask, cache=cache)
        return x + self.feed_forward(x)


def recomputed(layers: nn.ModuleList, x: Tensor) -> Tensor:
    outputs = []
    for n in range(1, TOKENS + 1):
        y, mask = x[:, :n], causal(n)
        for layer in layers:
            y = layer(y, mask=mask)
        outputs.append(y[:, -1:])
    return torch.cat(outputs, 1)


def cached(layers: nn.ModuleList, x: Tensor) -> Tensor:
    caches, outputs = [KVCache() for _ in layers], []
    for y in x.split(1, dim=1):
        for layer, cache in zip(layers, caches, strict=True):
            y = layer(y, cache=cache)
        outputs.append(y)
    return torch.cat(outputs, 1)


def decoding(way: Callable[[nn.ModuleList, Tensor], Tensor], B: int) -> Work:
    torch.manual_seed(0)
    layers, x = nn.ModuleList(Layer() for _ in range(LAYERS)), torch.randn(B, TOKENS, D)
    return torch.no_grad()(lambda: way(layers, x))


def section() -> str:
    found = []
    for B, goal in GOALS.items():
        builds = partial(decoding, recomputed, B), partial(decoding, cached, B)
        in_child(partial(same, *builds))
        found.append(progress([str(B), cell(time_ratio, *builds, goal), str(goal)]))
    return f"""## Decoding {TOKENS} tokens: recomputation ÷ `KVCache`

{LAYERS} layers of {HEADS}-head causal attention and a feed-forward network, width {D}, one position at a time. How
many times longer it takes to compute all positions again at each step than to keep their keys and values. Bold: short
of the goal.

{table(["B", "time", "goal"], found)}
"""
