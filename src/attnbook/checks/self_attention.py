"""Chapter 7: self-attention without weights, a test of equivariance, and what three layers cost."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.judging import HERE, Wrong, call, compare, describe, exercise, explained
from attnbook.language import whole, words
from attnbook.layers.dot_product import attention
from attnbook.layers.masks import causal
from attnbook.learning.complexity import Convolution, Recurrence, SelfAttention


@exercise
def three_steps(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(x_LD)` is self-attention without matrices and without a scale: dot, softmax, blend."""
    answers = {case: call(answer, *inputs) for case, inputs in _TOKENS.items()}
    for case, got in answers.items():
        want = _three_steps(*_TOKENS[case])
        compare(case, got, want, ("token", "feature"), partial(explained, answers, WRONG_STEPS, _TOKENS, case))


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
            raise Wrong("true_or_false", case=case, got=describe(got))
        answers[case] = bool(got)
    for case, got in answers.items():
        want = case in _EQUIVARIANT
        if got != want:
            why = explained(answers, WRONG_TESTS, _FUNCTIONS)
            raise Wrong("expected", case=case, want=want, got=got, why=why)
    if Counter(f for f, *_ in orders).most_common(1)[0][1] < 3:
        raise Wrong("unlucky_order")


@exercise
def operations(answer: Callable[[int, int, int], tuple[int, int, int]]) -> None:
    """`answer(n, d, k)` are the operations of a convolution of kernel k, a recurrence and a self-attention layer."""
    layers = words(HERE)["layers"]
    three = ", ".join(layers.values())
    answers = {}
    for case, inputs in _SIZES.items():
        got = call(answer, *inputs)
        if not isinstance(got, (tuple, list)) or not all(isinstance(x, (int, float)) for x in got):
            raise Wrong("three_numbers", case=case, names=three, got=describe(got))
        if len(got) != len(layers):
            raise Wrong("three_numbers", case=case, names=three, got=len(got))
        answers[case] = tuple(got)
    for case, got in answers.items():
        for layer, x, want in zip(layers.values(), got, _operations(*_SIZES[case]), strict=True):
            if x != want:
                why = explained(answers, WRONG_OPERATIONS, _SIZES)
                raise Wrong("operations", case=case, layer=layer, want=whole(want), got=whole(x), why=why)


def _three_steps(x: Tensor) -> Tensor:
    return (x @ x.T).softmax(-1) @ x


def _without_itself(x: Tensor) -> Tensor:
    return (x @ x.T).fill_diagonal_(-torch.inf).softmax(-1) @ x


# What goes wrong with the three steps, each as a function with the signature of the exercise.
WRONG_STEPS: dict[str, Callable[[Tensor], Tensor]] = {
    "divides_the_scores_by_root_d": lambda x: attention(x, x, x)[0],
    "takes_the_softmax_along_the_wrong": lambda x: (x @ x.T).softmax(0) @ x,
    "leaves_the_token_itself_out": _without_itself,
    "has_no_softmax": lambda x: x @ x.T @ x,
    "divides_by_the_sum": lambda x: x @ x.T / (x @ x.T).sum(-1, keepdim=True) @ x,
    "compares_by_cosine": lambda x: (F.normalize(x) @ F.normalize(x).T).softmax(-1) @ x,
}


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, atol=1e-5)


def _test(
    *orders: tuple[int, ...], expect: Callable = lambda y, order: y[order], same: Callable = _close
) -> Callable[..., bool]:
    places = torch.tensor(orders or [(2, 0, 3, 1, 5, 4), (1, 2, 3, 4, 5, 0), (0, 5, 1, 4, 2, 3)])
    return lambda f, x: all(bool(same(f(x[order]), expect(f(x), order))) for order in places)


# What goes wrong with a test of equivariance, likewise.
WRONG_TESTS: dict[str, Callable[[Callable[[Tensor], Tensor], Tensor], bool]] = {
    "tests_for_invariance": _test(expect=lambda y, order: y),
    "misses_a_function_that_pairs_mirror": _test((5, 4, 3, 2, 1, 0)),
    "misses_a_function_that_looks_at": _test((5, 0, 1, 2, 3, 4)),
    "misses_what_happens_to_the_first": _test((1, 0, 2, 3, 4, 5)),
    "compares_the_first_token_only": _test(same=lambda a, b: _close(a[0], b[0])),
    "takes_differences_without_their_size": _test(same=lambda a, b: (a - b).max() < 1e-4),
    "allows_too_large_a_difference": _test(same=lambda a, b: torch.allclose(a, b, atol=0.1)),
    "permutes_the_output_by_the_orders": _test(expect=lambda y, order: y[order.argsort()]),
    "always_says_true": lambda f, x: True,
    "always_says_false": lambda f, x: False,
}


