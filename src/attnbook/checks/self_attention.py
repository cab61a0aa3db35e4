"""Chapter 7: self-attention without weights, a test of equivariance, and what three layers cost."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained
from attnbook.layers.dot_product import attention
from attnbook.layers.masks import causal
from attnbook.learning.complexity import Convolution, Recurrence, SelfAttention


@exercise
def three_steps(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(x_LD)` is self-attention without matrices and without a scale: dot, softmax, blend."""
    answers = {case: call(answer, *inputs) for case, inputs in _TOKENS.items()}
    for case, got in answers.items():
        want = _three_steps(*_TOKENS[case])
        compare(case, got, want, ("token", "feature"), lambda: explained(answers, WRONG_STEPS, _TOKENS))


@exercise
def equivariant(answer: Callable[[Callable[[Tensor], Tensor], Tensor], bool]) -> None:
    """`answer(f, x_LD)` tells whether f gives permuted tokens their outputs, permuted in the same way."""
    answers, orders = {}, set()

    def watched(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        orders.add((f, *x.flatten().tolist()))
        return f(x)

    for case, (f, x) in _FUNCTIONS.items():
        got = call(answer, partial(watched, f), x)
        if not isinstance(got, bool) and not (isinstance(got, Tensor) and got.numel() == 1):
            raise Wrong(f"{case}: return True or False, got {describe(got)}")
        answers[case] = bool(got)
    for case, got in answers.items():
        want = case in _EQUIVARIANT
        if got != want:
            why = explained(answers, WRONG_TESTS, _FUNCTIONS)
            raise Wrong(f"{case}: expected {want}, got {got}{why and f' ({why})'}")
    if Counter(f for f, *_ in orders).most_common(1)[0][1] < 3:
        raise Wrong("one order can be unlucky: a function may be built to survive just that one. Try several")


@exercise
def operations(answer: Callable[[int, int, int], tuple[int, int, int]]) -> None:
    """`answer(n, d, k)` are the operations of a convolution of kernel k, a recurrence and a self-attention layer."""
    names = "convolution", "recurrence", "self-attention"
    answers = {}
    for case, inputs in _SIZES.items():
        got = call(answer, *inputs)
        if not isinstance(got, (tuple, list)) or not all(isinstance(x, (int, float)) for x in got):
            raise Wrong(f"{case}: return three numbers, {', '.join(names)}; got {describe(got)}")
        if len(got) != len(names):
            raise Wrong(f"{case}: return three numbers, {', '.join(names)}; got {len(got)}")
        answers[case] = tuple(got)
    for case, got in answers.items():
        for name, x, want in zip(names, got, _operations(*_SIZES[case]), strict=True):
            if x != want:
                why = explained(answers, WRONG_OPERATIONS, _SIZES)
                raise Wrong(f"{case}, {name}: expected {want:,} operations, got {x:,}{why and f' ({why})'}")


def _three_steps(x: Tensor) -> Tensor:
    return (x @ x.T).softmax(-1) @ x


def _without_itself(x: Tensor) -> Tensor:
    return (x @ x.T).fill_diagonal_(-torch.inf).softmax(-1) @ x


# What goes wrong with the three steps, each as a function with the signature of the exercise.
WRONG_STEPS: dict[str, Callable[[Tensor], Tensor]] = {
    "divides the scores by √D, which this exercise leaves out": lambda x: attention(x, x, x)[0],
    "takes the softmax along the wrong axis: each token's own weights must add up to 1": lambda x: (
        (x @ x.T).softmax(0) @ x
    ),
    "leaves the token itself out": _without_itself,
    "has no softmax": lambda x: x @ x.T @ x,
    "divides by the sum of the scores, where softmax takes their powers": lambda x: (
        x @ x.T / (x @ x.T).sum(-1, keepdim=True) @ x
    ),
    "compares by cosine, and not by dot product": lambda x: (F.normalize(x) @ F.normalize(x).T).softmax(-1) @ x,
}


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, atol=1e-5)


def _test(
    *orders: tuple[int, ...], expect: Callable = lambda y, order: y[order], same: Callable = _close
) -> Callable[..., bool]:
    orders = torch.tensor(orders or [(2, 0, 3, 1, 5, 4), (1, 2, 3, 4, 5, 0), (0, 5, 1, 4, 2, 3)])
    return lambda f, x: all(bool(same(f(x[order]), expect(f(x), order))) for order in orders)


