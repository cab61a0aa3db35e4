"""Chapter 3: a soft dictionary, and regression in which no point sees itself."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained
from attnbook.language import number


@exercise
def soft_lookup(answer: Callable[[Tensor, Tensor, Tensor, float], Tensor]) -> None:
    """`answer(q_K, k_MK, v_MV, temperature)` is the mean of the values, near keys counted more, of shape (V,)."""
    answers = {case: call(answer, *inputs) for case, inputs in _LOOKUP_CASES.items()}
    for case, inputs in _LOOKUP_CASES.items():
        want = _lookup()(*inputs)
        compare(case, answers[case], want, ("value",), lambda: explained(answers, WRONG_LOOKUP, _LOOKUP_CASES))


@exercise
def left_out_error(answer: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """`answer(x_M, y_M, width)` is the mean squared error at the points, each predicted by the others."""
    answers = {case: call(answer, *inputs) for case, inputs in _ERROR_CASES.items()}
    for case, inputs in _ERROR_CASES.items():
        got, want = answers[case], _error()(*inputs)
        try:
            got = answers[case] = torch.tensor(float(got))
        except (TypeError, ValueError, RuntimeError) as error:
            raise Wrong("one_number", case=case, got=describe(got)) from error
        if not torch.isclose(got, want, rtol=1e-4, atol=1e-6):
            why = explained(answers, WRONG_ERROR, _ERROR_CASES)
            right, found = number(want.item(), 4), number(got.item(), 4)
            raise Wrong("expected", case=case, want=right, got=found, why=why)


def _lookup(score=lambda q, k: -(q - k).square().sum(-1), cool=lambda s, t: s / t):
    def look_up(q: Tensor, k: Tensor, v: Tensor, temperature: float) -> Tensor:
        return cool(score(q, k), temperature).softmax(-1) @ v

    return look_up


# What goes wrong with a soft lookup, each as a function with the signature of the exercise.
WRONG_LOOKUP: dict[str, Callable[..., Tensor]] = {
    "has_the_sign_of_the_distance_wrong": _lookup(lambda q, k: (q - k).square().sum(-1)),
    "does_not_square_the_distance": _lookup(lambda q, k: -(q - k).norm(dim=-1)),
    "takes_the_dot_product": _lookup(lambda q, k: k @ q),
    "ignores_the_temperature": _lookup(cool=lambda s, t: s),
    "multiplies_by_the_temperature": _lookup(cool=lambda s, t: s * t),
    "takes_half_the_squared_distance": _lookup(lambda q, k: -(q - k).square().sum(-1) / 2),
    "takes_the_nearest_alone": lambda q, k, v, t: v[(q - k).square().sum(-1).argmin()],
    "takes_the_mean_of_all": lambda q, k, v, t: v.mean(0),
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
    "lets_each_point_see_itself": _error(itself=True),
    "divides_by_the_width_where_it": _error(power=lambda d, w: d.square() / w),
    "divides_by_the_square": _error(power=lambda d, w: d.square() / w**2),
    "does_not_square_the_error": _error(loss=torch.abs),
    "takes_the_root_of_the_error": _error(total=lambda errors: errors.mean().sqrt()),
    "takes_half_the_error": _error(loss=lambda x: x.square() / 2),
    "adds_up_where_it_should_take": _error(total=torch.sum),
}


def _lookup_cases() -> dict[str, tuple[Tensor, Tensor, Tensor, float]]:
    draw = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(*shape, generator=draw) for shape in ((4,), (6, 4), (6, 2)))
    stations = torch.tensor([[2.0, 3.0], [5.0, 4.0], [9.0, 8.0]]), torch.tensor([[14.0], [19.0], [2.0]])
    return {
        "three_stations": (torch.tensor([4.0, 3.0]), *stations, 2.0),
        "at_a_station": (torch.tensor([5.0, 4.0]), *stations, 0.5),
        "M=6, K=4, V=2": (q, k, v, 1.0),
        "hot": (q, k, v, 20.0),
        "cold_and_far": (torch.tensor([7.0, 9.0]), *stations, 0.02),
    }


def _error_cases() -> dict[str, tuple[Tensor, Tensor, float]]:
    draw = torch.Generator().manual_seed(4)
    x, y = torch.rand(9, generator=draw) * 5, torch.randn(9, generator=draw)
    return {
        "three_points": (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0, 4.0]), 1.0),
        "nine_points": (x, y, 0.5),
        "nine_points_wide": (x, y, 3.0),
        "three_points_narrow": (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0, 4.0]), 0.05),
        "two_at_one_place": (torch.tensor([0.0, 1.0, 1.0]), torch.tensor([0.0, 2.0, 4.0]), 0.5),
    }


_LOOKUP_CASES, _ERROR_CASES = _lookup_cases(), _error_cases()
