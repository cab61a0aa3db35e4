"""Additive attention on a GPU in one kernel: scores, softmax and the product with V meet in registers.

Each program owns some queries and walks over the keys, tile by tile, with a running softmax. Nothing of size L × M is
ever written; backward computes each tile again. To the scores queries and keys are alike: the same walk, with the two
exchanged, gives the gradients of keys and values.

In the kernels y is what a program owns, and x what it walks over. A tile has three axes, (X, WARPS, Y): the Y lanes of
a warp have one y each, every warp has X of the x, and a lane holds all of these, so it adds them up by itself.

A GPU adds and multiplies far faster than it divides. So the features go in pairs that share one division:
with a = 1 + exp 2(q₁ + k₁) and b likewise, 1/a = b·c and 1/b = a·c where c = 1/(a·b).
"""

# pyrefly: ignore-errors[bad-argument-type, bad-assignment, bad-argument-count, bad-keyword-argument, unbound-name]
# (triton reads the functions below, and gives numbers where they say constexpr)
import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from attnbook.layers.softmax import masked_softmax

X, WARPS, Y = 16, 8, 32
WIDEST = 128  # wider values would not fit the registers
SAFE = tl.constexpr(20.0)  # exp(2 · 20) squared is still a float32
RATE = tl.constexpr(2.8853900817779268)  # 2 / ln 2, so exp 2x = 2 ** (x · RATE)
LOG2E = tl.constexpr(1.4426950408889634)
AT_ONCE = tl.constexpr(32)  # features


@triton.jit
def _inverse(x):
    """1/x for x > 0: a root and a product are faster than a division."""
    root = tl.rsqrt(x)
    return root * root


