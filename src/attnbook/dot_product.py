"""Scaled dot-product attention: softmax(QKᵀ/√K) V."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.capture import AttentionLayer
from attnbook.errors import ShapeError
from attnbook.softmax import check_mask, masked_softmax


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """softmax(QKᵀ/√K) V and its weights: queries (..., L, K), keys (..., M, K), values (..., M, V), mask (..., L, M).

    >>> import torch
    >>> q_LK, k_MK, v_MV = torch.tensor([[2.0, 0.0]]), torch.eye(2), torch.tensor([[10.0], [20.0]])
    >>> output_LV, weights_LM = attention(q_LK, k_MK, v_MV)
    >>> weights_LM  # the query points at the first key
    tensor([[0.8044, 0.1956]])
    >>> output_LV  # 0.8044 * 10 + 0.1956 * 20
    tensor([[11.9557]])
    """
    _check_qkv(q, k, v)
    scores = (q / q.shape[-1] ** 0.5) @ k.mT
    weights = masked_softmax(scores, mask)
    return weights @ v, weights


class DotProductAttention(AttentionLayer):
    """`attention` as a layer: same numbers, PyTorch's fused kernel, output only."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, the share of weights to drop; got {dropout}.")
        self.dropout = dropout

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        if self._show_weights is None:
            return fused_attention(queries, keys, values, mask, dropout)
        output, weights = attention(queries, keys, values, mask)
        self._show_weights(weights)
        return F.dropout(weights, dropout) @ values if dropout else output

    def extra_repr(self) -> str:
        return f"dropout={self.dropout}"


def fused_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, dropout: float = 0.0) -> Tensor:
    """The output of `attention` without ever holding its weights, by `F.scaled_dot_product_attention`."""
    _check_qkv(q, k, v)
    if mask is not None:
        check_mask(mask, (*q.shape[:-1], k.shape[-2]))
        mask = torch.atleast_2d(mask)
    if q.ndim == 3:  # on a CPU the kernel that saves memory wants an axis for heads
        heads = None if mask is None else mask.unsqueeze(-3) if mask.ndim == 3 else mask
        return fused_attention(q[:, None], k[:, None], v[:, None], heads, dropout)[:, 0]
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
    # Kernels differ on a query with nothing to attend to: let it attend to everything, then make it zero.
    awake = mask.any(-1, keepdim=True)
    return F.scaled_dot_product_attention(q, k, v, mask | ~awake, dropout).masked_fill(~awake, 0)


def _check_qkv(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, tensor in (("queries", q), ("keys", k), ("values", v)):
        if tensor.ndim < 2:
            wanted = ("...", "length", "width")
            raise ShapeError(name, "(..., length, width)", wanted, tensor.shape, "A single vector? Try x[None].")
        if not tensor.is_floating_point():
            raise ValueError(f"{name} must hold floating-point numbers, got {tensor.dtype}; try {name}.float().")
    if k.shape[-1] != q.shape[-1]:
        hint = "A dot product needs queries and keys of one width; try a linear layer on either."
        raise ShapeError("keys", "(..., M, K)", ("...", k.shape[-2], q.shape[-1]), k.shape, hint)
    if v.shape[-2] != k.shape[-2]:
        hint = "Every key carries one value, so there must be as many of both."
        raise ShapeError("values", "(..., M, V)", ("...", k.shape[-2], v.shape[-1]), v.shape, hint)
    for name, tensor in (("keys", k), ("values", v)):
        if tensor.shape[:-2] != q.shape[:-2]:
            wanted = (*q.shape[:-2], *tensor.shape[-2:])
            hint = f"Queries come in a batch of {tuple(q.shape[:-2])}; to share one set of {name}, try {name}.expand."
            raise ShapeError(name, "(batch..., M, width)", wanted, tensor.shape, hint)
