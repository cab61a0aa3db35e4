"""Linear attention against a loop over tokens: whatever fades, replaces or is cut into chunks; its layer; the scan."""

import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck
from torch.testing import assert_close

from attnbook import LinearAttention, RunningState, ShapeError, causal, linear_attention, padding, scan

B, H, L, K, V, D = 2, 3, 7, 4, 5, 12  # pairwise different: a swapped axis can't pass by luck
DECAYS = {"none": 0, "one a state": 1, "one a feature": K}
each_decay = pytest.mark.parametrize("width", DECAYS.values(), ids=DECAYS)
with_and_without_beta = pytest.mark.parametrize("delta", [False, True], ids=["added", "replaced"])


def draw(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=torch.float64).to(dtype)


def inputs(width, delta, length=L, batch=(B, H)):
    q, k = F.normalize(draw(2, *batch, length, K), dim=-1)
    decay = torch.rand(*batch, length, width, dtype=torch.float64).log() if width else None
    beta = torch.rand(*batch, length, 1, dtype=torch.float64) if delta else None
    return q, k, draw(*batch, length, V), decay, beta


def token_by_token(q, k, v, decay, beta, state):
    """One token after the other: the state fades, what the key holds already is taken from the value, and written."""
    outputs = []
    for i in range(q.shape[-2]):
        if decay is not None:
            state = state * decay[..., i, :, None].exp()
        new = v[..., i, :]
        if beta is not None:
            new = beta[..., i, :] * (new - torch.einsum("...k, ...kv -> ...v", k[..., i, :], state))
        state = state + torch.einsum("...k, ...v -> ...kv", k[..., i, :], new)
        outputs.append(torch.einsum("...k, ...kv -> ...v", q[..., i, :], state))
    return torch.stack(outputs, -2), state


@each_decay
@with_and_without_beta
@pytest.mark.parametrize("chunk", [1, 2, 3, 6, L, 64])
def test_recurrent_chunked_and_parallel_are_one(width, delta, chunk):
    given, state = inputs(width, delta), draw(B, H, K, V)
    assert_close(linear_attention(*given, state=state, chunk=chunk), token_by_token(*given, state))
    assert_close(linear_attention(*given, chunk=chunk), token_by_token(*given, torch.zeros_like(state)))


@each_decay
@with_and_without_beta
def test_without_a_chunk_long_texts_are_cut_all_the_same(width, delta):
    given = inputs(width, delta, length=150, batch=())
    assert_close(linear_attention(*given), token_by_token(*given, torch.zeros(K, V, dtype=torch.float64)))


@pytest.mark.slow
@each_decay
@with_and_without_beta
def test_its_gradients_are_right(width, delta):
    *given, decay, beta = inputs(width, delta, length=5, batch=(2,))
    tensors = [x.requires_grad_() for x in (*given, draw(2, K, V))]
    more = [x.requires_grad_() for x in (decay, beta) if x is not None]

    def f(q, k, v, state, *more):
        more = iter(more)
        decay, beta = (next(more) if there else None for there in (width, delta))
        return linear_attention(q, k, v, decay, beta, state=state, chunk=2)

    assert gradcheck(f, (*tensors, *more))


@each_decay
@with_and_without_beta
@given(cut=st.integers(0, L))
@settings(max_examples=5)
def test_a_state_goes_on_where_it_was_left(width, delta, cut):
    given = inputs(width, delta)
    first, second = ([None if x is None else x[..., now, :] for x in given] for now in (slice(cut), slice(cut, None)))
    early, state = linear_attention(*first, chunk=3)
    late, state = linear_attention(*second, state=state, chunk=3)
    assert_close((torch.cat([early, late], -2), state), linear_attention(*given))


def test_without_decay_it_is_attention_without_a_softmax():
    q, k, v, *_ = inputs(0, False)
    assert_close(linear_attention(q, k, v)[0], (q @ k.mT).tril() @ v)


