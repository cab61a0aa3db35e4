"""Additive scores tile by tile, in plain PyTorch: w·tanh(q + k) = Σw - 2 w·r with r = 1/(1 + exp 2(q + k))."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

TILE_BYTES = {"cpu": 2**21, "gpu": 2**28}  # on a CPU a tile should fit the cache; a GPU wants few large ones


def scores(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> Tensor:
    """w·tanh(q + k), a tile of queries at a time."""
    scores_BLM = q_BLK.new_empty(*q_BLK.shape[:2], k_BMK.shape[1])
    for tile, r_BLMK in _tiles(q_BLK, k_BMK):
        scores_BLM[tile] = r_BLMK @ w_K
    return scores_BLM.mul_(-2).add_(w_K.sum())


def gradients(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor, grad_BLM: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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

    A product of exponentials is exact while neither over- nor underflows; past that the sigmoid, slower, always is.
    """
    (B, L, K), M = q_BLK.shape, k_BMK.shape[1]
    factorised, one = bool(_in_range(q_BLK, k_BMK)), q_BLK.new_ones(())
    if factorised:
        q_BLK, k_BMK = (2 * q_BLK).exp(), (2 * k_BMK).exp()
    rows = TILE_BYTES["gpu" if q_BLK.is_cuda else "cpu"] // max(1, M * K * q_BLK.element_size())
    step_B, step_L = max(1, rows // max(1, L)), max(1, min(rows, L))
    room_BLMK = q_BLK.new_empty(min(step_B, B), step_L, M, K)  # new memory for each tile would cost more than the tile
    for b in range(0, B, step_B):
        for i in range(0, L, step_L):
            tile = slice(b, b + step_B), slice(i, i + step_L)
            q_BLMK, k_BLMK = q_BLK[tile][:, :, None], k_BMK[tile[0]][:, None]
            r_BLMK = room_BLMK[: len(q_BLMK), : q_BLMK.shape[1]]
            if factorised:
                torch.addcmul(one, q_BLMK, k_BLMK, out=r_BLMK).reciprocal_()
            else:
                torch.add(q_BLMK, k_BLMK, out=r_BLMK).mul_(-2).sigmoid_()
            yield tile, r_BLMK


def _in_range(*tensors: Tensor) -> Tensor:
    """Whether exp 2q · exp 2k is exact for all numbers in these tensors."""
    limit = math.log(torch.finfo(tensors[0].dtype).max) / 2 - 1
    return torch.stack([x.abs().amax() <= limit for x in tensors if x.numel() > 0] or [torch.tensor(True)]).all()


def fusible_scores(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> Tensor:
    """The same for torch.compile, which makes tiles of its own out of plain operations, forward and backward."""

    def from_r(r_BLMK: Tensor, w_K: Tensor) -> Tensor:
        return w_K.sum() - 2 * (r_BLMK * w_K).sum(-1)  # not r @ w, which would not be fused

    def factorised(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> Tensor:
        return from_r(1 / (1 + (2 * q_BLK).exp()[:, :, None] * (2 * k_BMK).exp()[:, None]), w_K)

    def always(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> Tensor:
        return from_r(torch.sigmoid(-2 * (q_BLK[:, :, None] + k_BMK[:, None])), w_K)

    operands = (q_BLK.clone(), k_BMK.clone(), w_K)  # cond wants no two of them in one tensor
    return torch.cond(_in_range(q_BLK, k_BMK), factorised, always, operands)
