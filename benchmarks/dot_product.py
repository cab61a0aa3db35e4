"""Scaled dot-product attention against d2l's, PyTorch's and our own readable path."""

from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnbook import DotProductAttention, attention
from attnbook.peers import d2l
from benchmarks.inputs import masked, one_pass
from benchmarks.measure import Work
from benchmarks.tables import COLUMNS, NO_GOALS, rows, table, versus

SIZES = [(8, 256, 64, "padding"), (2, 4096, 64, "padding"), (1, 4096, 64, "causal")]


def with_a_head(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """PyTorch's function as it is fastest on a CPU: with an axis for heads."""
    heads = mask[:, None] if mask.ndim == 3 else mask
    return scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], heads)[:, 0]


LAYERS = {  # functions of queries, keys and values
    "ours": lambda mask, lengths: partial(DotProductAttention(), mask=mask),
    "d2l.DotProductAttention": lambda mask, lengths: partial(d2l().DotProductAttention(dropout=0), valid_lens=lengths),
    "attention, the readable path": lambda mask, lengths: lambda *qkv: attention(*qkv, mask)[0],
    "F.scaled_dot_product_attention": lambda mask, lengths: partial(with_a_head, mask=mask),
}


def dot_product(who: str, B: int, n: int, K: int, kind: str, backward: bool) -> Work:
    torch.manual_seed(0)
    qkv = [torch.randn(B, n, K, requires_grad=backward) for _ in range(3)]
    attend = LAYERS[who](*masked(kind, B, n))
    return one_pass(lambda: attend(*qkv), qkv, backward)


def section() -> str:
    peers = {who: NO_GOALS for who in LAYERS if who != "ours"}
    found = rows([case for sizes in SIZES for case in versus(dot_product, sizes, peers)])
    return f"""## Scaled dot-product attention: peer ÷ `DotProductAttention`

The same queries, keys, values and mask. Above 1: ours is faster, or needs less memory.

{table(["peer", "B, n, K", "mask", *COLUMNS], found)}
"""