def test_with_the_delta_rule_a_key_has_one_value():
    k = F.one_hot(torch.tensor([0, 1, 0, 2, 1]), K).double()
    v, beta = draw(5, V), torch.ones(5, 1, dtype=torch.float64)
    _, state = linear_attention(k, k, v, beta=beta)
    assert_close(k @ state, v[[2, 4, 2, 3, 4]])
    _, added = linear_attention(k, k, v)
    assert_close(added[0], v[0] + v[2])


def test_the_past_fades_at_its_rate():
    q = k = torch.ones(9, 1, dtype=torch.float64)
    v = (torch.arange(9) == 0).double()[:, None]
    decay = torch.full((9, 1), 0.5, dtype=torch.float64).log()
    assert_close(linear_attention(q, k, v, decay, chunk=4)[0].flatten(), 0.5 ** torch.arange(9, dtype=torch.float64))


@each_decay
@with_and_without_beta
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_below_float32_only_the_output_is_rounded(width, delta, dtype):
    given = [None if x is None else x.to(dtype) for x in inputs(width, delta, length=200)]
    got, state = linear_attention(*given)
    want, want_state = linear_attention(*(None if x is None else x.float() for x in given))
    assert (got.dtype, state.dtype) == (dtype, torch.float32)
    assert_close(got, want.to(dtype), rtol=0, atol=0)
    assert_close(state, want_state, rtol=0, atol=0)
    with torch.autocast("cpu", dtype):
        assert_close(linear_attention(*given)[0], got, rtol=0, atol=0)


@each_decay
def test_years_of_forgetting_neither_overflow_nor_lose_the_gradient(width):
    q, k, v, *_ = (x if x is None else x.float().requires_grad_() for x in inputs(0, False, length=40))
    decay = torch.full((B, H, 40, max(width, 1)), -200.0, requires_grad=True)
    output, _ = linear_attention(q, k, v, decay)
    assert_close(output, (q * k).sum(-1, keepdim=True) * v)
    assert all(g.isfinite().all() for g in torch.autograd.grad(output.sum(), (q, k, v, decay)))


@with_and_without_beta
def test_nothing_is_nothing(delta):
    given, state = inputs(1, delta, length=0), draw(B, H, K, V)
    output, after = linear_attention(*given, state=state)
    assert output.shape == (B, H, 0, V)
    assert_close(after, state)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 8, 13])
def test_the_scan_is_the_recurrence(length):
    a, b = torch.rand(B, length, D, dtype=torch.float64).requires_grad_(), draw(B, length, D).requires_grad_()
    h, want = torch.zeros(B, D, dtype=torch.float64), []
    for i in range(length):
        h = a[:, i] * h + b[:, i]
        want.append(h)
    got = scan(a, b)
    assert_close(got, torch.stack(want, 1) if want else b)
    if length > 1:
        weight = draw(B, length, D)
        of_scan, of_loop = (torch.autograd.grad((y * weight).sum(), (a, b)) for y in (got, torch.stack(want, 1)))
        assert_close(of_scan, of_loop)


@pytest.mark.parametrize(("length", "steps"), [(1, 0), (2, 1), (64, 6), (65, 7), (1000, 10)])
def test_the_scan_takes_as_many_steps_as_its_length_has_doublings(length, steps, monkeypatch):
    padded, pad = [], F.pad
    monkeypatch.setattr(F, "pad", lambda *given: padded.append(given) or pad(*given))
    scan(torch.ones(length, 1), torch.ones(length, 1))
    assert len(padded) == 2 * steps


def test_a_scan_computes_the_states_of_linear_attention():
    _, k, v, decay, _ = inputs(1, False, batch=())
    written = torch.einsum("lk, lv -> lkv", k, v).flatten(1)
    states = scan(decay.exp().expand_as(written), written)
    assert_close(states[-1].view(K, V), linear_attention(k, k, v, decay)[1])