def _two_first(x: Tensor) -> Tensor:
    """The first two tokens get their sum, all others stay as they are."""
    return torch.cat([x[:2].sum(0, keepdim=True).expand(2, -1), x[2:]])


_SIX = torch.randn(6, 3, generator=torch.Generator().manual_seed(7))
_MATRIX = torch.tensor([[0.3, -1.2, 0.8], [1.1, 0.4, -0.6], [-0.9, 0.7, 1.3]])
_EQUIVARIANT: dict[str, Callable[[Tensor], Tensor]] = {
    "self_attention": _three_steps,
    "self_attention_with_matrices": lambda x: attention(x @ _MATRIX, x @ _MATRIX.T, x)[0],
    "a_linear_layer_on_each_token": lambda x: x @ _MATRIX,
    "the_mean_for_every_token": lambda x: x.mean(0, keepdim=True).expand_as(x),
}
_NOT_EQUIVARIANT: dict[str, Callable[[Tensor], Tensor]] = {
    "self_attention_that_sees_no_later": lambda x: attention(x, x, x, causal(len(x)))[0],
    "positions_added": lambda x: x + torch.arange(float(len(x)))[:, None],
    "sums_of_all_tokens_so_far": lambda x: x.cumsum(0),
    "each_token_plus_the_next": lambda x: x + x.roll(-1, 0),
    "each_token_plus_its_mirror_image": lambda x: x + x.flip(0),
    "the_first_two_added_up": _two_first,
    "tokens_sorted": lambda x: x.sort(0).values,
    "small_positions_added": lambda x: x + 0.01 * torch.arange(float(len(x)))[:, None],
    "nothing_but_the_last_token_changed": lambda x: torch.cat([x[:-1], 2 * x[-1:]]),
}


def _functions() -> dict[str, tuple[Callable[[Tensor], Tensor], Tensor]]:
    """Each function with the tokens that it is tested on."""
    x = _SIX
    falling = x.sort(0, descending=True).values  # here the smallest so far is the token itself, in this order only
    functions = {case: (f, x) for case, f in (_EQUIVARIANT | _NOT_EQUIVARIANT).items()}
    return functions | {"the_smallest_number_so_far": (lambda x: x.cummin(0).values, falling)}


def _operations(n: int, d: int, k: int) -> tuple[int, ...]:
    return tuple(kind.cost(n, d).operations for kind in (Convolution(k), Recurrence(), SelfAttention()))


def _cost(convolution=2, recurrence=4, projections=8, pairs=4) -> Callable[[int, int, int], tuple[int, int, int]]:
    return lambda n, d, k: (
        convolution * k * n * d**2,
        recurrence * n * d**2,
        projections * n * d**2 + pairs * n**2 * d,
    )


# What goes wrong with counting, likewise.
WRONG_OPERATIONS: dict[str, Callable[[int, int, int], tuple[int, ...]]] = {
    "counts_a_product_and_its_addition": _cost(1, 2, 4, 2),
    "forgets_the_projections_of_self_attention": _cost(projections=0),
    "forgets_w_o": _cost(projections=6),
    "forgets_that_blending_costs_as_much": _cost(pairs=2),
    "forgets_one_of_the_two_matrices": _cost(recurrence=2),
    "forgets_the_kernels_k": lambda n, d, k: (2 * n * d**2, *_operations(n, d, k)[1:]),
    "takes_n_d2_for_the_scores": lambda n, d, k: (*_operations(n, d, k)[:2], 12 * n * d**2),
}
_SIZES = {"n=10, d=4, k=3": (10, 4, 3), "n=7, d=16, k=5": (7, 16, 5), "n=1000, d=64, k=9": (1000, 64, 9)}
_TOKENS = {
    "three_tokens": (torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),),
    "L=5, D=4": (torch.randn(5, 4, generator=torch.Generator().manual_seed(5)),),
    "one_token": (torch.tensor([[3.0, -1.0, 2.0]]),),
}
_FUNCTIONS = _functions()
