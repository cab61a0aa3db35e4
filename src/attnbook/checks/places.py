"""Chapter 8: sinusoidal positions, and pairs turned by an angle."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import call, compare, exercise, explained
from attnbook.positions import Rotary
from attnbook.positions import sinusoidal as right_sinusoidal


@exercise
def sinusoidal(answer: Callable[[int, int], Tensor]) -> None:
    """`answer(length, D)` has shape (length, D): sin(i / 10000^(2j/D)) in column 2j, cos of the same in 2j + 1."""
    answers = {case: call(answer, *sizes) for case, sizes in _SIZES.items()}
    for case, got in answers.items():
        want = right_sinusoidal(*_SIZES[case])
        compare(case, got, want, ("position", "column"), lambda: explained(answers, WRONG_SINUSOIDAL, _SIZES))


@exercise
def rotary(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(x_LK)` turns columns 2j and 2j + 1 of row i by the angle i / 10000^(2j/K), towards the second."""
    answers = {case: call(answer, *inputs) for case, inputs in _ROWS.items()}
    for case, got in answers.items():
        (x_LK,) = _ROWS[case]
        want = Rotary(x_LK.shape[-1], pairing="neighbours")(x_LK)
        compare(case, got, want, ("position", "column"), lambda: explained(answers, WRONG_ROTARY, _ROWS))


def _sinusoidal(
    exponent: Callable = lambda j, D: 2 * j / D, first: int = 0, join: Callable = lambda s, c: torch.stack([s, c], -1)
) -> Callable[[int, int], Tensor]:
    def table(length: int, D: int) -> Tensor:
        places = torch.arange(first, first + length, dtype=torch.float64)[:, None]
        angles = places / 10000 ** exponent(torch.arange(D // 2, dtype=torch.float64), D)
        return join(angles.sin(), angles.cos()).flatten(-2).float()

    return table


# What goes wrong with sinusoidal positions, each as a function with the signature of the exercise.
WRONG_SINUSOIDAL: dict[str, Callable[[int, int], Tensor]] = {
    "has j/D in the exponent, and not 2j/D": _sinusoidal(lambda j, D: j / D),
    "has 2(j + 1)/D in the exponent: the first hand is the fastest, and its exponent is 0": _sinusoidal(
        lambda j, D: 2 * (j + 1) / D
    ),
    "counts positions from 1": _sinusoidal(first=1),
    "has cos in the even columns and sin in the odd ones": _sinusoidal(join=lambda s, c: torch.stack([c, s], -1)),
    "has all sines first and then all cosines": _sinusoidal(join=lambda s, c: torch.stack([s, c], -2)),
    "has speeds that rise: the exponent's sign": _sinusoidal(lambda j, D: -2 * j / D),
    "has one speed for all columns": _sinusoidal(lambda j, D: 0 * j),
}


def _rotary(sign: int = 1, first: int = 0, pairing: str = "neighbours", base: float = 10000.0) -> Callable:
    def turned(x_LK: Tensor) -> Tensor:
        if sign > 0:
            return Rotary(x_LK.shape[-1], pairing=pairing, base=base)(x_LK, start=first)
        mirror = torch.tensor([1.0, -1.0]).repeat(x_LK.shape[-1] // 2)
        return _rotary()(x_LK * mirror) * mirror

    return turned


# What goes wrong with turning, likewise.
WRONG_ROTARY: dict[str, Callable[[Tensor], Tensor]] = {
    "turns the other way": _rotary(sign=-1),
    "pairs column j with j + K/2: weights made for one pairing are wrong with the other": _rotary(pairing="halves"),
    "turns every pair by the same angle": _rotary(base=1.0),
    "counts positions from 1": _rotary(first=1),
    "adds a sinusoidal vector, and turns nothing": lambda x_LK: x_LK + right_sinusoidal(*x_LK.shape),
    "turns nothing": lambda x_LK: x_LK,
}
_SIZES = {"3 positions, D=4": (3, 4), "50 positions, D=6": (50, 6), "2 positions, D=2": (2, 2)}
_DRAW = torch.Generator().manual_seed(8)
_ROWS = {
    "3 positions, K=4": (torch.tensor([[1.0, 0, 1, 0]]).repeat(3, 1),),
    "20 positions, K=6": (torch.randn(20, 6, generator=_DRAW),),
    "5 positions, K=2": (torch.randn(5, 2, generator=_DRAW),),
}
