"""Additive attention: a small network, w·tanh(q + k), scores every query against every key."""

import math
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from attnbook._inputs import check_device_and_dtype, check_fits, check_mask, check_sequences, check_sizes, check_width
from attnbook.device import runs_eagerly
from attnbook.errors import ShapeError
from attnbook.layers import _additive_tiled
from attnbook.layers._sight import as_seen, clean
from attnbook.layers._watch import AttentionLayer
from attnbook.layers.softmax import masked_softmax


def additive_scores(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
    """w·tanh(q + k) for every query and key: q (..., L, K), k (..., M, K), w (K,) give scores (..., L, M).

    >>> q_LK, k_MK = torch.tensor([[0.5, 0.0]]), torch.tensor([[0.5, 0.0], [-0.5, 1.0]])
    >>> additive_scores(q_LK, k_MK, torch.tensor([1.0, 1.0]))  # tanh 1 + tanh 0, tanh 0 + tanh 1
    tensor([[0.7616, 0.7616]])
    """
    _check_scores(q, k, w)
    return torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ w


class AdditiveAttention(AttentionLayer):
    """softmax(w·tanh(W_q q + W_k k)) V, for queries and keys of any two widths.

    >>> layer = AdditiveAttention(query_size=4, key_size=6, num_hiddens=8)
    >>> layer(torch.zeros(1, 2, 4), torch.zeros(1, 3, 6), torch.ones(1, 3, 5)).shape
    torch.Size([1, 2, 5])

    The same scores as `additive_scores`, computed in tiles: no tensor of L × M × num_hiddens need be held.
    """

    def __init__(self, query_size: int, key_size: int, num_hiddens: int, dropout: float = 0.0):
        super().__init__(dropout)
        check_sizes(query_size=query_size, key_size=key_size, num_hiddens=num_hiddens)
        self.query = nn.Linear(query_size, num_hiddens, bias=False)
        self.key = nn.Linear(key_size, num_hiddens, bias=False)
        self.score = nn.Linear(num_hiddens, 1, bias=False)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        check_sequences(queries=queries, keys=keys, values=values)
        for name, x, layer in (("queries", queries, self.query), ("keys", keys, self.key)):
            check_fits(name, x, layer, name)
        queries, keys, values = clean(queries, keys, values, mask)
        return self.blend(self.query(queries), self.key(keys), values, mask)

    def blend(self, q: Tensor, k: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attends from `q` = W_q q and `k` = W_k k, so that keys of many steps need be projected only once."""
        w = self.score.weight.flatten()
        if not self._asked and not self.dropout_now and (module := _fused(q, k, values)):
            return _at_once(module, q, k, values, w, mask)
        scores = fast_additive_scores(q, k, w)
        known = {"queries": lambda: q, "keys": lambda: k, "scores": lambda: as_seen(scores, mask)}
        return self._applied(masked_softmax(scores, mask), values, **known)


def _at_once(module: ModuleType, q: Tensor, k: Tensor, v: Tensor, w: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(w·tanh(q + k)) V in one kernel: no weights are ever held, so there are none to show or to drop."""
    _check_scores(q, k, w)
    check_mask(mask, q, (*q.shape[:-1], k.shape[-2]))
    if torch.is_autocast_enabled(q.device.type):
        v = v.to(torch.get_autocast_dtype(q.device.type))
    learned = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v, w))
    # The function refuses forward mode, which the kernel by itself would leave out.
    if learned or forward_ad._current_level >= 0:
        return module.Attend.apply(q, k, v, w, mask)
    return module.attend(q, k, v, w, mask)[0]


def fast_additive_scores(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
    """`additive_scores`, exact to rounding, in a fraction of its time and memory.

    tanh x = 1 - 2r with r = 1/(1 + exp 2x), and exp 2(q + k) = exp 2q · exp 2k: so exp runs once for each query and
    once for each key, not once for each pair. What is left for the pairs runs tile by tile (`_additive_tiled`, and
    `_additive_triton` for a GPU). A single query has no more pairs than there are keys, and gains nothing by it.
    """
    _check_scores(q, k, w)
    compiled = torch.compiler.is_compiling()
    wide = torch.promote_types(q.dtype, torch.float32)
    if q.shape[-2] == 1 or (not runs_eagerly() and not compiled):  # torch.func transforms only plain operations
        with torch.autocast(q.device.type, enabled=False):
            return additive_scores(q.to(wide), k.to(wide), w.to(wide)).to(q.dtype)
    B = math.prod(q.shape[:-2])
    q_BLK, k_BMK = (x.to(wide).reshape(B, *x.shape[-2:]) for x in (q, k))
    scores_BLM = (_additive_tiled.fusible_scores if compiled else _AdditiveScores.apply)(q_BLK, k_BMK, w.to(wide))
    return scores_BLM.reshape(*q.shape[:-1], k.shape[-2]).to(q.dtype)


class _AdditiveScores(torch.autograd.Function):
    """The scores, and gradients that compute each tile again rather than keep it."""

    @staticmethod
    def forward(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> Tensor:
        with torch.autocast(q_BLK.device.type, enabled=False):
            return _kernels(q_BLK).scores(q_BLK, k_BMK, w_K)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_BLM: Tensor) -> tuple[Tensor | None, ...]:
        q_BLK, k_BMK, w_K = ctx.saved_tensors
        with torch.autocast(grad_BLM.device.type, enabled=False):
            if not torch.is_grad_enabled():
                return _kernels(q_BLK).gradients(q_BLK, k_BMK, w_K, grad_BLM)
            # somebody wants the gradient of this gradient, and needs it in plain operations
            tanh_BLMK = torch.tanh(q_BLK[:, :, None] + k_BMK[:, None])
            slope_BLMK = grad_BLM[..., None] * (1 - tanh_BLMK**2) * w_K
            return slope_BLMK.sum(2), slope_BLMK.sum(1), (grad_BLM[..., None] * tanh_BLMK).sum((0, 1, 2))


def _kernels(x: Tensor) -> ModuleType:
    """The module that computes scores and gradients best on this device."""
    if x.is_cuda and x.dtype == torch.float32 and find_spec("triton"):
        from attnbook.layers import _additive_triton

        return _additive_triton
    return _additive_tiled


def _fused(q: Tensor, k: Tensor, v: Tensor) -> ModuleType | None:
    """The module that does scores, softmax and product at once, where it can. A single query would gain nothing."""
    small = q.dtype in (torch.float32, torch.bfloat16, torch.float16)
    if not (q.is_cuda and small and q.shape[-2] > 1 and v.shape[:-1] == k.shape[:-1] and find_spec("triton")):
        return None
    from attnbook.layers import _additive_fused

    return _additive_fused if v.shape[-1] <= _additive_fused.WIDEST and runs_eagerly() else None


def _check_scores(q: Tensor, k: Tensor, w: Tensor) -> None:
    check_sequences(q=q, k=k)
    if not isinstance(w, Tensor):
        raise ValueError(f"w must be a tensor (K,), got {type(w).__name__}.")
    check_device_and_dtype(q, "the queries", w=w)
    if w.ndim != 1:
        raise ShapeError("w", "(K,)", (q.shape[-1],), w.shape, "One number for each feature; try w.flatten().")
    for name, x in (("q", q), ("k", k)):
        check_width(name, x, len(w), f"w has {len(w)} numbers, one for each feature of q and of k.")
