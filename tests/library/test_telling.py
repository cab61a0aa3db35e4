"""Words that say what was computed, and a value that may be a little off."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import about, says
from attnbook.telling import numbers_in


@pytest.mark.parametrize(("value", "within", "said"), [(1, 0, "more than 0"), (float("nan"), 1, "finite")])
def test_about_wants_a_number_and_a_tolerance(value, within, said):
    with pytest.raises(ValueError, match=said):
        about(value, within)


RIGHT = [
    ("7.88 and 2.12", (7.8812, 2.1188)),
    ("9 % of them", (0.0912,)),
    ("9% of them", (0.0912,)),
    ("1,000 steps", (1000,)),
    ("minus: −3.2", (-3.24,)),
    ("63.1 million", (63_082_496,)),
    ("0.12 or 0.13", (0.125, 0.125)),
    ("a third", (0.3003,)),
    ("two thirds, half, a quarter, three quarters", (0.66, 0.49, 0.26, 0.74)),
    ("Six of the eight", (6, 8)),
    ("three times as many", (3.14,)),
    ("each of the four gets 1.00", (0.996,)),
    ("35 to 111", (35, 111)),
    ("in GPT-2, 48 layers", (48,)),
    ("the 23rd of 40", (40,)),
    ("`1913-11-12` after 4", ("1913-11-12", 4)),
    ("`1913-11-12`", ("1913-11-12",)),
    ("0.99 after two blocks and 1.00 after three", (0.9908, 1.0)),
    ("99 %", (about(0.985, 0.006),)),
]
WRONG = [
    ("19 % of them", (0.0912,), "says 19 %, but the value is 0.0912"),
    ("6.88", (7.8812,), "says 6.88"),
    ("1,001 steps", (1000,), "says 1,001"),
    ("a third", (0.25,), "says a third"),
    ("three times", (2.4,), "says three"),
    ("7.88 and 2.12", (7.8812,), r"has 2 numbers \(7.88, 2.12\), got 1 values"),
    ("no number", (3,), r"has 0 numbers \(none\), got 1"),
    ("63.1 million", (36_082_496,), "says 63.1 million"),
    ("`1913-11-12`", ("2013-11-12",), "does not hold '2013-11-12'"),
    ("99 %", (about(0.97, 0.006),), "but the value is 0.97 within 0.006"),
]


@pytest.mark.parametrize(("text", "values"), RIGHT)
def test_says_lets_right_words_pass(text, values):
    says(text, *values)
    says(text, *(torch.tensor(value) if isinstance(value, float) else value for value in values))


@pytest.mark.parametrize(("text", "values", "said"), WRONG)
def test_says_tells_what_is_wrong(text, values, said):
    with pytest.raises(AssertionError, match=said):
        says(text, *values)


def test_says_wants_no_truth_values():
    with pytest.raises(TypeError, match="use assert"):
        says("1", True)


@given(value=st.floats(-1e6, 1e6), decimals=st.integers(0, 4))
def test_a_number_as_python_rounds_it_passes_and_its_neighbour_fails(value, decimals):
    says(f"It is {value:,.{decimals}f}.", value) if not _is_aside(f"{value:,.{decimals}f}") else None
    other = f"It is {value + 2 * 10**-decimals:,.{decimals}f}."
    with pytest.raises(AssertionError):
        says(other, value)


def _is_aside(text):
    return any(written.aside for written in numbers_in(text))


def test_what_is_no_number():
    names = "GPT-2, T5, x_B1, 2D, 23rd, 16nd², 10⁶, 5/7/76, 5.7.1976, D2L, v1.2.3"
    assert [written.text for written in numbers_in(names)] == []
