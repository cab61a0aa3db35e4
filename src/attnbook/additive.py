"""Additive attention: a small network, w·tanh(q + k), scores every query against every key."""

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.capture import AttentionLayer
from attnbook.errors import ShapeError
from attnbook.inputs import check_alike, check_mask, check_sequences, check_width
from attnbook.masks import only_seen
from attnbook.softmax import masked_softmax


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

    Same numbers as `additive_scores`, but no tensor of L × M × num_hiddens is ever held.
    """

    def __init__(self, query_size: int, key_size: int, num_hiddens: int, dropout: float = 0.0):
        super().__init__(dropout)
        self.query = nn.Linear(query_size, num_hiddens, bias=False)
        self.key = nn.Linear(key_size, num_hiddens, bias=False)
        self.score = nn.Linear(num_hiddens, 1, bias=False)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        check_sequences(queries=queries, keys=keys, values=values)
        for name, x, layer in (("queries", queries, self.query), ("keys", keys, self.key)):
            check_width(name, x, layer.in_features, f"This layer was made for {name} of width {layer.in_features}.")
        check_mask(mask, queries, (*queries.shape[:-1], keys.shape[-2]))
        q, k = self.query(queries), self.key(only_seen(keys, mask))
        weights = masked_softmax(fast_additive_scores(q, k, self.score.weight[0]), mask)
        if self._show_weights is not None:
            self._show_weights(weights)
        return F.dropout(weights, self.dropout_now) @ only_seen(values, mask)


def fast_additive_scores(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
    """`additive_scores`, exact to rounding, in a fraction of its time and memory.

    tanh x = 1 - 2r with r = 1/(1 + exp 2x), and exp 2(q + k) = exp 2q · exp 2k: so exp runs once for each query and
    once for each key, not once for each pair. What is left for the pairs runs tile by tile.
    """
    _check_scores(q, k, w)
    if torch.compiler.is_compiling():  # the compiler fuses the readable form itself
        return additive_scores(q, k, w)
    wide = torch.promote_types(q.dtype, torch.float32)
    B = math.prod(q.shape[:-2])
    q_BLK, k_BMK = (x.to(wide).reshape(B, *x.shape[-2:]) for x in (q, k))
    scores_BLM = _AdditiveScores.apply(q_BLK, k_BMK, w.to(wide))
    return scores_BLM.reshape(*q.shape[:-1], k.shape[-2]).to(q.dtype)


class _AdditiveScores(torch.autograd.Function):
    """The scores, and gradients that compute each tile again rather than keep it."""

    @staticmethod
    def forward(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> Tensor:
        with torch.autocast(q_BLK.device.type, enabled=False):
            return _kernels(q_BLK)[0](q_BLK, k_BMK, w_K)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_BLM: Tensor) -> tuple[Tensor | None, ...]:
        inputs = ctx.saved_tensors
        if not torch.is_grad_enabled():
            with torch.autocast(grad_BLM.device.type, enabled=False):
                return _kernels(grad_BLM)[1](*inputs, grad_BLM)
        # somebody wants the gradient of this gradient: the readable form has all of them
        wanted = [x for x, needed in zip(inputs, ctx.needs_input_grad, strict=True) if needed]
        grads = iter(torch.autograd.grad(additive_scores(*inputs), wanted, grad_BLM, create_graph=True))
        return tuple(next(grads) if needed else None for needed in ctx.needs_input_grad)


def _kernels(x: Tensor) -> tuple[Callable, Callable]:
    """Scores and gradients as this device computes them best."""
    if x.is_cuda and x.dtype == torch.float32 and find_spec("triton"):
        from attnbook import additive_triton

        return additive_triton.scores, additive_triton.gradients
    return tiled_scores, tiled_gradients


def tiled_scores(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> Tensor:
    """w·tanh(q + k), a tile of queries at a time."""
    scores_BLM = q_BLK.new_empty(*q_BLK.shape[:2], k_BMK.shape[1])
    for tile, r_BLMK in _tiles(q_BLK, k_BMK):
        scores_BLM[tile] = r_BLMK @ w_K
    return w_K.sum() - 2 * scores_BLM


def tiled_gradients(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor, grad_BLM: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients for q, k and w: tanh' x = 4r(1 - r)."""
    grad_q_BLK, grad_k_BMK, grad_w_K = torch.zeros_like(q_BLK), torch.zeros_like(k_BMK), torch.zeros_like(w_K)
    for tile, r_BLMK in _tiles(q_BLK, k_BMK):
        grad_w_K += grad_BLM[tile].reshape(-1) @ r_BLMK.flatten(0, 2)
        slope_BLMK = r_BLMK.addcmul_(r_BLMK, r_BLMK, value=-1).mul_(grad_BLM[tile][..., None])
        grad_q_BLK[tile] = slope_BLMK.sum(2)
        grad_k_BMK[tile[0]] += slope_BLMK.sum(1)
    return 4 * w_K * grad_q_BLK, 4 * w_K * grad_k_BMK, grad_BLM.sum() - 2 * grad_w_K


def _tiles(q_BLK: Tensor, k_BMK: Tensor) -> Iterator[tuple[tuple[slice, slice], Tensor]]:
    """r = 1/(1 + exp 2(q + k)) for a few queries at a time, with where they stand: (which of the batch, which queries).

    The product of two exponentials is exact while neither overflows; past that the sigmoid, slower, always is.
    """
    (B, L, K), M = q_BLK.shape, k_BMK.shape[1]
    limit = math.log(torch.finfo(q_BLK.dtype).max) / 2 - 1
    factorised = all(x.numel() == 0 or x.abs().max() <= limit for x in (q_BLK, k_BMK))
    if factorised:
        q_BLK, k_BMK = (2 * q_BLK).exp(), (2 * k_BMK).exp()
    rows = max(1, TILE_BYTES[q_BLK.is_cuda] // max(1, M * K * q_BLK.element_size()))
    step_B, step_L = max(1, rows // max(1, L)), min(rows, L)
    for b in range(0, B, step_B):
        for i in range(0, L, max(1, step_L)):
            tile = slice(b, b + step_B), slice(i, i + step_L)
            q_BLMK, k_BLMK = q_BLK[tile][:, :, None], k_BMK[tile[0]][:, None]
            r_BLMK = (q_BLMK * k_BLMK).add_(1).reciprocal_() if factorised else (q_BLMK + k_BLMK).mul_(-2).sigmoid_()
            yield tile, r_BLMK


TILE_BYTES = {False: 2**20, True: 2**28}  # on a CPU a tile should fit the cache; a GPU wants few large ones


def _check_scores(q: Tensor, k: Tensor, w: Tensor) -> None:
    check_sequences(q=q, k=k)
    check_alike(q, w=w)
    if w.ndim != 1:
        raise ShapeError("w", "(K,)", (q.shape[-1],), w.shape, "One number for each feature; try w.flatten().")
    for name, x in (("q", q), ("k", k)):
        check_width(name, x, len(w), f"w has {len(w)} numbers, one for each feature of q and of k.")
