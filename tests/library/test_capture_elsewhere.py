"""Other people's models: their attention is shown, by name, and they compute the same to the last bit."""

import copy
from threading import Barrier, Event, Thread

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from attnbook import MultiHeadAttention, attention, capture_attention, causal, change_attention

B, L, D, HEADS = 2, 5, 16, 4
CALL, KERNELS = nn.Module.__call__, _cur_sdpa_kernel_backends()


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert nn.Module.__call__ is CALL
    assert _cur_sdpa_kernel_backends() == KERNELS
    assert not torch.overrides._get_current_function_mode_stack()


def same_and_maps(model, *given, **named):
    """What a model computes unwatched, to the bit, and its maps."""
    torch.manual_seed(1)
    want = model(*given, **named)
    torch.manual_seed(1)
    with capture_attention(model) as maps:
        got = model(*given, **named)
    assert torch.equal(got.nan_to_num(9), want.nan_to_num(9))
    assert not any(weights.requires_grad for weights in maps.values())
    return maps


class Heads(nn.Module):
    """Attention as many models have it, with what may be said to the kernel."""

    def __init__(self, kv_heads=HEADS, **options):
        super().__init__()
        self.qkv = nn.ModuleList(nn.Linear(D, n * D // HEADS) for n in (HEADS, kv_heads, kv_heads))
        self.options = options

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (-1, D // HEADS)).transpose(1, 2) for layer in self.qkv)
        return F.scaled_dot_product_attention(q, k, v, **self.options).transpose(1, 2).flatten(2)

    def by_hand(self, x, allowed=None, scale=None):
        q, k, _ = (layer(x).unflatten(-1, (-1, D // HEADS)).transpose(1, 2) for layer in self.qkv)
        k = k.repeat_interleave(HEADS // k.shape[1], 1)
        scores = q @ k.mT * ((D // HEADS) ** -0.5 if scale is None else scale)
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf) if allowed.dtype == torch.bool else scores + allowed
        return scores.softmax(-1)


X = torch.linspace(-2, 3, B * L * D).view(B, L, D).sin()
PADDED = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
OPTIONS = {
    "plain": ({}, {}),
    "causal": ({"is_causal": True}, {"allowed": causal(L)}),
    "mask": ({"attn_mask": PADDED[:, None, None]}, {"allowed": PADDED[:, None, None]}),
    "bias": ({"attn_mask": torch.arange(L) * 0.5}, {"allowed": torch.arange(L) * 0.5}),
    "scale": ({"scale": 2.0}, {"scale": 2.0}),
    "dropout": ({"dropout_p": 0.5}, {}),
    "shared": ({"enable_gqa": True, "kv_heads": 2}, {}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_kernel_s_weights_are_those_of_a_softmax_by_hand(name):
    options, by_hand = OPTIONS[name]
    if "attn_mask" in options:
        options = options | {"attn_mask": options["attn_mask"].expand(B, HEADS, L, L)}
    model = nn.Sequential(nn.Linear(D, D), Heads(**options), nn.Linear(D, D))
    maps = same_and_maps(model, X)
    assert_close(maps, {"1": model[1].by_hand(model[0](X), **by_hand)})


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_of_numbers(dtype):
    model = Heads().to(dtype)
    maps = same_and_maps(model, X.to(dtype))
    wide = torch.promote_types(dtype, torch.float32)
    assert_close(maps[""], model.by_hand(X.to(dtype)).to(wide), atol=1e-2 if dtype == torch.bfloat16 else 1e-9, rtol=0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"batch_first": False}, {"dropout": 0.5}])
@pytest.mark.parametrize("mask", [None, "padding", "causal"])
def test_an_encoder_s_maps_by_whatever_path(training, grad, options, mask):
    layer = nn.TransformerEncoderLayer(D, HEADS, 32, **({"batch_first": True} | options))
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not options).train(training)
    x = X if layer.self_attn.batch_first else X.transpose(0, 1)
    given = {None: {}, "padding": {"src_key_padding_mask": ~PADDED}, "causal": {"mask": ~causal(L)}}[mask]
    with torch.set_grad_enabled(grad):
        maps = same_and_maps(model, x, **given)
        assert maps.keys() == {"layers.0.self_attn", "layers.1.self_attn"}
        first = model.layers[0]
        y = first.norm1(x) if first.norm_first else x
        masks = {"key_padding_mask": given.get("src_key_padding_mask"), "attn_mask": given.get("mask")}
        _, want = copy.deepcopy(first.self_attn).eval()(y, y, y, average_attn_weights=False, **masks)
    assert_close(maps["layers.0.self_attn"], want.detach())
    assert maps["layers.1.self_attn"].shape == (B, HEADS, L, L)


def test_the_fast_path_is_the_one_that_is_compared():
    """Else the test above would say nothing of it: it gives other bits than the slow one."""
    model = nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True).eval()
    with torch.no_grad():
        fast = model(X)
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            slow = model(X)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)
    assert_close(fast, slow)
    assert not torch.equal(fast, slow)


def test_a_whole_transformer():
    model = nn.Transformer(D, HEADS, 1, 1, 32, batch_first=True).eval()
    maps = same_and_maps(model, X, X[:, :3], tgt_mask=~causal(3))
    want = {
        "encoder.layers.0.self_attn": (B, HEADS, L, L),
        "decoder.layers.0.self_attn": (B, HEADS, 3, 3),
        "decoder.layers.0.multihead_attn": (B, HEADS, 3, L),
    }
    assert {name: tuple(weights.shape) for name, weights in maps.items()} == want


def test_ours_and_theirs_side_by_side():
    model = nn.Sequential(MultiHeadAttention(D, HEADS), Heads()).eval()
    with capture_attention(model) as maps:
        got = model(X)
    assert_close(got, model(X))
    assert maps.keys() == {"0", "1"}


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads, self.deaf = Heads(), False

    def forward(self, x):
        if self.deaf:
            raise RuntimeError("deaf")
        x = self.heads(self.heads(x))
        for _ in range(2):
            x = F.scaled_dot_product_attention(x, x, x)
        return x


def test_calls_are_told_apart_and_a_module_called_again_shows_the_last():
    model = Twice()
    maps = same_and_maps(model, X)
    y = model.heads(X)
    assert maps.keys() == {"heads", "", "#2"}
    assert_close(maps["heads"], model.heads.by_hand(y))
    z = model.heads(y)
    first, weights = attention(z, z, z)
    assert_close((maps[""], maps["#2"]), (weights, attention(first, first, first)[1]))


def test_captures_inside_each_other_and_closed_in_any_order():
    model = nn.Sequential(nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True), Heads()).eval()
    whole, part = capture_attention(model), capture_attention(model[0])
    outer, inner = whole.__enter__(), part.__enter__()
    with torch.no_grad():
        got = model(X)
    whole.__exit__(None, None, None)
    model[0](X)
    part.__exit__(None, None, None)
    with torch.no_grad():
        assert torch.equal(got, model(X))
    assert outer.keys() == {"0.self_attn", "1"}
    assert torch.equal(outer["0.self_attn"], inner["self_attn"])


def test_others_are_not_looked_at():
    model, other = Heads(), Heads()
    with capture_attention(model) as maps:
        other(X)
        copy.deepcopy(model)(X)
        F.scaled_dot_product_attention(X, X, X)
        assert maps == {}
        model(X)
    assert maps.keys() == {""}


def test_an_error_in_the_model_leaves_nothing():
    model = nn.Sequential(nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True), Twice()).eval()
    model[1].deaf = True
    with capture_attention(model) as maps:
        with pytest.raises(RuntimeError, match="deaf"):
            model(X)
        with pytest.raises(AssertionError):
            model(X[..., :3])
        model[1].deaf = False
        model(X)
    assert maps.keys() == {"0.self_attn", "1.heads", "1", "1#2"}


def test_hooks_see_each_call_once_and_gradients_flow():
    model, calls = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True), 1).eval(), []
    model.layers[0].linear1.register_forward_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        same_and_maps(model, X)
    assert len(calls) == 2  # once unwatched, once watched
    with capture_attention(model):
        model(X).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("before", [True, False])
def test_a_hook_on_what_comes_of_a_fast_layer_runs_once(before):
    model, calls, seen = nn.MultiheadAttention(D, HEADS, batch_first=True).eval(), [], []
    model.register_forward_hook(lambda *_: calls.append(1))
    if before:
        model.register_forward_pre_hook(lambda _, given: seen.append(1) or tuple(x * 2 for x in given))
    with torch.no_grad(), capture_attention(model) as maps:
        model(X, X, X)
    assert len(calls) == (2 if before else 1)  # what a hook makes of the input, the weights depend on
    with torch.no_grad():
        _, want = model(X, X, X, average_attn_weights=False)
    assert_close(maps[""], want)


def test_what_may_be_fast_is_computed_once_more_and_not_oftener(monkeypatch):
    layer, calls = nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True).eval(), []
    forward = nn.MultiheadAttention.forward

    def counted(self, *args, **kwargs):
        calls.append(torch.is_grad_enabled())
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(nn.MultiheadAttention, "forward", counted)
    with capture_attention(layer):
        layer(X)
        assert calls == [True, False]  # the second without a graph
        with torch.no_grad():
            layer(X)
        assert calls == [True, False, False]  # the fast path does without this


