"""Masked softmax: scores to weights."""

import torch
from torch import Tensor

from attnbook._inputs import check_mask, check_tensor


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis of the scores that the mask lets through; the others get weight 0.

    >>> masked_softmax(torch.tensor([1.0, 1.0, 5.0]), torch.tensor([True, True, False])).tolist()
    [0.5, 0.5, 0.0]

    A row with nothing to attend to is all zeros, and so are its gradients (a softmax over nothing would be NaN):

    >>> masked_softmax(torch.tensor([1.0, 2.0]), torch.tensor([False, False])).tolist()
    [0.0, 0.0]
    """
    check_tensor("scores", scores, "(..., M)")
    if not scores.is_floating_point():
        raise ValueError(f"scores must hold floating-point numbers, got {scores.dtype}; try scores.float().")
    if mask is None:
        return scores.softmax(-1)
    check_mask(mask, scores, scores.shape)
    # The most negative finite number, not -inf: a row of them is uniform, not NaN, and the product makes it zero.
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
