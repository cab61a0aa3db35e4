"""Chapter 8: sinusoidal positions, and pairs turned by an angle."""

from collections.abc import Callable
from functools import partial

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
        compare(case, got, want, ("position", "column"), partial(explained, answers, WRONG_SINUSOIDAL, _SIZES, case))


@exercise
def rotary(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(x_LK)` turns columns 2j and 2j + 1 of row i by the angle i / 10000^(2j/K), towards the second."""
    answers = {case: call(answer, *inputs) for case, inputs in _ROWS.items()}
    for case, got in answers.items():
        (x_LK,) = _ROWS[case]
        want = Rotary(x_LK.shape[-1], pairing="neighbours")(x_LK)
        compare(case, got, want, ("position", "column"), partial(explained, answers, WRONG_ROTARY, _ROWS, case))


def _sinusoidal(exponent: Callable = lambda c, D: (c - c % 2) / D, first: int = 0, wave: Callable = lambda c: c % 2):
    """By the number of the column, c: what its exponent is, and whether it is a cosine."""

    def table(length: int, D: int) -> Tensor:
        columns = torch.arange(D)
        angles = torch.arange(first, first + length)[:, None] / 10000.0 ** exponent(columns, D)
        return torch.where(wave(columns) == 1, angles.cos(), angles.sin())

    return table


# What goes wrong with sinusoidal positions, each as a function with the signature of the exercise.
WRONG_SINUSOIDAL: dict[str, Callable[[int, int], Tensor]] = {
    "has_the_number_of_the_column": _sinusoidal(lambda c, D: c / D),
    "has_j_d_in_the_exponent": _sinusoidal(lambda c, D: c // 2 / D),
    "has_2_j_plus_1_in_the_exponent": _sinusoidal(lambda c, D: (c - c % 2 + 2) / D),
    "has_the_slow_hands_first": _sinusoidal(lambda c, D: (D - 2 - c + c % 2) / D),
    "has_speeds_that_rise": _sinusoidal(lambda c, D: (c % 2 - c) / D),
    "has_one_speed_for_all_columns": _sinusoidal(lambda c, D: 0 * c),
    "counts_positions_from_1": _sinusoidal(first=1),
    "has_cos_in_the_even_columns": _sinusoidal(wave=lambda c: 1 - c % 2),
    "has_sines_in_all_columns": _sinusoidal(wave=lambda c: 0 * c),
    "has_all_sines_first_and_then": lambda length, D: _sinusoidal()(length, D)[:, [*range(0, D, 2), *range(1, D, 2)]],
}


def _swapped(x_LK: Tensor) -> Tensor:
    """Exchanges the two neighbouring features of each pair."""
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
    "overwrites_the_first_of_a_pair": _overwritten,
    "turns_the_other_way": lambda x_LK: _swapped(_rotary()(_swapped(x_LK))),
    "pairs_column_j_with_j_k": _rotary("halves"),
    "puts_all_first_ones_before_all": lambda x_LK: _rotary()(x_LK)[
        :, [*range(0, x_LK.shape[1], 2), *range(1, x_LK.shape[1], 2)]
    ],
    "has_j_k_in_the_exponent": _rotary(base=lambda K: 100.0),
    "turns_every_pair_by_the_same": _rotary(base=lambda K: 1.0),
    "counts_positions_from_1": _rotary(first=1),
    "adds_a_sinusoidal_vector": lambda x_LK: x_LK + right_sinusoidal(*x_LK.shape),
    "turns_nothing": lambda x_LK: x_LK,
}
_SIZES = {"3_positions_of_4": (3, 4), "5_positions_of_8": (5, 8), "60_positions_of_6": (60, 6)}
_DRAW = torch.Generator().manual_seed(8)
_ROWS = {
    "3_rows_of_4": (torch.tensor([[1.0, 0, 1, 0]]).repeat(3, 1),),
    "20_rows_of_6": (torch.randn(20, 6, generator=_DRAW),),
    "5_rows_of_8": (torch.randn(5, 8, generator=_DRAW),),
}