@pytest.mark.slow
@pytest.mark.parametrize("in_place", [True, False])
def test_a_compiled_model_runs_as_it_was_written(in_place):
    model = nn.Sequential(nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True), Heads()).eval()
    with torch.no_grad():
        want = model(X)
        if in_place:
            model.compile(backend="eager")
        compiled = model if in_place else torch.compile(model, backend="eager")
        compiled(X)
        with capture_attention(compiled) as maps:
            assert torch.equal(compiled(X), want)
        assert maps.keys() == {"0.self_attn", "1"}
        assert_close(compiled(X), want)


@pytest.mark.slow
def test_models_of_transformers():
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 30, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    llama = transformers.LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2)
    bert = transformers.BertConfig(**sizes, num_attention_heads=4)
    gpt = transformers.GPT2Config(vocab_size=30, n_embd=16, n_layer=2, n_head=4)
    names = {"layers.{}.self_attn": llama, "encoder.layer.{}.attention.self": bert, "h.{}.attn": gpt}
    ids, padding = torch.tensor([[1, 2, 3, 4, 5], [3, 2, 1, 0, 0]]), torch.tensor([[1] * 5, [1, 1, 1, 0, 0]])
    for name, config in names.items():
        model = transformers.AutoModel.from_config(config, attn_implementation="sdpa").eval()
        want = model(ids, attention_mask=padding).last_hidden_state
        with capture_attention(model) as maps:
            got = model(ids, attention_mask=padding).last_hidden_state
        assert torch.equal(got, want)
        assert maps.keys() == {name.format(n) for n in range(2)}
        model.set_attn_implementation("eager")
        by_hand = model(ids, attention_mask=padding, output_attentions=True).attentions
        for got, want in zip(maps.values(), by_hand, strict=True):
            assert_close(got[0], want[0].detach())
            assert_close(got[1, :, :3], want[1, :, :3].detach())