KINDS = {
    "plain": {},
    "other widths": {"d_k": 6, "d_v": 5, "bias": True},
    "retention": {"decay": "fixed", "gated": True},
    "Mamba-2": {"decay": "state", "convolution": 3},
    "gated": {"decay": "feature", "gated": True, "d_v": 5},
    "DeltaNet": {"delta": True},
    "Gated DeltaNet": {"decay": "state", "delta": True, "gated": True, "convolution": 4},
    "Kimi": {"decay": "feature", "delta": True},
    "a sum of unit keys": {"features": "unit"},
    "a gate over elu": {"decay": "state", "features": "elu"},
    "a sum of keys as they are": {"features": "none"},
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def make(kind, **more):
    layer = LinearAttention(D, H, **KINDS[kind], **more).double()
    for name, parameter in layer.named_parameters():  # none is 0 or like another
        if name != "fade.bias":
            nn.init.normal_(parameter, std=0.5)
    return layer


def by_hand(layer, x):
    """The layer for one sequence (L, D), a head and a token at a time."""
    mixed = x
    if layer.mix is not None:
        reach = layer.convolution
        padded = torch.cat([torch.zeros(reach - 1, D, dtype=x.dtype), x])
        windows = torch.stack([padded[i : i + reach] for i in range(len(x))])
        mixed = torch.einsum("lrd, dr -> ld", windows, layer.mix.weight[:, 0]) + layer.mix.bias
    parts = [layer.query, layer.key, layer.value, layer.fade, layer.beta]
    parts = [None if part is None else part(mixed).chunk(H, -1) for part in parts]
    outputs = []
    for h in range(H):
        q, k, v, fade, beta = (None if part is None else part[h] for part in parts)
        elu = layer.norm is None
        if elu:
            q, k = (F.elu(x) + 1 for x in (q, k))
        elif layer.features == "unit":
            q, k = (x / x.norm(dim=-1, keepdim=True) for x in (q, k))
        v = F.pad(v, (0, 1), value=1.0) if elu else v
        decay = None if fade is None else fade.sigmoid().log()
        if layer.decay == "fixed":
            decay = torch.tensor(1 - 2 ** -(5 + 4 * h / (H - 1)), dtype=x.dtype).log().expand(len(x), 1)
        start = torch.zeros(q.shape[-1], v.shape[-1], dtype=x.dtype)
        y, _ = token_by_token(q, k, v, decay, None if beta is None else beta.sigmoid(), start)
        if elu:
            y = y[:, :-1] / y[:, -1:]
        else:
            y = y / (y.square().mean(-1, keepdim=True) + torch.finfo(y.dtype).eps).sqrt() * layer.norm.weight
        outputs.append(y)
    y = torch.cat(outputs, -1)
    return layer.output(y if layer.gate is None else y * F.silu(layer.gate(x)))


@each_kind
def test_the_layer_equals_a_loop_over_heads_and_tokens(kind):
    layer, x = make(kind), draw(B, L, D).requires_grad_()
    got, want = layer(x, mask=causal(L)), torch.stack([by_hand(layer, row) for row in x])
    assert_close(got, want)
    weight = draw(B, L, D)
    wrt = (x, *layer.parameters())
    assert_close(*(torch.autograd.grad((y * weight).sum(), wrt) for y in (got, want)))


@each_kind
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5))
@settings(max_examples=5)
def test_step_by_step_is_all_at_once(kind, sizes):
    layer, parts, n = make(kind), [], sum(sizes)
    cache = layer.new_cache()
    x = draw(B, n, D)
    for part in x.split(sizes, dim=1):
        parts.append(layer(part, causal(part.shape[1], len(cache) + part.shape[1]), cache))
    assert_close(torch.cat(parts, 1), layer(x))
    assert len(cache) == n


@each_kind
def test_a_row_of_a_batch_is_that_sequence_alone(kind):
    layer, x = make(kind), draw(3, B, L, D)
    batch = layer(x)
    assert_close(layer(x[1]), batch[1])
    assert_close(layer(x[1, 0]), batch[1, 0])


@each_kind
def test_select_keeps_these_rows_in_this_order(kind):
    layer, x, cache, rows = make(kind), draw(3, L, D), RunningState(), torch.tensor([2, 0, 2, 1])
    cache.select(rows)
    layer(x[:, :-1], cache=cache)
    cache.select(rows)
    assert_close(layer(x[rows, -1:], cache=cache), layer(x[rows])[:, -1:])


