"""Who sees what under a mask: what a layer asks before it attends, worked out once for each mask (`_known`).

A query that sees no key is blind: its output is zero, whatever it holds. A key that no query sees is unseen: it may
hold anything, even NaN.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.device import may_look
from attnbook.layers import _known
from attnbook.layers._known import once
from attnbook.layers.masks import is_causal


@once
def blind(mask: Tensor) -> Tensor | None:
    """Which queries see nothing (..., L, 1); None where it is known that each sees something."""
    sees = torch.atleast_2d(mask).any(-1, keepdim=True)
    return None if may_look(mask) and sees.all() else ~sees


@once
def unseen(mask: Tensor) -> Tensor | None:
    """Which keys no query sees (..., M, 1); None where it is known that each is seen."""
    rows = torch.atleast_2d(mask)
    seen = (rows[..., 0, :] if rows.shape[-2] == 1 else rows.any(-2))[..., None]
    return None if may_look(mask) and seen.all() else ~seen


@once
def hidden(mask: Tensor) -> Tensor:
    """The cells to hide from a kernel that wants something to see in every row: not those of blind queries."""
    return ~_something(mask)


@once
def as_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to the scores, 0 or -inf: what the fused kernel would make of a mask in each call.

    Its last axis is contiguous, and rows start at multiples of 8, or kernels refuse it or copy it.
    """
    numbers, M = torch.where(torch.atleast_2d(_something(mask)), 0.0, -torch.inf), mask.shape[-1]
    numbers = numbers.to(dtype).contiguous()
    return F.pad(numbers, (0, -M % 8))[..., :M] if M % 8 else numbers


def as_seen(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Scores with -inf where the mask hides a key: the weights are their softmax."""
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def _something(mask: Tensor) -> Tensor:
    """The mask, but blind queries see everything."""
    nothing = blind(mask)
    return mask if nothing is None else mask | nothing


@once
def each_head(mask: Tensor) -> Tensor:
    """A mask of sequences (..., L, M) for all heads (..., 1, L, M)."""
    for_all, nothing = mask.detach().unsqueeze(-3), blind(mask)
    _known.tell(for_all, blind=None if nothing is None else nothing.unsqueeze(-3))
    return for_all


@once
def any_head(mask: Tensor) -> Tensor:
    """What any head may see, of a mask for each (..., H, L, M)."""
    return mask.any(-3)


def clean(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Queries that see nothing, and keys and values that nobody sees, as zeros; one tensor in two places stays one."""
    if mask is None or is_causal(mask) or (q is k is v and _harmless(q)):
        return q, k, v
    k_clean = zero_unseen_keys(k, mask)
    return zero_blind_queries(q, mask), k_clean, k_clean if v is k else zero_unseen_keys(v, mask)


def zero_unseen_keys(x: Tensor, mask: Tensor | None) -> Tensor:
    """Keys or values (..., M, width), with zeros for those that no query sees, if any number is not finite.

    Their weight is 0, but 0 × NaN is NaN: without this, a NaN in the padding would reach every real position.

    >>> zero_unseen_keys(torch.tensor([[1.0], [torch.nan]]), torch.tensor([True, False])).tolist()
    [[1.0], [0.0]]
    """
    return _or_zeros(x, mask, unseen)


def zero_blind_queries(x: Tensor, mask: Tensor | None) -> Tensor:
    """Queries (..., L, width), likewise with zeros for those that see no key: their NaN would reach the gradients."""
    return _or_zeros(x, mask, blind)


def _or_zeros(x: Tensor, mask: Tensor | None, find: Callable[[Tensor], Tensor | None]) -> Tensor:
    if mask is None or is_causal(mask) or _harmless(x):
        return x
    rows = find(mask)
    return x if rows is None else x.masked_fill(rows, 0)


def _harmless(x: Tensor) -> bool:
    """Returns True if to look costs nothing, and all is finite and small enough for any dot product."""
    return may_look(x) and math.isfinite(torch.linalg.vector_norm(x.detach()).square().item())
