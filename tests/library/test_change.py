"""Heads that are switched off, or use other weights: as by hand, and nothing else is another."""

import copy
import gc
import weakref
from threading import Thread

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from attnbook import (
    AdditiveAttention,
    DotProductAttention,
    LatentAttention,
    MultiHeadAttention,
    Rotary,
    ShapeError,
    capture_attention,
    causal,
    change_attention,
)
from tests.library.test_capture_elsewhere import CALL, HEADS, OPTIONS, PADDED, B, D, Heads, L, X

OTHERS = [0, 1, 3]  # than head 2, which is changed


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert nn.Module.__call__ is CALL
    assert not torch.overrides._get_current_function_mode_stack()


def by_head(output):
    return output.unflatten(-1, (HEADS, -1))


def even(weights):
    return (weights > 0) / (weights > 0).sum(-1, keepdim=True)


OWN = torch.linspace(0, 1, L * L).view(L, L)
CHANGES = {
    "off": ("off", torch.zeros_like),
    "even": ("even", even),
    "own": (OWN, lambda weights: OWN.expand_as(weights)),
    "one each": (OWN.expand(B, L, L), lambda weights: OWN.expand_as(weights)),
    "function": (torch.sqrt, torch.sqrt),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", OPTIONS)
def test_the_kernel_s_head_brings_what_other_weights_bring(name, change):
    options, by_hand = OPTIONS[name]
    if "attn_mask" in options:
        options = options | {"attn_mask": options["attn_mask"].expand(B, HEADS, L, L)}
    model, (given, wanted) = Heads(**options), CHANGES[change]
    torch.manual_seed(1)
    before, after = by_head(model(X)), torch.rand(3)
    torch.manual_seed(1)
    with change_attention(model, {("", 2): given}), capture_attention(model) as maps:
        got = by_head(model(X))
    assert torch.equal(torch.rand(3), after)
    weights = wanted(model.by_hand(X, **by_hand)[:, 2])
    v = model.qkv[2](X).unflatten(-1, (-1, D // HEADS))
    v = v.repeat_interleave(HEADS // v.shape[-2], -2)
    assert torch.equal(got[:, :, OTHERS], before[:, :, OTHERS])
    assert_close(maps[""][:, 2], weights.detach())
    if name != "dropout":
        assert_close(got[:, :, 2], weights @ v[:, :, 2])
    elif change != "off":
        assert not torch.equal(got[:, :, 2], weights @ v[:, :, 2])


def test_a_mean_is_that_of_the_output_over_batch_and_queries():
    model = Heads()
    before = by_head(model(X))
    with change_attention(model, {(0, 2): "mean"}), capture_attention(model) as maps:
        got = by_head(model(X))
    assert torch.equal(got[:, :, OTHERS], before[:, :, OTHERS])
    assert_close(got[:, :, 2], before[:, :, 2].mean((0, 1)).expand(B, L, -1))
    assert_close(maps[""], model.by_hand(X))


def without(projection, head, heads=HEADS):
    """A head is off, too, when what it brings is multiplied by zeros."""
    with torch.no_grad():
        projection.weight.unflatten(-1, (heads, -1))[:, head] = 0


class Ours(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(D, D), layer])

    def forward(self, x):
        return self.layers[1](self.layers[0](x), mask=causal(L))


def encoder(**options):
    layer = nn.TransformerEncoderLayer(D, HEADS, 32, **({"batch_first": True} | options))
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=not options)


PADDING = {"src_key_padding_mask": ~PADDED}
MODELS = {
    "MultiHeadAttention": (lambda: Ours(MultiHeadAttention(D, HEADS)), "layers.1", "output", {}),
    "much said": (lambda: Ours(MultiHeadAttention(D, HEADS, kv_heads=2, rotary=Rotary(4))), "layers.1", "output", {}),
    "LatentAttention": (lambda: Ours(LatentAttention(D, HEADS, latent=6)), "layers.1", "output", {}),
    "encoder": (encoder, "layers.1.self_attn", "out_proj", {}),
    "norm first": (lambda: encoder(norm_first=True), "layers.1.self_attn", "out_proj", {}),
    "positions first": (lambda: encoder(batch_first=False), "layers.1.self_attn", "out_proj", {}),
    "padding": (encoder, "layers.1.self_attn", "out_proj", PADDING),
    "causal": (encoder, "layers.1.self_attn", "out_proj", {"mask": ~causal(L), "is_causal": True}),
}


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_off_is_a_projection_without_the_head_on_whatever_path(name, grad):
    make, layer, projection, given = MODELS[name]
    model = make().eval()
    bare = copy.deepcopy(model)
    without(bare.get_submodule(f"{layer}.{projection}"), 2)
    with torch.set_grad_enabled(grad), change_attention(model, {(layer, 2): "off"}), capture_attention(model) as maps:
        got = model(X, **given)
    with torch.set_grad_enabled(grad):
        want, before = bare(X, **given), model(X, **given)
    real = PADDED if given is PADDING else PADDED | True  # the fast path drops padding
    assert_close(got[real], want[real])
    assert not torch.allclose(got[real], before[real], atol=1e-4)
    assert not maps[layer][:, 2].any()
    assert maps[layer][:, OTHERS].any(-1).all()


@pytest.mark.parametrize("needed", [{"need_weights": False}, {}, {"average_attn_weights": False}])
@pytest.mark.parametrize("kind", [{}, {"dropout": 0.3}, {"add_bias_kv": True}, {"add_zero_attn": True}])
@pytest.mark.parametrize("mask", [None, "attn_mask", "key_padding_mask", "both"])
def test_the_other_heads_of_an_nn_multihead_attention_are_the_same_bits(needed, kind, mask):
    model = nn.MultiheadAttention(D, HEADS, batch_first=True, **kind)
    with torch.no_grad():
        model.out_proj.weight.copy_(torch.eye(D))
    given = {"attn_mask": ~causal(L), "key_padding_mask": ~PADDED}
    given = needed | {name: value for name, value in given.items() if mask in (name, "both")}
    torch.manual_seed(1)
    before, weights = model(X, X, X, **given)
    torch.manual_seed(1)
    with change_attention(model, {(0, 2): "off"}), capture_attention(model) as maps:
        got, used = model(X, X, X, **given)
    assert torch.equal(by_head(got)[:, :, OTHERS], by_head(before)[:, :, OTHERS])
    assert not by_head(got)[:, :, 2].any()
    want = None if weights is None else maps[""] if "average_attn_weights" in needed else maps[""].mean(1)
    assert_close(used, want)


def test_one_text_without_a_batch():
    model = nn.MultiheadAttention(D, HEADS)
    got = {}
    for x in (X[0], X[0][:, None]):
        with change_attention(model, {(0, 2): "even"}):
            got[x.ndim] = model(x, x, x)
    assert_close(got[2][0], got[3][0][:, 0])
    assert_close(got[2][1], got[3][1][0])
    ours = MultiHeadAttention(D, HEADS)
    with change_attention(ours, {(0, 2): OWN}):
        assert_close(ours(X[0]), ours(X)[0])


class Pair(nn.Module):
    """Two layers, called in another order than they are registered."""

    def __init__(self, kind=Heads):
        super().__init__()
        self.late, self.early = kind(), kind()

    def forward(self, x):
        return self.late(self.early(x))


@pytest.mark.parametrize("kind", [Heads, lambda: MultiHeadAttention(D, HEADS)])
def test_layers_are_numbered_in_the_order_in_which_they_attend(kind):
    model = Pair(kind).eval()
    with capture_attention(model) as maps:
        model(X)
    assert list(maps) == ["early", "late"]
    for number, name in enumerate(maps):
        got = []
        for layer in (number, name):
            with change_attention(model, {(layer, 1): "off"}), capture_attention(model) as maps:
                got.append(model(X))
                assert torch.equal(model(X), got[-1])  # a second call counts no further
            assert not maps[name][:, 1].any()
        assert_close(*got)


def test_each_call_in_a_module_has_its_name():
    class Twice(Heads):
        def forward(self, x):
            return F.scaled_dot_product_attention(*[super().forward(x)] * 3)

    model = Twice()
    for layer in ("#2", 1):
        with change_attention(model, {(layer, 0): "off"}), capture_attention(model) as maps:
            assert not model(X).any()
        assert maps[""].any()
        assert not maps["#2"].any()


@pytest.mark.parametrize("kind", [Heads, lambda: MultiHeadAttention(D, HEADS)])
def test_weights_of_another_run(kind):
    """Activation patching: with all patterns of another text, only the values tell."""
    model = kind().eval()
    other = X.flip(1)
    with capture_attention(model) as maps:
        want = model(other)
    with change_attention(model, {("", None): maps[""]}), capture_attention(model) as used:
        got = model(other)
        assert_close(got, want)
        model(X)
    assert_close(used[""], maps[""])
    with change_attention(model, {("", head): maps[""][:, head].half() for head in range(HEADS)}):
        assert_close(model(other), want, atol=1e-3, rtol=0)


def test_layers_without_heads_have_one():
    x = X[..., :4]
    for layer in (DotProductAttention(), AdditiveAttention(4, 4, num_hiddens=3)):
        for given in (x, x[0]):
            with change_attention(layer, {(0, 0): OWN}), capture_attention(layer) as maps:
                assert_close(layer(given, given, given), OWN @ given)
            assert_close(maps[""], OWN.expand_as(maps[""]))
    heads = x[:, None].repeat(1, 3, 1, 1)
    layer = DotProductAttention()
    with change_attention(layer, {(0, 1): "off"}):
        got = layer(heads, heads, heads)
    assert got[:, [0, 2]].any()
    assert not got[:, 1].any()


def test_a_change_inside_a_change_comes_after_it_and_captures_see_both():
    model = Heads()
    with capture_attention(model) as outside, change_attention(model, {("", None): "even"}):
        with change_attention(model, {("", 0): lambda w: w * 2, ("", 1): "off"}), capture_attention(model) as inside:
            model(X)
        assert torch.equal(outside[""], inside[""])
        model(X)
    want = torch.full((B, HEADS, L, L), 1 / L)
    assert_close(outside[""], want)
    want[:, 0], want[:, 1] = 2 / L, 0
    assert_close(inside[""], want)


def test_gradients_flow_through_changed_weights_and_to_given_ones():
    model, own, kept = Heads(), OWN.clone().requires_grad_(), []

    def held(weights):
        kept.append(weights)
        weights.retain_grad()
        return weights

    with change_attention(model, {(0, 0): held, (0, 1): own}):
        out = model(X)
    (by_head(out) ** 2).sum().backward()
    assert kept[0].grad.shape == (B, L, L)
    assert kept[0].grad.any()
    assert own.grad.any()
    assert all(layer.weight.grad.any() for layer in model.qkv)
    again, weights = Heads(), model.by_hand(X)[:, 0].detach().requires_grad_()
    again.load_state_dict(model.state_dict())
    v = by_head(model.qkv[2](X))[:, :, 0]
    ((weights @ v) ** 2).sum().backward()
    assert_close(kept[0].grad, weights.grad)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_layer_that_is_computed_again_for_its_gradient_is_changed_again(use_reentrant):
    heads, grads = Heads(), []
    model = nn.Sequential(heads)
    for forward in (heads.forward, lambda x: checkpoint(Heads.forward, heads, x, use_reentrant=use_reentrant)):
        heads.forward, x = forward, X.clone().requires_grad_()
        with change_attention(model, {(0, 1): "off"}):
            model(x).square().sum().backward()
        grads.append(x.grad)
    assert_close(*grads)


@pytest.mark.parametrize("change", ["off", "mean", "even", OWN, torch.sqrt], ids=["off", "mean", "even", "own", "sqrt"])
def test_half_precision_and_autocast(change):
    model = nn.Sequential(Heads(), nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True)).eval()
    changes = {("0", 2): change, ("1.self_attn", 0): change}
    with change_attention(model, changes):
        want = model(X)
        with torch.autocast("cpu", torch.bfloat16):
            assert_close(model(X).float(), want, atol=0.1, rtol=0)
    half = copy.deepcopy(model).bfloat16()
    with change_attention(half, changes):
        got = half(X.bfloat16())
    assert got.dtype == torch.bfloat16
    assert_close(got.float(), want, atol=0.1, rtol=0)


def test_others_are_left_alone_and_nothing_is_held():
    model, other = Heads(), Heads()
    before = other(X)
    kept = []

    def rooted(weights):
        weights = weights.sqrt()
        kept.append(weakref.ref(weights))
        return weights

    with torch.no_grad(), change_attention(model, {(0, None): rooted}):
        assert torch.equal(other(X), before)
        gc.disable()
        try:
            model(X)
            assert len(kept) == HEADS
            assert all(weights() is None for weights in kept)  # without a garbage collector
        finally:
            gc.enable()
        copied = copy.deepcopy(model)
        assert torch.equal(copied(X), copy.deepcopy(copied)(X))


def test_part_of_a_model_is_changed_while_all_of_it_runs_and_the_fast_path_is_not_taken():
    model = encoder().eval()
    with torch.no_grad():
        for part, layer in (("layers.1", "self_attn"), ("layers.1.self_attn", "")):
            with change_attention(model.get_submodule(part), {(layer, 1): "off"}), capture_attention(model) as maps:
                model(X, **PADDING)
            assert not maps["layers.1.self_attn"][:, 1].any()
            with capture_attention(model.get_submodule(part)) as maps:
                model(X, **PADDING)
            assert maps.keys() == {layer}


def test_an_error_leaves_nothing_and_is_the_one_that_is_told():
    model = MultiHeadAttention(D, HEADS)
    with pytest.raises(RuntimeError, match="its own"), change_attention(model, {(7, 0): "off"}):
        raise RuntimeError("its own")
    assert "_watchers" not in vars(model)


def test_threads_each_change_their_own():
    model, want, got = [Heads() for _ in range(3)], {}, {}

    def work(number):
        for _ in range(20):
            with change_attention(model[number], {(0, number): "off"}):
                got[number] = model[number](X)

    for number in range(3):
        work(number)
        want[number] = got.pop(number)
    threads = [Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(got[number], want[number]) for number in range(3))


@pytest.mark.slow
def test_a_model_of_transformers():
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 30, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    config = transformers.LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2)
    model = transformers.AutoModel.from_config(config, attn_implementation="sdpa").eval()
    bare, ids = copy.deepcopy(model), torch.tensor([[1, 2, 3, 4, 5], [3, 2, 1, 0, 0]])
    without(bare.layers[1].self_attn.o_proj, 2)
    with change_attention(model, {(1, 2): "off"}):
        assert_close(model(ids).last_hidden_state, bare(ids).last_hidden_state)