class ByHand(nn.Module):
    def forward(self, x):
        return (x @ x.mT).softmax(-1) @ x


def test_a_softmax_by_hand_is_told_what_to_do():
    with (
        pytest.raises(ValueError, match=r"ByHand .* let it call F.scaled_dot_product_attention; .*'sdpa'"),
        capture_attention(ByHand()) as maps,
    ):
        ByHand()(X)
    assert maps == {}
    with pytest.raises(RuntimeError, match="its own"), capture_attention(ByHand()):
        raise RuntimeError("its own")


@pytest.mark.slow
def test_an_exported_model_is_seen_and_changed():
    model = Heads().eval()
    exported = torch.export.export(model, (X,)).module()
    assert_close(same_and_maps(exported, X)[""], model.by_hand(X))
    with change_attention(model, {(0, 1): "off"}), change_attention(exported, {(0, 1): "off"}):
        assert_close(exported(X), model(X))


def test_what_torch_jit_made_is_named():
    model = Heads()
    traced, inert = torch.jit.trace(model, X), torch.jit.trace(nn.Linear(D, D), X)
    told = r"torch.jit made {}: if it attends, that can't be seen"
    with pytest.raises(ValueError, match=told.format("the model itself")), capture_attention(traced):
        traced(X)
    both = nn.Sequential(Heads(), inert, traced)
    with pytest.warns(UserWarning, match=told.format("'2'")) as warned, capture_attention(both) as maps:
        both(X)
    assert list(maps) == ["0"]
    assert warned[0].filename == __file__
    same_and_maps(nn.Sequential(model, inert), X)
    bare = torch.jit.script(nn.ModuleList([nn.Linear(D, D)]))  # of no forward call
    same_and_maps(Beside(model, bare), X)
    with torch.no_grad():
        layer = torch.jit.trace(nn.TransformerEncoderLayer(D, HEADS, batch_first=True).eval(), X)
        with pytest.raises(ValueError, match=told.format("the model itself")), capture_attention(layer):
            layer(X)


