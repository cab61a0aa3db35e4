import copy
import importlib.util
import sys

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import AdditiveAttention, ALiBi, MultiHeadAttention, Rotary
from attnbook.peers import copy_weights, d2l

B, L, M, D, H, KEY_SIZE, VALUE_SIZE = 2, 5, 7, 12, 3, 8, 10
SIZES = {"key_size": KEY_SIZE, "value_size": VALUE_SIZE}


def inputs():
    return torch.randn(B, L, D), torch.randn(B, M, KEY_SIZE), torch.randn(B, M, VALUE_SIZE)


def of_torch(**options):
    layer = nn.MultiheadAttention(D, H, batch_first=True, **options)
    return layer, lambda x, keys, values: layer(x, keys, values)[0]


def of_d2l(**options):
    layer = d2l().MultiHeadAttention(D, H, dropout=0, **options)
    return layer, lambda *x: layer(*x, None)


def additive_of_d2l():
    layer = d2l().AdditiveAttention(9, dropout=0)
    return layer, lambda *x: layer(*x, None)


def ours(**options):
    layer = MultiHeadAttention(D, H, **options)
    return layer, lambda x, keys, values: layer(x, (keys, values))


def additive():
    layer = AdditiveAttention(D, KEY_SIZE, num_hiddens=9)
    return layer, layer


PAIRS = {
    "torch": lambda: (of_torch(bias=False), ours()),
    "torch with bias": lambda: (of_torch(), ours(bias=True)),
    "torch with other widths": lambda: (of_torch(kdim=KEY_SIZE, vdim=VALUE_SIZE), ours(bias=True, **SIZES)),
    "d2l": lambda: (of_d2l(), ours(**SIZES)),
    "d2l with bias": lambda: (of_d2l(bias=True), ours(bias=True, **SIZES)),
    "d2l, additive": lambda: (additive_of_d2l(), additive()),
}


def test_the_stand_in_for_torchvision_is_gone_once_d2l_is_there():
    real = importlib.util.find_spec("torchvision")
    assert hasattr(d2l(), "DotProductAttention")
    assert importlib.util.find_spec("torchvision") == real
    if real is None:
        assert "torchvision.transforms" not in sys.modules


@pytest.mark.parametrize("to_ours", [True, False], ids=["to ours", "to theirs"])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_the_target_computes_what_the_source_computes(pair, to_ours):
    x, keys, values = inputs()
    (theirs, call_theirs), (mine, call_ours) = pair()
    if isinstance(theirs, nn.MultiheadAttention) and theirs.kdim == D:
        keys, values = torch.randn(2, B, M, D)
    call_theirs(x, keys, values)  # d2l's layers make their weights now
    for parameter in (*theirs.parameters(), *mine.parameters()):
        nn.init.normal_(parameter)
    source, target = (theirs, mine) if to_ours else (mine, theirs)
    before = copy.deepcopy(source.state_dict())
    assert not torch.allclose(call_ours(x, keys, values), call_theirs(x, keys, values), atol=1e-2)
    copy_weights(source, target)
    assert_close(call_ours(x, keys, values), call_theirs(x, keys, values), rtol=1e-5, atol=1e-4)
    assert_close(source.state_dict(), before, rtol=0, atol=0)
    assert all(p.requires_grad and p.is_leaf for p in target.parameters())


def test_later_changes_of_the_source_leave_the_target_alone():
    theirs, mine = nn.MultiheadAttention(D, H, bias=False), MultiHeadAttention(D, H)
    copy_weights(theirs, mine)
    before = mine.query.weight.clone()
    nn.init.zeros_(theirs.in_proj_weight)
    assert_close(mine.query.weight, before)


@pytest.mark.parametrize(
    ("theirs", "ours", "words"),
    [
        (lambda: nn.MultiheadAttention(D, H), lambda: MultiHeadAttention(D, H), "Make both with the same bias"),
        (lambda: nn.MultiheadAttention(D, H, bias=False), lambda: MultiHeadAttention(D, H, bias=True), "query.bias"),
        (
            lambda: nn.MultiheadAttention(D, H, bias=False, kdim=KEY_SIZE),
            lambda: MultiHeadAttention(D, H),
            r"key.weight is \(12, 12\) in ours and \(12, 8\) in theirs: make both layers of the same sizes",
        ),
        (
            lambda: nn.MultiheadAttention(D, H, bias=False),
            lambda: MultiHeadAttention(D, H, kv_heads=1),
            r"key.weight is \(4, 12\) in ours and \(12, 12\) in theirs",
        ),
        (lambda: d2l().MultiHeadAttention(D, H, 0), lambda: MultiHeadAttention(D, H), "call it once, then copy"),
        (lambda: d2l().AdditiveAttention(9, 0), lambda: AdditiveAttention(D, D, 9), "call it once, then copy"),
        (lambda: nn.Linear(D, D), lambda: MultiHeadAttention(D, H), "No way .* between Linear and MultiHeadAttention"),
        (lambda: nn.MultiheadAttention(D, H), lambda: AdditiveAttention(D, D, 9), "No way .* AdditiveAttention"),
        (
            lambda: nn.MultiheadAttention(D, H, bias=False, add_bias_kv=True),
            lambda: MultiHeadAttention(D, H),
            "add_bias_kv and add_zero_attn have no counterpart",
        ),
        (
            lambda: nn.MultiheadAttention(D, H, bias=False, add_zero_attn=True),
            lambda: MultiHeadAttention(D, H),
            "add_bias_kv and add_zero_attn have no counterpart",
        ),
        (
            lambda: nn.MultiheadAttention(D, H, bias=False),
            lambda: MultiHeadAttention(D, H, rotary=Rotary(D // H)),
            "rotary and score_bias have no counterpart",
        ),
        (
            lambda: nn.MultiheadAttention(D, H, bias=False),
            lambda: MultiHeadAttention(D, H, score_bias=ALiBi(H)),
            "rotary and score_bias have no counterpart",
        ),
    ],
)
def test_what_cannot_be_copied_says_why_and_copies_nothing(theirs, ours, words):
    for swapped in (False, True):
        source, target = theirs(), ours()
        before = copy.deepcopy(target.state_dict())
        pair = (target, source) if swapped else (source, target)
        with pytest.raises(ValueError, match=words):
            copy_weights(*pair)
        assert_close(target.state_dict(), before, rtol=0, atol=0)


@pytest.mark.parametrize("peer", [of_torch, of_d2l], ids=["torch", "d2l"])
def test_weights_of_the_same_sizes_for_another_number_of_heads_are_other_weights(peer):
    theirs, call_theirs = peer(bias=False)
    call_theirs(*torch.randn(3, B, L, D))
    for pair in ((theirs, MultiHeadAttention(D, 2)), (MultiHeadAttention(D, 2), theirs)):
        with pytest.raises(ValueError, match="2 heads in ours and 3 in theirs"):
            copy_weights(*pair)