def test_a_compiled_model_runs_as_it_was_written():
    model = Pair()
    compiled = torch.compile(model, backend="eager")
    compiled(X)
    with change_attention(compiled, {("late", None): "off"}):
        assert not compiled(X).any()


WRONG = {
    "change_attention(model, ['off'])": "changes must be a dictionary such as {(layer, head): 'off'}, got a list.",
    "change_attention(model, {})": "changes must be a dictionary such as {(layer, head): 'off'}, got an empty one.",
    "change_attention(model, {3: 'off'})": (
        "changes goes by (layer, head), got 3. All heads of a layer? Try (layer, None)."
    ),
    "change_attention(model, {(0, 'all'): 'off'})": "head must be an integer, got 'all', a str. Try a size",
    "change_attention(model, {(0, -1): 'off'})": "head must be at least 0, got -1.",
    "change_attention(model, {(-1, 0): 'off'})": "layer must be at least 0, got -1.",
    "change_attention(model, {('erly', 0): 'off'})": (
        "layer must be the name of a module in the model, or a number; got 'erly'. Did you mean 'early'?"
    ),
    "change_attention(model, {(0, 0): 'of'})": (
        "a change must be 'off', 'mean', 'even', a tensor of weights or a function of them; got 'of'. "
        "Did you mean 'off'?"
    ),
    "change_attention(model, {(0, 0): 0.5})": (
        "a change must be 'off', 'mean', 'even', a tensor of weights or a function of them; got a float."
    ),
    "change_attention(3, {(0, 0): 'off'})": "model must be a torch.nn.Module, got an int.",
    "change_attention(model, {('late', 4): 'off'})": ("head must be below 4, counted from 0, in layer 'late'; got 4."),
    "change_attention(model, {(2, 0): 'off'})": (
        "layer 2 did not attend inside, so nothing came of it. 2 did, from 0, 'early', to 1, 'late'."
    ),
    "change_attention(model, {('early.qkv', 0): 'off'})": "layer 'early.qkv' did not attend inside",
    "change_attention(model.early.qkv, {(0, 0): 'off'})": (
        "layer 0 did not attend inside, so nothing came of it. None did. Did you call model(x) inside"
    ),
    "change_attention(model, {(0, 0): torch.ones(4, 5)})": (
        "the weights of a change must have shape (..., L, M) = (2, 5, 5), got (4, 5). Rows are queries"
    ),
    "change_attention(model, {(0, 0): torch.ones(2, 4, 5, 5)})": "the weights of a change must have shape (..., L, M)",
    "change_attention(model, {(0, 0): torch.ones(5)})": "the weights of a change must have shape (..., L, M)",
    "change_attention(model, {(0, None): torch.ones(2, 3, 5, 5)})": (
        "the weights of a change must have shape (B, H, L, M) = (B, 4, L, M), got (2, 3, 5, 5). A whole map"
    ),
    "change_attention(model, {(0, 0): lambda weights: None})": (
        "a change must give weights, a tensor (B, L, M), got a NoneType. Does it return them?"
    ),
    "capture_attention(model, layers=['erly'])": "layer must be the name of a module in the model",
    "capture_attention(model, layers=[5])": "layer 5 did not attend inside",
}


@pytest.mark.parametrize("code", WRONG)
def test_what_is_wrong_is_told(code):
    model = Pair()
    space = {"model": model, "change_attention": change_attention, "capture_attention": capture_attention}
    with pytest.raises(ValueError, match=r"\w") as caught, eval(code, space | {"torch": torch}):
        model(X)
    assert str(caught.value).startswith(WRONG[code])
    assert isinstance(caught.value, ShapeError) == ("must have shape" in WRONG[code])