class Beside(nn.Module):
    """A model, and another module that it never calls."""

    def __init__(self, model, other):
        super().__init__()
        self.model, self.other = model, other

    def forward(self, x):
        return self.model(x)


class Said(Heads):
    """Every argument by its name."""

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (-1, D // HEADS)).transpose(1, 2) for layer in self.qkv)
        return F.scaled_dot_product_attention(query=q, key=k, value=v, attn_mask=causal(L)).transpose(1, 2).flatten(2)


def test_arguments_by_name():
    model = Said()
    assert_close(same_and_maps(model, X)[""], model.by_hand(X, causal(L)))


@pytest.mark.parametrize("rows", [torch.arange(L)[:, None] == 2, 2])
def test_a_query_that_sees_nothing_has_weights_of_zero(rows):
    mask = torch.zeros(L, L)
    mask[rows if isinstance(rows, int) else rows.expand(L, L)] = -torch.inf
    for attn_mask in (mask, mask == 0):
        weights = same_and_maps(Heads(attn_mask=attn_mask), X)[""]
        assert_close(weights.sum(-1), torch.ones(B, HEADS, L).index_fill(-1, torch.tensor(2), 0))


def test_a_kernel_that_was_chosen_is_kept_and_need_not_give_weights():
    """Of the flash kernel, on a CPU, values must be as wide as keys, and unit vectors are not."""
    model = Heads()
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        maps = same_and_maps(model, X)
    assert_close(maps[""], model.by_hand(X))


def test_half_precision_by_autocast():
    model = nn.Sequential(Heads(), nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True))
    with torch.autocast("cpu", torch.bfloat16):
        maps = same_and_maps(model.eval(), X)
    assert_close(maps["0"], model[0].by_hand(X), atol=0.02, rtol=0)
    assert maps.keys() == {"0", "1.self_attn"}


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_layer_that_is_computed_again_for_its_gradient(use_reentrant):
    class Again(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = Heads()

        def forward(self, x):
            return checkpoint(self.heads, x, use_reentrant=use_reentrant)

    model, x = Again(), X.clone().requires_grad_()
    with capture_attention(model) as maps:
        model(x).sum().backward()
    assert_close(maps["heads"], model.heads.by_hand(X))
    assert x.grad is not None


def test_the_function_of_heads_by_itself():
    class Plain(nn.Module):
        def forward(self, x):
            w, b = torch.linspace(-1, 1, 3 * D * D).view(3 * D, D).sin(), torch.zeros(3 * D)
            more = (None, None, False, 0.0, w[:D], b[:D], True, None, self.training)
            return F.multi_head_attention_forward(*3 * [x.transpose(0, 1)], D, HEADS, w, b, *more)[0]

    weights = same_and_maps(Plain().eval(), X)[""]
    assert weights.shape == (B, HEADS, L, L)
    assert_close(weights.sum(-1), torch.ones(B, HEADS, L))


def test_two_threads_each_look_at_their_own():
    found, start = {}, Barrier(3)

    def look(name, model):
        start.wait()
        for _ in range(30):
            with capture_attention(model) as maps:
                model(X)
            found.setdefault(name, []).append(maps)

    models = {"heads": Heads(), "again": Heads(), "encoder": nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True)}
    threads = [Thread(target=look, args=(name, model.eval())) for name, model in models.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: len(maps) for name, maps in found.items()} == dict.fromkeys(models, 30)
    for name, each in found.items():
        assert all(maps.keys() == ({"self_attn"} if name == "encoder" else {""}) for maps in each)
    for name in ("heads", "again"):
        for maps in found[name]:
            assert_close(maps[""], models[name].by_hand(X))


