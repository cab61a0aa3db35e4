"""Chapter 4: additive scores, and the same without a number for every pair and hidden unit."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attnbook.additive import additive_scores as book_scores
from attnbook.checks.judging import Wrong, call, compare, exercise, explained


@exercise
def additive_scores(answer: Callable[..., Tensor]) -> None:
    """`answer(queries, keys, W_q, W_k, w)` is w·tanh(W_q q + W_k k) for every query and key, of shape (L, M)."""
    answers = {case: call(answer, *inputs) for case, inputs in _CASES.items()}
    for case, got in answers.items():
        queries, keys, W_q, W_k, w = _CASES[case]
        want = book_scores(queries @ W_q.T, keys @ W_k.T, w)
        compare(case, got, want, ("query", "key"), lambda: explained(answers, WRONG_ADDITIVE, _CASES))


@exercise
def factorised_scores(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """`answer(q_LK, k_MK, w_K)` is w·tanh(q + k), and holds no tensor as large as L × M × K on the way."""
    held, answers = {}, {}
    for case, inputs in _FACTORS.items():
        with _Largest() as held[case]:
            answers[case] = call(answer, *inputs)
    for case, got in answers.items():
        compare(
            case,
            got,
            book_scores(*_FACTORS[case]),
            ("query", "key"),
            lambda: explained(answers, WRONG_FACTORISED, _FACTORS),
        )
    for case, (q_LK, k_MK, _) in _FACTORS.items():
        (L, K), M = q_LK.shape, len(k_MK)
        if held[case].numbers >= L * M * K:
            raise Wrong(
                f"{case}: the scores are right, but one of your tensors has {held[case].numbers} numbers, and "
                f"L × M × K is {L * M * K}; try one hidden unit after the other"
            )


class _Largest(TorchFunctionMode):
    """How many numbers the largest tensor has that any function of PyTorch returns."""

    numbers = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **kwargs or {})
        if isinstance(result, Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result


def _additive_from(score: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def wrong(queries, keys, W_q, W_k, w):
        return score((queries @ W_q.T)[:, None], keys @ W_k.T, w)

    return wrong


# What real code has got wrong, each as a function with the signature of the exercise.
WRONG_ADDITIVE: dict[str, Callable[..., Tensor]] = {
    "leaves the tanh out": _additive_from(lambda q, k, w: (q + k) @ w),
    "takes the tanh of query and key before it adds them": _additive_from(lambda q, k, w: (q.tanh() + k.tanh()) @ w),
    "takes the tanh after the sum over hidden units": _additive_from(lambda q, k, w: ((q + k) @ w).tanh()),
    "leaves w out": _additive_from(lambda q, k, w: (q + k).tanh().sum(-1)),
    "multiplies query and key, and does not add them": _additive_from(lambda q, k, w: (q * k).tanh() @ w),
    "subtracts the key": _additive_from(lambda q, k, w: (q - k).tanh() @ w),
    "takes a softmax, which comes later": _additive_from(lambda q, k, w: ((q + k).tanh() @ w).softmax(-1)),
}


def _factorised_from(score: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda q_LK, k_MK, w_K: score(q_LK[:, None], k_MK[None], w_K)


WRONG_FACTORISED: dict[str, Callable[..., Tensor]] = {
    "leaves the sum of w out": _factorised_from(lambda q, k, w: -2 * (1 / (1 + (2 * q).exp() * (2 * k).exp())) @ w),
    "adds a 1 for every hidden unit, and not its w": _factorised_from(
        lambda q, k, w: w.numel() - 2 * (1 / (1 + (2 * q).exp() * (2 * k).exp())) @ w
    ),
    "adds the two powers of e, and does not multiply them": _factorised_from(
        lambda q, k, w: w.sum() - 2 * (1 / (1 + (2 * q).exp() + (2 * k).exp())) @ w
    ),
    "forgets the 2 in the powers of e": _factorised_from(lambda q, k, w: w.sum() - 2 * (1 / (1 + (q + k).exp())) @ w),
    "forgets the 2 in front of the fraction": _factorised_from(
        lambda q, k, w: w.sum() - (1 / (1 + (2 * q + 2 * k).exp())) @ w
    ),
}


def _cases() -> tuple[dict[str, tuple], dict[str, tuple]]:
    draw = torch.Generator().manual_seed(4)
    random = lambda *shape: torch.randn(*shape, generator=draw)  # noqa: E731
    scores = {
        "one query, two keys, one hidden unit": tuple(
            torch.tensor(x) for x in ([[1.0, 2.0]], [[0.0], [3.0]], [[1.0, -1.0]], [[1.0]], [0.5])
        ),
        "L=3, M=5": (random(3, 4), random(5, 2), random(6, 4), random(6, 2), random(6)),
    }
    factors = {
        "two queries, three keys": (random(2, 2), random(3, 2), random(2)),
        "L=6, M=7, K=5": (random(6, 5), random(7, 5), random(5)),
    }
    return scores, factors


_CASES, _FACTORS = _cases()