@triton.jit
def _mine(length, X: tl.constexpr, WARPS: tl.constexpr, Y: tl.constexpr):
    """Which of the batch this program works for, on which y, and how a tile counts its x and its y."""
    program, blocks = tl.program_id(0), tl.cdiv(length, Y)
    i = tl.arange(0, X)[:, None, None] * WARPS + tl.arange(0, WARPS)[None, :, None]
    return (program // blocks).to(tl.int64), program % blocks * Y + tl.arange(0, Y), i, tl.arange(0, Y)[None, None, :]


@triton.jit
def _lay_out(scratch, x, at, row_stride, stride, length, K, ROWS: tl.constexpr):
    """Puts exp 2x into scratch memory, and x itself behind it, so that pairs of features lie together: (K/2, ROWS, 2).

    It is memory of this program alone, small enough for the nearest cache. The answer is the largest |x|.
    """
    even = K + K % 2  # an odd last feature has a partner that weighs nothing
    largest = 0.0
    tl.debug_barrier()  # from here on nobody needs what lay there
    for start in range(0, K, AT_ONCE):
        f = start + tl.arange(0, AT_ONCE)[None, :]
        place = at.to(tl.int64)[:, None] * row_stride + f.to(tl.int64) * stride
        numbers = tl.load(x + place, (at < length)[:, None] & (f < K), 0.0).to(tl.float32)
        spot = scratch + f // 2 * (2 * ROWS) + 2 * tl.arange(0, ROWS)[:, None] + f % 2
        tl.store(spot, tl.exp2(numbers * RATE), f < even)
        tl.store(spot + even * ROWS, numbers, f < even)
        largest = tl.maximum(largest, tl.max(tl.abs(numbers)))
    tl.debug_barrier()  # from here on everybody can read it
    return largest


@triton.jit
def _pair(scratch, spot):
    """Two numbers that lie together, in one load."""
    both = tl.load(scratch.to(tl.pointer_type(tl.int64)) + spot)
    return both.to(tl.int32).to(tl.float32, bitcast=True), (both >> 32).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def _pairs(x_scratch, y_scratch, i, j, f, K, safe, XS: tl.constexpr, Y: tl.constexpr):
    """Two features of x and of y: exp 2x where it is safe to multiply these, x itself where it is not."""
    pair = f // 2 + (0 if safe else (K + 1) // 2)
    x1, x2 = _pair(x_scratch, pair * XS + i)
    y1, y2 = _pair(y_scratch, pair * Y + j)
    return x1, x2, y1, y2


@triton.jit
def _scores(x_scratch, y_scratch, i, j, w, K, safe, X: tl.constexpr, WARPS: tl.constexpr, Y: tl.constexpr):
    """w·tanh(q + k) - Σw = -2 w·r with r = 1/(1 + exp 2(q + k)): to a softmax the same."""
    total = tl.zeros((X, WARPS, Y), tl.float32)
    for f in range(0, K, 2):
        w1 = tl.load(w + f).to(tl.float32)
        w2 = tl.load(w + f + 1, f + 1 < K, 0.0).to(tl.float32)
        x1, x2, y1, y2 = _pairs(x_scratch, y_scratch, i, j, f, K, safe, X * WARPS, Y)
        if safe:
            a, b = 1 + x1 * y1, 1 + x2 * y2
            total += (w1 * b + w2 * a) * _inverse(a * b)
        else:
            total += w1 * _inverse(1 + tl.exp2((x1 + y1) * RATE)) + w2 * _inverse(1 + tl.exp2((x2 + y2) * RATE))
    return -2 * total


@triton.jit
def _seen(mask, b, i, row, x_length, y_length, inner, outer_stride, inner_stride, x_stride, y_stride):
    """Which pairs of the tile there are, and the mask lets through."""
    row = row[None, None, :]
    seen = (i < x_length) & (row < y_length)
    if mask is not None:
        mask += b // inner * outer_stride + b % inner * inner_stride
        seen &= tl.load(mask + i.to(tl.int64) * x_stride + row.to(tl.int64) * y_stride, seen, 0) != 0
    return seen


@triton.jit(do_not_specialize=["mask_x", "mask_y"])  # or a tile would take the form that best suits the mask
def _attend(
    scratch, k, q, v, w, mask, out, lse, x_length, y_length, K, V,
    k_batch, k_row, k_stride, q_batch, q_row, q_stride, v_batch, v_row, v_stride,
    inner, mask_outer, mask_inner, mask_x, mask_y,
    X: tl.constexpr, WARPS: tl.constexpr, Y: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """The output of some queries, and for each the logarithm of Σ exp score."""
    KEYS: tl.constexpr = X * WARPS
    b, row, i, j = _mine(y_length, X, WARPS, Y)
    even = K + K % 2
    scratch += tl.program_id(0).to(tl.int64) * (2 * even * (KEYS + Y))
    k_scratch = scratch + 2 * even * Y
    across = tl.arange(0, WIDTH)[None, :]
    v += b * v_batch + across * v_stride
    reach = _lay_out(scratch, q + b * q_batch, row, q_row, q_stride, y_length, K, Y)
    top = tl.full((Y,), float("-inf"), tl.float32)
    total = tl.zeros((Y,), tl.float32)
    mix = tl.zeros((Y, WIDTH), tl.float32)
    for start in range(0, x_length, KEYS):
        key = start + tl.arange(0, KEYS)
        k_reach = _lay_out(k_scratch, k + b * k_batch, key, k_row, k_stride, x_length, K, KEYS)
        s = _scores(k_scratch, scratch, i, j, w, K, reach + k_reach <= SAFE, X, WARPS, Y)
        seen = _seen(mask, b, start + i, row, x_length, y_length, inner, mask_outer, mask_inner, mask_x, mask_y)
        s = tl.where(seen, s, float("-inf"))
        higher = tl.maximum(top, tl.max(tl.max(s, 0), 0))
        base = tl.where(higher == float("-inf"), 0.0, higher)  # nothing seen so far
        p = tl.exp2((s - base[None, None, :]) * LOG2E)
        shrink = tl.exp2((top - base) * LOG2E)
        total = total * shrink + tl.sum(tl.sum(p, 0), 0)
        values = tl.load(v + key.to(tl.int64)[:, None] * v_row, (key < x_length)[:, None] & (across < V), 0.0)
        p = tl.trans(tl.reshape(p, (KEYS, Y))).to(values.dtype)
        mix = mix * shrink[:, None] + tl.dot(p, values, input_precision="tf32x3")
        top = higher
    blind = total == 0
    place = b * y_length + row
    tl.store(lse + place, tl.where(blind, 0.0, top + tl.log2(total) / LOG2E), row < y_length)
    mix = tl.where(blind[:, None], 0.0, mix / total[:, None])
    tl.store(out + place[:, None] * V + across, mix, (row < y_length)[:, None] & (across < V))


@triton.jit(do_not_specialize=["mask_x", "mask_y"])
def _gradients(
    scratch, x, y, x_values, y_values, w, mask, out, lse, delta, grad_y, grad_values, grad_w, x_length, y_length, K, V,
    x_batch, x_row, x_stride, y_batch, y_row, y_stride,
    x_values_batch, x_values_row, x_values_stride, y_values_batch, y_values_row, y_values_stride,
    inner, mask_outer, mask_inner, mask_x, mask_y,
    OF_KEYS: tl.constexpr, X: tl.constexpr, WARPS: tl.constexpr, Y: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """The gradients of some queries and their share of that of w; or those of some keys and of their values.

    A query's "values" are the gradient of its output: its product with V is the gradient of the weights.
    """
    XS: tl.constexpr = X * WARPS
    SUMS: tl.constexpr = 2 if OF_KEYS else 4  # for two features: their slopes, and what w gets from them
    b, row, i, j = _mine(y_length, X, WARPS, Y)
    even = K + K % 2
    scratch += tl.program_id(0).to(tl.int64) * (2 * even * (XS + 2 * Y) + 2 * XS * Y)
    x_scratch, sums = scratch + 2 * even * Y, scratch + 2 * even * (XS + Y)
    p_scratch = sums + 2 * even * Y + 2 * (i * Y + j)
    across = tl.arange(0, WIDTH)[None, :]
    mine, place = (row < y_length)[:, None] & (across < V), b * y_length + row
    x_values += b * x_values_batch + across * x_values_stride
    y_values += b * y_values_batch + row.to(tl.int64)[:, None] * y_values_row + across * y_values_stride
    if OF_KEYS:
        mix = tl.zeros((Y, WIDTH), tl.float32)
    else:
        output = tl.load(out + place[:, None] * V + across, mine, 0.0).to(tl.float32)
        level = tl.sum(output * tl.load(y_values, mine, 0.0).to(tl.float32), 1)
        tl.store(delta + place, level, row < y_length)
        level, norm = level[None, None, :], tl.load(lse + place, row < y_length, 0.0)[None, None, :]
    spot = sums + SUMS * tl.arange(0, Y)[:, None] + tl.arange(0, 2)[None, :]
    if not OF_KEYS:
        spot = spot[:, :, None] + 2 * tl.arange(0, 2)[None, None, :]
    for f in range(0, K, 2):
        tl.store(spot + f // 2 * (SUMS * Y), tl.zeros(spot.shape, tl.float32))
    reach = _lay_out(scratch, y + b * y_batch, row, y_row, y_stride, y_length, K, Y)
    for start in range(0, x_length, XS):
        other = start + tl.arange(0, XS)
        x_reach = _lay_out(x_scratch, x + b * x_batch, other, x_row, x_stride, x_length, K, XS)
        safe = reach + x_reach <= SAFE
        theirs = x_values + other.to(tl.int64)[:, None] * x_values_row
        there = (other < x_length)[:, None] & (across < V)
        grad_p = tl.dot(tl.load(theirs, there, 0.0), tl.trans(tl.load(y_values, mine, 0.0)), input_precision="tf32x3")
        tl.store(p_scratch, tl.reshape(grad_p, (X, WARPS, Y)))  # what lies in memory comes back in the form of a tile
        tl.debug_barrier()
        s = _scores(x_scratch, scratch, i, j, w, K, safe, X, WARPS, Y)
        seen = _seen(mask, b, start + i, row, x_length, y_length, inner, mask_outer, mask_inner, mask_x, mask_y)
        if OF_KEYS:
            norm = tl.load(lse + b * x_length + start + i, start + i < x_length, 0.0)
            level = tl.load(delta + b * x_length + start + i, start + i < x_length, 0.0)
        p = tl.where(seen, tl.exp2((s - norm) * LOG2E), 0.0)
        if OF_KEYS:
            values = tl.load(theirs, there, 0.0)
            turned = tl.trans(tl.reshape(p, (XS, Y))).to(values.dtype)
            mix += tl.dot(turned, values, input_precision="tf32x3")
        g = tl.where(seen, p * (tl.load(p_scratch) - level), 0.0)
        for f in range(0, K, 2):
            x1, x2, y1, y2 = _pairs(x_scratch, scratch, i, j, f, K, safe, XS, Y)
            if safe:  # r · (1 - r) = r² · exp 2(q + k)
                a, c = 1 + x1 * y1, 1 + x2 * y2
                inverse = _inverse(a * c)
                r1, r2 = c * inverse, a * inverse
                g1, g2 = g * r1, g * r2
                slope1 = tl.sum(g1 * r1 * x1, 0) * tl.reshape(y1, (1, Y))
                slope2 = tl.sum(g2 * r2 * x2, 0) * tl.reshape(y2, (1, Y))
            else:
                r1, r2 = _inverse(1 + tl.exp2((x1 + y1) * RATE)), _inverse(1 + tl.exp2((x2 + y2) * RATE))
                g1, g2 = g * r1, g * r2
                slope1, slope2 = tl.sum(g1 * (1 - r1), 0), tl.sum(g2 * (1 - r2), 0)
            more = tl.join(slope1, slope2)
            if not OF_KEYS:
                more = tl.join(more, tl.join(tl.sum(g1, 0), tl.sum(g2, 0)))
            here = spot + f // 2 * (SUMS * Y)
            tl.store(here, tl.load(here) + tl.sum(more, 0))
    tl.debug_barrier()
    for start in range(0, K, AT_ONCE):
        feature = start + tl.arange(0, AT_ONCE)[None, :]
        inside = (row < y_length)[:, None] & (feature < K)
        here = sums + feature // 2 * (SUMS * Y) + feature % 2 + SUMS * tl.arange(0, Y)[:, None]
        slope = 4 * tl.load(w + feature, feature < K, 0.0).to(tl.float32) * tl.load(here, inside, 0.0)
        tl.store(grad_y + place[:, None] * K + feature, slope, inside)
        if not OF_KEYS:
            share = -2 * tl.sum(tl.load(here + 2, inside, 0.0), 0)
            feature = start + tl.arange(0, AT_ONCE)
            tl.store(grad_w + tl.program_id(0).to(tl.int64) * K + feature, share, feature < K)
    if OF_KEYS:
        tl.store(grad_values + place[:, None] * V + across, mix, mine)


class Attend(torch.autograd.Function):
    """The output, and gradients that compute the weights again rather than keep them."""

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, w_K: Tensor, mask: Tensor | None) -> Tensor:
        out, lse = attend(q, k, v, w_K, mask)
        ctx.save_for_backward(q, k, v, w_K, mask, out, lse)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, w_K, mask, out, lse = ctx.saved_tensors
        if not torch.is_grad_enabled():
            return *gradients(q, k, v, w_K, mask, out, lse, grad), None

        def plainly(q: Tensor, k: Tensor, v: Tensor, w_K: Tensor) -> Tensor:
            scores = torch.tanh(q.float()[..., :, None, :] + k.float()[..., None, :, :]) @ w_K.float()
            return masked_softmax(scores, mask) @ v.float()

        # somebody wants the gradient of this gradient, and needs it in plain operations
        with torch.autocast(grad.device.type, enabled=False):
            return *torch.func.vjp(plainly, q, k, v, w_K)[1](grad.float()), None


def attend(q: Tensor, k: Tensor, v: Tensor, w_K: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """softmax(w·tanh(q + k)) V for q (..., L, K), k (..., M, K), v (..., M, V); and log Σ exp score of each query."""
    (*batch, L, K), (M, V) = q.shape, v.shape[-2:]
    out, lse = v.new_empty(*batch, L, V), q.new_empty(*batch, L, dtype=torch.float32)
    (q, *of_q), (k, *of_k), (v, *of_v) = map(_strided, (q, k, v))
    mask, batches, rows, columns = _spread(mask, batch, L, M)
    if programs := len(q) * _blocks(L):
        sizes = _sizes(V)
        _attend[(programs,)](
            _scratch(q, programs, K, sizes, Y, 0),
            k, q, v, w_K, mask, out, lse, M, L, K, V,
            *of_k, *of_q, *of_v, *batches, columns, rows, **sizes,
        )  # fmt: skip
    return out, lse


def gradients(
    q: Tensor, k: Tensor, v: Tensor, w_K: Tensor, mask: Tensor | None, out: Tensor, lse: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients for q, k, v and w, from that of the output."""
    (*batch, L, K), (M, V) = q.shape, v.shape[-2:]
    grad_q, grad_k, grad_v = (x.new_empty(x.shape) for x in (q, k, v))
    (q, *of_q), (k, *of_k), (v, *of_v), (grad, *of_grad) = map(_strided, (q, k, v, grad))
    mask, batches, rows, columns = _spread(mask, batch, L, M)
    programs, sizes = len(q) * _blocks(L), _sizes(V)
    delta, grad_w = torch.empty_like(lse), lse.new_empty(programs, K)
    if programs:
        _gradients[(programs,)](
            _scratch(q, programs, K, sizes, 2 * Y, 2 * Y),
            k, q, v, grad, w_K, mask, out, lse, delta, grad_q, None, grad_w, M, L, K, V,
            *of_k, *of_q, *of_v, *of_grad, *batches, columns, rows, OF_KEYS=False, **sizes,
        )  # fmt: skip
    if programs := len(k) * _blocks(M):
        _gradients[(programs,)](
            _scratch(q, programs, K, sizes, 2 * Y, 2 * Y),
            q, k, grad, v, w_K, mask, None, lse, delta, grad_k, grad_v, None, L, M, K, V,
            *of_q, *of_k, *of_grad, *of_v, *batches, rows, columns, OF_KEYS=True, **sizes,
        )  # fmt: skip
    return grad_q, grad_k, grad_v, grad_w.sum(0).to(w_K.dtype)


def _strided(x: Tensor) -> tuple[Tensor | int, ...]:
    """x with one batch axis, and its three strides."""
    x = x if x.ndim == 3 else x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    return x, *x.stride()


def _spread(mask: Tensor | None, batch: list[int], L: int, M: int) -> tuple[Tensor | None, tuple[int, ...], int, int]:
    """The mask; how long the last batch axis is, with the strides of those before it and its own; those of L and M.

    What is broadcast has stride 0, and is not copied. (It may be where there are three batch axes or more.)
    """
    if mask is None:
        return None, (1, 0, 0), 0, 0
    sizes = torch.atleast_2d(mask).shape[-2:]
    mask = mask.expand(*batch, *sizes).reshape(math.prod(batch[:-1]), math.prod(batch[-1:]), *sizes)
    outer, inner, rows, columns = mask.expand(-1, -1, L, M).stride()
    return mask, (mask.shape[1], outer, inner), rows, columns


def _blocks(length: int) -> int:
    """Programs for so many y."""
    return -(-length // Y)


def _sizes(V: int) -> dict[str, int]:
    """Those of the tiles. Of wide values fewer fit the memory of a small GPU at once."""
    warps = WARPS if V <= WIDEST // 2 else WARPS // 2
    return {"X": X, "WARPS": warps, "Y": Y, "WIDTH": max(16, 1 << (V - 1).bit_length()), "num_warps": warps}


def _scratch(x: Tensor, programs: int, K: int, sizes: dict[str, int], rows: int, more: int) -> Tensor:
    """Room for a tile's x and for `rows`, as exp 2x and as they are, and for `more` numbers with each x."""
    xs = sizes["X"] * sizes["WARPS"]
    return x.new_empty(programs * (2 * (K + K % 2) * (xs + rows) + xs * more), dtype=torch.float32)
