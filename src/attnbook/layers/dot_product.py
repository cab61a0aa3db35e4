"""Scaled dot-product attention: softmax(QKᵀ/√K) V."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook._inputs import check_mask, check_sequences, check_width
from attnbook.device import surely
from attnbook.layers.capture import AttentionLayer
from attnbook.layers.masks import is_causal, only_seeing, only_seen
from attnbook.layers.softmax import masked_softmax


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
    _check(mask, q=q, k=k, v=v)
    q, k, v = only_seeing(q, mask), only_seen(k, mask), only_seen(v, mask)
    scores = (q / q.shape[-1] ** 0.5) @ k.mT
    weights = masked_softmax(scores, mask)
    return weights @ v, weights


class DotProductAttention(AttentionLayer):
    """`attention` as a layer: same numbers, PyTorch's fused kernel, output only."""

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        _check(mask, queries=queries, keys=keys, values=values)
        q, k, v = only_seeing(queries, mask), only_seen(keys, mask), only_seen(values, mask)
        return self._attend(q, k, v, mask)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None = None) -> Tensor:
        """What every dot-product layer does once it has its queries, keys and values."""
        if not self._watchers:
            return _fused(q, k, v, mask, bias, self.dropout_now)
        output, weights = attention(q, k, v, mask) if bias is None else _biased(q, k, v, mask, bias)
        applied = self._applied(weights)
        return applied @ v if self.dropout_now else output


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None, dropout: float) -> Tensor:
    """The output of `attention` by `F.scaled_dot_product_attention`.

    On a CPU its kernel that never holds the weights wants four axes, a mask of two or four and values as wide as keys:
    those it gets. It also wants no dropout and no bias that is being learned: otherwise PyTorch holds the weights.
    """
    if q.ndim < 4:
        q, k, v = (x.unsqueeze(-3) for x in (q, k, v))
        mask, bias = (x.unsqueeze(-3) if x is not None and x.ndim == 3 else x for x in (mask, bias))
        return _fused(q, k, v, mask, bias, dropout).squeeze(-3)
    K, V = q.shape[-1], v.shape[-1]
    if K != V:  # more zeros change no dot product
        q, k, v = (F.pad(x, (0, max(K, V) - x.shape[-1])) for x in (q, k, v))
    fused = partial(F.scaled_dot_product_attention, q, k, v, dropout_p=dropout, scale=max(K, 1) ** -0.5)
    causal = mask is not None and is_causal(mask) and mask.shape == (q.shape[-2], k.shape[-2])
    if bias is None and (mask is None or causal):
        return fused(is_causal=causal)[..., :V]
    allowed, awake = bias, None
    if mask is not None:
        # Kernels differ on a query with nothing to attend to: let it attend to everything, then make it zero.
        awake = mask.any(-1, keepdim=True)
        allowed = mask | ~awake if bias is None else bias.masked_fill(awake & ~mask, -torch.inf)
    output = fused(allowed[None] if allowed.ndim == 3 else torch.atleast_2d(allowed))[..., :V]
    return output if awake is None or surely(awake.all()) else output.masked_fill(~awake, 0)


def _biased(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor) -> tuple[Tensor, Tensor]:
    """`attention` with something added to the scores, as relative positions do."""
    weights = masked_softmax((q / q.shape[-1] ** 0.5) @ k.mT + bias, mask)
    return weights @ v, weights


def _check(mask: Tensor | None, **sequences: Tensor) -> None:
    check_sequences(**sequences)
    (_, q), (name, k), _ = sequences.items()
    hint = "A dot product needs queries and keys of one width; try a linear layer on either."
    check_width(name, k, q.shape[-1], hint, "(..., M, K)")
    check_mask(mask, q, (*q.shape[:-1], k.shape[-2]))
