"""Parity with PyTorch, d2l and a loop over heads, forward and backward; masks, caches, properties; errors."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from attnbook import (
    ALiBi,
    KVCache,
    MultiHeadAttention,
    RelativeBias,
    Rotary,
    ShapeError,
    blocked,
    capture_attention,
    causal,
    masked_softmax,
    padding,
)
from attnbook.layers.masks import is_causal
from attnbook.peers import copy_weights, d2l

B, L, M, D, H, K = 2, 5, 7, 24, 4, 6  # pairwise different: a swapped axis can't pass by luck
KEY_SIZE, VALUE_SIZE = 8, 10
LENGTHS = torch.tensor([4, 7])
SOME = torch.rand(B, H, L, M, generator=torch.Generator().manual_seed(1)) < 0.5
SEEN = SOME | (torch.arange(M) == 2)  # nobody is left with nothing: PyTorch's layer answers that with NaN
MASKS = {  # ours, and how PyTorch's layer wants it
    "none": (None, {}),
    "causal": (causal(L, M), {"attn_mask": blocked(causal(L, M))}),
    "padding": (padding(LENGTHS), {"key_padding_mask": blocked(padding(LENGTHS)[:, 0])}),
    "both": (
        causal(L, M) & padding(LENGTHS),
        {"attn_mask": blocked(causal(L, M)), "key_padding_mask": blocked(padding(LENGTHS)[:, 0])},
    ),
    "one per sequence": (SEEN[:, 0], {"attn_mask": blocked(SEEN[:, 0], heads=H)}),
    "one per head": (SEEN, {"attn_mask": blocked(SEEN.flatten(0, 1))}),
}
KINDS = {
    "plain": lambda: {},
    "other widths": lambda: {"d_k": 8, "d_v": 3, "bias": True},
    "grouped": lambda: {"kv_heads": 2},
    "multi-query": lambda: {"kv_heads": 1},
    "rotary": lambda: {"rotary": Rotary(K)},
    "rotary neighbours": lambda: {"rotary": Rotary(K, pairing="neighbours"), "kv_heads": 2},
    "ALiBi": lambda: {"score_bias": ALiBi(H)},
    "relative bias": lambda: {"score_bias": RelativeBias(H, max_distance=3)},
    "QK-norm": lambda: {"qk_norm": nn.RMSNorm, "rotary": Rotary(K)},
    "soft-capped": lambda: {"softcap": 0.5, "kv_heads": 2},
    "learned sink": lambda: {"learned_sink": True, "kv_heads": 2},
    "window": lambda: {"window": 2, "rotary": Rotary(K)},
    "all of today": lambda: {
        **{"qk_norm": nn.RMSNorm, "softcap": 2.0, "learned_sink": True, "kv_heads": 1},
        **{"window": 2, "sinks": 1, "score_bias": ALiBi(H)},
    },
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
watched_or_not = pytest.mark.parametrize("watched", [False, True], ids=["fast", "watched"])


def draw(*shape, device="cpu", dtype=torch.float64):
    return torch.randn(*shape, dtype=torch.float64).to(device, dtype).requires_grad_()


def scatter(layer):
    """No parameter is 0 or like another: a bias left out or two swapped would show."""
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.4)
    return layer


def make(kind="plain", **more):
    return scatter(MultiHeadAttention(D, H, **KINDS[kind]() | more)).double()


def call(layer, *inputs, watched=False, **more):
    """What the layer returns, by its fast path or by the one that has weights to show."""
    if not watched:
        return layer(*inputs, **more)
    with capture_attention(layer):
        return layer(*inputs, **more)


def gradients(output, *wrt):
    """Of a fixed uneven sum of the output."""
    weight = torch.linspace(-1, 2, output.numel(), dtype=torch.float64, device=output.device).view_as(output)
    return torch.autograd.grad((output.double() * weight).sum(), wrt, retain_graph=True)


def assert_same(outputs, ours, want, theirs, inputs):
    """Each of our outputs is theirs, and so is every gradient. Afterwards `theirs` holds gradients, not weights."""
    of_inputs, of_parameters = (gradients(want, *x) for x in (inputs, theirs.parameters()))
    with torch.no_grad():
        for parameter, gradient in zip(theirs.parameters(), of_parameters, strict=True):
            parameter.copy_(gradient)
    copy_weights(theirs, in_our_names := copy.deepcopy(ours))
    for got in outputs:
        assert_close(got, want)
        assert_close(gradients(got, *inputs), of_inputs)
        assert_close(gradients(got, *ours.parameters()), tuple(p.detach() for p in in_our_names.parameters()))


@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("sizes", [(D, D), (KEY_SIZE, VALUE_SIZE), (KEY_SIZE, D)], ids=str)
@pytest.mark.parametrize(("mask", "their_masks"), MASKS.values(), ids=MASKS)
def test_equals_torch(mask, their_masks, sizes, bias, torch_device):
    key_size, value_size = sizes
    theirs = nn.MultiheadAttention(D, H, bias=bias, kdim=key_size, vdim=value_size, batch_first=True)
    theirs = scatter(theirs).to(torch_device, torch.float64)
    ours = MultiHeadAttention(D, H, key_size=key_size, value_size=value_size, bias=bias)
    copy_weights(theirs, ours := ours.to(torch_device, torch.float64))
    mask = None if mask is None else mask.to(torch_device)
    their_masks = {name: m.to(torch_device) for name, m in their_masks.items()}
    x, keys, values = inputs = [draw(B, n, w, device=torch_device) for n, w in ((L, D), (M, key_size), (M, value_size))]
    want, want_weights = theirs(*inputs, need_weights=True, average_attn_weights=False, **their_masks)
    with capture_attention(ours) as maps:
        watched = ours(x, (keys, values), mask)
    assert_close(maps[""], want_weights)
    assert_same([ours(x, (keys, values), mask), watched], ours, want, theirs, inputs)


SQUARE = {"none": None, "causal": causal(L), "both": causal(L) & padding(torch.tensor([3, L]))}


@pytest.mark.parametrize("mask", SQUARE.values(), ids=SQUARE)
def test_self_attention_equals_torch(mask, torch_device):
    theirs = scatter(nn.MultiheadAttention(D, H, batch_first=True)).to(torch_device, torch.float64)
    copy_weights(theirs, ours := MultiHeadAttention(D, H, bias=True).to(torch_device, torch.float64))
    x = draw(B, L, D, device=torch_device)
    square = None if mask is None else blocked(mask.expand(B, L, L), heads=H).to(torch_device)
    want, _ = theirs(x, x, x, attn_mask=square)
    if mask is not None:
        mask = causal(L, device=torch_device) if is_causal(mask) else mask.to(torch_device)
    assert_same([ours(x, mask=mask), call(ours, x, mask=mask, watched=True)], ours, want, theirs, [x])


ALL_LENGTHS = {"none": None, "by batch": LENGTHS, "by query": torch.tensor([[1, 2, 3, 4, 5], [7, 6, 5, 4, 3]])}


@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("lengths", ALL_LENGTHS.values(), ids=ALL_LENGTHS)
def test_equals_d2l(lengths, bias, torch_device):
    x, keys, values = inputs = [draw(B, n, w, device=torch_device) for n, w in ((L, D), (M, KEY_SIZE), (M, VALUE_SIZE))]
    lengths = None if lengths is None else lengths.to(torch_device)
    theirs = d2l().MultiHeadAttention(D, H, dropout=0, bias=bias).to(torch_device, torch.float64)
    theirs(*inputs, lengths)  # makes their weights
    ours = MultiHeadAttention(D, H, key_size=KEY_SIZE, value_size=VALUE_SIZE, bias=bias)
    copy_weights(scatter(theirs), ours := ours.to(torch_device, torch.float64))
    want = theirs(*inputs, lengths)
    mask = None if lengths is None else padding(lengths, M)
    with capture_attention(ours) as maps:
        watched = ours(x, (keys, values), mask)
    assert_close(maps[""].flatten(0, 1), theirs.attention.attention_weights)
    assert_same([ours(x, (keys, values), mask), watched], ours, want, theirs, inputs)


def head_by_head(layer, x, keys, values, mask, bias):
    """One head after the other, each with its own rows of the weights, and a group of queries on one head of keys."""

    def part(linear, n, heads):
        return linear.weight.chunk(heads)[n], None if linear.bias is None else linear.bias.chunk(heads)[n]

    outputs = []
    for h in range(H):
        g = h // (H // layer.kv_heads)
        q = F.linear(x, *part(layer.query, h, H))
        k = F.linear(keys, *part(layer.key, g, layer.kv_heads))
        v = F.linear(values, *part(layer.value, g, layer.kv_heads))
        if layer.query_norm is not None:
            q, k = layer.query_norm(q), layer.key_norm(k)
        if layer.rotary is not None:
            q, k = layer.rotary(q), layer.rotary(k)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if layer.softcap is not None:
            scores = (scores / layer.softcap).tanh() * layer.softcap
        allowed = mask[:, h]
        if layer.window is not None:
            back = torch.arange(L)[:, None] - torch.arange(L)
            local = (back >= 0) & ((back < layer.window) | (torch.arange(L) < layer.sinks))
            allowed = allowed & local.to(mask.device)
        weights = masked_softmax(scores + bias[h], allowed)
        if layer.sink is not None:
            total = ((scores + bias[h]).exp() * allowed).sum(-1, keepdim=True)
            weights = weights * total / (total + layer.sink[h].exp())
        outputs.append(weights @ v)
    return layer.output(torch.cat(outputs, -1))


@pytest.mark.parametrize("kind", ["plain", "other widths", "grouped", "multi-query"])
@pytest.mark.parametrize("more", [{}, {"bias": True, "d_k": 5}, {"d_v": 9, "d_k": 1}], ids=str)
def test_equals_a_loop_over_the_heads(kind, more, torch_device):
    sizes = {"key_size": KEY_SIZE, "value_size": VALUE_SIZE}
    layer = scatter(MultiHeadAttention(D, H, **KINDS[kind]() | more, **sizes)).to(torch_device, torch.float64)
    x, keys, values = inputs = [draw(B, n, w, device=torch_device) for n, w in ((L, D), (M, KEY_SIZE), (M, VALUE_SIZE))]
    mask = SOME.to(torch_device)
    want = head_by_head(layer, *inputs, mask, bias=[0] * H)
    for watched in (False, True):
        got = call(layer, x, (keys, values), mask, watched=watched)
        assert_close(got, want)
        assert_close(gradients(got, *inputs, *layer.parameters()), gradients(want, *inputs, *layer.parameters()))


@each_kind
def test_self_attention_with_positions_equals_a_loop_over_the_heads(kind, torch_device):
    layer, x = make(kind).to(torch_device), draw(B, L, D, device=torch_device)
    mask = SOME[..., :L].to(torch_device)
    bias = [0] * H if layer.score_bias is None else layer.score_bias(L, L)
    want = head_by_head(layer, x, x, x, mask, bias)
    for watched in (False, True):
        got = call(layer, x, mask=mask, watched=watched)
        assert_close(got, want)
        assert_close(gradients(got, x, *layer.parameters()), gradients(want, x, *layer.parameters()))


@watched_or_not
@pytest.mark.parametrize(
    "shape",
    [(M,), (1, 1), (L, M), (1, M), (L, 1), (B, 1, M), (B, L, 1), (B, L, M), (B, 1, 1, M), (1, H, L, M), (B, H, L, M)],
    ids=str,
)
def test_every_shape_of_mask_means_the_same_as_the_mask_written_out(shape, watched, torch_device):
    layer, x, context = make().to(torch_device), *(draw(B, n, D, device=torch_device) for n in (L, M))
    mask = torch.rand(shape, device=torch_device) < 0.6
    written_out = (mask[:, None] if mask.ndim == 3 else mask).expand(B, H, L, M).clone()
    assert_close(call(layer, x, context, mask, watched=watched), layer(x, context, written_out))


@watched_or_not
def test_one_cell_that_is_true_lets_everything_through(watched):
    layer, x = make(), draw(B, L, D)
    assert_close(call(layer, x, mask=causal(1), watched=watched), layer(x))


def test_a_causal_mask_takes_the_fast_route_to_the_same_numbers(torch_device, monkeypatch):
    layer, x, mask = make().to(torch_device), draw(B, L, D, device=torch_device), causal(L, device=torch_device)
    want = layer(x, mask=mask & True)
    asked, kernel = [], F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *q, **options: asked.append(options) or kernel(*q, **options)
    )
    got = layer(x, mask=mask)
    assert asked[0]["is_causal"]
    assert_close(got, want)
    assert_close(gradients(got, x, *layer.parameters()), gradients(want, x, *layer.parameters()))


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode], ids=["", "inference"])
def test_a_causal_mask_that_was_written_to_is_honoured(mode):
    layer, x = make(), torch.randn(B, 4, D, dtype=torch.float64)
    made_before = causal(4)
    with mode():
        for mask in (made_before, causal(4)):
            before = layer(x, mask=mask)
            mask[0, 3] = True
            after = layer(x, mask=mask)
            assert_close(after, layer(x, mask=mask.clone()))
            assert not torch.allclose(after[:, 0], before[:, 0])
            assert_close(after[:, 1:], before[:, 1:])


@each_kind
@given(cut=st.integers(1, 5))
@settings(max_examples=5)
def test_the_future_never_leaks(kind, cut):
    layer, x = make(kind), torch.randn(B, 6, D, dtype=torch.float64)
    other = x.clone()
    other[:, cut:] *= -1e3
    for mask in (causal(6), causal(6) & True):
        was, now = layer(x, mask=mask), layer(other, mask=mask)
        assert_close(was[:, :cut], now[:, :cut])
        assert not torch.allclose(was[:, cut], now[:, cut])


@watched_or_not
@pytest.mark.parametrize("junk", [7.0, 1e300, torch.nan, torch.inf, -torch.inf])
@each_kind
def test_what_the_padding_holds_never_reaches_a_real_position(kind, junk, watched):
    layer, lengths = make(kind), [3, L]
    x = torch.randn(B, L, D, dtype=torch.float64)
    x[0, 3:] = junk
    for mask in (padding(torch.tensor(lengths)), padding(torch.tensor(lengths)) & causal(L)):
        got = call(layer, x, mask=mask, watched=watched)
        for b, n in enumerate(lengths):
            square = mask[b].expand(L, L)[:n, :n]
            assert_close(got[b, :n], layer(x[b, :n], mask=square))


@watched_or_not
@given(
    real=st.integers(1, M), junk=st.sampled_from([0.0, -7.0, torch.nan, torch.inf]), kv_heads=st.sampled_from([1, 4])
)
@settings(max_examples=8)
def test_what_the_padding_of_a_context_holds_reaches_neither_output_nor_gradient(watched, real, junk, kv_heads):
    layer, x = make(kv_heads=kv_heads, bias=True), draw(1, L, D)
    context = torch.randn(1, M, D, dtype=torch.float64)
    context[:, real:] = junk
    want = layer(x, context[:, :real])
    for mask in (padding(torch.tensor([real]), M), torch.arange(M) < real, (torch.arange(M) < real).expand(1, H, L, M)):
        got = call(layer, x, context, mask, watched=watched)
        assert_close(got, want)
        assert_close(gradients(got, x, *layer.parameters()), gradients(want, x, *layer.parameters()))


@watched_or_not
@pytest.mark.parametrize("kind", ["plain", "grouped", "rotary", "ALiBi", "relative bias"])
def test_square_padding_keeps_junk_out_of_every_gradient(kind, watched):
    layer, real = make(kind), torch.arange(L) < 3
    clean = torch.randn(B, L, D, dtype=torch.float64)
    junk = clean.masked_fill(~real[:, None], torch.nan)
    got, want = (call(layer, x, mask=real & real[:, None], watched=watched) for x in (junk, clean))
    assert_close(got, want)
    assert_close(gradients(got, *layer.parameters()), gradients(want, *layer.parameters()))


def test_what_a_later_mask_shows_is_still_in_the_cache():
    """Step i may read the first i + 1 positions of the context, as in translation that starts before its end."""
    layer, x, context, cache = make(), torch.randn(B, L, D, dtype=torch.float64), draw(B, M, D), KVCache()
    context = context.detach().clone()
    context[:, -1] = torch.inf  # nobody ever sees the last one
    steps = [layer(x[:, i : i + 1], context, torch.arange(M) <= i, cache) for i in range(L)]
    assert_close(torch.cat(steps, 1), layer(x, context, torch.arange(M) <= torch.arange(L)[:, None]))


@given(order=st.permutations(range(L)), kv_heads=st.sampled_from([1, 4]))
@settings(max_examples=10)
def test_without_positions_the_order_of_the_tokens_does_not_matter(order, kv_heads):
    layer, x, mask = make(kv_heads=kv_heads), torch.randn(B, L, D, dtype=torch.float64), SOME[..., :L]
    assert_close(layer(x[:, order], mask=mask[..., order, :][..., order]), layer(x, mask=mask)[:, order])


@pytest.mark.parametrize("kind", ["rotary", "rotary neighbours", "ALiBi", "relative bias"])
def test_with_positions_it_does(kind):
    layer, x = make(kind), torch.randn(B, L, D, dtype=torch.float64)
    assert not torch.allclose(layer(x.roll(1, 1)).roll(-1, 1), layer(x), atol=1e-3)


@each_kind
def test_a_row_of_a_batch_is_that_sequence_alone(kind):
    layer, x, mask = make(kind), torch.randn(B, L, D, dtype=torch.float64), SOME[..., :L]
    for one_mask in (None, causal(L), mask[0, 0], mask[:, 0], mask):
        batch = layer(x, mask=one_mask)
        for b in range(B):
            own = one_mask if one_mask is None or one_mask.ndim == 2 else one_mask[b]
            assert_close(layer(x[b], mask=own), batch[b])
            assert_close(layer(x[b : b + 1], mask=None if own is None else own[None]), batch[b : b + 1])


@each_kind
def test_two_batch_axes(kind):
    layer, x = make(kind), torch.randn(3, B, L, D, dtype=torch.float64)
    mask = torch.rand(3, B, H, L, L) < 0.5
    for one_mask in (None, causal(L), mask[0, :, 0], mask[:, :, 0], mask):
        for watched in (False, True):
            got = call(layer, x, mask=one_mask, watched=watched)
            for i, row in enumerate(x):
                own = one_mask if one_mask is None or one_mask.ndim < 4 else one_mask[i]
                assert_close(got[i], layer(row, mask=own))


NOTHING = {
    "for some queries": (torch.arange(L) != 2)[:, None].expand(L, M),
    "for one head": ((torch.arange(L) != 2)[:, None] | (torch.arange(H) != 1)[:, None, None])[None].expand(1, H, L, M),
    "for a sequence": padding(torch.tensor([0, M])),
    "for all": torch.tensor(False).expand(M),
}


@watched_or_not
@each_dtype
@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("mask", NOTHING.values(), ids=NOTHING)
def test_a_query_with_nothing_to_attend_to(mask, bias, dtype, watched, torch_device):
    layer = MultiHeadAttention(D, H, bias=bias, kv_heads=2).to(torch_device, dtype)
    x, context = (draw(B, n, D, device=torch_device, dtype=dtype) for n in (L, M))
    output = call(layer, x, context, mask.to(torch_device), watched=watched)
    with capture_attention(layer) as maps:
        layer(x, context, mask.to(torch_device))
    empty = ~(mask[:, None] if mask.ndim == 3 else mask).expand(B, H, L, M).any(-1).to(torch_device)
    assert empty.any()
    assert (maps[""][empty] == 0).all()
    assert_close(maps[""].sum(-1), (~empty).to(dtype), rtol=0, atol=2e-2)
    nowhere = output[empty.all(1)]
    assert_close(nowhere, (layer.output.bias if bias else torch.zeros_like(x[0, 0])).expand_as(nowhere), rtol=0, atol=0)
    assert all(g.isfinite().all() for g in gradients(output, x, context, *layer.parameters()))


def test_a_sequence_of_nothing_but_junk_changes_nothing():
    layer, x, context = make(bias=True), draw(B, L, D), torch.randn(B, M, D, dtype=torch.float64)
    context[0] = torch.nan
    output = layer(x, context, padding(torch.tensor([0, M])))
    assert_close(output[0], layer.output.bias.expand(L, D))
    assert_close(output[1], layer(x[1], context[1]))
    assert all(g.isfinite().all() for g in gradients(output, x))


@watched_or_not
@pytest.mark.parametrize("sizes", [(0, L, M), (B, 0, M), (B, L, 0), (B, 0, 0)], ids=str)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kv_heads", [1, H])
def test_empty_sequences(sizes, masked, kv_heads, watched):
    batch, queries, keys = sizes
    layer, x, context = make(bias=True, kv_heads=kv_heads), draw(batch, queries, D), draw(batch, keys, D)
    mask = torch.ones(batch, queries, keys, dtype=torch.bool) if masked else None
    output = call(layer, x, context, mask, watched=watched)
    assert output.shape == (batch, queries, D)
    if keys == 0:
        assert_close(output, layer.output.bias.expand_as(output))
    assert all(g.isfinite().all() for g in gradients(output, x, context, *layer.parameters()))


@watched_or_not
@each_kind
def test_an_empty_sequence_attends_to_itself(kind, watched):
    layer, x = make(kind), draw(B, 0, D)
    for mask in (None, causal(0)):
        assert call(layer, x, mask=mask, watched=watched).shape == (B, 0, D)


@each_kind
@pytest.mark.parametrize("mask", [None, causal(L), SOME[..., :L]], ids=["none", "causal", "one per head"])
def test_watching_changes_nothing_and_leaves_nothing(kind, mask, torch_device):
    layer, x = make(kind).to(torch_device), draw(B, L, D, device=torch_device)
    mask = None if mask is None else mask.to(torch_device)
    want, held = layer(x, mask=mask), set(vars(layer))
    with capture_attention(layer) as maps:
        assert_close(layer(x, mask=mask), want)
    assert set(vars(layer)) == held
    assert maps.keys() == {""}
    assert maps[""].shape == (B, H, L, L)
    assert not maps[""].requires_grad


@watched_or_not
def test_nothing_is_mutated(watched):
    layer, mask = make(kv_heads=2), SOME & padding(LENGTHS)[:, None]
    x, keys, values = inputs = [draw(B, n, D) for n in (L, M, M)]
    with torch.no_grad():
        keys[0, 5:], values[0, 5:] = torch.inf, -torch.inf
    before = [t.clone() for t in (*inputs, mask)]
    for cache in (None, KVCache()):
        call(layer, x, (keys, values), mask, cache, watched=watched)
    call(layer, x, mask=causal(L), watched=watched)
    assert all(torch.equal(now, was) for now, was in zip((*inputs, mask), before, strict=True))


@watched_or_not
def test_dropout_drops_weights_in_training_only(watched):
    """With one key its weight is 1; dropped or not, a head's whole output says which."""
    layer, context = make(dropout=0.9), draw(1, 1, D).expand(2000, 1, D)
    x = torch.randn(2000, 1, D, dtype=torch.float64)
    nn.init.eye_(layer.output.weight)
    value = layer.value(context[0, 0])
    shares = call(layer, x, context, watched=watched) / value
    whole = shares.view(2000, H, K)
    assert_close(whole, whole[..., :1].expand_as(whole))
    kept = whole[..., 0] != 0
    assert_close(whole[..., 0], 10 * kept.double())
    assert 0.08 < kept.double().mean() < 0.12
    assert_close(call(layer.eval(), x, context, watched=watched) / value, torch.ones_like(shares))


