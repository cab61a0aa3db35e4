"""Scaled dot-product attention: softmax(QKᵀ/√K) V."""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook._inputs import check_mask, check_sequences, check_width
from attnbook.errors import teaches_names
from attnbook.layers._sight import as_bias, as_seen, blind, clean, hidden
from attnbook.layers._watch import AttentionLayer
from attnbook.layers.masks import is_causal
from attnbook.layers.softmax import masked_softmax


@teaches_names
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
    q, k, v = clean(q, k, v, mask)
    scores = (q / q.shape[-1] ** 0.5) @ k.mT
    weights = masked_softmax(scores, mask)
    return weights @ v, weights


class DotProductAttention(AttentionLayer):
    """`attention` as a layer: same numbers, PyTorch's fused kernel, output only.

    >>> q_LK, k_MK, v_MV = torch.tensor([[2.0, 0.0]]), torch.eye(2), torch.tensor([[10.0], [20.0]])
    >>> DotProductAttention()(q_LK, k_MK, v_MV).round(decimals=2)
    tensor([[11.9600]])
    """

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        _check(mask, queries=queries, keys=keys, values=values)
        q, k, v = clean(queries, keys, values, mask)
        return self._attend(q, k, v, mask, zeroed=v is not values)

    def _attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        bias: Tensor | None = None,
        *,
        softcap: float | None = None,
        sink: Tensor | None = None,
        zeroed: bool = False,
    ) -> Tensor:
        """What every dot-product layer does once it has its queries, and keys and values of as many heads or fewer.

        bias      is added to the scores, as relative positions do
        softcap   scores become softcap · tanh(score / softcap)
        sink      (H,): the score of one more key in each head, whose value is zero
        zeroed    queries that see nothing are finite, and values that nobody sees are zeros
        """
        if softcap is None and not self._asked:
            return _fused(q, k, v, mask, bias, sink, self.dropout_now, zeroed)
        scores = _scores(q, shared(k, q), bias, softcap)
        known = {"queries": lambda: q, "keys": lambda: k, "scores": lambda: as_seen(scores, mask)}
        return self._applied(_weights(scores, mask, sink), shared(v, q), **known)


def shared(x: Tensor, q: Tensor) -> Tensor:
    """Each head of keys or values, once for every head of queries that shares it."""
    return x if q.ndim < 3 or x.shape[-3] == q.shape[-3] else x.repeat_interleave(q.shape[-3] // x.shape[-3], dim=-3)


def _fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    sink: Tensor | None,
    dropout: float,
    zeroed: bool,
) -> Tensor:
    """The output of `attention`, by PyTorch's fused kernel.

    Kernels differ on a query with nothing to attend to: here it attends to everything, and then its output is zero.
    Where all queries of a sequence see the same, and one sees nothing, that is so already if `zeroed`.
    """
    if sink is not None:
        bias = q.new_zeros(()) if bias is None else bias
        bias = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
        k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
        return _kernel(q, k, v, _with_sink(bias, sink, q.shape[-2], k.shape[-2] - 1), dropout)
    if mask is None:
        return _kernel(q, k, v, bias, dropout)
    if bias is None and is_causal(mask) and mask.shape == (q.shape[-2], k.shape[-2]):
        return _kernel(q, k, v, None, dropout, is_causal=True)
    output = _kernel(q, k, v, _masked(bias, mask, q.dtype), dropout)
    nothing = blind(mask)
    if nothing is None or (zeroed and nothing.shape[-2] == 1 and mask.shape[-1] == k.shape[-2]):
        return output
    return output.masked_fill(nothing, 0)


def _masked(bias: Tensor | None, mask: Tensor, dtype: torch.dtype) -> Tensor | None:
    """The bias, and -inf where the mask hides a key. A last axis of 1 hides none: its queries see all or nothing."""
    if mask.ndim == 0 or mask.shape[-1] == 1:
        return bias
    return as_bias(mask, dtype) if bias is None else bias.masked_fill(hidden(mask), -torch.inf)


