"""Formulas against counts of real modules, both against what is known otherwise."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.learning.complexity import Convolution, Cost, Kind, Recurrence, SelfAttention, count

KINDS = [
    Convolution(2),
    Convolution(3),
    Convolution(5),
    Convolution(2, dilated=True),
    Convolution(3, dilated=True),
    Recurrence(),
    Recurrence("gru"),
    Recurrence("lstm"),
    SelfAttention(),
    SelfAttention(heads=3),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=12)
@given(n=st.integers(1, 30), d=st.sampled_from([3, 6, 9, 12, 33]))
def test_what_the_formula_says_is_what_is_counted(kind, n, d):
    assert kind.cost(n, d) == count(kind, n, d)


def test_the_figures_by_hand():
    """n = 10, d = 4: every product and every number, one by one."""
    assert count(Convolution(3), 10, 4) == Cost(10 * 4 * (4 * 3) * 2, 12 * 4, 1, 5)
    # two dilated layers reach 8 back, three 26
    assert count(Convolution(3, dilated=True), 10, 4) == Cost(10 * 4 * (4 * 3) * 2, 12 * 4, 1, 3)
    assert count(Recurrence(), 10, 4) == Cost(10 * (16 + 16) * 2, 10 * 4 + 11 * 4, 10, 9)
    assert count(Recurrence("gru"), 10, 4) == Cost(10 * 3 * (16 + 16) * 2, 8 * 10 * 4, 10, 9)
    assert count(Recurrence("lstm"), 10, 4) == Cost(10 * 4 * (16 + 16) * 2, 8 * 10 * 4, 10, 9)
    four_projections, scores, blends = 4 * 10 * 16 * 2, 10 * 10 * 4 * 2, 10 * 10 * 4 * 2
    kept = 5 * 40 + 2 * 100  # inputs, queries, keys, values, blends; the weights of two heads
    assert count(SelfAttention(2), 10, 4) == Cost(four_projections + scores + blends, kept, 4, 1)


def test_time_on_a_machine():
    """With one operation at a time, all operations; with all at once, only the steps are left."""
    for kind in KINDS:
        operations, _, steps, _ = kind.cost(9, 6)
        assert kind.time(9, 6, at_once=1) == kind.layers(9) * operations
        assert kind.time(9, 6, at_once=operations) == kind.layers(9) * steps
    assert Convolution(3).time(9, 6, 1000) == 4 * 2  # 4 layers, each of 1,944 operations
    assert Recurrence().time(9, 6, 100) == 9 * 2  # 9 steps, each of 144
    assert SelfAttention().time(9, 6, 1000) == 2 + 1 + 1 + 1  # 1,944, 972, 972 and 648
    assert [kind.layers(9) for kind in (Convolution(3), Convolution(3, dilated=True), Recurrence())] == [4, 2, 1]


def test_how_they_grow():
    """The exponents that the table of complexities promises."""

    def exponent(kind, field, n=(2**12, 2**13), d=(64, 64)):
        before, after = (getattr(kind.cost(*size), field) for size in zip(n, d, strict=True))
        return math.log2(after / before)

    for kind in (Convolution(3), Recurrence()):
        assert exponent(kind, "operations") == 1
        assert exponent(kind, "operations", n=(64, 64), d=(64, 128)) == 2
    assert abs(exponent(SelfAttention(), "operations") - 2) < 0.05
    assert abs(exponent(SelfAttention(), "operations", n=(8, 8), d=(2**12, 2**13)) - 2) < 0.01
    assert Convolution(3, dilated=True).cost(3**7, 8).path == 7
    assert Convolution(3, dilated=True).cost(3**7 + 1, 8).path == 8
    assert Convolution(5).cost(4001, 8).path == 1000
    assert Recurrence().cost(500, 8).path == Convolution(2).cost(500, 8).path == 499


class Twice(Kind):
    """Two linear layers, one after the other or side by side; no token sees another."""

    def __init__(self, *, chained):
        self.chained = chained

    def layer(self, d, number=0):
        return nn.ModuleList([nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)])

    def run(self, layer, x):
        a, b = layer
        return a(b(x)).roll(1, 1) if self.chained else a(x).roll(1, 1) + b(x)


def test_what_is_counted_is_what_happens():
    """Steps that wait are told from steps that need not, and what is kept twice is kept once."""
    assert count(Twice(chained=True), 2, 5) == Cost(2 * 2 * 25 * 2, 2 * 5 + 2 * 5, 2, 1)
    assert count(Twice(chained=False), 2, 5) == Cost(2 * 2 * 25 * 2, 2 * 5, 1, 1)
    with torch.no_grad():
        assert count(Twice(chained=False), 4, 5).path == 3


@pytest.mark.parametrize("kernel", [1, 0])
def test_a_kernel_that_sees_no_other_token_is_refused(kernel):
    with pytest.raises(ValueError, match=f"kernel must be at least 2.*got {kernel}"):
        Convolution(kernel)


def test_an_unknown_cell_is_refused():
    with pytest.raises(ValueError, match=r"one of rnn, gru, lstm; got 'mgu'"):
        Recurrence("mgu")


@pytest.mark.slow
def test_a_long_way_is_counted_to_its_end():
    assert count(Recurrence(), 700, 1).path == 699


@pytest.mark.parametrize(("n", "d"), [(0, 4), (4, 0)])
def test_nothing_costs_nothing_worth_counting(n, d):
    with pytest.raises(ValueError, match=f"both must be at least 1, got {n} and {d}"):
        count(SelfAttention(), n, d)


def test_kinds_can_be_kept_in_a_table():
    assert {Convolution(3): 1, Recurrence(): 2, SelfAttention(): 3}[Convolution(3)] == 1
    assert Convolution() == Convolution(3, dilated=False)
    assert SelfAttention() == SelfAttention(heads=1)