class Settings(TorchDispatchMode):
    """What PyTorch keeps for all threads, at each operation."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.seen.add(tuple(_cur_sdpa_kernel_backends()))
        return op(*args, **(kwargs or {}))


def test_the_kernels_that_others_choose_are_left_alone():
    """Two threads that each set them and set them back may leave them set."""
    model = Heads()
    with Settings() as unwatched:
        model(X)
    with Settings() as watched, capture_attention(model):
        model(X)
    assert watched.seen == unwatched.seen


@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_what_is_compiled_is_compiled_again_when_the_last_thread_has_left(first_to_leave):
    ran, inside, leave = [], Barrier(3), (Event(), Event())

    def compiler(graph, example_inputs):
        return lambda *inputs: ran.append(True) or graph(*inputs)

    compiled = torch.compile(lambda x: x + 1, backend=compiler)

    class Waits(Heads):
        def __init__(self, number):
            super().__init__()
            self.number = number

        def forward(self, x):
            x = super().forward(compiled(x))
            inside.wait()
            leave[self.number].wait()
            return x

    def look(model):
        with capture_attention(model):
            model(X)

    threads = [Thread(target=look, args=(Waits(number),)) for number in range(2)]
    for thread in threads:
        thread.start()
    inside.wait()
    for number in (first_to_leave, 1 - first_to_leave):
        assert not ran
        leave[number].set()
        threads[number].join()
    compiled(X)
    assert ran


def test_a_model_that_works_in_another_thread_is_seen():
    model = Heads()
    with capture_attention(model) as maps:
        thread = Thread(target=model, args=(X,))
        thread.start()
        thread.join()
    assert_close(maps[""], model.by_hand(X))


def test_a_model_whose_call_is_gone_round_is_told():
    model = Heads()
    with pytest.raises(ValueError, match=r"call model\(x\) inside, not model.forward\(x\)"), capture_attention(model):
        model.forward(X)


FLEX = {
    "plain": ({}, None),
    "causal": ({"mask": lambda b, h, i, j: i >= j}, causal(L)),
    "bias": ({"score_mod": lambda score, b, h, i, j: score + j / 2}, torch.arange(L) / 2),
    "scale": ({"scale": 2.0}, None),
    "shared": ({"enable_gqa": True, "kv_heads": 2}, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FLEX)
def test_flex_attention(name):
    """The rest of what PyTorch has. On a CPU it has no gradients."""
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    options, allowed = FLEX[name]
    if "mask" in options:
        options = {"block_mask": flex.create_block_mask(options["mask"], None, None, L, L, device="cpu")}

    class Flexible(Heads):
        def forward(self, x):
            q, k, v = (layer(x).unflatten(-1, (-1, D // HEADS)).transpose(1, 2) for layer in self.qkv)
            return flex.flex_attention(q, k, v, **self.options).transpose(1, 2).flatten(2)

    model = Flexible(**options).requires_grad_(False)
    assert_close(same_and_maps(model, X)[""], model.by_hand(X, allowed, options.get("scale")))
    before = model(X).unflatten(-1, (HEADS, -1))
    with change_attention(model, {(0, 2): "off"}), capture_attention(model) as maps:
        got = model(X).unflatten(-1, (HEADS, -1))
    assert torch.equal(got[:, :, [0, 1, 3]], before[:, :, [0, 1, 3]])
    assert not got[:, :, 2].any()
    assert not maps[""][:, 2].any()