def _kernel(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, dropout: float, *, is_causal: bool = False
) -> Tensor:
    """`F.scaled_dot_product_attention`, given its inputs in the shapes that its best kernel takes.

    On a CPU the kernel that never holds the weights wants four axes, a mask of two or four and values as wide as keys:
    those it gets. It also wants no dropout and no bias that is being learned: otherwise PyTorch holds the weights.
    Heads that share their keys are as many queries of one head when each has a single query, as a step of decoding has:
    so the keys are read once.
    """
    K, V = q.shape[-1], v.shape[-1]
    if q.ndim < 4:  # the sequences are alone, or have no heads
        q, k, v = (x[None] for x in (q, k, v))
        return _kernel(q, k, v, attn_mask, dropout, is_causal=is_causal)[0]
    if K != V:  # more zeros change no dot product
        q, k, v = (F.pad(x, (0, max(K, V) - x.shape[-1])) for x in (q, k, v))
    if attn_mask is not None:
        attn_mask = attn_mask[None] if attn_mask.ndim == 3 else torch.atleast_2d(attn_mask)
    options = {"dropout_p": dropout, "is_causal": is_causal, "scale": max(K, 1) ** -0.5}
    heads, kv_heads = q.shape[-3], k.shape[-3]
    if heads == kv_heads or q.shape[-2] != 1 or is_causal:
        output = F.scaled_dot_product_attention(q, k, v, attn_mask, enable_gqa=bool(heads != kv_heads), **options)
        return output if K == V else output[..., :V]
    q = _by_shared_head(q, kv_heads)
    if attn_mask is not None and attn_mask.ndim > 2 and attn_mask.shape[-3] == heads:
        attn_mask = _by_shared_head(attn_mask, kv_heads)
    return F.scaled_dot_product_attention(q, k, v, attn_mask, **options)[..., :V].reshape(*q.shape[:-3], heads, 1, V)


def _by_shared_head(x: Tensor, kv_heads: int) -> Tensor:
    """A row of each of the heads (..., heads, 1, n) as rows of those they share (..., kv_heads, share, n)."""
    return x.reshape(*x.shape[:-3], kv_heads, x.shape[-3] // kv_heads, x.shape[-1])


def _scores(q: Tensor, k: Tensor, bias: Tensor | None, softcap: float | None) -> Tensor:
    """QKᵀ/√K, with all that may happen to it."""
    scores = (q / q.shape[-1] ** 0.5) @ k.mT
    scores = scores if softcap is None else softcap * torch.tanh(scores / softcap)
    return scores if bias is None else scores + bias


def _weights(scores: Tensor, mask: Tensor | None, sink: Tensor | None) -> Tensor:
    """Their softmax over what the mask leaves, and over the sink."""
    if sink is None:
        return masked_softmax(scores, mask)
    L, M = scores.shape[-2:]
    mask = None if mask is None else F.pad(mask.expand(*mask.shape[:-1], M), (0, 1), value=True)
    return masked_softmax(_with_sink(scores, sink, L, M), mask)[..., :-1]


def _with_sink(scores: Tensor, sink: Tensor, L: int, M: int) -> Tensor:
    """Scores that broadcast to (H, L, M), and a last column for the sink."""
    axes = torch.broadcast_shapes(scores.shape[:-2], sink.shape)
    column = sink[:, None, None].to(scores.dtype).expand(*axes, L, 1)
    return torch.cat([scores.expand(*axes, L, M), column], -1)


def _check(mask: Tensor | None, **sequences: Tensor) -> None:
    check_sequences(**sequences)
    (_, q), (name, k), _ = sequences.items()
    hint = "A dot product needs queries and keys of one width; try a linear layer on either."
    check_width(name, k, q.shape[-1], hint, "(..., M, K)")
    check_mask(mask, q, (*q.shape[:-1], k.shape[-2]))
