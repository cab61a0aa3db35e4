import copy
import gc
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attnbook import attention, blocked, causal, padding, sliding_window, valid_lens
from attnbook.device import may_look
from attnbook.layers._sight import zero_blind_queries, zero_unseen_keys
from attnbook.layers.masks import is_causal
from attnbook.peers import d2l


@given(L=st.integers(0, 6), more=st.integers(0, 5), window=st.integers(1, 8))
def test_every_cell_by_its_definition(L, more, window):
    M = L + more
    for i in range(L):
        for j in range(M):
            back = (i + more) - j  # the query's own position among the keys is i + M - L
            assert causal(L, M)[i, j] == (back >= 0)
            assert sliding_window(L, M, window=window)[i, j] == (0 <= back < window)
            assert sliding_window(L, M, window=window, sinks=2)[i, j] == (back >= 0 and (back < window or j < 2))
    assert causal(L, M).shape == sliding_window(L, M, window=window).shape == (L, M)


def test_masks_are_made_where_they_are_asked_for(torch_device):
    assert causal(2, device=torch_device).device.type == torch_device.type
    assert sliding_window(2, window=1, device=torch_device).device.type == torch_device.type
    assert padding(torch.tensor([2], device=torch_device)).device.type == torch_device.type


def test_padding_by_batch_and_by_query():
    assert padding(torch.tensor([0, 2]), 3).int().tolist() == [[[0, 0, 0]], [[1, 1, 0]]]
    assert padding(torch.tensor([[1, 2]]), 3).int().tolist() == [[[1, 0, 0], [1, 1, 0]]]
    assert padding(torch.tensor([], dtype=torch.long)).shape == (0, 1, 0)


def test_padding_from_token_ids_on_whichever_side():
    ids = torch.tensor([[[5, 6, 0], [0, 0, 7]]])
    assert padding(ids, pad=0).int().tolist() == [[[[1, 1, 0]], [[0, 0, 1]]]]
    assert torch.equal(padding(ids[0, :1], 3, pad=0), padding(torch.tensor([2]), 3))
    assert padding(ids[0, 0], pad=6).int().tolist() == [[1, 0, 1]]
    assert padding(ids[:, :0], pad=0).shape == (1, 0, 1, 3)


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
    assert_close(d2l_layer(x, x, x, valid_lens(real)), want)
    assert_close(d2l_layer(x, x, x, valid_lens(causal(3) & real)), attention(x, x, x, causal(3) & real)[0])
    mha = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        mha.out_proj.weight.copy_(torch.eye(4))
    assert_close(mha(x, x, x, key_padding_mask=blocked(real)[:, 0])[0], want)
    assert_close(mha(x, x, x, attn_mask=blocked(causal(3)))[0], attention(x, x, x, causal(3))[0])
    both = blocked(causal(3) & real, heads=1)
    assert_close(mha(x, x, x, attn_mask=both)[0], attention(x, x, x, causal(3) & real)[0])
    assert real[:, 0].long().tolist() == [[1, 1, 0], [1, 1, 1]]


def test_lengths_come_back_from_the_mask_they_made():
    for lengths in (torch.tensor([0, 3, 1]), torch.tensor([[1, 0], [2, 3]])):
        assert torch.equal(valid_lens(padding(lengths, 3)), lengths)
    assert valid_lens(causal(3)[None].expand(2, -1, -1)).tolist() == [[1, 2, 3], [1, 2, 3]]


def test_blocked_for_heads_keeps_each_sequence_together():
    """nn.MultiheadAttention folds heads into the batch: sequence 0's heads first."""
    mask = causal(3) & padding(torch.tensor([1, 3]))
    want = [~mask[b] for b in (0, 0, 0, 0, 1, 1, 1, 1)]
    assert torch.equal(blocked(mask, heads=4), torch.stack(want))


def test_a_causal_mask_is_known_again_until_somebody_writes_to_it():
    mask = causal(3)
    assert is_causal(mask)
    others = causal(2, 3), sliding_window(3, window=2), mask & mask, mask[:], mask.clone(), copy.deepcopy(mask), mask.mT
    assert not any(is_causal(other) for other in others)
    mask[0, 2] = True
    assert not is_causal(mask)
    assert not is_causal(copy.deepcopy(mask))
    with torch.inference_mode():  # which does not count writes
        assert not is_causal(causal(3))


def test_knowing_masks_does_not_keep_them():
    kept = weakref.ref(causal(3))
    gc.collect()
    assert kept() is None