def test_maps_are_taken_before_dropout():
    layer, x = make(dropout=0.5), torch.randn(B, L, D, dtype=torch.float64)
    with capture_attention(layer) as maps:
        assert not torch.allclose(layer(x), layer(x))
        in_training = maps[""]
        layer.eval()(x)
    assert_close(in_training, maps[""])


@each_kind
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5), pad=st.integers(0, 2))
@settings(max_examples=8)
def test_decoding_with_a_cache_is_recomputing_everything(kind, sizes, pad):
    """Whatever pieces the prompt comes in, and with padding on the left of one sequence."""
    layer, n = make(kind), sum(sizes)
    x = torch.randn(B, n, D, dtype=torch.float64)
    real = torch.arange(n) >= torch.tensor([0, min(pad, n - 1)])[:, None, None]
    cache, parts = KVCache(), []
    for part in x.split(sizes, dim=1):
        mask = causal(part.shape[1], len(cache) + part.shape[1])
        parts.append(layer(part, mask=mask & real[..., : mask.shape[1]] if pad else mask, cache=cache))
    assert_close(torch.cat(parts, 1), layer(x, mask=causal(n) & real if pad else causal(n)))
    assert len(cache) == n


@pytest.mark.parametrize("sinks", [0, 1, 3])
@pytest.mark.parametrize("window", [1, 2, 4])
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6))
@settings(max_examples=4)
def test_behind_a_window_a_cache_forgets(window, sinks, sizes):
    """What it holds is bounded; what it answers is what all of the text answers."""
    layer = make("grouped", rotary=Rotary(K), score_bias=ALiBi(H), window=window, sinks=sinks)
    n, cache, parts = sum(sizes), KVCache(), []
    x = torch.randn(B, n, D, dtype=torch.float64)
    for part in x.split(sizes, dim=1):
        parts.append(layer(part, mask=causal(part.shape[1], len(cache) + part.shape[1]), cache=cache))
        assert cache.keys.shape[-2] == cache.values.shape[-2] == min(len(cache), sinks + window - 1)
    assert len(cache) == n
    i = torch.arange(n)
    seen = (i[:, None] >= i) & ((i[:, None] - i < window) | (i < sinks))
    layer.window = None
    assert_close(torch.cat(parts, 1), layer(x, mask=seen))


