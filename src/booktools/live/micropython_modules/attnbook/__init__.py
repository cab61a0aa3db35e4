# The functions of the book's package that exercises and their checks may call, without its guards and fast ways.
import torch

PAD, START, STOP = 0, 1, 2


def causal(L, M=None):
    M = L if M is None else M
    return torch.ones(L, M, dtype=torch.bool).tril(M - L)


def padding(lengths, M=None):
    M = int(lengths.max()) if M is None else M
    keep = torch.arange(M) < lengths[..., None]
    return keep[:, None] if lengths.ndim == 1 else keep


class ShapeError(ValueError):
    pass


def _boolean(mask):
    if mask.dtype is not torch.bool_:
        got = "got %r of %s" % (mask.dtype, tuple(mask.shape))
        hint = "For a mask of zeros and ones, try mask.bool(); for one of 0 and -inf, try mask == 0."
        raise ValueError("mask must be a boolean tensor with True = may attend, %s. %s" % (got, hint))


def _one_batch(q, name, x):
    batch = tuple(q.shape[:-2])
    if x.shape[:-2] != q.shape[:-2]:
        rule = "must have shape (batch..., M, width) = %s" % (batch + tuple(x.shape[-2:]),)
        hint = "The batch of q is %s; to share one set of %s, try .expand." % (batch, name)
        raise ShapeError("%s %s, got %s. %s" % (name, rule, tuple(x.shape), hint))


def masked_softmax(scores, mask=None):
    if mask is None:
        return scores.softmax(-1)
    _boolean(mask)
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


def attention(q, k, v, mask=None):
    _one_batch(q, "k", k)
    _one_batch(q, "v", v)
    weights = masked_softmax(q @ k.mT / q.shape[-1] ** 0.5, mask)
    return weights @ v, weights


def additive_scores(q, k, w):
    return torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ w


def _angles(start, stop, width, base):
    pairs = torch.arange(0, width, 2, dtype=torch.float64)
    return torch.arange(start, stop, dtype=torch.float64)[:, None] / base ** (pairs / width)


def sinusoidal(length, D, start=0, base=10000.0):
    turns = _angles(start, start + length, D, base)
    return torch.stack([turns.sin(), turns.cos()], -1).flatten(-2)[:, :D].float()


class Rotary:
    def __init__(self, K, pairing="halves", base=10000.0):
        self.K, self.pairing, self.base = K, pairing, base

    def __call__(self, x, start=0):
        turns = _angles(start, start + x.shape[-2], self.K, self.base)
        cos, sin = turns.cos().float(), turns.sin().float()
        split = (2, self.K // 2) if self.pairing == "halves" else (self.K // 2, 2)
        axis = -2 if self.pairing == "halves" else -1
        first, second = x.unflatten(-1, split).unbind(axis)
        turned = torch.stack([first * cos - second * sin, first * sin + second * cos], axis)
        return turned.flatten(-2).to(x.dtype)


class _Kind:
    def __init__(self, operations, steps):
        self._of, self._steps = operations, steps

    def cost(self, n, d):
        return _Cost(self._of(n, d), self._steps(n))


class _Cost:
    def __init__(self, operations, steps):
        self.operations, self.steps = operations, steps


def Convolution(kernel=3):
    return _Kind(lambda n, d: 2 * kernel * n * d**2, lambda n: 1)


def Recurrence():
    return _Kind(lambda n, d: 4 * n * d**2, lambda n: n)


def SelfAttention():
    return _Kind(lambda n, d: 8 * n * d**2 + 4 * n**2 * d, lambda n: 4)