def test_what_is_kept_does_not_grow():
    layer, cache, sizes = make("Gated DeltaNet"), RunningState(), []
    assert (len(cache), cache.nbytes) == (0, 0)
    for n in (1, 2, 40):
        layer(draw(B, n, D), cache=cache)
        sizes.append(cache.nbytes)
    assert sizes == [B * (H * (D // H) ** 2 + 3 * D) * 8] * 3
    assert len(cache) == 43


@each_kind
@given(cut=st.integers(1, L - 1))
@settings(max_examples=3)
def test_the_future_never_leaks(kind, cut):
    layer, x = make(kind), draw(B, L, D)
    other = x.clone()
    other[:, cut:] *= -3
    was, now = layer(x), layer(other)
    assert_close(was[:, :cut], now[:, :cut])
    assert not torch.allclose(was[:, cut], now[:, cut])


@pytest.mark.filterwarnings("error")  # PyTorch warns where a norm and what it is given are of two types
@each_kind
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_it_runs_in_half_precision_and_under_autocast(kind, dtype):
    layer, x = make(kind).float(), draw(B, 40, D).to(dtype)
    want = layer(x.float())
    with torch.autocast("cpu", dtype):
        automatic = layer(x.float())
    for got in (automatic, copy.deepcopy(layer).to(dtype)(x)):
        assert got.dtype == dtype
        assert_close(got.float(), want, rtol=0, atol=0.05 * want.abs().max().item())


def test_at_first_each_head_forgets_at_a_rate_of_its_own():
    want = torch.tensor([1 - 2**-5, 1 - 2**-7, 1 - 2**-9]).log()
    for decay, width in (("fixed", 1), ("state", 1), ("feature", K)):
        layer = LinearAttention(D, H, decay=decay)
        seen = layer._decay(torch.randn(B, L, D))
        assert_close(seen, want[:, None, None].expand(B, H, L, width))


@each_kind
def test_dropout_only_in_training(kind):
    layer, x = make(kind, dropout=0.5), draw(B, L, D)
    assert not torch.allclose(layer(x), layer(x))
    assert_close(layer.eval()(x), layer(x))


@each_kind
def test_copies_and_loads(kind):
    layer, fresh, x = make(kind), make(kind), draw(B, L, D)
    assert not torch.allclose(fresh(x), layer(x))
    fresh.load_state_dict(layer.state_dict())
    assert_close(fresh(x), layer(x), rtol=0, atol=0)
    assert layer.state_dict().keys() == dict(layer.named_parameters()).keys()


def test_biases_are_for_projections_that_ask_for_them():
    layer = LinearAttention(D, H, bias=True)
    assert all(part.bias is not None for part in (layer.query, layer.key, layer.value, layer.output))
    assert {name for name, _ in LinearAttention(D, H).named_parameters()} == {
        f"{part}.weight" for part in ("query", "key", "value", "output")
    }


def test_it_says_what_it_is():
    assert "heads=3, decay='state', delta=True" in repr(LinearAttention(D, H, decay="state", delta=True))


X = torch.zeros(B, L, D)
ACTS = {
    "no chunk": (lambda: linear_attention(*inputs(0, False), chunk=0), "chunk must be at least 1, got 0"),
    "another width": (
        lambda: linear_attention(draw(L, K), draw(L, V), draw(L, V)),
        r"k must have shape .* = \(..., 7, 4\), got \(7, 5\).*one width",
    ),
    "more keys": (
        lambda: linear_attention(draw(L, K), draw(9, K), draw(9, V)),
        r"k must have shape \(..., L, K\) = \(7, 4\), got \(9, 4\). There is a key for each query",
    ),
    "another state": (
        lambda: linear_attention(draw(L, K), draw(L, K), draw(L, V), state=draw(V, K)),
        r"state must have shape \(..., K, V\) = \(4, 5\), got \(5, 4\). It is what an earlier call returned",
    ),
    "decay without its axis": (
        lambda: linear_attention(draw(L, K), draw(L, K), draw(L, V), draw(L)),
        r"decay must have shape \(..., L, 1\) = \(7, 1\), got \(7,\).*decay\[..., None\]",
    ),
    "beta of a feature": (
        lambda: linear_attention(draw(L, K), draw(L, K), draw(L, V), beta=draw(L, K)),
        r"beta must have shape \(..., L, 1\) = \(7, 1\), got \(7, 4\)",
    ),
    "beta of another type": (
        lambda: linear_attention(draw(L, K), draw(L, K), draw(L, V), beta=torch.ones(L, 1)),
        "beta must be of the same type as the queries, torch.float64, got torch.float32",
    ),
    "a scan of another width": (
        lambda: scan(draw(L, 1), draw(L, D)),
        r"a must have shape \(..., L, width\) = \(7, 12\), got \(7, 1\). There is a factor .* try .expand",
    ),
    "a scan of another length": (lambda: scan(draw(9, D), draw(L, D)), r"a must have shape .* got \(9, 12\)"),
    "D that does not split": (lambda: LinearAttention(10, 3, d_k=2), "D = 10 does not split into 3 heads"),
    "no convolution": (lambda: LinearAttention(D, H, convolution=0), "convolution must be at least 1, got 0"),
    "no width": (lambda: LinearAttention(D, H, d_k=0), "d_k must be at least 1, got 0"),
    "another decay": (
        lambda: LinearAttention(D, H, decay="slow"),
        "decay must be one of None, 'fixed', 'state', 'feature'; got 'slow'",
    ),
    "other features": (
        lambda: LinearAttention(D, H, features="relu"),
        "features must be one of 'elu', 'unit', 'none'; got 'relu'",
    ),
    "a delta rule of sums": (
        lambda: LinearAttention(D, H, delta=True, features="elu"),
        "delta rule needs features='unit'",
    ),
    "a delta rule of keys of any length": (
        lambda: LinearAttention(D, H, delta=True, features="none"),
        "delta rule needs features='unit'",
    ),
    "another x": (lambda: LinearAttention(D, H)(torch.zeros(B, L, 5)), "made for x of width 12"),
    "integers": (lambda: LinearAttention(D, H)(X.long()), "x must hold floating-point numbers, got torch.int64"),
    "padding": (lambda: LinearAttention(D, H)(X, padding(torch.tensor([3, L]))), r"can't be masked.*try causal\(L\)"),
    "a mask of another length": (lambda: LinearAttention(D, H)(X, causal(L, 9)), "mask must have shape"),
    "a mask of floats": (lambda: LinearAttention(D, H)(X, torch.ones(L, L)), "mask must be a boolean tensor"),
}


@pytest.mark.parametrize(("act", "words"), ACTS.values(), ids=ACTS)
def test_what_cannot_be_is_refused_in_words(act, words):
    with pytest.raises(ValueError, match=words):
        act()


def test_masks_that_say_no_more_than_causal_are_taken():
    layer, x = make("plain"), draw(B, L, D)
    for mask in (causal(L), causal(L).clone(), causal(L)[None]):
        assert_close(layer(x, mask), layer(x))
    with pytest.raises(ShapeError):
        layer(x, causal(L)[None, None])
    cache = RunningState()
    layer(x[:, :3], cache=cache)
    with pytest.raises(ShapeError, match="mask"):
        layer(x[:, 3:], causal(4), cache)  # which forgets the three


def test_widths_of_heads_free_D_from_dividing():
    assert LinearAttention(10, 3, d_k=4, d_v=2)(torch.ones(B, L, 10)).shape == (B, L, 10)


def test_nothing_given_is_changed():
    given = inputs(1, True)
    before = [x.clone() for x in given]
    linear_attention(*given, state=(state := draw(B, H, K, V)).clone())
    linear_attention(*given, state=(kept := state.clone()))
    assert torch.equal(kept, state)
    assert all(torch.equal(now, was) for now, was in zip(given, before, strict=True))