def test_a_long_prompt_leaves_nothing_behind_the_window():
    layer, cache = make(window=3, sinks=1), KVCache()
    layer(torch.randn(B, 50, D, dtype=torch.float64), cache=cache)
    assert cache.nbytes == cache.keys.untyped_storage().nbytes() + cache.values.untyped_storage().nbytes()
    assert cache.nbytes == 2 * B * D * 3 * 8
    assert (len(cache), len(KVCache())) == (50, 0)
    (fresh := KVCache()).forget(3, 1)
    assert fresh.keys is None


def test_a_window_keeps_what_the_mask_hides_out_of_sight():
    layer, x = make(window=3), torch.randn(B, L, D, dtype=torch.float64)
    real = padding(torch.tensor([3, L]))
    other = x.clone()
    other[0, 3:] = 9
    cache = KVCache()
    steps = [layer(token, mask=real[..., : i + 1], cache=cache) for i, token in enumerate(other.split(1, dim=1))]
    assert_close(torch.cat(steps, 1)[0, :3], layer(x[0, :3]))


def test_groups_share_keys_that_are_never_copied(monkeypatch):
    """PyTorch's kernel reads each head of keys for all that share it."""
    layer, x, cache, asked = make("grouped"), torch.randn(B, L, D, dtype=torch.float64), KVCache(), []
    kernel = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *q, **more: asked.append((q, more)) or kernel(*q, **more)
    )
    layer(x, cache=cache)
    make()(x)
    ((_, k, v, _), grouped), (_, alone) = asked
    assert (k.data_ptr(), v.data_ptr()) == (cache.keys.data_ptr(), cache.values.data_ptr())
    assert (grouped["enable_gqa"], alone["enable_gqa"]) == (True, False)


