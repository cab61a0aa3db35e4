"""Positions against d2l, against loops and complex numbers; what cached decoding asks of them; errors that teach."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from attnbook import ALiBi, LearnedPositions, RelativeBias, Rotary, ShapeError, SinusoidalPositions, sinusoidal
from attnbook.peers import d2l

B, H, L, M, K, D, LONGEST = 2, 3, 5, 7, 6, 8, 11  # pairwise different: a swapped axis can't pass by luck
exactly = {"rtol": 0, "atol": 1e-12}
each_pairing = pytest.mark.parametrize("pairing", ["halves", "neighbours"])
each_table = pytest.mark.parametrize("make", [SinusoidalPositions, Rotary])


def by_hand(positions, width, base=10000.0):
    """sin and cos in plain Python, in double precision."""
    turns = [[i / base ** (column // 2 * 2 / width) for column in range(width)] for i in positions]
    waves = [[(math.sin, math.cos)[column % 2](turn) for column, turn in enumerate(row)] for row in turns]
    return torch.tensor(waves, dtype=torch.float64).view(len(positions), width)


def random(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_()


@pytest.mark.parametrize("base", [10000.0, 50.0])
@pytest.mark.parametrize("width", [1, 2, 7, 8, 32])
def test_sinusoidal_is_the_formula(width, base):
    table = sinusoidal(60, width, base=base, dtype=torch.float64)
    assert_close(table, by_hand(range(60), width, base), rtol=0, atol=1e-14)
    assert_close(sinusoidal(4, width, start=6, base=base), table[6:10].float())


@pytest.mark.parametrize(("column", "wave"), [(6, math.sin), (7, math.cos), (8, math.sin), (9, math.cos)])
def test_a_column_is_one_wave(column, wave):
    """The four curves of the usual figure: each pair of columns turns slower than the pair before it."""
    power = {6: 0.1875, 7: 0.1875, 8: 0.25, 9: 0.25}[column]
    want = [wave(i / 10000**power) for i in range(60)]
    assert_close(sinusoidal(60, 32)[:, column], torch.tensor(want))


def test_far_out_every_number_is_the_nearest_float32():
    """Had the angles been float32, the third decimal would be wrong."""
    want = by_hand(range(100_000, 100_040), 32)
    assert torch.equal(sinusoidal(40, 32, start=100_000), want.float())
    assert torch.equal(SinusoidalPositions(32)(torch.zeros(40, 32), start=100_000), want.float())
    angles = torch.arange(100_000.0, 100_040)[:, None] / 10000 ** (torch.arange(0, 32, 2) / 32)
    assert (angles.sin() - want[:, ::2]).abs().max() > 1e-3


def test_sinusoidal_equals_d2l():
    theirs = d2l().PositionalEncoding(32, dropout=0)
    x = random(B, 60, 32, dtype=torch.float32)
    twin = x.detach().clone().requires_grad_()
    ours, want = SinusoidalPositions(32)(x), theirs(twin)
    assert_close(ours, want, rtol=0, atol=2e-5)  # theirs has angles in float32
    weight = torch.randn(60, 32)
    (ours * weight).sum().backward()
    (want * weight).sum().backward()
    assert_close(x.grad, twin.grad)


def test_sinusoidal_is_of_the_type_and_on_the_device_that_was_asked_for():
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        table = sinusoidal(3, 4, dtype=dtype)
        assert torch.equal(table, by_hand(range(3), 4).to(dtype))
    assert sinusoidal(3, 4, device="meta").device.type == "meta"
    assert sinusoidal(3, 4).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert sinusoidal(3, 4).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("delta", [1, 13, 500])
def test_one_matrix_moves_every_position_equally_far(delta):
    table = sinusoidal(60 + delta, D, dtype=torch.float64)
    blocks = []
    for pair in range(D // 2):
        turn = delta / 10000 ** (2 * pair / D)
        cos, sin = math.cos(turn), math.sin(turn)
        blocks.append(torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64))
    assert_close(table[:60] @ torch.block_diag(*blocks), table[delta:], rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_table_is_as_long_and_as_exact_as_the_input_asks(dtype, torch_device):
    layer = SinusoidalPositions(D).to(torch_device)
    for n, start in ((L, 0), (L, 3), (70, 0), (1, 999), (2, 1)):
        x = torch.zeros(B, n, D, dtype=dtype, device=torch_device)
        want = by_hand(range(start, start + n), D).to(torch_device, dtype)
        got = layer(x, start)
        assert got.dtype == dtype
        assert_close(got, want.expand(B, n, D), rtol=0, atol=1e-13)  # below float64 the very same numbers
    assert_close(layer(torch.ones(n, D, dtype=dtype, device=torch_device), start), want + 1)


def test_a_model_cast_to_float64_has_a_table_of_float64():
    for layer in (SinusoidalPositions(D), Rotary(D)):
        x = random(L, D)
        want = copy.deepcopy(layer)(x, 1000)
        layer(x.float(), 2000)
        assert torch.equal(layer.double()(x, 1000), want)
        layer.half()(x.half())
        layer.bfloat16()
        assert torch.equal(layer.double()(x, 1000), want)
        layer(x.bfloat16())
        assert torch.equal(layer(x, 1000), want)  # cast or not


@each_table
def test_tables_are_not_saved_and_copies_are_apart(make):
    layer, x = make(K), random(L, K)
    want = layer(x)
    assert layer.state_dict() == {}
    assert list(layer.parameters()) == []
    twin = copy.deepcopy(layer)
    twin.table.zero_()
    assert torch.equal(layer(x), want)
    assert not torch.equal(twin(x), want)


@each_table
def test_decoding_step_by_step_seldom_makes_the_table_anew(make, monkeypatch):
    layer, x = make(K), random(100, K)
    asked, build = [], layer.build
    monkeypatch.setattr(layer, "build", lambda length: (asked.append(length), build(length))[1])
    steps = [layer(x[i : i + 1], i) for i in range(100)]
    assert torch.equal(torch.cat(steps), layer(x))
    assert asked == [1, 2, 4, 8, 16, 32, 64, 128]


@each_table
def test_a_sequence_of_nothing_stays_one(make):
    for layer in (make(K), make(K).double()):
        for _ in range(2):
            assert layer(torch.zeros(B, 0, K)).shape == (B, 0, K)
            assert layer(torch.zeros(B, 0, K), start=L).shape == (B, 0, K)
    assert LearnedPositions(LONGEST, K)(torch.zeros(B, 0, K), start=LONGEST).shape == (B, 0, K)


@each_table
def test_a_table_made_in_inference_mode_serves_training(make):
    layer, x = make(K), random(L, K)
    with torch.inference_mode():
        want = layer(x)
    got = layer(x)
    got.sum().backward()
    assert torch.equal(got, want)
    assert x.grad.abs().sum() > 0


@pytest.mark.slow
@pytest.mark.parametrize("make", [SinusoidalPositions, Rotary, lambda width: LearnedPositions(99, width)])
def test_compiles_whole_for_any_length_and_start(make):
    layer = make(K)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for n, start in ((L, 0), (M, 3), (1, 40)):
        x = random(B, n, K, dtype=torch.float32)
        assert_close(compiled(x, start), copy.deepcopy(layer)(x, start))


@pytest.mark.parametrize("make", [SinusoidalPositions, lambda width, p: LearnedPositions(LONGEST, width, p)])
def test_dropout_only_in_training(make):
    layer, x = make(D, 0.5), torch.full((B, L, D), 9.0)
    whole = layer.eval()(x)
    dropped = layer.train()(x)
    assert (dropped == 0).any()
    assert_close(dropped[dropped != 0], 2 * whole[dropped != 0])
    assert (whole != 0).all()
    assert torch.equal(layer.eval()(x), whole)


def test_alibi_slopes_stay_exact_wherever_the_layer_goes():
    exact = ALiBi(16).double().slopes
    assert exact[0] == 2**-0.5
    assert ALiBi(16).half().float().double().slopes.equal(exact)
    with torch.device("meta"):
        elsewhere = ALiBi(16)
    assert elsewhere.to_empty(device="cpu").double().slopes.equal(exact)


@each_table
def test_a_table_made_in_a_transform_stays_there(make):
    layer, x = make(K), random(L, K).detach()
    torch.func.grad(lambda x: layer(x).sum())(x)
    assert torch.func.vmap(layer)(x[None].half()).dtype == torch.float16
    assert_close(copy.deepcopy(layer)(x), make(K)(x))


@each_table
def test_a_cast_table_leaves_nothing_of_the_old_one(make):
    layer = make(K)
    layer(torch.zeros(4096, K))
    assert layer.double().table.untyped_storage().nbytes() == 0


def test_learned_positions_are_of_the_type_of_the_input():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        assert LearnedPositions(LONGEST, D)(torch.zeros(L, D, dtype=dtype)).dtype == dtype


def test_the_layers_say_what_they_are():
    assert "D=8, base=10000" in repr(SinusoidalPositions(D))
    assert repr(Rotary(K, base=50.0)) == "Rotary(K=6, pairing='halves', base=50)"


@pytest.mark.parametrize("start", [0, 4])
def test_learned_positions_are_an_embedding_of_the_position(start):
    layer, embedding = LearnedPositions(LONGEST, D), nn.Embedding(LONGEST, D)
    layer.load_state_dict({"table": embedding.weight.detach()})
    x, weight = random(B, L, D, dtype=torch.float32), torch.randn(B, L, D)
    want = x + embedding(torch.arange(start, start + L))
    got = layer(x, start)
    assert torch.equal(got, want)
    want_grads = torch.autograd.grad((want * weight).sum(), [x, embedding.weight])
    assert_close(torch.autograd.grad((got * weight).sum(), [x, layer.table]), want_grads)


def test_learned_positions_start_small_and_different():
    table = LearnedPositions(1000, D).table
    assert abs(table.std() - 0.02) < 1e-3
    assert abs(table.mean()) < 1e-3


def complex_turn(x, pairing, start=0, base=10000.0):
    """Rotary with complex numbers: each pair is one, and turns by a product with e^(i·angle)."""
    width = x.shape[-1]
    order = torch.arange(width)
    order = order.view(2, -1).T.flatten() if pairing == "halves" else order
    places = torch.arange(start, start + x.shape[-2], dtype=torch.float64)
    angles = torch.outer(places, base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width))
    pairs = torch.view_as_complex(x[..., order].unflatten(-1, (-1, 2)).contiguous())
    turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    return turned[..., order.argsort()]


@each_pairing
@pytest.mark.parametrize(("start", "base"), [(0, 10000.0), (9, 10000.0), (9, 500.0)])
def test_rotary_is_a_product_of_complex_numbers(pairing, start, base):
    x = random(B, H, L, K)
    weight = torch.randn(B, H, L, K, dtype=torch.float64)
    got, want = Rotary(K, pairing=pairing, base=base)(x, start), complex_turn(x, pairing, start, base)
    assert_close(got, want, **exactly)
    gradients = [torch.autograd.grad((y * weight).sum(), x)[0] for y in (got, want)]
    assert_close(*gradients, **exactly)


@each_pairing
def test_rotary_keeps_lengths_and_the_first_position(pairing):
    x = random(B, H, L, K)
    turned = Rotary(K, pairing=pairing)(x)
    assert_close(turned.norm(dim=-1), x.norm(dim=-1), **exactly)
    assert torch.equal(turned[..., 0, :], x[..., 0, :])
    assert not torch.isclose(turned[..., 1:, :], x[..., 1:, :]).all(-1).any()


@given(shift=st.integers(0, 5000), apart=st.integers(0, 50), seed=st.integers(0, 999), halves=st.booleans())
def test_turned_scores_depend_on_the_distance_only(shift, apart, seed, halves):
    torch.manual_seed(seed)
    rotary = Rotary(K, pairing="halves" if halves else "neighbours")
    q, k = torch.randn(L, K, dtype=torch.float64), torch.randn(M, K, dtype=torch.float64)
    near = rotary(q, apart) @ rotary(k).mT
    assert_close(rotary(q, apart + shift) @ rotary(k, shift).mT, near, rtol=0, atol=1e-10)
    assert not torch.allclose(rotary(q, apart + 1) @ rotary(k).mT, near)


def test_the_two_pairings_are_one_another_in_another_order():
    x = random(L, K)
    order = torch.tensor([0, 3, 1, 4, 2, 5])
    halves, neighbours = Rotary(K)(x), Rotary(K, pairing="neighbours")
    assert_close(neighbours(x[:, order]), halves[:, order], **exactly)
    assert not torch.allclose(neighbours(x), halves)


@pytest.mark.parametrize("start", [0, 100_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_rotary_rounds_once(dtype, start):
    x = random(L, K, dtype=dtype)
    got = Rotary(K).to(dtype)(x, start)
    want = complex_turn(x.double(), "halves", start)
    assert got.dtype == dtype
    assert_close(got.double(), want, rtol=torch.finfo(dtype).eps, atol=2e-6)


def distances(n, m):
    """For each query, the last n of m positions, and each key: how far ahead the key stands."""
    return [[key - (m - n + query) for key in range(m)] for query in range(n)]


@pytest.mark.parametrize(("n", "m"), [(L, M), (M, M), (1, M), (0, M), (0, 0)])
@pytest.mark.parametrize("furthest", [0, 2, 9])
def test_relative_bias_is_a_number_for_each_distance(furthest, n, m):
    layer = RelativeBias(H, furthest)
    assert (layer.table == 0).all()
    nn.init.normal_(layer.table)
    got, want = layer(n, m), torch.empty(H, n, m)
    count = torch.zeros(H, 2 * furthest + 1)
    for query, row in enumerate(distances(n, m)):
        for key, distance in enumerate(row):
            column = furthest + max(-furthest, min(furthest, distance))
            want[:, query, key] = layer.table[:, column].detach()
            count[:, column] += 1
    assert torch.equal(got, want)
    (got * torch.tensor([1.0, 2.0, 3.0])[:, None, None]).sum().backward()
    assert_close(layer.table.grad, count * torch.tensor([[1.0], [2.0], [3.0]]))


@pytest.mark.parametrize(("n", "m"), [(L, M), (M, M), (1, M), (0, M)])
def test_alibi_takes_off_a_multiple_of_the_distance(n, m, torch_device):
    layer = ALiBi(H).to(torch_device)
    want = [[[-slope * abs(d) for d in row] for row in distances(n, m)] for slope in layer.slopes.tolist()]
    assert_close(layer(n, m), torch.tensor(want, device=torch_device).view(H, n, m))
    assert layer.state_dict() == {}
    assert layer.double()(n, m).dtype == torch.float64


@pytest.mark.parametrize("heads", [1, 2, 4, 8, 16])
def test_alibi_slopes_are_the_paper_s(heads):
    ratio = 2 ** (-8 / heads)
    assert_close(ALiBi(heads).slopes, torch.tensor([ratio**h for h in range(1, heads + 1)]))


@pytest.mark.parametrize(("heads", "power"), [(3, 2), (12, 8), (15, 8), (20, 16)])
def test_alibi_slopes_in_between_are_every_second_one_of_twice_as_many_heads(heads, power):
    first, doubled = ALiBi(power).slopes, ALiBi(2 * power).slopes
    assert_close(ALiBi(heads).slopes, torch.cat([first, doubled[::2][: heads - power]]))


ACTS = {
    "a start before the first": (lambda: sinusoidal(L, D, start=-1), "start is the position .* from 0; got -1"),
    "no length below 0": (lambda: sinusoidal(-2, D), "length must be at least 0, got -2"),
    "sinusoidal at -1": (lambda: SinusoidalPositions(D)(torch.zeros(L, D), -1), "start is the position .* got -1"),
    "rotary at -2": (lambda: Rotary(K)(torch.zeros(L, K), start=-2), "start is the position .* got -2"),
    "learned at -3": (lambda: LearnedPositions(9, D)(torch.zeros(L, D), -3), "start is the position .* got -3"),
    "more than was learned": (
        lambda: LearnedPositions(LONGEST, D)(torch.zeros(B, L, D), 7),
        "positions 7 to 11 were asked for, but only 0 to 10 were learned.*max_length.*SinusoidalPositions",
    ),
    "an odd K": (lambda: Rotary(7), "K must be even and at least 2; got 7"),
    "no K": (lambda: Rotary(0), "K must be even and at least 2; got 0"),
    "another pairing": (lambda: Rotary(K, pairing="thirds"), "one of 'halves', 'neighbours'; got 'thirds'"),
    "no heads, relative": (lambda: RelativeBias(0, 4), "heads must be at least 1, got 0"),
    "no distance": (lambda: RelativeBias(2, -1), "max_distance must be at least 0, got -1"),
    "no heads, ALiBi": (lambda: ALiBi(0), "heads must be at least 1, got 0"),
    "more queries, ALiBi": (lambda: ALiBi(2)(M, L), "M must be at least L.*L = 7, M = 5"),
    "more queries, relative": (lambda: RelativeBias(2, 3)(M, L), "M must be at least L.*L = 7, M = 5"),
    "too much dropout": (lambda: SinusoidalPositions(D, 1.5), "dropout .* 1.5"),
    "less than no dropout": (lambda: LearnedPositions(LONGEST, D, -0.5), "dropout .* -0.5"),
}


@pytest.mark.parametrize(("act", "words"), ACTS.values(), ids=ACTS)
def test_what_cannot_be_is_refused_in_words(act, words):
    with pytest.raises(ValueError, match=words):
        act()


def test_the_last_learned_position_may_be_used():
    assert LearnedPositions(LONGEST, D)(torch.zeros(B, L, D), LONGEST - L).shape == (B, L, D)


@pytest.mark.parametrize("layer", [SinusoidalPositions(D), LearnedPositions(LONGEST, D), Rotary(D)])
def test_inputs_that_do_not_fit_are_refused_in_words(layer):
    with pytest.raises(ShapeError, match=r"x must have shape .* = \(..., 5, 8\), got \(2, 5, 6\). The last axis holds"):
        layer(torch.zeros(B, L, K))
    with pytest.raises(ShapeError, match=r"x must have shape \(..., length, width\).* got \(8,\).*x\[None\]"):
        layer(torch.zeros(D))
    with pytest.raises(ValueError, match=r"x must hold floating-point numbers, got torch.int64; try x\.float\(\)"):
        layer(torch.zeros(L, D).long())


def test_nothing_given_is_changed():
    x = random(B, L, D)
    before = x.detach().clone()
    for layer in (SinusoidalPositions(D), LearnedPositions(LONGEST, D).double(), Rotary(D)):
        layer(x).sum().backward()
    assert torch.equal(x, before)
