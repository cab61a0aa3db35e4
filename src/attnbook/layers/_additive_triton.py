"""Additive scores on a GPU: each w·tanh(q + k) is summed up in registers; nothing of size L × M × K is ever written.

A GPU adds and multiplies far faster than it divides. So the features go in pairs that share one division:
with a = 1 + exp 2(q₁ + k₁) and b likewise, 1/a = b·c and 1/b = a·c where c = 1/(a·b).
"""

# pyrefly: ignore-errors[bad-argument-type, bad-assignment]
# (triton reads the functions below, and gives numbers where they say constexpr)
import torch
import triton
import triton.language as tl
from torch import Tensor

SAFE = 10.0  # exp(2 · (10 + 10)) squared is still a float32


@triton.jit
def _pair(q1, q2, k1, k2, safe):
    """r = 1/(1 + exp 2(q + k)) for two features: columns of queries against rows of keys."""
    RATE: tl.constexpr = 2.8853900817779268  # 2 / ln 2, so exp 2x = 2 ** (RATE x)
    if safe:
        a = 1 + tl.exp2(RATE * q1)[:, None] * tl.exp2(RATE * k1)[None, :]
        b = 1 + tl.exp2(RATE * q2)[:, None] * tl.exp2(RATE * k2)[None, :]
        c = 1 / (a * b)
        r1 = b * c
        r2 = a * c
    else:
        r1 = 1 / (1 + tl.exp2(RATE * (q1[:, None] + k1[None, :])))
        r2 = 1 / (1 + tl.exp2(RATE * (q2[:, None] + k2[None, :])))
    return r1, r2