def test_with_qk_norm_loud_inputs_are_no_louder():
    layer, x = make("QK-norm"), torch.randn(B, L, D, dtype=torch.float64)
    with capture_attention(layer) as maps:
        layer(x)
        quiet = maps[""]
        layer(100 * x)
    assert_close(maps[""], quiet, rtol=0, atol=1e-3)
    assert layer.query_norm is not layer.key_norm
    assert layer.query_norm.weight.shape == (K,)


@pytest.mark.parametrize("softcap", [1.0, 7.0])
def test_no_score_exceeds_the_cap(softcap):
    layer, x = make(softcap=softcap), 1e4 * torch.randn(B, L, D, dtype=torch.float64)
    with capture_attention(layer) as maps:
        layer(x)
    logs = maps[""].log()
    assert (logs.amax(-1) - logs.amin(-1)).max() <= 2 * softcap + 1e-9


@watched_or_not
def test_a_sink_takes_what_the_keys_leave(watched):
    layer, x = make("learned sink", bias=True), draw(B, L, D)
    with torch.no_grad():
        layer.sink.copy_(torch.tensor([-1e3, 0, 2, 1e3]))
    with capture_attention(layer) as maps:
        layer(x)
    totals = maps[""].sum(-1)
    assert_close(totals[:, 0], torch.ones(B, L, dtype=torch.float64))
    assert_close(totals[:, 3], torch.zeros(B, L, dtype=torch.float64))
    assert ((totals[:, 1:3] > 0) & (totals[:, 1:3] < 1)).all()
    nowhere = call(layer, x, mask=torch.zeros(L, L, dtype=torch.bool), watched=watched)
    assert_close(nowhere, layer.output.bias.expand_as(nowhere), rtol=0, atol=0)
    (gradient,) = torch.autograd.grad(call(layer, x, watched=watched).sum(), layer.sink)
    assert (gradient[1:3] != 0).all()
    assert gradient.isfinite().all()


