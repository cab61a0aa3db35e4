"""Blocks equal PyTorch's, forward and backward; models don't look ahead or at padding; step by step is all at once."""

import copy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from attnbook import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    KVCache,
    LanguageModel,
    LatentAttention,
    LinearAttention,
    MixtureOfExperts,
    Rotary,
    RunningState,
    State,
    SwiGLU,
    TextEncoder,
    Tokens,
    Transformer,
    blocked,
    capture_attention,
    causal,
    padding,
)
from attnbook.peers import copy_weights

B, L, M, D, H, HIDDEN, N = 2, 5, 7, 12, 3, 20, 17  # pairwise different: a swapped axis can't pass by luck
LENGTHS = {L: torch.tensor([3, L]), M: torch.tensor([M, 4])}
SMALL = {"D": D, "heads": H, "hidden": HIDDEN, "layers": 2}
KINDS = ["sinusoidal", "learned", "rotary", "alibi", "none"]
each_norm = pytest.mark.parametrize("norm", ["pre", "post"])
each_activation = pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU])


def draw(n):
    return torch.randn(B, n, D, dtype=torch.float64, requires_grad=True)


def scatter(module):
    """No parameter is 0 or 1 or like another: one left out or two swapped would show."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module.double()


def assert_same(got, want, ours, theirs, inputs):
    """The outputs are the same, and so is every gradient. Afterwards `theirs` holds gradients, not weights."""
    weight = torch.linspace(-1, 2, want.numel(), dtype=torch.float64).view_as(want)
    assert_close(got, want)
    mine = torch.autograd.grad((got * weight).sum(), [*inputs, *ours.parameters()])
    other = torch.autograd.grad((want * weight).sum(), [*inputs, *theirs.parameters()])
    assert_close(mine[: len(inputs)], other[: len(inputs)])
    with torch.no_grad():
        for parameter, gradient in zip(theirs.parameters(), other[len(inputs) :], strict=True):
            parameter.copy_(gradient)
    copy_weights(theirs, in_our_names := copy.deepcopy(ours))
    assert_close(mine[len(inputs) :], tuple(p.detach() for p in in_our_names.parameters()))


def torch_layer(kind, norm, activation):
    name = {nn.ReLU: "relu", nn.GELU: "gelu"}[activation]
    return scatter(kind(D, H, HIDDEN, dropout=0.0, activation=name, batch_first=True, norm_first=norm == "pre"))


@each_norm
@each_activation
@pytest.mark.parametrize("look_ahead", [True, False])
def test_an_encoder_block_is_torch_s(norm, activation, look_ahead):
    theirs = torch_layer(nn.TransformerEncoderLayer, norm, activation)
    ours = EncoderBlock(D, H, HIDDEN, 0.0, norm=norm, activation=activation).double()
    copy_weights(theirs, ours)
    x, real, ahead = draw(L), padding(LENGTHS[L]), causal(L)
    want = theirs(x, None if look_ahead else blocked(ahead), src_key_padding_mask=blocked(real[:, 0]))
    assert_same(ours(x, real if look_ahead else real & ahead), want, ours, theirs, [x])


@each_norm
@each_activation
def test_a_decoder_block_is_torch_s(norm, activation):
    theirs = torch_layer(nn.TransformerDecoderLayer, norm, activation)
    ours = DecoderBlock(D, H, HIDDEN, 0.0, norm=norm, activation=activation).double()
    copy_weights(theirs, ours)
    x, memory, real = draw(L), draw(M), padding(LENGTHS[M])
    want = theirs(x, memory, blocked(causal(L)), memory_key_padding_mask=blocked(real[:, 0]))
    assert_same(ours(x, memory, causal(L), real), want, ours, theirs, [x, memory])


@each_norm
def test_a_whole_transformer_is_torch_s(norm):
    """Two blocks in each stack; after pre-norm blocks PyTorch too is given one more LayerNorm."""
    first = norm == "pre"
    last = {"norm": nn.LayerNorm(D)} if first else {}
    layers = (torch_layer(kind, norm, nn.ReLU) for kind in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer))
    encoder = scatter(nn.TransformerEncoder(next(layers), 2, **last, enable_nested_tensor=False))
    decoder = scatter(nn.TransformerDecoder(next(layers), 2, **last))
    ours = Transformer(N, **SMALL, dropout=0.0, norm=norm).double()
    for mine, other in ((ours.encoder, encoder), (ours.decoder, decoder)):
        for number, layer in enumerate(other.layers):
            copy_weights(layer, mine.get_submodule(str(number)))
        if first:
            mine.norm.load_state_dict(other.norm.state_dict())
    source, target = torch.randint(1, N, (B, M)), torch.randint(1, N, (B, L))
    source[0, 4:] = 0
    hidden = blocked(padding(source, pad=0)[:, 0])
    memory = encoder(ours.source(source), src_key_padding_mask=hidden)
    want = decoder(ours.target(target), memory, blocked(causal(L)), memory_key_padding_mask=hidden)
    assert_close(ours(source, target), want @ ours.target.embedding.weight.T)


@pytest.mark.parametrize(
    ("theirs", "ours", "words"),
    [
        ({"norm_first": True}, {"norm": "post"}, "norm is 'post' in ours, norm_first is True in theirs"),
        ({"norm_first": False}, {"norm": "pre"}, "norm is 'pre' in ours, norm_first is False in theirs"),
        ({}, {"heads": 4}, "4 heads in ours and 3 in theirs"),
        ({}, {"hidden": 8}, r"feed_forward.0.weight is \(8, 12\) in ours and \(20, 12\) in theirs"),
        ({}, {"bias": False}, "Make both with the same bias"),
    ],
)
def test_blocks_that_differ_are_not_copied(theirs, ours, words):
    theirs = nn.TransformerEncoderLayer(D, H, HIDDEN, batch_first=True, **theirs)
    block = EncoderBlock(**{"D": D, "heads": H, "hidden": HIDDEN} | ours)
    with pytest.raises(ValueError, match=words):
        copy_weights(theirs, block)
    with pytest.raises(ValueError, match="No way is known"):
        copy_weights(theirs, DecoderBlock(D, H, HIDDEN))


def test_the_norm_is_torch_s():
    norms = [m for name, m in Transformer(N, **SMALL, norm="pre").named_modules() if name.endswith("norm")]
    assert len(norms) == 2 * (2 + 3) + 2  # two or three a block, and one after each stack
    assert {type(norm) for norm in norms} == {nn.LayerNorm}


def test_the_paper_s_base_model_is_one_line():
    with torch.device("meta"):
        model = Transformer(37_000)
    attention, feed_forward, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder = 6 * (attention + feed_forward + 2 * norm)
    decoder = 6 * (2 * attention + feed_forward + 3 * norm)
    count = sum(p.numel() for p in model.parameters())
    assert count == 37_000 * 512 + encoder + decoder
    assert 60e6 < count < 66e6  # the paper says 65 million
    assert (model.encoder.get_submodule("0").self_attention.heads, len(model.encoder), len(model.decoder)) == (8, 6, 6)
    assert "norm='post'" in repr(model.decoder.get_submodule("5"))


def test_every_part_learns():
    for model, inputs in (
        (Transformer(N, **SMALL, target_N=N + 1), (torch.randint(1, N, (B, M)), torch.randint(N, (B, L)))),
        (LanguageModel(N, **SMALL), (torch.randint(N, (B, L)),)),
        (TextEncoder(N, **SMALL), (torch.randint(1, N, (B, L)),)),
    ):
        model(*inputs).square().sum().backward()
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_shared_and_separate_vocabularies():
    source, target = torch.randint(1, N, (B, M)), torch.randint(N, (B, L))
    one, two = Transformer(N, **SMALL), Transformer(N, **SMALL, target_N=N + 3)
    assert one(source, target).shape == (B, L, N)
    assert two(source, target + 3).shape == (B, L, N + 3)
    assert one.source is one.target
    counts = [sum(p.numel() for p in model.parameters()) for model in (one, two)]
    assert counts[1] - counts[0] == (N + 3) * D


def models(**options):
    yield LanguageModel(N, **SMALL, **options).double().eval(), None
    yield Transformer(N, **SMALL, **options).double().eval(), torch.tensor([[3, 4, 5, 0, 0], [6, 7, 8, 9, 10]])


@pytest.mark.slow
@pytest.mark.parametrize("positions", KINDS)
@each_norm
@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4))
@settings(max_examples=4)
def test_step_by_step_is_all_at_once(positions, norm, sizes):
    for model, source in models(positions=positions, norm=norm):
        ids = torch.randint(N, (B, sum(sizes)))
        with torch.no_grad():
            state = model.start(source)
            parts = [model.step(part, state) for part in ids.split(sizes, dim=1)]
            assert_close(torch.cat(parts, 1), model(ids) if source is None else model(source, ids))
        assert len(state) == sum(sizes)
        if source is not None:
            assert {len(read) for _, read in state.caches} == {source.shape[1]}, "the source is read once, and kept"


@pytest.mark.parametrize("model", [LanguageModel, Transformer])
def test_a_single_token_needs_no_mask(model):
    """With one, its keys would be looked through at each step for what nobody sees."""
    model, masks = model(N, **SMALL), []
    model.decoder.get_submodule("1").self_attention.register_forward_pre_hook(
        lambda _, given, named: masks.append(named["mask"]), with_kwargs=True
    )
    state = model.start(torch.ones(B, M, dtype=torch.int64) if isinstance(model, Transformer) else None)
    for ids in torch.ones(B, L, dtype=torch.int64).split([1, 3, 1], 1):
        model.step(ids, state)
    first, several, last = masks
    assert (first, last) == (None, None)
    assert torch.equal(several, causal(3, 4))


@pytest.mark.parametrize("positions", KINDS)
def test_the_future_never_leaks(positions):
    for model, source in models(positions=positions):
        ids = torch.randint(N, (B, 6))
        other = torch.cat([ids[:, :3], (ids[:, 3:] + 1) % N], 1)
        was, now = (model(x) if source is None else model(source, x) for x in (ids, other))
        assert_close(was[:, :3], now[:, :3])
        assert not torch.allclose(was[:, 3], now[:, 3])


def test_padding_changes_nothing():
    source, target = torch.randint(1, N, (B, M)), torch.randint(N, (B, L))
    padded = torch.cat([source, torch.zeros(B, 3, dtype=torch.int64)], 1)
    model, encoder = Transformer(N, **SMALL).double().eval(), TextEncoder(N, **SMALL).double().eval()
    assert_close(model(padded, target), model(source, target))
    assert_close(encoder(padded)[:, :M], encoder(source))
    other = Transformer(N, **SMALL, pad=1).double().eval()
    other.load_state_dict(model.state_dict())
    assert not torch.allclose(other(padded, target), model(source, target))


@pytest.mark.parametrize("positions", KINDS)
def test_order_matters_where_there_are_positions(positions):
    ids, encoder = torch.randint(1, N, (1, M)), TextEncoder(N, **SMALL, positions=positions).double().eval()
    turned = encoder(ids.roll(1, 1)).roll(-1, 1)
    assert torch.allclose(turned, encoder(ids)) == (positions == "none")


def test_a_row_of_a_batch_is_that_sequence_alone():
    for model, source in models():
        ids = torch.randint(N, (B, L))
        whole = model(ids) if source is None else model(source, ids)
        for b in range(B):
            row = ids[b : b + 1]
            assert_close(model(row) if source is None else model(source[b : b + 1], row), whole[b : b + 1])


def test_state_select_keeps_these_rows():
    rows = torch.tensor([1, 1, 0])
    for model, source in models():
        ids, more = torch.randint(N, (B, 3)), torch.randint(N, (3, 2))
        state = model.start(source)
        model.step(ids, state)
        state.select(rows)
        whole = torch.cat([ids[rows], more], 1)
        want = model(whole) if source is None else model(source[rows], whole)
        assert_close(model.step(more, state), want[:, 3:])


def test_maps_by_name():
    model, source = Transformer(N, **SMALL), torch.randint(1, N, (B, M))
    with capture_attention(model) as maps:
        model(source, torch.randint(N, (B, L)))
    sizes = {"encoder.{}.self_attention": (M, M), "decoder.{}.self_attention": (L, L)}
    for name, size in (sizes | {"decoder.{}.cross_attention": (L, M)}).items():
        for layer in (0, 1):
            assert maps[name.format(layer)].shape == (B, H, *size)
    assert len(maps) == 6


def test_options_reach_the_attention():
    block = EncoderBlock(D, H, HIDDEN, 0.3, kv_heads=1)
    assert block.self_attention.kv_heads == 1
    assert block.self_attention.dropout == 0.3
    assert LanguageModel(N, **SMALL, kv_heads=1).decoder.get_submodule("1").self_attention.kv_heads == 1


@each_norm
def test_dropout_in_training_only(norm):
    block, x = EncoderBlock(D, H, HIDDEN, 0.5, norm=norm), torch.randn(B, L, D)
    assert not torch.allclose(block(x), block(x))
    block.eval()
    assert_close(block(x), block(x), rtol=0, atol=0)


def test_feed_forward_is_the_same_for_every_position():
    layer, x = FeedForward(D, HIDDEN).double(), draw(L)
    want = torch.relu(x @ layer[0].weight.T + layer[0].bias) @ layer[3].weight.T + layer[3].bias
    assert_close(layer(x), want)
    assert_close(layer(x[:, 2]), want[:, 2])


def test_swiglu_is_the_formula():
    layer, x = scatter(SwiGLU(D, HIDDEN)), draw(L)
    gate, up, down = (part.weight for part in (layer.gate, layer.up, layer.down))
    gated = x @ gate.T
    assert_close(layer(x), (gated * gated.sigmoid() * (x @ up.T)) @ down.T)
    assert_close(layer(x[:, 2]), layer(x)[:, 2])
    assert sum(p.numel() for p in layer.parameters()) == 3 * D * HIDDEN
    dropping = scatter(SwiGLU(D, HIDDEN, 0.5))
    assert not torch.allclose(dropping(x), dropping(x))
    assert_close(dropping.eval()(x), dropping(x))


def llama_block(block, x, base=10000.0, pairing="halves"):
    """x + attention(norm x), then x + swiglu(norm x), from the parameters by name, causal."""
    p = dict(block.named_parameters())

    def normed(x, name):
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * p[f"{name}.weight"]

    def heads(name, x):
        return (x @ p[f"self_attention.{name}.weight"].T).unflatten(-1, (-1, D // H)).transpose(-2, -3)

    y, turn = normed(x, "self_attention_norm"), Rotary(D // H, base=base, pairing=pairing)
    q, k, v = turn(heads("query", y)), turn(heads("key", y)), heads("value", y)
    k, v = (z.repeat_interleave(H // z.shape[-3], -3) for z in (k, v))
    weights = (q @ k.mT / (D // H) ** 0.5).masked_fill(blocked(causal(x.shape[-2])), -torch.inf).softmax(-1)
    x = x + (weights @ v).transpose(-2, -3).flatten(-2) @ p["self_attention.output.weight"].T
    y = normed(x, "feed_forward_norm")
    gate, up, down = (p[f"feed_forward.{name}.weight"].T for name in ("gate", "up", "down"))
    return x + (F.silu(y @ gate) * (y @ up)) @ down


LLAMA = {"norm": "pre", "norm_layer": partial(nn.RMSNorm, eps=1e-5), "feed_forward": SwiGLU, "bias": False}


@pytest.mark.parametrize("kv_heads", [1, H])
def test_a_block_of_today_is_the_formula(kv_heads):
    turn = Rotary(D // H, pairing="neighbours", base=500.0)
    block = scatter(EncoderBlock(D, H, HIDDEN, 0.0, **LLAMA, kv_heads=kv_heads, rotary=turn))
    x = draw(L)
    assert_close(block(x, causal(L)), llama_block(block, x, 500.0, "neighbours"))


def test_a_language_model_of_today_is_the_formula():
    turn = Rotary(D // H, pairing="neighbours", base=500.0)
    model = LanguageModel(N, **SMALL, dropout=0.0, positions=turn, scale_embeddings=False, **LLAMA)
    assert [m.rotary is turn for m in model.modules() if hasattr(m, "rotary")] == [True, True]
    assert isinstance(model.decoder.norm, nn.RMSNorm)
    assert model.decoder.norm.eps == 1e-5
    scatter(model)
    ids = torch.randint(N, (B, L))
    x = model.tokens.embedding(ids)
    for number in "01":
        x = llama_block(model.decoder.get_submodule(number), x, 500.0, "neighbours")
    x = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * model.decoder.norm.weight
    assert_close(model(ids), x @ model.tokens.embedding.weight.T)
    with torch.no_grad():
        state = model.start()
        parts = [model.step(part, state) for part in ids.split([2, 1, 2], dim=1)]
        assert_close(torch.cat(parts, 1), model(ids))


def test_smollm2_135m_is_one_line():
    with torch.device("meta"):
        turn = Rotary(64, pairing="neighbours", base=1e5)
        model = LanguageModel(49152, 576, 9, 1536, 30, positions=turn, kv_heads=3, scale_embeddings=False, **LLAMA)
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    assert not [name for name, _ in model.named_parameters() if name.endswith("bias")]


def test_embeddings_are_scaled_unless_told_otherwise():
    ids = torch.tensor([[3, 1]])
    for options, factor in (({}, D**0.5), ({"scale": True}, D**0.5), ({"scale": False}, 1)):
        tokens = Tokens(N, D, **options)
        assert torch.equal(tokens(ids), tokens.embedding.weight[ids] * factor)
    plain, unscaled = LanguageModel(N, **SMALL), Transformer(N, **SMALL, target_N=5, scale_embeddings=False)
    assert plain.tokens.scale
    assert not unscaled.source.scale
    assert not unscaled.target.scale


def test_a_whole_transformer_of_rmsnorm_and_swiglu():
    model = Transformer(N, **SMALL, **LLAMA | {"bias": True}, positions="rotary")
    norms = [m for name, m in model.named_modules() if name.endswith("norm")]
    assert len(norms) == 2 * (2 + 3) + 2
    assert {type(norm) for norm in norms} == {nn.RMSNorm}
    assert len({*map(id, norms)}) == len(norms), "each is its own"
    forward = [m for name, m in model.named_modules() if name.endswith("feed_forward")]
    assert {type(layer) for layer in forward} == {SwiGLU}
    model(torch.randint(1, N, (B, M)), torch.randint(N, (B, L))).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
    rotary = [m.rotary is not None for name, m in model.named_modules() if name.endswith("attention")]
    assert rotary == [True, True, True, False, True, False]


def test_post_norm_takes_any_norm_too():
    block = EncoderBlock(D, H, HIDDEN, 0.0, norm_layer=nn.RMSNorm)
    assert isinstance(block.feed_forward_norm, nn.RMSNorm)
    sizes = block(torch.randn(B, L, D)).square().mean(-1)
    assert_close(sizes, torch.ones_like(sizes))


def test_an_activation_is_feed_forward_s():
    plain = [EncoderBlock(D, H, HIDDEN, **options).feed_forward[1] for options in ({}, {"activation": nn.GELU})]
    assert [type(layer) for layer in plain] == [nn.ReLU, nn.GELU]
    with pytest.raises(TypeError, match="unexpected keyword argument 'activation'"):
        EncoderBlock(D, H, HIDDEN, feed_forward=SwiGLU, activation=nn.GELU)
    with pytest.raises(ValueError, match="rotary turns vectors of width 6, but one head's are of width d_k = 4"):
        LanguageModel(N, **SMALL, positions=Rotary(6))


def test_blocks_that_torch_has_not_are_not_copied():
    theirs = nn.TransformerEncoderLayer(D, H, HIDDEN, batch_first=True, norm_first=True)
    for options in ({"norm_layer": nn.RMSNorm}, {"feed_forward": SwiGLU}):
        with pytest.raises(ValueError, match=r"EncoderBlock has .*; TransformerEncoderLayer has"):
            copy_weights(theirs, EncoderBlock(D, H, HIDDEN, norm="pre", **options))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: EncoderBlock(D, H, HIDDEN, norm="middle"), "norm must be 'pre' or 'post', got 'middle'"),
        (lambda: Transformer(N, D, H, HIDDEN, 0), "layers must be at least 1, got 0"),
        (
            lambda: TextEncoder(N, **SMALL, positions="sine"),
            "positions must be 'sinusoidal', .* a Rotary or LearnedPositions; got 'sine'",
        ),
        (lambda: LanguageModel(N, **SMALL).start(torch.ones(1, 1)), "reads no source"),
        (lambda: LanguageModel(N, **SMALL)(torch.tensor([[N]])), "ids must lie between 0 and 16, got 17 to 17"),
        (lambda: LanguageModel(N, **SMALL)(torch.tensor([[3, -1]])), "ids must lie between 0 and 16, got -1 to 3"),
        (lambda: LanguageModel(N, **SMALL)(torch.ones(1, 2)), r"ids must be .* int64, got torch.float32 of \(1, 2\)"),
        (lambda: LanguageModel(N, **SMALL)([[1, 2]]), r"ids must be a tensor .* got a list; try torch.tensor"),
    ],
)
def test_errors_teach(act, words):
    with pytest.raises(ValueError, match=words):
        act()


@pytest.mark.slow
def test_compiles_into_one_graph():
    torch.compiler.reset()
    model, source = Transformer(N, **SMALL | {"layers": 1}).eval(), torch.randint(1, N, (B, M))
    target = torch.randint(N, (B, L))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=False)
    assert_close(compiled(source, target), model(source, target))


@pytest.mark.parametrize("model", [Transformer, LanguageModel, TextEncoder])
def test_unless_told_otherwise_sizes_are_those_of_the_paper(model):
    with torch.device("meta"):
        plain = model(N)
        spelled_out = model(N, D=512, heads=8, hidden=2048, layers=6, dropout=0.1, positions="sinusoidal")
    sizes, want = ({name: p.shape for name, p in m.named_parameters()} for m in (plain, spelled_out))
    assert sizes == want
    assert repr(plain) == repr(spelled_out)


def test_embeddings_start_so_that_times_the_root_of_D_they_are_of_size_1():
    tokens = Transformer(2000, **SMALL).source
    assert abs(tokens.embedding.weight.std() * D**0.5 - 1) < 0.02


def test_learned_positions_reach_far_enough():
    assert TextEncoder(N, **SMALL, positions="learned").tokens.positions.table.shape == (1024, D)


def test_one_layer_is_enough():
    assert len(TextEncoder(N, **SMALL | {"layers": 1}).encoder) == 1


def test_both_attentions_of_a_decoder_block_take_the_options():
    block = DecoderBlock(D=10, heads=4, hidden=8, d_k=4, d_v=3, kv_heads=2, rotary=Rotary(4))
    for layer in (block.self_attention, block.cross_attention):
        assert layer.key.weight.shape == (2 * 4, 10)
        assert layer.value.weight.shape == (2 * 3, 10)
        assert layer.query.bias is not None
    assert block.cross_attention.rotary is None
    assert block.self_attention.rotary is not None
    assert DecoderBlock(8, 2, 8, bias=False).cross_attention.query.bias is None
    x, memory = torch.randn(1, 3, 10), torch.randn(1, 5, 10)
    assert_close(block.eval()(x, memory), block(x, memory, blocked(torch.zeros(3, 3).bool())))


@pytest.mark.parametrize("positions", ["rotary", "alibi", "sinusoidal"])
def test_no_heads_are_refused_by_name(positions):
    with pytest.raises(ValueError, match="heads"):
        Transformer(20, 8, heads=0, hidden=8, positions=positions)


def test_a_source_without_padding_is_selected_too():
    state = State([], memory=torch.arange(3.0)[:, None, None])
    state.select(torch.tensor([2, 0]))
    assert state.memory.flatten().tolist() == [2, 0]


PATTERNS = {
    "windows and one layer that sees everything": [{"window": 2}, {"window": 3, "sinks": 1}, {}],
    "a hybrid": [{"attention": LinearAttention, "decay": "state", "delta": True, "convolution": 2}, {}],
    "linear alone": [{"attention": LinearAttention}],
    "latent": [{"attention": LatentAttention, "latent": 5}],
    "experts in every second layer": [{}, {"feed_forward": partial(MixtureOfExperts, experts=3, active=1)}],
}


@pytest.mark.parametrize("positions", ["rotary", "alibi", "none"])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_blocks_of_a_pattern_take_turns(pattern, positions):
    """Step by step is all at once, and nothing leaks from the future."""
    if positions == "alibi" and pattern == PATTERNS["latent"]:
        positions = "none"
    torch.manual_seed(0)
    model = LanguageModel(
        N, D, H, HIDDEN, 4, 0.0, positions=Rotary(4) if positions == "rotary" else positions, pattern=pattern
    ).double()
    scatter(model)
    ids = torch.randint(N, (B, 9))
    want, state = model(ids), model.start()
    assert_close(torch.cat([model.step(part, state) for part in ids.split([3, 1, 2, 1, 1, 1], dim=1)], 1), want)
    assert len(state) == 9
    other = ids.clone()
    other[:, 6:] = (other[:, 6:] + 1) % N
    assert_close(model(other)[:, :6], want[:, :6])
    assert not torch.allclose(model(other)[:, 6], want[:, 6])


def test_a_pattern_gives_each_layer_its_own():
    pattern = [{"window": 2}, {"attention": LinearAttention}, {"kv_heads": 1, "norm": "pre"}]
    model = LanguageModel(N, D, H, HIDDEN, 4, 0.0, pattern=pattern, positions="alibi")
    first, second, third, fourth = (model.decoder.get_submodule(str(n)) for n in range(4))
    assert (first.self_attention.window, third.self_attention.window, fourth.self_attention.window) == (2, None, 2)
    assert isinstance(second.self_attention, LinearAttention)
    assert (first.self_attention.kv_heads, third.self_attention.kv_heads) == (H, 1)
    assert (first.norm, third.norm) == ("post", "pre")
    kinds = [type(cache) for (cache,) in model.start().caches]
    assert kinds == [KVCache, RunningState, KVCache, KVCache]


def test_a_decoder_block_looks_into_the_memory_as_ever():
    """Whatever its self-attention is; and all of the memory, whatever its window."""
    model = Transformer(N, **SMALL, dropout=0.0, window=2, sinks=1, qk_norm=nn.RMSNorm, learned_sink=True).double()
    block = model.decoder.get_submodule("0")
    assert (block.self_attention.window, block.cross_attention.window, block.cross_attention.sinks) == (2, None, 0)
    assert None not in (block.cross_attention.query_norm, block.cross_attention.sink)
    linear = DecoderBlock(D, H, HIDDEN, 0.0, attention=LinearAttention, decay="fixed")
    x, memory = torch.randn(B, L, D), torch.randn(B, M, D)
    self_cache, cross_cache = linear.new_caches()
    steps = [linear(token, memory, cache=self_cache, memory_cache=cross_cache) for token in x.split(1, dim=1)]
    assert_close(torch.cat(steps, 1), linear(x, memory), rtol=1e-4, atol=1e-5)
    source, target = torch.randint(1, N, (B, M)), torch.randint(1, N, (B, L))
    state = model.start(source)
    assert_close(torch.cat([model.step(part, state) for part in target.split(1, 1)], 1), model(source, target))


def test_an_option_that_no_attention_of_the_pattern_takes_is_told():
    with pytest.raises(TypeError, match=r"EncoderBlock has no option 'window'.*It takes D, heads.*decay, delta"):
        LanguageModel(N, **SMALL, pattern=[{"attention": LinearAttention, "window": 3}])
    with pytest.raises(ValueError, match="pattern has the options of at least one block"):
        LanguageModel(N, **SMALL, pattern=[])
