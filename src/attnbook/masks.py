"""Masks: boolean, True = may attend, rows are queries, columns are keys; combine them with `&`."""

import torch
from torch import Tensor


def causal(L: int, M: int | None = None, *, device=None) -> Tensor:
    """Query i sees keys 0..i, counted from the END when M > L (the last L of M positions ask, as in cached decoding).

    >>> causal(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> causal(2, 4).int().tolist()
    [[1, 1, 1, 0], [1, 1, 1, 1]]
    """
    M = _length(L, M)
    return torch.ones(L, M, dtype=torch.bool, device=device).tril(M - L)


def sliding_window(L: int, window: int, M: int | None = None, *, device=None) -> Tensor:
    """Causal, and no further back than `window` keys, the query's own position included.

    >>> sliding_window(4, 2).int().tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    """
    if window < 1:
        raise ValueError(f"window must be at least 1 (a query sees itself), got {window}.")
    M = _length(L, M)
    return causal(L, M, device=device).triu(M - L - window + 1)


def padding(lengths: Tensor, M: int | None = None) -> Tensor:
    """Keys 0..length-1 are real, the rest is padding. Lengths (B,) give (B, 1, M); one a query, (B, L), (B, L, M).

    >>> padding(torch.tensor([1, 3])).int().tolist()
    [[[1, 0, 0]], [[1, 1, 1]]]

    d2l calls these lengths `valid_lens`, and means the same.
    """
    if lengths.is_floating_point() or lengths.dtype == torch.bool or lengths.ndim not in (1, 2):
        raise ValueError(
            f"lengths must be whole numbers of shape (B,) or (B, L), got {lengths.dtype} of {tuple(lengths.shape)}. "
            "From a batch of token ids, try (ids != pad).sum(-1)."
        )
    if M is None:
        M = int(lengths.max()) if lengths.numel() else 0
    if not torch.compiler.is_compiling() and ((lengths > M) | (lengths < 0)).any():
        raise ValueError(f"lengths must lie between 0 and M = {M}, got {lengths.tolist()}.")
    keep = torch.arange(M, device=lengths.device) < lengths[..., None]
    return keep[:, None] if lengths.ndim == 1 else keep


def blocked(mask: Tensor) -> Tensor:
    """The same mask in the opposite sense, True = may NOT attend: what `nn.MultiheadAttention` wants as `attn_mask`.

    >>> blocked(causal(2)).int().tolist()
    [[0, 1], [0, 0]]
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be boolean, got {mask.dtype}. For a mask of zeros and ones, try mask.bool().")
    return ~mask


def _length(L: int, M: int | None) -> int:
    M = L if M is None else M
    if L < 0 or M < L:
        raise ValueError(f"M must be at least L: the L queries are the last of the M positions. Got L = {L}, M = {M}.")
    return M
