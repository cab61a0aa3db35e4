# What the source of a check, as the book sends it, is given beside Python; and numbers that may be tensors.
# MicroPython's own float() and math would turn 2.0 * x into a number (see torch): here they take tensors of one number.
import math as _math
from collections import OrderedDict

import torch

causes = []  # of the errors that were raised because of another


def page_because(error, cause):
    causes.append(cause)
    return error


def page_ordered(*parts):
    """A dict that keeps its order, of pairs and of other dicts."""
    whole = OrderedDict()
    for part in parts:
        for key, value in part.items() if isinstance(part, dict) else part:
            whole[key] = value
    return whole


class _Cut:
    def __getitem__(self, bounds):
        return bounds


page_cut = _Cut()


def bounds(*given):
    """slice, which MicroPython can't call."""
    first, stop, step = (None, given[0], None) if len(given) == 1 else (tuple(given) + (None,))[:3]
    return page_cut[first:stop] if step is None else page_cut[first:stop:step]


def page_stepped(x, bounds):
    if isinstance(x, bytes):
        return bytes(list(x)[bounds])
    if isinstance(x, tuple):
        return tuple(list(x)[bounds])
    return "".join(list(x)[bounds]) if isinstance(x, str) else x[bounds]


INTO = {
    "*": (lambda x, y: x * y, "mul_"),
    "/": (lambda x, y: x / y, "div_"),
    "//": (lambda x, y: x // y, "floor_divide_"),
    "%": (lambda x, y: x % y, "remainder_"),
    "**": (lambda x, y: x**y, "pow_"),
    "&": (lambda x, y: x & y, "bitwise_and_"),
    "|": (lambda x, y: x | y, "bitwise_or_"),
    "^": (lambda x, y: x ^ y, "bitwise_xor_"),
}


def into(sign, x, y):
    """What `x *= y` gives, as ask.js writes it: MicroPython would make a new tensor."""
    apart, within = INTO[sign]
    return getattr(x, within)(y) if isinstance(x, torch.Tensor) else apart(x, y)


def text(x, form):
    """What `{x:form}` gives in an f-string, as ask.js writes it: MicroPython would format no tensor."""
    if isinstance(x, torch.Tensor) and (form or not x.ndim):
        x = x.item()
    return ("{:" + form + "}").format(x)


class NotImplementedError(NotImplementedError):
    """What `raise NotImplementedError` raises in a reader's code; MicroPython raises its own where it can't go on."""


def number(x=0.0):
    if not isinstance(x, torch.Tensor):
        return float(x)
    if x.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return x.item() * 1.0


torch.FLOAT.append(number)


def is_one(x, kinds):
    """isinstance, where `float` is the function above."""
    if isinstance(kinds, tuple):
        return any([is_one(x, kind) for kind in kinds])
    return isinstance(x, float if kinds is number else type(page_cut[:]) if kinds is bounds else kinds)


# MicroPython's own take a comparison for false that is neither True nor False, such as a tensor's.
def _extreme(better, xs, key, default):
    xs = list(xs[0] if len(xs) == 1 else xs)
    if not xs:
        if not default:
            raise ValueError("arg is an empty sequence")
        return default[0]
    best = xs[0]
    for x in xs[1:]:
        if better(x if key is None else key(x), best if key is None else key(best)):
            best = x
    return best


def largest(*xs, key=None, **default):
    return _extreme(lambda a, b: a > b, xs, key, list(default.values()))


def smallest(*xs, key=None, **default):
    return _extreme(lambda a, b: a < b, xs, key, list(default.values()))


def together(*all, strict=False):
    """zip, which takes `strict`."""
    if strict:
        all = [list(xs) for xs in all]
        if len(set([len(xs) for xs in all])) > 1:
            raise ValueError("zip() arguments have different lengths")
    return zip(*all)


def in_order(xs, key=None, reverse=False):
    def value(x):
        x = x if key is None else key(x)
        return number(x) if isinstance(x, torch.Tensor) else x

    return sorted(xs, key=value, reverse=reverse)


def _of(f):
    return lambda *xs: f(*[number(x) if isinstance(x, torch.Tensor) else x for x in xs])


def prod(xs, start=1):
    for x in xs:
        start = start * x
    return start


def isclose(a, b, rel_tol=1e-9, abs_tol=0.0):
    a, b = number(a), number(b)
    return a == b or abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


def exp(x):
    try:
        return _math.exp(number(x))
    except ValueError:
        raise OverflowError("math range error")


def __getattr__(name):
    found = getattr(_math, name)
    return _of(found) if callable(found) else found