# What goes wrong with a test of equivariance, likewise.
WRONG_TESTS: dict[str, Callable[[Callable[[Tensor], Tensor], Tensor], bool]] = {
    "tests for invariance: the output, too, must be permuted": _test(expect=lambda y, order: y),
    "misses a function that pairs mirror images: try more orders than back to front": _test((5, 4, 3, 2, 1, 0)),
    "misses a function that looks at the next token in a ring: try more than moving all along": _test(
        (5, 0, 1, 2, 3, 4)
    ),
    "misses what happens to the first two alone: do all tokens move?": _test((1, 0, 2, 3, 4, 5)),
    "compares the first token only": _test(same=lambda a, b: _close(a[0], b[0])),
    "takes differences without their size: -1 is less than 0.0001, too": _test(same=lambda a, b: (a - b).max() < 1e-4),
    "allows too large a difference": _test(same=lambda a, b: torch.allclose(a, b, atol=0.1)),
    "permutes the output by the order's inverse": _test(expect=lambda y, order: y[order.argsort()]),
    "always says True: does it permute anything, and compare numbers?": lambda f, x: True,
    "always says False": lambda f, x: False,
}


def _two_first(x: Tensor) -> Tensor:
    """The first two tokens get their sum, all others stay as they are."""
    return torch.cat([x[:2].sum(0, keepdim=True).expand(2, -1), x[2:]])


_MATRIX = torch.tensor([[0.3, -1.2, 0.8], [1.1, 0.4, -0.6], [-0.9, 0.7, 1.3]])
_EQUIVARIANT: dict[str, Callable[[Tensor], Tensor]] = {
    "self-attention": _three_steps,
    "self-attention with matrices": lambda x: attention(x @ _MATRIX, x @ _MATRIX.T, x)[0],
    "a linear layer on each token": lambda x: x @ _MATRIX,
    "the mean for every token": lambda x: x.mean(0, keepdim=True).expand_as(x),
}
_NOT_EQUIVARIANT: dict[str, Callable[[Tensor], Tensor]] = {
    "self-attention that sees no later token": lambda x: attention(x, x, x, causal(len(x)))[0],
    "positions added": lambda x: x + torch.arange(float(len(x)))[:, None],
    "sums of all tokens so far": lambda x: x.cumsum(0),
    "each token plus the next one, in a ring": lambda x: x + x.roll(-1, 0),
    "each token plus its mirror image": lambda x: x + x.flip(0),
    "the first two added up": _two_first,
    "tokens sorted": lambda x: x.sort(0).values,
    "positions added, very small": lambda x: x + 0.01 * torch.arange(float(len(x)))[:, None],
    "nothing but the last token changed": lambda x: torch.cat([x[:-1], 2 * x[-1:]]),
}


def _functions() -> dict[str, tuple[Callable[[Tensor], Tensor], Tensor]]:
    """Each function with the tokens that it is tested on."""
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(7))
    falling = x.sort(0, descending=True).values  # here the smallest so far is the token itself, in this order only
    functions = {case: (f, x) for case, f in (_EQUIVARIANT | _NOT_EQUIVARIANT).items()}
    return functions | {"the smallest number so far": (lambda x: x.cummin(0).values, falling)}


def _operations(n: int, d: int, k: int) -> tuple[int, int, int]:
    return tuple(kind.cost(n, d).operations for kind in (Convolution(k), Recurrence(), SelfAttention()))


def _cost(convolution=2, recurrence=4, projections=8, pairs=4) -> Callable[[int, int, int], tuple[int, int, int]]:
    return lambda n, d, k: (
        convolution * k * n * d**2,
        recurrence * n * d**2,
        projections * n * d**2 + pairs * n**2 * d,
    )


# What goes wrong with counting, likewise.
WRONG_OPERATIONS: dict[str, Callable[[int, int, int], tuple[int, int, int]]] = {
    "counts a product and its addition as one: that is half of everything": _cost(1, 2, 4, 2),
    "forgets the projections of self-attention": _cost(projections=0),
    "forgets W_O: there are four projections": _cost(projections=6),
    "forgets that blending costs as much as scoring": _cost(pairs=2),
    "forgets one of the two matrices of a recurrence: one for the token, one for the state": _cost(recurrence=2),
    "forgets the kernel's k": lambda n, d, k: (2 * n * d**2, *_operations(n, d, k)[1:]),
    "takes n d² for the scores where it is n² d": lambda n, d, k: (*_operations(n, d, k)[:2], 12 * n * d**2),
}
_SIZES = {"n=10, d=4, k=3": (10, 4, 3), "n=7, d=16, k=5": (7, 16, 5), "n=1000, d=64, k=9": (1000, 64, 9)}
_TOKENS = {
    "three tokens": (torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),),
    "L=5, D=4": (torch.randn(5, 4, generator=torch.Generator().manual_seed(5)),),
    "one token": (torch.tensor([[3.0, -1.0, 2.0]]),),
}
_FUNCTIONS = _functions()
