"""Latent attention against a loop over heads; packed and unpacked are one; what its cache holds; errors that teach."""

import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from attnbook import KVCache, LatentAttention, Rotary, ShapeError, capture_attention, causal, masked_softmax, padding

B, L, D, H, C, R = 2, 5, 12, 3, 7, 6  # pairwise different: a swapped axis can't pass by luck
SOME = torch.rand(B, H, L, L, generator=torch.Generator().manual_seed(2)) < 0.6
KINDS = {
    "plain": lambda: {},
    "rotary": lambda: {"rotary": Rotary(R), "bias": True},
    "other widths": lambda: {"d_k": 8, "d_v": 5, "rotary": Rotary(2, pairing="neighbours")},
    "LayerNorm": lambda: {"norm_layer": nn.LayerNorm, "d_k": 3},
}
each_kind = pytest.mark.parametrize("kind", KINDS)
watched_or_not = pytest.mark.parametrize("watched", [False, True], ids=["fast", "watched"])


def make(kind, **more):
    layer = LatentAttention(D, H, latent=C, **KINDS[kind](), **more).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer


def draw(*shape):
    return torch.randn(shape, dtype=torch.float64).requires_grad_()


def call(layer, *inputs, watched=False):
    if not watched:
        return layer(*inputs)
    with capture_attention(layer):
        return layer(*inputs)


def gradients(output, *wrt):
    weight = torch.linspace(-1, 2, output.numel(), dtype=torch.float64).view_as(output)
    return torch.autograd.grad((output * weight).sum(), wrt)


def head_by_head(layer, x, mask):
    """Each head unpacks keys and values of its own, and has the shared key beside them."""
    c, queries, outputs = layer.norm(layer.down(x)), layer.query(x).chunk(H, -1), []
    for h in range(H):
        q, k, v = queries[h], c @ layer.key.weight.chunk(H)[h].mT, c @ layer.value.weight.chunk(H)[h].mT
        if layer.rotary is not None:
            plain, turned = q[..., : layer.d_k], q[..., layer.d_k :]
            q = torch.cat([plain, layer.rotary(turned)], -1)
            k = torch.cat([k, layer.rotary(layer.shared_key(x))], -1)
        outputs.append(masked_softmax(q @ k.mT / q.shape[-1] ** 0.5, mask[:, h]) @ v)
    return layer.output(torch.cat(outputs, -1))


@each_kind
@watched_or_not
def test_equals_a_loop_over_the_heads(kind, watched):
    layer, x = make(kind), draw(B, L, D)
    for mask in (SOME, causal(L).expand(B, H, L, L)):
        got, want = call(layer, x, mask, watched=watched), head_by_head(layer, x, mask)
        assert_close(got, want)
        assert_close(gradients(got, x, *layer.parameters()), gradients(want, x, *layer.parameters()))


@each_kind
@watched_or_not
def test_what_is_left_packed_gives_the_same(kind, watched):
    """Half of the text in the cache, the other half asks: once unpacked for each head, once as it is."""
    layer, x, cache = make(kind), draw(B, L, D), KVCache()
    first = layer(x[:, :2], causal(2), cache)
    second = call(layer, x[:, 2:], causal(3, L), cache, watched=watched)
    got, want = torch.cat([first, second], 1), layer(x, causal(L))
    assert_close(got, want)
    assert_close(gradients(got, x, *layer.parameters()), gradients(want, x, *layer.parameters()))


def test_in_a_cache_nothing_is_unpacked(monkeypatch):
    """What is projected, and what PyTorch reads once for all heads: vectors as wide as the latent one and the key."""
    layer, cache, projected, asked = make("rotary"), KVCache(), [], []
    layer(draw(B, L, D), cache=cache)
    for part in (layer.key, layer.value, layer.down):
        part.register_forward_hook(lambda part, *_: projected.append(part))
    kernel = F.scaled_dot_product_attention

    def note(*given, **more):
        asked.append(given)
        return kernel(*given, **more)

    monkeypatch.setattr(F, "scaled_dot_product_attention", note)
    layer(draw(B, 1, D), cache=cache)
    assert projected == [layer.down]
    ((q, k, v, _),) = asked
    assert (q.shape, k.shape, v.shape) == ((B, 1, H, C + R), (B, 1, L + 1, C + R), (B, 1, L + 1, C + R))


