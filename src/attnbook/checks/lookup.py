"""Chapter 3: a soft dictionary, and regression in which no point sees itself."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained


@exercise
def soft_lookup(answer: Callable[[Tensor, Tensor, Tensor, float], Tensor]) -> None:
    """`answer(q_K, k_MK, v_MV, temperature)` is the mean of the values, near keys counted more, of shape (V,)."""
    answers = {case: call(answer, *inputs) for case, inputs in _LOOKUP_CASES.items()}
    for case, inputs in _LOOKUP_CASES.items():
        want = _lookup()(*inputs)
        compare(case, answers[case], want, ("v",), lambda: explained(answers, WRONG_LOOKUP, _LOOKUP_CASES))


@exercise
def left_out_error(answer: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """`answer(x_M, y_M, width)` is the mean squared error at the points, each predicted by the others."""
    answers = {case: call(answer, *inputs) for case, inputs in _ERROR_CASES.items()}
    for case, inputs in _ERROR_CASES.items():
        got, want = answers[case], _error()(*inputs)
        try:
            got = answers[case] = torch.tensor(float(got))
        except (TypeError, ValueError, RuntimeError) as error:
            raise Wrong(f"{case}: return one number, got {describe(got)}") from error
        if not torch.isclose(got, want, rtol=1e-4, atol=1e-6):
            why = explained(answers, WRONG_ERROR, _ERROR_CASES)
            raise Wrong(f"{case}: expected {want:.4f}, got {got.item():.4f}{why and f' ({why})'}")


def _lookup(score=lambda q, k: -(q - k).square().sum(-1), cool=lambda s, t: s / t):
    def look_up(q: Tensor, k: Tensor, v: Tensor, temperature: float) -> Tensor:
        return cool(score(q, k), temperature).softmax(-1) @ v

    return look_up


# What goes wrong with a soft lookup, each as a function with the signature of the exercise.
WRONG_LOOKUP: dict[str, Callable[..., Tensor]] = {
    "takes the farthest: the score is MINUS the squared distance": _lookup(lambda q, k: (q - k).square().sum(-1)),
    "does not square the distance": _lookup(lambda q, k: -(q - k).norm(dim=-1)),
    "takes the dot product": _lookup(lambda q, k: k @ q),
    "ignores the temperature": _lookup(cool=lambda s, t: s),
    "multiplies by the temperature": _lookup(cool=lambda s, t: s * t),
    "takes half the squared distance": _lookup(lambda q, k: -(q - k).square().sum(-1) / 2),
    "takes the nearest alone": lambda q, k, v, t: v[(q - k).square().sum(-1).argmin()],
    "takes the mean of all": lambda q, k, v, t: v.mean(0),
}


def _error(itself: bool = False, power=lambda d, w: d.square() / (2 * w**2), loss=torch.square, total=torch.mean):
    def error(x: Tensor, y: Tensor, width: float) -> Tensor:
        scores = -power(x[:, None] - x, width)
        if not itself:
            scores = scores.masked_fill(torch.eye(len(x), dtype=torch.bool), -torch.inf)
        return total(loss(scores.softmax(-1) @ y - y))

    return error


# What goes wrong with the error at the points, likewise.
WRONG_ERROR: dict[str, Callable[..., Tensor]] = {
    "lets each point see itself": _error(itself=True),
    "divides by the width where it should by twice its square": _error(power=lambda d, w: d.square() / w),
    "divides by the square of the width, not twice that": _error(power=lambda d, w: d.square() / w**2),
    "does not square the error": _error(loss=torch.abs),
    "takes the root of the error": _error(total=lambda errors: errors.mean().sqrt()),
    "takes half the error": _error(loss=lambda x: x.square() / 2),
    "adds up where it should take the mean": _error(total=torch.sum),
}


def _lookup_cases() -> dict[str, tuple[Tensor, Tensor, Tensor, float]]:
    draw = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(*shape, generator=draw) for shape in ((4,), (6, 4), (6, 2)))
    stations = torch.tensor([[2.0, 3.0], [5.0, 4.0], [9.0, 8.0]]), torch.tensor([[14.0], [19.0], [2.0]])
    return {
        "three stations": (torch.tensor([4.0, 3.0]), *stations, 2.0),
        "at a station": (torch.tensor([5.0, 4.0]), *stations, 0.5),
        "M=6, K=4, V=2": (q, k, v, 1.0),
        "hot": (q, k, v, 20.0),
        "cold, and far from all": (torch.tensor([7.0, 9.0]), *stations, 0.02),
    }


def _error_cases() -> dict[str, tuple[Tensor, Tensor, float]]:
    draw = torch.Generator().manual_seed(4)
    x, y = torch.rand(9, generator=draw) * 5, torch.randn(9, generator=draw)
    return {
        "three points": (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0, 4.0]), 1.0),
        "nine points": (x, y, 0.5),
        "nine points, wide": (x, y, 3.0),
        "three points, narrow": (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0, 4.0]), 0.05),
        "two at one place": (torch.tensor([0.0, 1.0, 1.0]), torch.tensor([0.0, 2.0, 4.0]), 0.5),
    }


_LOOKUP_CASES, _ERROR_CASES = _lookup_cases(), _error_cases()
