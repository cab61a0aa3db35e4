import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attnbook import attention, blocked, causal, padding, sliding_window
from attnbook.peers import d2l


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


def test_padding_compiles():
    compiled = torch.compile(lambda lengths: padding(lengths, 4), backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(torch.tensor([1, 3])), padding(torch.tensor([1, 3]), 4))


def test_the_conversions_of_the_notation_page():
    """What each library gets in place of our mask, as the page's table says."""
    x = torch.randn(2, 3, 4)
    real = padding(torch.tensor([2, 3]), 3)
    want, _ = attention(x, x, x, real)
    d2l_layer = d2l().DotProductAttention(dropout=0)
    assert_close(d2l_layer(x, x, x, real.sum(-1)[:, 0]), want)
    assert_close(d2l_layer(x, x, x, (causal(3) & real).sum(-1)), attention(x, x, x, causal(3) & real)[0])
    mha = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        mha.out_proj.weight.copy_(torch.eye(4))
    assert_close(mha(x, x, x, key_padding_mask=blocked(real)[:, 0])[0], want)
    assert_close(mha(x, x, x, attn_mask=blocked(causal(3)))[0], attention(x, x, x, causal(3))[0])
    assert real[:, 0].long().tolist() == [[1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: causal(3, 2), r"M must be at least L.*L = 3, M = 2"),
        (lambda: causal(-1), r"M must be at least L.*L = -1"),
        (lambda: sliding_window(3, 0), r"window must be at least 1 .*got 0"),
        (lambda: padding(torch.tensor([1.0])), r"whole numbers .*got torch.float32 of \(1,\).*padding\(ids, pad=0\)"),
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
