"""Blocks that queries choose, against a loop over queries; what is chosen is causal; all of them leave nothing out."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attnbook import attention, causal, top_blocks

B, H, K = 2, 3, 4


def by_hand(q, k, block, top):
    """For one head: a row of the mask for each query."""
    (L, _), M = q.shape, len(k)
    rows = []
    for i in range(M - L, M):
        own = i // block
        means = [k[n * block : (n + 1) * block].mean(0) for n in range(own)]
        liked = sorted(range(own), key=lambda n: -(q[i - (M - L)] @ means[n]).item())
        rows.append([j <= i and (j // block == own or j // block in liked[: top - 1]) for j in range(M)])
    return torch.tensor(rows)


@given(L=st.integers(1, 9), more=st.integers(0, 9), block=st.integers(1, 5), top=st.integers(1, 4))
@settings(max_examples=40)
def test_equals_a_loop_over_queries(L, more, block, top):
    q, k = torch.randn(B, H, L, K, dtype=torch.float64), torch.randn(B, H, L + more, K, dtype=torch.float64)
    got = top_blocks(q, k, block=block, top=top)
    want = [by_hand(*pair, block, top) for pair in zip(q.flatten(0, 1), k.flatten(0, 1), strict=True)]
    assert_close(got.flatten(0, 1), torch.stack(want))


def test_all_blocks_are_plain_attention_and_none_is_chosen_by_gradient():
    q, k, v = (torch.randn(B, H, 10, K, requires_grad=True) for _ in range(3))
    mask = top_blocks(q, k, block=3, top=4)
    assert torch.equal(mask, causal(10).expand_as(mask))
    assert not mask.requires_grad
    assert_close(attention(q, k, v, mask)[0], attention(q, k, v, causal(10))[0])


def test_top_1_is_attention_within_blocks():
    mask = top_blocks(torch.randn(6, K), torch.randn(6, K), block=2, top=1)
    assert mask.int().tolist() == torch.block_diag(*[torch.ones(2, 2).tril()] * 3).int().tolist()


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: top_blocks(torch.ones(5, K), torch.ones(4, K), block=2, top=1), "M must be at least L.*L = 5, M = 4"),
        (lambda: top_blocks(torch.ones(5, K), torch.ones(5, 3), block=2, top=1), "k must have shape .*one width"),
        (lambda: top_blocks(torch.ones(5, K), torch.ones(5, K), block=0, top=1), "block must be at least 1, got 0"),
        (lambda: top_blocks(torch.ones(5, K), torch.ones(5, K), block=2, top=0), "top must be at least 1, got 0"),
        (lambda: top_blocks(torch.ones(K), torch.ones(5, K), block=2, top=1), r"q must have shape"),
    ],
)
def test_what_cannot_be_is_refused_in_words(act, words):
    with pytest.raises(ValueError, match=words):
        act()