def test_a_sink_starts_at_the_score_of_a_key_that_is_not_like_the_query():
    assert_close(MultiHeadAttention(D, H, learned_sink=True).sink, torch.zeros(H))


@watched_or_not
@each_dtype
def test_today_s_options_in_half_precision(dtype, watched):
    layer, x = make("all of today").float(), torch.randn(B, 9, D)
    want = layer(x, mask=causal(9))
    got = call(layer.to(dtype), x.to(dtype), mask=causal(9), watched=watched)
    assert got.dtype == dtype
    assert_close(got.float(), want, rtol=0, atol=0.05 * want.abs().max().item())


@pytest.mark.parametrize("heads", [1, 4])
def test_a_cache_goes_with_any_batch_axes(heads):
    layer, x = MultiHeadAttention(D, heads, rotary=Rotary(D // heads)).double(), torch.randn(2, 3, L, D).double()
    for whole in (x, x[0], x[0, 0]):
        cache = KVCache()
        steps = [layer(token, mask=causal(1), cache=cache) for token in whole.split(1, dim=-2)]
        assert len(cache) == L
        assert_close(torch.cat(steps, -2), layer(whole, mask=causal(L)))


@pytest.mark.parametrize("mask", [None, causal(1)], ids=["none", "causal(1)"])
def test_the_newest_token_sees_all_that_the_cache_holds(mask):
    layer, x, cache = make("rotary"), torch.randn(B, L, D, dtype=torch.float64), KVCache()
    steps = [layer(token, mask=mask, cache=cache) for token in x.split(1, dim=1)]
    assert_close(torch.cat(steps, 1), layer(x, mask=causal(L)))


@each_kind
def test_gradients_through_a_cache_are_those_without(kind):
    layer, x, cache = make(kind), draw(B, L, D), KVCache()
    first = layer(x[:, :2], mask=causal(2), cache=cache)
    cached = torch.cat([first, *(layer(token, cache=cache) for token in x[:, 2:].split(1, dim=1))], 1)
    want = layer(x, mask=causal(L))
    assert_close(cached, want)
    assert_close(gradients(cached, x, *layer.parameters()), gradients(want, x, *layer.parameters()))


ONE_QUERY = {
    "none": (None, {}),
    "of a sequence": (padding(LENGTHS), {"d_v": 9}),
    "of a head": (SEEN[:, :, :1], {"learned_sink": True}),
    "bias and mask": (padding(LENGTHS), {"score_bias": ALiBi(H)}),
    "bias": (None, {"score_bias": RelativeBias(H, max_distance=3)}),
}


@pytest.mark.parametrize(("mask", "more"), ONE_QUERY.values(), ids=ONE_QUERY)
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_one_query_reads_keys_that_heads_share_once(monkeypatch, kv_heads, mask, more):
    layer, x, read = make(kv_heads=kv_heads, **more), draw(B, M, D), []
    kernel = F.scaled_dot_product_attention

    def note(q, k, *given, **options):
        read.append((q.shape[:-1], k.shape[:-1], options.get("enable_gqa", False)))
        return kernel(q, k, *given, **options)

    def asked(watched):
        if "score_bias" not in more:
            return call(layer, x[:, -1:], x, mask, watched=watched)
        layer(x[:, :-1], cache=(cache := KVCache()))
        return call(layer, x[:, -1:], mask=mask, cache=cache, watched=watched)

    with monkeypatch.context() as patch:
        patch.setattr(F, "scaled_dot_product_attention", note)
        got = asked(watched=False)
    assert read[-1] == ((B, kv_heads, H // kv_heads), (B, kv_heads, M + (layer.sink is not None)), False)
    want = asked(watched=True)
    assert_close(got, want)
    assert_close(gradients(got, x, *layer.parameters()), gradients(want, x, *layer.parameters()))


@pytest.mark.parametrize("separate", [False, True], ids=["one context", "keys and values"])
def test_a_context_is_projected_once(separate):
    layer, x, calls = make(kv_heads=2), torch.randn(B, L, D, dtype=torch.float64), []
    keys, values = torch.randn(2, B, M, D, dtype=torch.float64)
    context = (keys, values) if separate else keys
    want = layer(x, context, padding(LENGTHS))
    for linear in (layer.key, layer.value):
        linear.register_forward_hook(lambda linear, *_: calls.append(linear))
    cache = KVCache()
    steps = [layer(token, context, padding(LENGTHS), cache) for token in x.split(1, dim=1)]
    assert_close(torch.cat(steps, 1), want)
    assert calls == [layer.key, layer.value]
    assert len(cache) == M


def test_a_cache_counts_what_it_holds():
    caches = []
    for kv_heads in (H, 1):
        caches.append(KVCache())
        assert (len(caches[-1]), caches[-1].nbytes) == (0, 0)
        layer = MultiHeadAttention(D, H, kv_heads=kv_heads, d_v=9)
        layer(torch.randn(B, 3, D), cache=caches[-1])
        layer(torch.randn(B, 2, D), cache=caches[-1])
    assert [len(cache) for cache in caches] == [5, 5]
    assert caches[0].nbytes == H * caches[1].nbytes == B * H * 5 * (K + 9) * 4


def test_a_mask_that_forgets_the_cache_is_told_of_it():
    layer, x, cache = make(), torch.randn(B, L, D, dtype=torch.float64), KVCache()
    layer(x[:, :3], mask=causal(3), cache=cache)
    with pytest.raises(ShapeError, match=r"got \(2, 2\).* holds 3 positions already; try causal\(2, 5\)"):
        layer(x[:, 3:], mask=causal(2), cache=cache)
    assert len(cache) == 3
    layer(x[:, 3:], mask=causal(2, 5), cache=cache)


def test_select_keeps_these_rows_in_this_order():
    layer, x = make("rotary"), torch.randn(3, L, D, dtype=torch.float64)
    cache, rows = KVCache(), torch.tensor([2, 0, 2, 1])
    cache.select(rows)
    assert len(cache) == 0
    layer(x[:, :-1], mask=causal(L - 1), cache=cache)
    cache.select(rows)
    next_token = torch.randn(4, 1, D, dtype=torch.float64)
    want = layer(torch.cat([x[rows, :-1], next_token], 1), mask=causal(L))[:, -1:]
    assert_close(layer(next_token, cache=cache), want)


def test_a_cache_for_another_batch_says_so():
    layer, x, cache = make(), torch.randn(B, L, D, dtype=torch.float64), KVCache()
    layer(x, cache=cache)
    with pytest.raises(
        ValueError,
        match=r"this cache holds keys .* \(2, 4, 5, 6\), the new ones are \(1, 4, 5, 6\); only the length.*KVCache\(\)",
    ):
        layer(x[:1], cache=cache)
    assert len(cache) == L


def test_a_cache_for_another_layer_says_so():
    cache = KVCache()
    make()(draw(B, L, D), cache=cache)
    for name, size in (("keys", "d_k"), ("values", "d_v")):
        with pytest.raises(ValueError, match=f"this cache holds {name} of shape .*only the length may differ"):
            make(**{size: 3})(draw(B, L, D), cache=cache)
    assert len(cache) == L


def test_a_cache_is_for_the_sequence_or_for_a_context():
    layer, x, of_x, of_context = make(), draw(B, L, D), KVCache(), KVCache()
    layer(x, cache=of_x)
    layer(x, draw(B, L, D), cache=of_context)
    with pytest.raises(ValueError, match="holds earlier positions of x; for a context, make another"):
        layer(x, x, cache=of_x)
    with pytest.raises(ValueError, match="holds a context, which does not grow; for x, make another"):
        layer(x, cache=of_context)
    layer(x[0], cache=(alone := KVCache()))
    with pytest.raises(ValueError, match="rows of a batch"):
        alone.select(torch.tensor([0]))


@pytest.mark.parametrize("shape", [(3, M, D), (1, M + 1, D)], ids=["batch", "length"])
def test_a_cache_of_another_context_says_so(shape):
    layer, cache = make(), KVCache()
    layer(draw(1, L, D), draw(1, M, D), cache=cache)
    with pytest.raises(ValueError, match="cache"):
        layer(draw(shape[0], L, D), draw(*shape), cache=cache)


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{}, {"rotary": Rotary(K), "score_bias": RelativeBias(H, 3)}], ids=["plain", "relative"]
)
def test_compiles_into_one_graph(more):
    torch.compiler.reset()
    layer, x, mask = make("grouped", **more), draw(B, L, D), SOME[..., :L]
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=False)
    got, want = compiled(x, mask=mask), layer(x, mask=mask)
    assert_close(got, want)
    assert_close(gradients(got, x, *layer.parameters()), gradients(want, x, *layer.parameters()))
    assert_close(compiled(x, mask=mask), want)  # and with tables that are there already


@pytest.mark.slow
def test_compiles_with_a_context_and_with_a_cache():
    torch.compiler.reset()
    layer, x, context, cache = make(), draw(B, L, D), draw(B, M, D), KVCache()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=False)
    layer(x[:, :2], cache=cache)
    with torch.no_grad():
        assert_close(compiled(x, context, padding(LENGTHS)), layer(x, context, padding(LENGTHS)))
        assert_close(compiled(x[:, 2:], mask=causal(3, 5), cache=cache), layer(x, mask=causal(L))[:, 2:])


