"""Sparse selection: each query looks at whole blocks of keys first, and then only into the few that it chose."""

import torch
from einops import rearrange
from torch import Tensor
from torch.nn import functional as F

from attnbook._inputs import check_lengths, check_sequences, check_sizes, check_width
from attnbook.layers.masks import causal


@torch.no_grad()
def top_blocks(q: Tensor, k: Tensor, *, block: int, top: int) -> Tensor:
    """The mask (..., L, M), causal: each query's own block, and those `top` - 1 before it whose mean key it likes best.

    >>> q_LK = torch.tensor([[1.0], [1.0], [1.0], [1.0], [1.0], [-1.0]])
    >>> k_MK = torch.tensor([[9.0], [9.0], [4.0], [4.0], [0.0], [0.0]])
    >>> top_blocks(q_LK, k_MK, block=2, top=2).int().tolist()[-2:]  # the last two queries like different blocks
    [[1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 1, 1]]

    The queries are the last L of the M positions. As a mask it saves nothing, but says what a kernel that skips the
    other blocks computes: L (M / block + top · block) products, where there were L M.
    """
    check_sequences(q=q, k=k)
    check_width("k", k, q.shape[-1], "A dot product needs queries and keys of one width.", "(..., M, K)")
    check_sizes(block=block, top=top)
    L, M = q.shape[-2], k.shape[-2]
    check_lengths(L, M)
    blocks = -(-M // block)
    mean_k = rearrange(F.pad(k, (0, 0, 0, blocks * block - M)), "... (N C) K -> ... N C K", C=block).mean(-2)
    place = torch.arange(M - L, M, device=q.device)[:, None] // block
    number = torch.arange(blocks, device=q.device)
    likes = (q @ mean_k.mT).masked_fill(number > place, -torch.inf).masked_fill(number == place, torch.inf)
    chosen = torch.zeros_like(likes, dtype=torch.bool).scatter(-1, likes.topk(min(top, blocks)).indices, True)
    return chosen.repeat_interleave(block, -1)[..., :M] & causal(L, M, device=q.device)