@each_kind
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5), pad=st.integers(0, 2))
@settings(max_examples=8)
def test_decoding_with_a_cache_is_recomputing_everything(kind, sizes, pad):
    layer, n = make(kind), sum(sizes)
    x = torch.randn(B, n, D, dtype=torch.float64)
    real = torch.arange(n) >= torch.tensor([0, min(pad, n - 1)])[:, None, None]
    cache, parts = layer.new_cache(), []
    for part in x.split(sizes, dim=1):
        mask = causal(part.shape[1], len(cache) + part.shape[1])
        parts.append(layer(part, mask & real[..., : mask.shape[1]] if pad else mask, cache))
    assert_close(torch.cat(parts, 1), layer(x, causal(n) & real if pad else causal(n)))
    assert len(cache) == n


@each_kind
def test_the_cache_holds_a_latent_vector_and_a_shared_key_a_token(kind):
    layer, cache = make(kind), KVCache()
    layer(draw(B, L, D), cache=cache)
    turned = 0 if layer.rotary is None else layer.rotary.K
    assert cache.nbytes == B * L * (C + turned) * 8


@each_kind
def test_select_and_batch_axes(kind):
    layer, x, rows = make(kind), torch.randn(3, L, D, dtype=torch.float64), torch.tensor([2, 0, 2, 1])
    cache, alone = KVCache(), KVCache()
    layer(x[:, :-1], causal(L - 1), cache)
    cache.select(rows)
    want = layer(x, causal(L))
    assert_close(layer(x[rows, -1:], None, cache), want[rows][:, -1:])
    assert_close(layer(x[None], causal(L)), want[None])
    steps = [layer(token, None, alone) for token in x[0].split(1, dim=0)]
    assert_close(torch.cat(steps), want[0])


@watched_or_not
@pytest.mark.parametrize("junk", [7.0, 1e300, torch.nan])
@each_kind
def test_what_the_padding_holds_never_reaches_a_real_position(kind, junk, watched):
    layer, x = make(kind), torch.randn(B, L, D, dtype=torch.float64)
    x[0, 3:] = junk
    mask = padding(torch.tensor([3, L])) & causal(L)
    for one in (mask, mask[:, None].expand(B, H, L, L)):
        assert_close(call(layer, x, one, watched=watched)[0, :3], layer(x[0, :3], causal(3)))
    cache = KVCache()
    with torch.no_grad():
        layer(x[:1, :4], mask[:1, :4, :4], cache)
    other = layer(torch.cat([x[:1, :3], x[1:, 4:]], 1), causal(4))[:, -1:]
    if kind in ("plain", "LayerNorm"):  # no positions: the gap makes no difference
        row = torch.tensor([True, True, True, False, True])
        for one in (row, row[None, None], row.expand(1, H, 1, 5)):
            again = copy.deepcopy(cache)
            assert_close(call(layer, x[1:, 4:], one, again, watched=watched), other)


@each_kind
def test_junk_in_the_padding_reaches_no_gradient(kind):
    layer, real = make(kind), torch.arange(L) < 3
    clean = torch.randn(B, L, D, dtype=torch.float64)
    got, want = (layer(x, real & real[:, None]) for x in (clean.masked_fill(~real[:, None], torch.nan), clean))
    assert_close(got, want)
    assert_close(gradients(got, *layer.parameters()), gradients(want, *layer.parameters()))


@each_kind
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_it_runs_in_half_precision_packed_and_unpacked(kind, dtype):
    layer, x = make(kind).float(), torch.randn(B, 9, D)
    want, cache = layer(x, causal(9)), KVCache()
    layer, x = layer.to(dtype), x.to(dtype)
    got = torch.cat([layer(x[:, :4], causal(4), cache), layer(x[:, 4:], causal(5, 9), cache)], 1)
    assert got.dtype == dtype
    assert_close(got.float(), want, rtol=0, atol=0.06 * want.abs().max().item())