def test_only_what_somebody_sees_is_kept():
    x = torch.tensor([[1.0, 2.0], [torch.nan, 3.0], [4.0, torch.inf]])
    mask = torch.tensor([[True, False, False], [False, False, True]])
    assert zero_unseen_keys(x, mask)[:, 0].tolist() == [1, 0, 4]
    assert zero_unseen_keys(x, mask[0]).tolist() == [[1, 2], [0, 0], [0, 0]]
    assert zero_unseen_keys(x, None) is x
    assert zero_unseen_keys(x, causal(3)) is x  # everybody sees himself
    assert zero_unseen_keys(torch.where(x.isfinite(), x, 5), mask)[1].tolist() == [5, 3]
    assert zero_unseen_keys(torch.stack([x, x]), mask[:, None])[1, :, 1].tolist() == [0, 0, torch.inf]


def test_queries_that_see_nothing_are_not_kept():
    x, mask = torch.tensor([[torch.nan], [2.0], [3.0]]), torch.tensor([[False, False], [True, False], [False, False]])
    assert zero_blind_queries(x, mask).tolist() == [[0], [2], [0]]
    assert zero_blind_queries(x[1:], mask[1:]) is not x
    assert zero_blind_queries(x, torch.tensor([False, False])).tolist() == [[0]] * 3
    assert zero_blind_queries(x, None) is x


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_numbers_whose_products_overflow_are_not_kept_either(dtype):
    x = torch.tensor([[1.0], [torch.finfo(dtype).max]], dtype=dtype)
    products = x * x.mT
    assert not products.isfinite().all()
    assert zero_unseen_keys(x, torch.tensor([True, False])).tolist() == [[1], [0]]


def test_lengths_and_ids_of_narrow_types_mean_what_they_say():
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        assert torch.equal(padding(torch.tensor([100, 3], dtype=dtype), 300).sum(-1), torch.tensor([[100], [3]]))
        assert padding(torch.tensor([[1, 100]], dtype=dtype), pad=-156).all()


def test_finite_numbers_are_not_copied():
    x = torch.ones(3, 2)
    assert zero_unseen_keys(x, torch.tensor([True, False, False])) is x
    assert may_look(x)
    assert not may_look(x.to("meta"))
    seen = torch.func.vmap(zero_unseen_keys)(x[None], torch.tensor([[True, False, True]]))
    assert seen.tolist() == [[[1, 1], [0, 0], [1, 1]]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: causal(3, 2), r"M must be at least L.*L = 3, M = 2"),
        (lambda: causal(-1), r"L must be at least 0, got -1"),
        (lambda: sliding_window(3, window=1, sinks=-1), "sinks must be at least 0, got -1"),
        (lambda: sliding_window(3, window=0), r"window must be at least 1 .*got 0"),
        (lambda: padding(torch.tensor([1.0])), r"integers .*got torch.float32 of \(1,\).*padding\(ids, pad=0\)"),
        (lambda: padding(torch.tensor([True])), r"got torch.bool"),
        (lambda: padding([1, 2]), r"lengths must be a tensor of integers .*got a list"),
        (lambda: padding([[1, 2]], pad=0), r"must be a tensor of token ids .*got a list"),
        (lambda: blocked([True]), r"must be a boolean tensor, got a list"),
        (lambda: padding(torch.tensor(3)), r"shape \(B,\) or \(B, L\), got torch.int64 of \(\)"),
        (lambda: padding(torch.tensor([4]), 3), r"between 0 and M = 3, got \[4\]"),
        (lambda: padding(torch.tensor([-1, 2])), r"between 0 and M = 2, got \[-1, 2\]"),
        (lambda: padding(torch.tensor([1.0]), pad=0), r"token ids of shape \(..., M\), got torch.float32 of \(1,\)"),
        (lambda: padding(torch.tensor(3), pad=0), r"got torch.int64 of \(\).*leave out `pad`"),
        (lambda: padding(torch.tensor([True]), pad=0), r"got torch.bool of \(1,\)"),
        (lambda: padding(torch.tensor([[1, 2]]), 3, pad=0), r"M = 3, but the token ids have 2 positions"),
        (lambda: blocked(torch.ones(2)), r"must be a boolean tensor, got torch.float32.*mask.bool\(\)"),
        (lambda: blocked(causal(2), heads=3), r"must have shape \(B, L, M\), got \(2, 2\).*Leave out `heads`"),
        (lambda: valid_lens(torch.ones(1, 2, 3)), r"must be a boolean tensor, got torch.float32"),
        (lambda: valid_lens(causal(2)), r"must have shape \(B, L, M\), got \(2, 2\).*expand"),
        (lambda: valid_lens(torch.tensor([[[True, False, True]]])), r"this mask forbids one in between"),
    ],
)
def test_errors_teach(call, words):
    with pytest.raises(ValueError, match=words):
        call()