@watched_or_not
@each_kind
def test_runs_under_autocast(kind, watched):
    layer, x = make(kind).float(), draw(B, L, D, dtype=torch.float32)
    for mask in (None, causal(L), SOME[..., :L]):
        want = layer(x, mask=mask)
        with torch.autocast("cpu", torch.bfloat16):
            got = call(layer, x, mask=mask, watched=watched)
        assert got.dtype == torch.bfloat16
        assert_close(got.float(), want, rtol=0, atol=0.05 * want.abs().max().item())


@each_kind
def test_copies_pickles_and_loads(kind):
    layer, x = make(kind), torch.randn(B, L, D, dtype=torch.float64)
    want = layer(x)
    fresh = make(kind)
    assert not torch.allclose(fresh(x), want)
    fresh.load_state_dict(layer.state_dict())
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), fresh):
        assert_close(copied(x), want, rtol=0, atol=0)
    assert layer.state_dict().keys() == dict(layer.named_parameters()).keys()


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@torch.no_grad()  # PyTorch's kernel fails under vmap where a bias is being learned
@each_kind
def test_vmap_over_a_batch(kind):
    layer, x, mask = make(kind), torch.randn(B, L, D, dtype=torch.float64), SOME[:, 0, :, :L]
    assert_close(torch.func.vmap(layer)(x), layer(x))
    assert_close(torch.func.vmap(lambda x: layer(x, mask=causal(L)))(x), layer(x, mask=causal(L)))
    assert_close(torch.func.vmap(lambda x, mask: layer(x, mask=mask))(x, mask), layer(x, mask=mask))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@each_kind