@triton.jit
def _scores(q_BKL, k_BKM, w_K, safe, out_BLM, L, M, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """One tile of scores: all features, two at a time."""
    down, across = tl.cdiv(L, ROWS), tl.cdiv(M, COLUMNS)
    tile = tl.program_id(0)
    b = (tile // (down * across)).to(tl.int64)
    row = (tile // across % down) * ROWS + tl.arange(0, ROWS)
    column = (tile % across) * COLUMNS + tl.arange(0, COLUMNS)
    q_BKL += b * K * L + row
    k_BKM += b * K * M + column
    safe = tl.load(safe) != 0
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    sum_w = 0.0
    for f in range(0, K, 2):
        more = f + 1 < K  # an odd last feature has a partner that weighs nothing
        q1 = tl.load(q_BKL + f * L, row < L, 0.0)
        k1 = tl.load(k_BKM + f * M, column < M, 0.0)
        q2 = tl.load(q_BKL + (f + 1) * L, (row < L) & more, 0.0)
        k2 = tl.load(k_BKM + (f + 1) * M, (column < M) & more, 0.0)
        w1 = tl.load(w_K + f)
        w2 = tl.load(w_K + f + 1, more, 0.0)
        r1, r2 = _pair(q1, q2, k1, k2, safe)
        total += w1 * r1 + w2 * r2
        sum_w += w1 + w2
    place = b * L * M + row.to(tl.int64)[:, None] * M + column[None, :]
    tl.store(out_BLM + place, sum_w - 2 * total, (row < L)[:, None] & (column < M)[None, :])


@triton.jit
def _gradients(
    q_BKL, k_BKM, w_K, safe, grad, row_stride, column_stride, grad_q_BKL, grad_w, L, M, K,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The gradients of two features for some queries, and those queries' share of the gradient of w.

    To the scores queries and keys are alike: with the two exchanged, this is the gradient of the keys.
    """
    blocks = tl.cdiv(L, ROWS)
    block, f = tl.program_id(0), tl.program_id(1) * 2
    b = (block // blocks).to(tl.int64)
    more = f + 1 < K
    row = (block % blocks) * ROWS + tl.arange(0, ROWS)
    q_BKL += (b * K + f) * L + row
    k_BKM += (b * K + f) * M
    grad += b * L * M + row.to(tl.int64)[:, None] * row_stride
    safe = tl.load(safe) != 0
    q1 = tl.load(q_BKL, row < L, 0.0)
    q2 = tl.load(q_BKL + L, (row < L) & more, 0.0)
    share1 = tl.zeros((ROWS, COLUMNS), tl.float32)  # summed over columns once, at the end
    share2 = tl.zeros((ROWS, COLUMNS), tl.float32)
    slope1 = tl.zeros((ROWS, COLUMNS), tl.float32)
    slope2 = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, M, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        k1 = tl.load(k_BKM + column, column < M, 0.0)
        k2 = tl.load(k_BKM + M + column, (column < M) & more, 0.0)
        inside = (row < L)[:, None] & (column < M)[None, :]
        g = tl.load(grad + column.to(tl.int64)[None, :] * column_stride, inside, 0.0)
        r1, r2 = _pair(q1, q2, k1, k2, safe)
        share1 += g * r1
        share2 += g * r2
        slope1 += g * r1 * (1 - r1)
        slope2 += g * r2 * (1 - r2)
    grad_q_BKL += (b * K + f) * L + row
    tl.store(grad_q_BKL, 4 * tl.load(w_K + f) * tl.sum(slope1, 1), row < L)
    tl.store(grad_q_BKL + L, 4 * tl.load(w_K + f + 1, more, 0.0) * tl.sum(slope2, 1), (row < L) & more)
    grad_w += block.to(tl.int64) * K + f
    tl.store(grad_w, tl.sum(share1))
    tl.store(grad_w + 1, tl.sum(share2), more)


def scores(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> Tensor:
    """w·tanh(q + k), float32."""
    (B, L, K), M = q_BLK.shape, k_BMK.shape[1]
    out_BLM = q_BLK.new_empty(B, L, M)
    if out_BLM.numel():
        grid = (B * triton.cdiv(L, 32) * triton.cdiv(M, 64),)  # the first axis alone may be long
        _scores[grid](*_ready(q_BLK, k_BMK, w_K), out_BLM, L, M, K, ROWS=32, COLUMNS=64)
    return out_BLM


def gradients(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor, grad_BLM: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients for q, k and w."""
    q_BKL, k_BKM, w_K, safe = _ready(q_BLK, k_BMK, w_K)
    grad_BLM = grad_BLM.contiguous()
    M = k_BMK.shape[1]
    grad_q_BKL, grad_w_K = _one_side(q_BKL, k_BKM, w_K, safe, grad_BLM, M, 1)
    grad_k_BKM, _ = _one_side(k_BKM, q_BKL, w_K, safe, grad_BLM, 1, M)
    return grad_q_BKL.mT, grad_k_BKM.mT, grad_BLM.sum() - 2 * grad_w_K


def _one_side(q_BKL, k_BKM, w_K, safe, grad_BLM, row_stride: int, column_stride: int) -> tuple[Tensor, Tensor]:
    """The gradient for one side, and that of w."""
    (B, K, L), M = q_BKL.shape, k_BKM.shape[2]
    blocks = triton.cdiv(L, 16)  # more rows, and the four running tiles would no longer fit the registers
    grad_q_BKL, grad_w = torch.zeros_like(q_BKL), q_BKL.new_zeros(B * blocks, K)
    if q_BKL.numel():
        _gradients[B * blocks, triton.cdiv(K, 2)](
            q_BKL, k_BKM, w_K, safe, grad_BLM, row_stride, column_stride, grad_q_BKL, grad_w, L, M, K,
            ROWS=16, COLUMNS=64,
        )  # fmt: skip
    return grad_q_BKL, grad_w.sum(0)


def _ready(q_BLK: Tensor, k_BMK: Tensor, w_K: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What both kernels read: positions last, so that neighbours in a tile are neighbours in memory; and whether the
    shared division is safe, as a flag that stays on the GPU, for to look at it here would be to wait."""
    in_range = [x.abs().amax() <= SAFE for x in (q_BLK, k_BMK) if x.numel()]
    safe = torch.stack(in_range).all() if in_range else torch.ones((), dtype=torch.bool, device=q_BLK.device)
    return q_BLK.mT.contiguous(), k_BMK.mT.contiguous(), w_K.contiguous(), safe.to(torch.int32)
