"""Chapter 8: sinusoidal positions, and pairs turned by an angle."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.checks.judging import call, compare, exercise, explained
from attnbook.layers.positions import Rotary
from attnbook.layers.positions import sinusoidal as right_sinusoidal


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


def _sinusoidal(exponent: Callable = lambda c, D: (c - c % 2) / D, first: int = 0, wave: Callable = lambda c: c % 2):
    """By the number of the column, c: what its exponent is, and whether it is a cosine."""

    def table(length: int, D: int) -> Tensor:
        columns = torch.arange(D)
        angles = torch.arange(first, first + length)[:, None] / 10000.0 ** exponent(columns, D)
        return torch.where(wave(columns) == 1, angles.cos(), angles.sin())

    return table


# What goes wrong with sinusoidal positions, each as a function with the signature of the exercise.
WRONG_SINUSOIDAL: dict[str, Callable[[int, int], Tensor]] = {
    "has the number of the column in the exponent: sine and cosine of a pair share one angle": _sinusoidal(
        lambda c, D: c / D
    ),
    "has j/D in the exponent, and not 2j/D": _sinusoidal(lambda c, D: c // 2 / D),
    "has 2(j + 1)/D in the exponent: the first hand is the fastest, and its exponent is 0": _sinusoidal(
        lambda c, D: (c - c % 2 + 2) / D
    ),
    "has the slow hands first": _sinusoidal(lambda c, D: (D - 2 - c + c % 2) / D),
    "has speeds that rise: the exponent's sign": _sinusoidal(lambda c, D: (c % 2 - c) / D),
    "has one speed for all columns": _sinusoidal(lambda c, D: 0 * c),
    "counts positions from 1": _sinusoidal(first=1),
    "has cos in the even columns and sin in the odd ones": _sinusoidal(wave=lambda c: 1 - c % 2),
    "has sines in all columns": _sinusoidal(wave=lambda c: 0 * c),
    "has all sines first and then all cosines": lambda length, D: _sinusoidal()(length, D)[
        :, [*range(0, D, 2), *range(1, D, 2)]
    ],
}


def _swapped(x_LK: Tensor) -> Tensor:
    """The two of each pair in the other order."""
    return x_LK.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)


def _rotary(pairing: str = "neighbours", first: int = 0, base: Callable = lambda K: 10000.0) -> Callable:
    return lambda x_LK: Rotary(x_LK.shape[-1], pairing=pairing, base=base(x_LK.shape[-1]))(x_LK, start=first)


def _overwritten(x_LK: Tensor) -> Tensor:
    sin, cos = (right_sinusoidal(*x_LK.shape)[:, n::2] for n in (0, 1))
    x = x_LK.clone()
    x[:, 0::2] = x[:, 0::2] * cos - x[:, 1::2] * sin
    x[:, 1::2] = x[:, 0::2] * sin + x[:, 1::2] * cos
    return x


# What goes wrong with turning, likewise.
WRONG_ROTARY: dict[str, Callable[[Tensor], Tensor]] = {
    "overwrites the first of a pair before the second is computed from it": _overwritten,
    "turns the other way": lambda x_LK: _swapped(_rotary()(_swapped(x_LK))),
    "pairs column j with j + K/2: weights made for one pairing are wrong with the other": _rotary("halves"),
    "puts all first ones before all second ones: stack them, and flatten": lambda x_LK: _rotary()(x_LK)[
        :, [*range(0, x_LK.shape[1], 2), *range(1, x_LK.shape[1], 2)]
    ],
    "has j/K in the exponent, and not 2j/K": _rotary(base=lambda K: 100.0),
    "turns every pair by the same angle": _rotary(base=lambda K: 1.0),
    "counts positions from 1": _rotary(first=1),
    "adds a sinusoidal vector, and turns nothing": lambda x_LK: x_LK + right_sinusoidal(*x_LK.shape),
    "turns nothing": lambda x_LK: x_LK,
}
_SIZES = {"3 positions, D=4": (3, 4), "5 positions, D=8": (5, 8), "60 positions, D=6": (60, 6)}
_DRAW = torch.Generator().manual_seed(8)
_ROWS = {
    "3 positions, K=4": (torch.tensor([[1.0, 0, 1, 0]]).repeat(3, 1),),
    "20 positions, K=6": (torch.randn(20, 6, generator=_DRAW),),
    "5 positions, K=8": (torch.randn(5, 8, generator=_DRAW),),
}