def test_gradients_for_each_sequence_of_a_batch(kind):
    layer, x, mask = make(kind), torch.randn(B, L, D, dtype=torch.float64), SOME[:, 0, :, :L]
    weights = {name: p.detach() for name, p in layer.named_parameters()}
    loss = torch.func.grad(lambda w, x, mask: torch.func.functional_call(layer, w, (x, None, mask)).square().sum())
    each = torch.func.vmap(loss, (None, 0, 0))(weights, x, mask)
    for b in range(B):
        want = torch.autograd.grad(layer(x[b], mask=mask[b]).square().sum(), layer.parameters())
        assert_close([gradient[b] for gradient in each.values()], list(want))


def test_a_table_made_in_inference_mode_does_not_get_in_the_way_of_training():
    layer, x = make("rotary"), draw(B, L, D)
    with torch.inference_mode():
        want = layer(x)
    assert_close(layer(x), want.clone())
    assert all(g.isfinite().all() for g in gradients(layer(x), x, *layer.parameters()))


def test_more_heads_have_no_more_parameters():
    counts = [sum(p.numel() for p in MultiHeadAttention(D, heads).parameters()) for heads in (1, 2, 4)]
    assert counts == [4 * D**2] * 3


@pytest.mark.parametrize("n", [3, 50])
def test_counted_operations(n):
    """Four projections of n · D², and n² · D each for scores and values; a product counts 2, for times and plus."""
    layer, x = MultiHeadAttention(D, H), torch.randn(1, n, D)
    with capture_attention(layer), FlopCounterMode(display=False) as counter:
        layer(x)
    assert counter.get_total_flops() == 8 * n * D**2 + 4 * n**2 * D


def test_says_what_it_is():
    assert "heads=4, kv_heads=2, dropout=0.1" in repr(MultiHeadAttention(D, H, kv_heads=2, dropout=0.1))
    assert "softcap=5.0, window=3, sinks=1, drop" in repr(MultiHeadAttention(D, H, softcap=5.0, window=3, sinks=1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"D": 10, "heads": 3}, "D = 10 does not split into 3 heads of one width; try another, or give d_k and d_v"),
        ({"D": 10, "heads": 3, "d_k": 4}, "D = 10 does not split into 3 heads"),
        ({"heads": 0}, "heads must be at least 1, got 0"),
        ({"heads": 0, "kv_heads": 1, "d_k": 2, "d_v": 2}, "heads must be at least 1, got 0"),
        ({"kv_heads": 0}, "kv_heads must be at least 1, got 0"),
        ({"kv_heads": 3}, "heads must be a multiple of kv_heads; got 4 and 3"),
        ({"kv_heads": 8}, "got 4 and 8"),
        ({"window": 0}, "window must be at least 1, got 0"),
        ({"window": 2, "sinks": -1}, "sinks must be at least 0, got -1"),
        ({"sinks": 1}, "sinks are seen beyond a window; got sinks = 1 and no window"),
        ({"softcap": 0}, "softcap is the score that none exceeds, above 0; got 0"),
        ({"softcap": float("nan")}, "softcap is the score that none exceeds"),
        ({"dropout": 1}, "dropout must be at least 0 and below 1.*got 1"),
        ({"dropout": -0.1}, "dropout must be at least 0 and below 1.*got -0.1"),
    ],
    ids=str,
)
def test_errors_of_making_teach(options, words):
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(**{"D": D, "heads": H} | options)


