import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import blocked, causal, padding, sliding_window


@given(L=st.integers(0, 6), more=st.integers(0, 5), window=st.integers(1, 8))
def test_every_cell_by_its_definition(L, more, window):
    M = L + more
    for i in range(L):
        for j in range(M):
            back = (i + more) - j  # the query's own position among the keys is i + M - L
            assert causal(L, M)[i, j] == (back >= 0)
            assert sliding_window(L, window, M)[i, j] == (0 <= back < window)
    assert causal(L, M).shape == sliding_window(L, window, M).shape == (L, M)


def test_masks_are_made_where_they_are_asked_for(torch_device):
    assert causal(2, device=torch_device).device.type == torch_device.type
    assert sliding_window(2, 1, device=torch_device).device.type == torch_device.type
    assert padding(torch.tensor([2], device=torch_device)).device.type == torch_device.type


def test_padding_by_batch_and_by_query():
    assert padding(torch.tensor([0, 2]), 3).int().tolist() == [[[0, 0, 0]], [[1, 1, 0]]]
    assert padding(torch.tensor([[1, 2]]), 3).int().tolist() == [[[1, 0, 0], [1, 1, 0]]]
    assert padding(torch.tensor([], dtype=torch.long)).shape == (0, 1, 0)


def test_masks_combine():
    both = causal(3) & padding(torch.tensor([2, 3]))
    assert both.int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 0]], [[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    assert torch.equal(blocked(both), ~both)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: causal(3, 2), r"M must be at least L.*L = 3, M = 2"),
        (lambda: causal(-1), r"M must be at least L.*L = -1"),
        (lambda: sliding_window(3, 0), r"window must be at least 1 .*got 0"),
        (lambda: padding(torch.tensor([1.0])), r"whole numbers .*got torch.float32 of \(1,\).*\(ids != pad\)"),
        (lambda: padding(torch.tensor([True])), r"got torch.bool"),
        (lambda: padding(torch.tensor(3)), r"shape \(B,\) or \(B, L\), got torch.int64 of \(\)"),
        (lambda: padding(torch.tensor([4]), 3), r"between 0 and M = 3, got \[4\]"),
        (lambda: padding(torch.tensor([-1, 2])), r"between 0 and M = 2, got \[-1, 2\]"),
        (lambda: blocked(torch.ones(2)), r"must be boolean, got torch.float32.*mask.bool\(\)"),
    ],
)
def test_errors_teach(call, words):
    with pytest.raises(ValueError, match=words):
        call()
