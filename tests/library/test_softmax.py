import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attnbook import ShapeError, causal, masked_softmax

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


@given(seed=st.integers(0, 999), n=st.integers(1, 7), size=st.sampled_from([1e-3, 1.0, 1e3]))
def test_a_masked_row_is_the_softmax_of_what_is_left(seed, n, size):
    draw = torch.Generator().manual_seed(seed)
    scores = torch.randn(n, generator=draw, dtype=torch.float64) * size
    mask = torch.rand(n, generator=draw) < 0.6
    weights = masked_softmax(scores, mask)
    assert_close(weights[mask], scores[mask].softmax(-1))
    assert (weights[~mask] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_empty_row_is_zero_with_zero_gradients(dtype, torch_device):
    scores = torch.randn(3, 4, dtype=dtype, device=torch_device, requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=torch.bool, device=torch_device)
    weights = masked_softmax(scores, mask)
    (weights * torch.randn_like(weights)).sum().backward()
    assert weights.dtype == dtype
    assert (weights[1] == 0).all()
    assert (weights.sum(-1) - mask.any(-1).to(dtype)).abs().max() < 1e-2
    assert (scores.grad[1] == 0).all()
    assert (scores.grad[~mask] == 0).all()
    assert scores.grad[0, mask[0]].abs().min() > 0


def test_what_is_masked_may_be_anything():
    scores = torch.tensor([0.0, torch.nan, torch.inf, 0.0])
    assert masked_softmax(scores, torch.tensor([True, False, False, True])).tolist() == [0.5, 0, 0, 0.5]


def test_arguments_are_left_alone():
    scores, mask = torch.randn(3, 3), causal(3)
    before, mask_before = scores.clone(), mask.clone()
    masked_softmax(scores, mask)
    assert torch.equal(scores, before)
    assert torch.equal(mask, mask_before)


def test_a_mask_broadcasts_and_no_mask_is_plain_softmax():
    scores = torch.randn(2, 3, 4, 5)
    mask = torch.rand(2, 1, 1, 5) < 0.7
    assert_close(masked_softmax(scores, mask), masked_softmax(scores, mask.expand(2, 3, 4, 5)))
    assert torch.equal(masked_softmax(scores), scores.softmax(-1))


@pytest.mark.parametrize(
    ("mask", "error", "words"),
    [
        (torch.ones(5, 7), ValueError, r"True = may attend, got torch.float32.*mask.bool\(\).*mask == 0"),
        (
            torch.ones(7, 5).bool(),
            ShapeError,
            r"mask must have shape \(..., L, M\) = \(5, 7\), got \(7, 5\).*try mask.mT",
        ),
        (torch.ones(3, 1, 7).bool(), ShapeError, r"= \(2, 5, 7\), got \(3, 1, 7\).* must fit \(2,\), or be 1.$"),
        (torch.ones(1, 2, 5, 7).bool(), ShapeError, r"got \(1, 2, 5, 7\)"),
        (torch.ones(2, 3, 7).bool(), ShapeError, r"got \(2, 3, 7\).*check the two lengths"),
        (torch.ones(4, 7).bool(), ShapeError, r"got \(4, 7\).*check the two lengths"),
        (torch.ones(5).bool(), ShapeError, r"got \(5,\).*check the two lengths"),
    ],
)
def test_errors_teach(mask, error, words):
    with pytest.raises(error, match=words):
        masked_softmax(torch.zeros(2, 5, 7), mask)


@pytest.mark.parametrize("mask", [None, torch.tensor([True, False])])
def test_integers_are_refused(mask):
    with pytest.raises(ValueError, match=r"scores must hold floating-point numbers, got torch.int64; try scores.float"):
        masked_softmax(torch.tensor([1, 2]), mask)


def test_a_mask_without_an_axis_for_heads_says_how_to_get_one():
    scores, mask = torch.zeros(2, 3, 5, 7), torch.ones(2, 5, 7).bool()
    with pytest.raises(
        ShapeError, match=r"= \(2, 3, 5, 7\), got \(2, 5, 7\).*the same for all heads, try mask\[:, None\]"
    ):
        masked_softmax(scores, mask)
    masked_softmax(scores, mask[:, None])
