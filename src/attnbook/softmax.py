"""Masked softmax: scores to weights."""

import torch
from torch import Tensor

from attnbook.errors import ShapeError


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis of the scores that the mask lets through; the others get weight 0.

    >>> masked_softmax(torch.tensor([1.0, 1.0, 5.0]), torch.tensor([True, True, False])).tolist()
    [0.5, 0.5, 0.0]

    A row with nothing to attend to is all zeros, and so are its gradients (a softmax over nothing would be NaN):

    >>> masked_softmax(torch.tensor([1.0, 2.0]), torch.tensor([False, False])).tolist()
    [0.0, 0.0]
    """
    if mask is None:
        return scores.softmax(-1)
    check_mask(mask, scores.shape)
    # The most negative finite number, not -inf: a row of them is uniform, not NaN, and the product makes it zero.
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


def check_mask(mask: Tensor, shape: torch.Size) -> None:
    """A mask is boolean and broadcasts to the scores' shape (..., L, M), never the other way round."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be a boolean tensor with True = may attend, got {getattr(mask, 'dtype', type(mask).__name__)}. "
            "For a mask of zeros and ones, try mask.bool(); for one of 0 and -inf, try mask == 0."
        )
    if _broadcasts(mask.shape, shape):
        return
    if mask.ndim > 2 and _broadcasts(mask.shape[-2:], shape[-2:]):
        raise ShapeError("mask", "(..., L, M)", shape, mask.shape, "For a batch with heads, try mask[:, None].")
    turned = mask.ndim > 1 and _broadcasts(mask.mT.shape, shape)
    hint = "Rows are queries, columns are keys; " + ("try mask.mT." if turned else "check the two lengths.")
    letters = {1: "(M,)", 2: "(L, M)"}.get(len(shape), "(..., L, M)")
    raise ShapeError("mask", letters, shape[-2:], mask.shape, hint)


def _broadcasts(small: torch.Size, large: torch.Size) -> bool:
    pairs = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(a in (1, b) for a, b in pairs)
