"""Masks: boolean, True = may attend, rows are queries, columns are keys; combine them with `&`."""

import torch
from torch import Tensor

from attnbook._inputs import check_boolean, check_integers, check_lengths, check_sizes, kind_of
from attnbook.device import runs_eagerly
from attnbook.errors import ShapeError
from attnbook.layers import _known


def causal(L: int, M: int | None = None, *, device=None) -> Tensor:
    """Query i sees keys 0..i, counted from the END when M > L (the last L of M positions ask, as in cached decoding).

    >>> causal(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> causal(2, 4).int().tolist()
    [[1, 1, 1, 0], [1, 1, 1, 1]]

    Dot-product layers recognise a square mask made here, as long as nobody has written to it (past `.data` or NumPy,
    where PyTorch does not see it, nobody should), and skip the half that it hides. A copy, or one combined with `&`, is
    a mask like any other.
    """
    M = L if M is None else M
    check_lengths(L, M)
    mask = torch.ones(L, M, dtype=torch.bool, device=device).tril(M - L)
    _known.tell(mask, causal=L == M, blind=None, unseen=None)
    return mask


def is_causal(mask: Tensor) -> bool:
    """Whether the mask is one that `causal(L)` made and nobody has written to since.

    PyTorch's kernels skip half of the work when they are told that attention is causal. A mask is a tensor, though, and
    whether it is the causal one stands in its L² cells: to read them in every layer and every call takes too long.

    >>> is_causal(causal(3)), is_causal(causal(3) & causal(3)), is_causal(causal(2, 4))
    (True, False, False)
    """
    return _known.told(mask, "causal", False)


def sliding_window(L: int, M: int | None = None, *, window: int, sinks: int = 0, device=None) -> Tensor:
    """Causal, and no further back than `window` keys, the query's own position included; beyond, the first `sinks`.

    >>> sliding_window(4, window=2).int().tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> sliding_window(4, window=2, sinks=1).int().tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    """
    check_integers(window=window)
    if window < 1:
        raise ValueError(f"window must be at least 1 (a query sees itself), got {window}.")
    M = L if M is None else M
    check_lengths(L, M)
    check_sizes(0, sinks=sinks)
    seen = causal(L, M, device=device)
    local = seen.triu(M - L - window + 1)
    local = local if sinks == 0 else local | (seen & (torch.arange(M, device=device) < sinks))
    _known.tell(local, blind=None, **({"unseen": None} if L == M else {}))
    return local


def padding(lengths: Tensor, M: int | None = None, *, pad: int | None = None) -> Tensor:
    """Keys 0..length-1 are real, the rest is padding. Lengths (B,) give (B, 1, M); one a query, (B, L), (B, L, M).

    >>> padding(torch.tensor([1, 3])).int().tolist()
    [[[1, 0, 0]], [[1, 1, 1]]]

    With `pad` the numbers are token ids (..., M), and every id but `pad` is real, on whichever side the padding is:

    >>> padding(torch.tensor([[7, 0, 0], [0, 8, 9]]), pad=0).int().tolist()
    [[[1, 0, 0]], [[0, 1, 1]]]
    """
    if pad is not None:
        return _not_pad(lengths, M, pad)
    if not _integer(lengths) or lengths.ndim not in (1, 2):
        raise ValueError(
            f"lengths must be a tensor of integers of shape (B,) or (B, L), got {kind_of(lengths)}. "
            "From a batch of token ids, try padding(ids, pad=0)."
        )
    if M is None:
        M = int(lengths.max()) if lengths.numel() else 0
    check_sizes(0, M=M)
    lengths = lengths.long()  # narrower types could not hold M
    keep = torch.arange(M, device=lengths.device) < lengths[..., None]
    keep = keep[:, None] if lengths.ndim == 1 else keep
    if runs_eagerly() and lengths.numel():
        least, most = torch.stack(lengths.aminmax()).tolist()
        if least < 0 or most > M:
            raise ValueError(f"lengths must lie between 0 and M = {M}, got {lengths.tolist()}.")
        if least > 0:
            _known.tell(keep, blind=None)
    return keep


def blocked(mask: Tensor, heads: int | None = None) -> Tensor:
    """The same mask in the opposite sense, True = may NOT attend: what `nn.MultiheadAttention` wants as `attn_mask`.

    >>> blocked(causal(2)).int().tolist()
    [[0, 1], [0, 0]]

    Where the batch has masks of its own, (B, L, M), it wants (B * heads, L, M), all heads of a sequence together:

    >>> real = padding(torch.tensor([1, 2])).expand(2, 2, 2)
    >>> blocked(real, heads=3).shape
    torch.Size([6, 2, 2])

    Padding alone, (B, 1, M), goes in as key_padding_mask=blocked(mask[:, 0]).
    """
    check_boolean(mask, "")
    if heads is None:
        return ~mask
    if mask.ndim != 3:
        raise ShapeError("mask", "(B, L, M)", ("B", "L", "M"), mask.shape, "One mask for all? Leave out `heads`.")
    return ~mask.repeat_interleave(heads, dim=0)


def valid_lens(mask: Tensor) -> Tensor:
    """The mask as d2l wants it: how many keys, from the first, each query may see. (B, L, M) gives (B, L).

    A mask (B, 1, M), the same for every query, gives (B,):

    >>> valid_lens(padding(torch.tensor([1, 3])))
    tensor([1, 3])
    """
    check_boolean(mask, "")
    if mask.ndim != 3:
        raise ShapeError("mask", "(B, L, M)", ("B", "L", "M"), mask.shape, "For a batch, try mask.expand(B, -1, -1).")
    counts = mask.sum(-1)
    if not torch.equal(padding(counts, mask.shape[-1]), mask):
        raise ValueError("valid_lens can only count keys from the first one on; this mask forbids one in between.")
    return counts.squeeze(-1) if mask.shape[-2] == 1 else counts


def _not_pad(ids: Tensor, M: int | None, pad: int) -> Tensor:
    if not _integer(ids) or ids.ndim == 0:
        raise ValueError(
            f"with `pad`, the numbers must be a tensor of token ids of shape (..., M), got {kind_of(ids)}. "
            "For lengths, leave out `pad`."
        )
    if M not in (None, ids.shape[-1]):
        raise ValueError(f"M = {M}, but the token ids have {ids.shape[-1]} positions; leave out M.")
    return (ids.long() != pad)[..., None, :]


def _integer(x: object) -> bool:
    return isinstance(x, Tensor) and x.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