@each_kind
def test_maps_are_those_of_the_heads(kind):
    layer, x, cache = make(kind), draw(B, L, D), KVCache()
    with capture_attention(layer) as maps:
        layer(x, causal(L))
        whole = maps[""]
        layer(x[:, :-1], causal(L - 1), cache)
        layer(x[:, -1:], None, cache)
    assert whole.shape == (B, H, L, L)
    assert_close(maps[""], whole[:, :, -1:])


def test_dropout_drops_weights_in_training_only():
    layer, x = make("rotary", dropout=0.5), draw(B, L, D)
    assert not torch.allclose(layer(x), layer(x))
    assert_close(layer.eval()(x), layer(x))


def test_biases_are_for_what_x_is_projected_by_and_for_the_output():
    names = {name for name, _ in LatentAttention(D, H, latent=C, rotary=Rotary(R), bias=True).named_parameters()}
    assert {name for name in names if "bias" in name} == {
        f"{part}.bias" for part in ("query", "down", "shared_key", "output")
    }
    assert not any("bias" in name for name, _ in LatentAttention(D, H, latent=C, rotary=Rotary(R)).named_parameters())


def test_heads_are_as_wide_as_D_allows():
    layer = LatentAttention(D, H, latent=C, rotary=Rotary(R))
    shapes = [tuple(part.weight.shape) for part in (layer.query, layer.key, layer.value, layer.output)]
    assert shapes == [(D + H * R, D), (D, C), (D, C), (D, D)]


def test_a_key_of_the_cache_that_only_some_heads_see_stays_for_these():
    """Junk is taken out where no head sees it: for a batch and for one sequence."""
    layer, x = make("plain"), torch.randn(B, L, D, dtype=torch.float64)
    x[:, 1] = torch.nan
    some = torch.tensor(
        [[True, False, True, True, True], [False, False, True, True, True], [True, False, False, True, True]]
    )
    clean = x.nan_to_num(7.0)
    for one, rows, mask in ((x, clean, some[:, None].expand(B, H, 1, L)), (x[0], clean[0], some[:, None])):
        caches = KVCache(), KVCache()
        with torch.no_grad():
            layer(one[..., :-1, :], cache=caches[0]), layer(rows[..., :-1, :], cache=caches[1])
            got, want = (layer(rows[..., -1:, :], mask, cache) for cache in caches)
        assert_close(got, want)


def test_widths_of_heads_free_D_from_dividing():
    assert LatentAttention(10, 3, latent=4, d_k=4, d_v=2)(torch.ones(B, L, 10)).shape == (B, L, 10)
    assert "heads=3, dropout=0.1" in repr(LatentAttention(D, H, latent=C, dropout=0.1))


X = torch.zeros(B, L, D)
ACTS = {
    "D that does not split": (lambda: LatentAttention(10, 3, latent=4, d_v=2), "D = 10 does not split into 3 heads"),
    "no latent": (lambda: LatentAttention(D, H, latent=0), "latent must be at least 1, got 0"),
    "no width": (lambda: LatentAttention(D, H, latent=C, d_v=0), "d_v must be at least 1, got 0"),
    "another x": (lambda: LatentAttention(D, H, latent=C)(torch.zeros(B, L, 5)), "made for x of width 12"),
    "a mask of another length": (lambda: LatentAttention(D, H, latent=C)(X, causal(4)), "mask must have shape"),
    "a mask of floats": (lambda: LatentAttention(D, H, latent=C)(X, torch.ones(L, L)), "mask must be a boolean"),
    "one vector": (lambda: LatentAttention(D, H, latent=C)(torch.zeros(D)), r"Try x\[None\]"),
}


@pytest.mark.parametrize(("act", "words"), ACTS.values(), ids=ACTS)
def test_what_cannot_be_is_refused_in_words(act, words):
    with pytest.raises(ValueError, match=words):
        act()


def test_a_mask_that_forgets_the_cache_is_told_of_it():
    layer, cache = make("plain"), KVCache()
    layer(draw(B, 3, D), cache=cache)
    with pytest.raises(ShapeError, match=r"got \(2, 2\).*The cache holds 3 positions"):
        layer(draw(B, 2, D), causal(2), cache)
    with pytest.raises(ShapeError, match=r"two lengths\.$"):
        layer(draw(B, 2, D), causal(3))