def test_widths_of_heads_free_D_from_dividing():
    assert MultiHeadAttention(10, 3, d_k=4, d_v=2)(torch.ones(B, L, 10)).shape == (B, L, 10)


@pytest.mark.parametrize(
    ("x", "context", "mask", "words"),
    [
        ((D,), None, None, r"x must have shape \(..., length, width\).*got \(24,\).*x\[None\]"),
        ((B, L, 8), None, None, r"x must have shape .* = \(..., 5, 24\), got \(2, 5, 8\).*made for x of width 24"),
        ((B, L, D), (B, M, 8), None, r"context must have shape .* = \(..., 7, 24\), got \(2, 7, 8\).*keys of width 24"),
        ((B, L, D), ((B, M, D), (B, M, 8)), None, r"values must have shape .* got \(2, 7, 8\).*values of width 24"),
        (
            (B, L, D),
            (3, M, D),
            None,
            r"context must have shape .* = \(2, 7, 24\), got \(3, 7, 24\). The batch of x is \(2,\)",
        ),
        ((B, L, D), (M, D), None, r"context must have shape .* = \(2, 7, 24\), got \(7, 24\).*try .expand"),
        (
            (B, L, D),
            ((B, M, D), (B, 6, D)),
            None,
            r"values must have shape .* = \(..., 7, 24\), got \(2, 6, 24\).*as many",
        ),
        ((B, L, D), ((B, M, D), (1, M, D)), None, r"values must have shape .* = \(2, 7, 24\), got \(1, 7, 24\)"),
        ((B, L, D), (B, M, D), (M, L), r"mask must have shape .* = \(5, 7\), got \(7, 5\).*try mask.mT"),
        (
            (B, L, D),
            (B, M, D),
            (H, L, M),
            r"mask must have shape .* got \(4, 5, 7\).*one mask a head, try mask\[None\]",
        ),
        ((B, L, D), (B, M, D), (B, 3, L, M), r"mask must have shape .* = \(2, 4, 5, 7\), got \(2, 3, 5, 7\)"),
        ((B, L, D), (B, M, D), (1, 1, 1, L, M), r"mask must have shape .* got \(1, 1, 1, 5, 7\)"),
        ((B, L, D), None, (L, M), r"mask must have shape .* = \(5, 5\), got \(5, 7\).*check the two lengths"),
    ],
    ids=str,
)
def test_errors_of_shape_teach(x, context, mask, words):
    if context is not None:
        context = tuple(map(torch.zeros, context)) if isinstance(context[0], tuple) else torch.zeros(context)
    mask = None if mask is None else torch.ones(mask, dtype=torch.bool)
    for watched in (False, True):
        with pytest.raises(ShapeError, match=words):
            call(MultiHeadAttention(D, H), torch.zeros(x), context, mask, watched=watched)


X, CONTEXT = torch.zeros(B, L, D), torch.zeros(B, M, D)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (
            (torch.ones(B, L, dtype=torch.int64),),
            r"x must hold floating-point numbers, got torch.int64.*an embedding first",
        ),
        ((X, CONTEXT.long()), r"context must hold floating-point numbers, got torch.int64"),
        ((X, CONTEXT.to("meta")), r"context must be on the same device as .*, cpu, got meta; try context.to\('cpu'\)"),
        ((X, (CONTEXT, CONTEXT.to("meta"))), "values must be on the same device as .*, cpu, got meta"),
        (
            (X, CONTEXT.double()),
            r"context must be of the same type as .* torch.float32, got torch.float64; try context",
        ),
        ((X, (CONTEXT, CONTEXT.half())), "values must be of the same type as .*, got torch.float16"),
        ((X, CONTEXT, torch.ones(L, M)), "mask must be a boolean tensor with True = may attend, got torch.float32"),
        (
            (X, CONTEXT, torch.ones(L, M).long()),
            "mask must be a boolean tensor with True = may attend, got torch.int64",
        ),
        ((X, CONTEXT, torch.ones(L, M).double()), "mask must be a boolean tensor .* got torch.float64"),
        ((X, CONTEXT, [[True] * M] * L), "mask must be a boolean tensor with True = may attend, got a list"),
        ((X, CONTEXT, causal(L, M, device="meta")), "mask must be on the same device as .*, cpu, got meta"),
        ((X, [CONTEXT, CONTEXT]), r"context must be one tensor or a tuple \(keys, values\), got a list"),
        ((X, (CONTEXT,)), r"context must be one tensor or a tuple \(keys, values\), got a tuple of 1"),
        ((X.double(),), r"x must be of the same type as the layer's weights, torch.float32, got torch.float64"),
        ((X.to("meta"),), "x must be on the same device as the layer's weights, cpu, got meta"),
        ((X, (CONTEXT, [1.0])), r"values must be a tensor \(..., length, width\), got a list"),
    ],
)
def test_errors_of_kind_teach(inputs, words):
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(D, H)(*inputs)


def test_a_score_bias_of_another_type_is_cast():
    layer, x = make("ALiBi").float(), torch.randn(B, L, D)
    want = layer(x)
    layer.score_bias.double()
    for watched in (False, True):
        assert_close(call(layer, x, watched=watched), want)


@pytest.mark.parametrize("kind", ["rotary", "ALiBi", "relative bias"])
def test_relative_positions_belong_to_one_sequence(kind):
    with pytest.raises(
        ValueError, match="relative positions compare tokens of one sequence; with a context there are two"
    ):
        make(kind)(draw(B, L, D), draw(B, M, D))


def test_a_window_belongs_to_one_sequence():
    with pytest.raises(ValueError, match="a window is counted back from the query's own position; with a context"):
        make("window", rotary=None)(draw(B, L, D), draw(B, M, D))


@pytest.mark.parametrize("heads", [1, 2, 8])
@pytest.mark.parametrize("score_bias", [ALiBi, lambda heads: RelativeBias(heads, 3)], ids=["ALiBi", "relative bias"])
def test_a_score_bias_is_made_for_as_many_heads(score_bias, heads):
    with pytest.raises(ValueError, match=f"score_bias.*{heads}"):
        MultiHeadAttention(D, H, score_bias=score_bias(heads))(torch.zeros(B, L, D))


def test_a_rotary_is_made_for_the_width_of_a_head():
    with pytest.raises(ValueError, match=r"rotary .* width 4.* d_k = 6"):
        MultiHeadAttention(D, H, rotary=Rotary(4))
