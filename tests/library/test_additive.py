"""The fast form is the readable one, number for number; parity with d2l; what is never computed; errors that teach."""

import copy
import math
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook import AdditiveAttention, ShapeError, additive_scores, capture_attention, causal, padding
from attnbook.layers import _additive_tiled as additive_tiled
from attnbook.layers.additive import _kernels, fast_additive_scores
from attnbook.peers import copy_weights, d2l

B, L, M, K, QUERY, KEY, VALUE = 3, 5, 7, 4, 2, 6, 8  # pairwise different: a swapped axis can't pass by luck
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}
EDGE = {dtype: math.log(torch.finfo(dtype).max) / 2 - 1 for dtype in (torch.float64, torch.float32)}
EMPTY_ROW = causal(L, M) & (torch.arange(L) != 2)[:, None]
LENGTHS = torch.tensor([4, 7, 1])
each_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
each_form = pytest.mark.parametrize("scores", [additive_scores, fast_additive_scores])


def make(*shapes, dtype=torch.float64, device="cpu"):
    return [torch.randn(shape, dtype=torch.float64).to(device, dtype).requires_grad_() for shape in shapes]


def qkw(*leading, dtype=torch.float64, sizes=(L, M, K)):
    rows, columns, features = sizes
    return make((*leading, rows, features), (*leading, columns, features), (features,), dtype=dtype)


def layer_and_inputs(dtype=torch.float32, device="cpu", dropout=0.0):
    layer = AdditiveAttention(QUERY, KEY, K, dropout).to(device, dtype)
    return layer, make((B, L, QUERY), (B, M, KEY), (B, M, VALUE), dtype=dtype, device=device)


def with_gradients(call, inputs, parameters=()):
    """What `call` makes of the inputs, then the gradient for each of them and of the parameters."""
    output = call(*inputs)
    direction = torch.linspace(-1, 2, output.numel(), device=output.device).view_as(output)
    return output, *torch.autograd.grad(output, [*inputs, *parameters], direction.to(output.dtype))


def agree(ours, theirs, tolerance):
    for got, want in zip(ours, theirs, strict=True):
        scale = max(1.0, want.abs().max().item()) if want.numel() else 1.0
        assert_close(got.double(), want.double(), rtol=tolerance, atol=tolerance * scale)


class Watch(TorchDispatchMode):
    """Writes down how many numbers each operation made, and the most that any one of them made."""

    def __init__(self):
        super().__init__()
        self.made, self.largest = Counter(), 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.made[operation.overloadpacket.__name__] += result.numel()
            self.largest = max(self.largest, result.numel())
        return result


ALL_LENGTHS = {"none": None, "by batch": LENGTHS, "by query": torch.tensor([[1, 2, 3, 4, 5], [7, 6, 5, 4, 3], [7] * 5])}


@pytest.mark.parametrize("lengths", ALL_LENGTHS.values(), ids=ALL_LENGTHS)
def test_equals_d2l_in_output_weights_and_every_gradient(lengths, torch_device):
    ours, inputs = layer_and_inputs(torch.float64, torch_device)
    theirs = d2l().AdditiveAttention(num_hiddens=K, dropout=0).to(torch_device, torch.float64).eval()
    lengths = None if lengths is None else lengths.to(torch_device)
    mask = None if lengths is None else padding(lengths, M)
    theirs(*inputs, lengths)  # makes its weights
    copy_weights(theirs, ours)
    their_parameters = [theirs.W_q.weight, theirs.W_k.weight, theirs.w_v.weight]
    want = with_gradients(lambda *x: theirs(*x, lengths), inputs, their_parameters)
    with capture_attention(ours) as maps:
        watched = with_gradients(lambda *x: ours(*x, mask), inputs, ours.parameters())
    agree(watched, want, 1e-11)
    agree(with_gradients(lambda *x: ours(*x, mask), inputs, ours.parameters()), want, 1e-11)
    assert_close(maps[""], theirs.attention_weights, rtol=0, atol=1e-12)
    assert not maps[""].requires_grad


def test_where_nothing_is_real_d2l_looks_everywhere_and_we_look_nowhere():
    ours, inputs = layer_and_inputs()
    theirs = d2l().AdditiveAttention(num_hiddens=K, dropout=0).eval()
    lengths = torch.tensor([0, M, 3])
    theirs(*inputs, lengths)
    copy_weights(ours, theirs)
    want = theirs(*inputs, lengths)
    with capture_attention(ours) as maps:
        got = ours(*inputs, padding(lengths))
    assert_close(theirs.attention_weights[0], torch.full((L, M), 1 / M))
    assert (maps[""][0] == 0).all()
    assert (got[0] == 0).all()
    assert_close(got[1:], want[1:])


@each_form
def test_scores_by_hand(scores):
    q, k = torch.tensor([[0.5, -1.0], [2.0, 0.0]]), torch.tensor([[0.5, 1.0]])
    want = [[3 * math.tanh(1) - 2 * math.tanh(0)], [3 * math.tanh(2.5) - 2 * math.tanh(1)]]
    assert_close(scores(q, k, torch.tensor([3.0, -2.0])), torch.tensor(want))


@each_dtype
@pytest.mark.parametrize("leading", [(), (B,), (2, B)], ids=str)
@pytest.mark.parametrize("queries", [1, L])
def test_the_fast_form_is_the_readable_one(leading, queries, dtype):
    inputs = qkw(*leading, dtype=dtype, sizes=(queries, M, K))
    want = with_gradients(additive_scores, [x.detach().double().requires_grad_() for x in inputs])
    got = with_gradients(fast_additive_scores, inputs)
    agree(got, want, TOLERANCE[dtype])
    assert {x.dtype for x in got} == {dtype}
    assert [x.shape for x in got] == [x.shape for x in want]


@each_dtype
@pytest.mark.parametrize("size", ["edge", "beyond", 40, 44, 300, 500])
def test_no_number_is_too_large(size, dtype):
    """Signs at random: the sums are twice the size, either way, or 0, where tanh is 0 and steepest."""
    edge = EDGE[torch.float64 if dtype == torch.float64 else torch.float32]
    size = {"edge": edge, "beyond": edge + 1e-3}.get(size, size)
    signs = [torch.randint(2, shape) * 2.0 - 1 for shape in ((B, L, K), (B, M, K))]
    q, k = ((size * s).to(dtype).requires_grad_() for s in signs)
    (w,) = make((K,), dtype=dtype)
    want = with_gradients(additive_scores, [x.detach().double().requires_grad_() for x in (q, k, w)])
    agree(with_gradients(fast_additive_scores, [q, k, w]), want, TOLERANCE[dtype])
    assert want[1].abs().max() > 0.1


@each_dtype
def test_far_out_a_number_and_its_opposite_still_cancel(dtype):
    """To rounding by exponentials, which reach this far in float64 only; exactly by the sigmoid."""
    q = torch.full((2, K), 300.0, dtype=dtype)
    assert (fast_additive_scores(q, -q, torch.ones(K, dtype=dtype)).abs() < TOLERANCE[dtype] / 100).all()
    far = q * (4 if dtype == torch.float64 else 1)
    assert (fast_additive_scores(far, -far, torch.ones(K, dtype=dtype)) == 0).all()


@pytest.mark.parametrize("reach", [1.0, 500.0])
@pytest.mark.parametrize("rows", [1, 2, 3, L, L + 1, 2 * L, 3 * L, 99])
def test_tiles_may_cut_batch_and_queries_anywhere(rows, reach, monkeypatch):
    q, k, w = qkw(B)
    inputs = [(reach * q).detach().requires_grad_(), k, w]
    want = with_gradients(additive_scores, inputs)
    monkeypatch.setitem(additive_tiled.TILE_BYTES, "cpu", rows * M * K * 8)
    with Watch() as watch:
        agree(with_gradients(fast_additive_scores, inputs), want, 1e-12)
    assert watch.largest <= max(min(rows, B * L) * M * K, B * L * M)


@pytest.mark.parametrize("sizes", [(0, M, K), (L, 0, K), (L, M, 0), (0, 0, 0)], ids=str)
@pytest.mark.parametrize("leading", [(), (B,), (0,)], ids=str)
def test_nothing_scored_is_nothing_wrong(leading, sizes):
    inputs = qkw(*leading, sizes=sizes)
    agree(with_gradients(fast_additive_scores, inputs), with_gradients(additive_scores, inputs), 1e-12)


def test_a_layer_takes_empty_batches_and_sequences():
    layer = AdditiveAttention(QUERY, KEY, K)
    for b, n, m in ((0, L, M), (B, 0, M), (B, L, 0)):
        output = layer(torch.randn(b, n, QUERY), torch.randn(b, m, KEY), torch.randn(b, m, VALUE))
        assert_close(output, torch.zeros(b, n, VALUE))


@pytest.mark.parametrize("wanted", ["qkw", "q", "k", "w", "qk", "kw"])
def test_gradients_and_their_gradients_are_the_numerical_ones(wanted):
    inputs = [x.requires_grad_(name in wanted) for name, x in zip("qkw", qkw(2, sizes=(2, 3, 2)), strict=True)]
    assert torch.autograd.gradcheck(fast_additive_scores, inputs)
    assert torch.autograd.gradgradcheck(fast_additive_scores, inputs)


def test_torch_func_takes_gradients_too():
    inputs = [x.detach() for x in qkw(B)]

    def gradients(scores):
        return torch.func.grad(lambda *x: scores(*x).square().sum(), argnums=(0, 1, 2))(*inputs)

    agree(gradients(fast_additive_scores), gradients(additive_scores), 1e-12)


def test_torch_func_transforms_a_layer():
    layer, (q, k, v) = layer_and_inputs(torch.float64)
    q, k, v = q.detach(), k.detach(), v.detach()
    want = layer(q, k, v)
    assert_close(torch.func.vmap(layer)(q, k, v), want)
    output, pull = torch.func.vjp(layer, q, k, v)
    assert_close(output, want)
    inputs = [x.clone().requires_grad_() for x in (q, k, v)]
    assert_close(pull(torch.ones_like(want)), torch.autograd.grad(layer(*inputs).sum(), inputs))
    weights = {name: p.detach() for name, p in layer.named_parameters()}
    loss = torch.func.grad(lambda w, *x: torch.func.functional_call(layer, w, x).square().sum())
    each = torch.func.vmap(loss, (None, 0, 0, 0))(weights, q, k, v)
    for b in range(B):
        one = torch.autograd.grad(layer(q[b], k[b], v[b]).square().sum(), layer.parameters())
        assert_close([gradient[b] for gradient in each.values()], list(one))


def test_autocast_does_not_touch_gradients_of_gradients():
    inputs = qkw(B, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        first, again = (
            torch.autograd.grad(fast_additive_scores(*inputs).square().sum(), inputs, create_graph=graph)
            for graph in (False, True)
        )
    assert_close(first, again)


def test_no_tensor_of_all_pairs_and_features_is_ever_made():
    batch, n, m, features = 2, 200, 64, 64
    inputs = qkw(batch, dtype=torch.float32, sizes=(n, m, features))
    layer = AdditiveAttention(QUERY, KEY, features)
    x = make((batch, n, QUERY), (batch, m, KEY), (batch, m, VALUE), dtype=torch.float32)
    for call, tensors, small in (
        (additive_scores, inputs, False),
        (fast_additive_scores, inputs, True),
        (layer, x, True),
    ):
        with Watch() as forward:
            output = call(*tensors)
        with Watch() as backward:
            output.sum().backward()
        for watch in (forward, backward):
            assert (watch.largest < batch * n * m * features / 2) == small
            assert (watch.largest * 4 <= additive_tiled.TILE_BYTES["cpu"]) == small
            assert watch.largest > batch * n * m / 2  # something was seen at all


def test_exp_runs_for_queries_and_keys_not_for_their_pairs():
    inputs = qkw(B)
    with Watch() as forward:
        scores = fast_additive_scores(*inputs)
    with Watch() as backward:
        scores.sum().backward()
    for watch in (forward, backward):
        assert watch.made["exp"] == B * (L + M) * K
        assert watch.made["tanh"] + watch.made["sigmoid_"] + watch.made["sigmoid"] == 0


@each_form
def test_nan_stays_in_its_row_and_column(scores):
    q, k, w = (x.detach() for x in qkw(B))
    clean = scores(q, k, w)
    q[0, 3, 1] = k[1, 6, 0] = torch.nan
    broken = torch.zeros(B, L, M, dtype=torch.bool)
    broken[0, 3] = broken[1, :, 6] = True
    got = scores(q, k, w)
    assert torch.equal(got.isnan(), broken)
    assert_close(got[~broken], clean[~broken])


HIDES = {
    "padding": padding(torch.tensor([5, 4, 3]), M),
    "the same for all": torch.arange(M) < 5,
    "no query of any": (torch.rand(B, L, M, generator=torch.Generator().manual_seed(1)) < 0.5) & (torch.arange(M) < 5),
}


@pytest.mark.parametrize("broken", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("mask", HIDES.values(), ids=HIDES)
def test_what_nobody_sees_may_hold_anything(mask, broken):
    layer, (q, k, v) = layer_and_inputs(torch.float64)
    want = with_gradients(lambda *x: layer(*x, mask), (q, k, v), layer.parameters())
    unseen = ~mask.expand(B, -1, M).any(1)[..., None] if mask.ndim == 3 else ~mask[:, None]
    wrecked = [x.detach().masked_fill(unseen, broken).requires_grad_() for x in (k, v)]
    got = with_gradients(lambda *x: layer(*x, mask), (q, *wrecked), layer.parameters())
    agree(got, want, 1e-12)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["queries", "keys", "values"])
def test_nan_in_one_sequence_never_reaches_another(which):
    layer, inputs = layer_and_inputs()
    want = with_gradients(layer, inputs)
    inputs[which] = inputs[which].detach().clone()
    inputs[which][1, 2] = torch.nan
    got = with_gradients(layer, [x.requires_grad_() for x in inputs])
    assert got[0][1].isnan().any()
    agree([x[[0, 2]] for x in got], [x[[0, 2]] for x in want], 2e-6)


@each_dtype
@pytest.mark.parametrize("mask", [EMPTY_ROW, torch.zeros(L, M, dtype=torch.bool)], ids=["one query", "all"])
def test_a_query_with_nothing_to_attend_to(mask, dtype, torch_device):
    layer, inputs = layer_and_inputs(dtype, torch_device)
    with capture_attention(layer) as maps:
        output, *grads = with_gradients(lambda *x: layer(*x, mask.to(torch_device)), inputs, layer.parameters())
    assert (output[:, 2] == 0).all()
    assert (maps[""][:, 2] == 0).all()
    assert (grads[0][:, 2] == 0).all()
    assert all(g.isfinite().all() and (g != 0).any() == mask.any() for g in grads)
    assert output.dtype == dtype


@pytest.mark.slow
@given(seed=st.integers(0, 999), real=st.integers(1, 6))
def test_padding_never_changes_a_real_position(seed, real):
    torch.manual_seed(seed)
    layer = AdditiveAttention(QUERY, KEY, K)
    q, k, v = torch.randn(1, L, QUERY), torch.randn(1, M, KEY), torch.randn(1, M, VALUE)
    got = layer(q, k, v, padding(torch.tensor([real]), M))
    assert_close(got, layer(q, k[:, :real], v[:, :real]))
    assert not torch.allclose(got, layer(q, k, v))


@pytest.mark.slow
@given(seed=st.integers(0, 999))
def test_pairs_of_key_and_value_have_no_order(seed):
    torch.manual_seed(seed)
    layer, (q, k, v) = layer_and_inputs()
    order = torch.randperm(M)
    with capture_attention(layer) as maps:
        want = layer(q, k, v)
        weights = maps[""]
        assert_close(layer(q, k[:, order], v[:, order]), want)
    assert_close(maps[""], weights[..., order])


def test_each_row_of_a_batch_could_come_alone():
    layer, inputs = layer_and_inputs()
    mask = padding(LENGTHS)
    for b, row in enumerate(layer(*inputs, mask)):
        assert_close(layer(*(x[b] for x in inputs), mask[b]), row)
        assert_close(layer(*(x[b, None, None] for x in inputs), mask[b, None, None])[0, 0], row)


def test_nothing_given_is_changed():
    layer, inputs = layer_and_inputs()
    mask, (grad,) = EMPTY_ROW.clone(), make((B, L, M))
    given = [*inputs, mask, *qkw(B), grad]
    before = [x.detach().clone() for x in given]
    layer(*inputs, mask).sum().backward()
    for reach in (1, 1000):
        with torch.no_grad():
            scaled = [reach * x for x in given[4:]]
            held = [x.clone() for x in scaled]
            additive_tiled.scores(*scaled[:3])
            additive_tiled.gradients(*scaled)
        assert all(map(torch.equal, scaled, held))
    fast_additive_scores(*given[4:7]).backward(grad)
    assert all(map(torch.equal, given, before))


def test_looking_changes_nothing():
    layer, inputs = layer_and_inputs()
    with capture_attention(layer) as maps:
        watched = layer(*inputs, EMPTY_ROW)
    assert torch.equal(watched, layer(*inputs, EMPTY_ROW))
    assert_close(maps[""] @ inputs[2], watched)
    assert "_watchers" not in vars(layer)


def test_dropout_works_on_the_weights_and_only_in_training():
    layer, inputs = layer_and_inputs(dropout=0.5)
    with capture_attention(layer) as maps:
        dropped = layer(*inputs)
    want = maps[""] @ inputs[2]  # taken before dropout
    assert_close(maps[""].sum(-1), torch.ones(B, L))
    assert not torch.allclose(dropped, want)
    assert_close(layer.eval()(*inputs), want)
    one_hot = torch.eye(M).expand(B, M, M)  # as values they show the weights themselves
    kept = layer.train()(*inputs[:2], one_hot)
    assert_close(kept[kept > 0], 2 * maps[""][kept > 0])
    assert (kept == 0).any()


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("queries", [1, L])
def test_autocast_keeps_the_scores_exact(inside, queries):
    """Backward may be called inside the block or, as the manual says, after it."""
    inputs = qkw(B, dtype=torch.float32, sizes=(queries, M, K))
    want = with_gradients(additive_scores, inputs)
    with torch.autocast("cpu", torch.bfloat16):
        scores = fast_additive_scores(*inputs)
    with torch.autocast("cpu", torch.bfloat16, enabled=inside):
        got = torch.autograd.grad(scores, inputs, torch.linspace(-1, 2, scores.numel()).view_as(scores))
    agree([scores, *got], want, 2e-6)


@pytest.mark.parametrize("inside", [True, False])
def test_a_layer_runs_under_autocast(inside):
    layer, inputs = layer_and_inputs()
    wanted = [*inputs, *layer.parameters()]
    want = layer(*inputs, EMPTY_ROW)
    want_grads = torch.autograd.grad(want.sum(), wanted)
    with torch.autocast("cpu", torch.bfloat16):
        got = layer(*inputs, EMPTY_ROW)
    with torch.autocast("cpu", torch.bfloat16, enabled=inside):
        grads = torch.autograd.grad(got.float().sum(), wanted)
    assert got.dtype == torch.bfloat16
    assert {g.dtype for g in grads} == {torch.float32}
    agree([got, *grads], [want, *want_grads], 3e-2)


@pytest.mark.slow
@pytest.mark.parametrize("mask", [None, padding(LENGTHS)], ids=["none", "padding"])
def test_compiles_whole(mask):
    """One program for inputs in and out of range, forward and backward."""
    layer, inputs = layer_and_inputs()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for size in (1, 300):
        sized = [(size * inputs[0]).detach().requires_grad_(), *inputs[1:]]
        want = with_gradients(lambda *x: layer(*x, mask), sized, layer.parameters())
        agree(with_gradients(lambda *x: compiled(*x, mask), sized, layer.parameters()), want, 2e-6)


@pytest.mark.slow
def test_compiled_scores_are_the_readable_ones_too():
    torch.compiler.reset()
    compiled = torch.compile(fast_additive_scores, backend="aot_eager", fullgraph=True)
    for dtype, sizes in ((torch.bfloat16, (L, M, K)), (torch.bfloat16, (9, 2, 3)), (torch.float32, (0, M, K))):
        inputs = qkw(B, dtype=dtype, sizes=sizes)
        want = with_gradients(additive_scores, [x.detach().double().requires_grad_() for x in inputs])
        agree(with_gradients(compiled, inputs), want, TOLERANCE[dtype])


@pytest.mark.slow
def test_compiled_scores_of_queries_and_keys_in_one_tensor():
    torch.compiler.reset()
    compiled = torch.compile(fast_additive_scores, backend="aot_eager", fullgraph=True)
    both, w = torch.randn(2, L, K), torch.ones(K)
    for q, k in (both, both[:1].expand(2, L, K)):
        assert_close(compiled(q, k, w), additive_scores(q, k, w))


def test_a_gpu_gets_the_kernel_made_for_it():
    pytest.importorskip("triton", reason="triton is only for Linux")
    from attnbook.layers import _additive_triton as additive_triton

    assert _kernels(SimpleNamespace(is_cuda=True, dtype=torch.float32)) is additive_triton
    for is_cuda, dtype in ((True, torch.float64), (False, torch.float32)):
        assert _kernels(SimpleNamespace(is_cuda=is_cuda, dtype=dtype)) is additive_tiled


def test_copies_and_saves():
    layer, inputs = layer_and_inputs()
    twin, fresh = copy.deepcopy(layer), AdditiveAttention(QUERY, KEY, K)
    assert {name: tuple(x.shape) for name, x in layer.state_dict().items()} == {
        "query.weight": (K, QUERY),
        "key.weight": (K, KEY),
        "score.weight": (1, K),
    }
    assert not torch.allclose(fresh(*inputs), layer(*inputs))
    fresh.load_state_dict(layer.state_dict())
    assert torch.equal(fresh(*inputs), layer(*inputs))
    assert torch.equal(twin(*inputs), layer(*inputs))
    with torch.no_grad():
        layer.score.weight.zero_()
    assert not torch.allclose(twin(*inputs), layer(*inputs))


@pytest.mark.parametrize("dropout", [-0.1, 1, 2])
def test_dropout_must_leave_something(dropout):
    with pytest.raises(ValueError, match=f"dropout must be at least 0 and below 1, .*; got {dropout}"):
        AdditiveAttention(QUERY, KEY, K, dropout)


WRONG_CALLS = {
    "query width": ("queries", (B, L, 3), r"queries must .* = \(..., 5, 2\), got \(3, 5, 3\).* queries of width 2"),
    "key width": ("keys", (B, M, 3), r"keys must .* = \(..., 7, 6\), got \(3, 7, 3\). .*made for keys of width 6"),
    "one query": ("queries", (QUERY,), r"queries must have shape \(..., length, width\).* got \(2,\).*x\[None\]"),
    "one value": ("values", (VALUE,), r"values must have shape \(..., length, width\).* got \(8,\)"),
    "too few values": ("values", (B, 4, VALUE), r"values must .* = \(..., 7, 8\), got \(3, 4, 8\).*as many of both"),
    "keys' batch": (
        "keys",
        (2, M, KEY),
        r"keys must .* = \(3, 7, 6\), got \(2, 7, 6\).*batch of queries is \(3,\).*\.expand",
    ),
    "values' batch": (
        "values",
        (1, M, VALUE),
        r"values must .* = \(3, 7, 8\), got \(1, 7, 8\).*share one set of values",
    ),
    "keys without batch": ("keys", (M, KEY), r"keys must .* = \(3, 7, 6\), got \(7, 6\)"),
    "turned mask": ("mask", (M, L), r"mask must have shape .* = \(5, 7\), got \(7, 5\).*try mask\.mT"),
    "long mask": ("mask", (L, M + 1), r"mask must have shape .* = \(5, 7\), got \(5, 8\).*check the two lengths"),
    "mask's batch": ("mask", (2, L, M), r"mask must have shape \(..., L, M\) = \(3, 5, 7\), got \(2, 5, 7\)"),
    "a mask too deep": ("mask", (1, B, L, M), r"mask must have shape .* = \(3, 5, 7\), got \(1, 3, 5, 7\)"),
}


@pytest.mark.parametrize(("name", "shape", "words"), WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_a_wrong_shape_gets_an_error_that_teaches(name, shape, words):
    layer, inputs = layer_and_inputs()
    call = dict(zip(("queries", "keys", "values"), inputs, strict=True))
    call[name] = torch.ones(shape, dtype=torch.bool if name == "mask" else torch.float32)
    with pytest.raises(ShapeError, match=words):
        layer(**call)


@pytest.mark.parametrize("name", ["queries", "keys", "values"])
def test_wrong_types_and_devices_get_errors_that_teach(name):
    layer, inputs = layer_and_inputs()
    call = {n: x.detach() for n, x in zip(("queries", "keys", "values"), inputs, strict=True)}
    with pytest.raises(ValueError, match=rf"{name} must hold floating-point .*int64; try {name}\.float\(\).*embedding"):
        layer(**call | {name: call[name].long()})
    other = name if name != "queries" else "keys"  # the queries set the rule
    with pytest.raises(ValueError, match=rf"{other} must be on the same device as the queries.*try {other}\.to\('"):
        layer(**call | {name: call[name].to("meta")})
    with pytest.raises(ValueError, match=rf"{other} must be of the same type as the queries.*try {other}\.to\(torch"):
        layer(**call | {name: call[name].double()})
    with pytest.raises(ValueError, match="queries must be of the same type as the layer's weights"):
        layer(**{n: x.double() for n, x in call.items()})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.uint8], ids=str)
def test_a_mask_must_be_boolean(dtype):
    layer, inputs = layer_and_inputs()
    with pytest.raises(
        ValueError, match=rf"mask must be a boolean tensor with True = may .*{dtype}.*try mask\.bool\(\)"
    ):
        layer(*inputs, torch.ones(L, M, dtype=dtype))


def test_a_mask_lives_where_the_queries_live_and_is_a_tensor():
    layer, inputs = layer_and_inputs()
    with pytest.raises(
        ValueError, match=r"mask must be on the same device as the queries, cpu, got meta; try mask\.to"
    ):
        layer(*inputs, EMPTY_ROW.to("meta"))
    with pytest.raises(ValueError, match="mask must be a boolean tensor with True = may attend, got a list"):
        layer(*inputs, EMPTY_ROW.tolist())


WRONG_SCORES = {
    "w of (1, K)": ("w", torch.zeros(1, K), r"w must have shape \(K,\) = \(4,\), got \(1, 4\).*try w\.flatten\(\)"),
    "w of ()": ("w", torch.tensor(1.0), r"w must have shape \(K,\) = \(4,\), got \(\)"),
    "a long w": ("w", torch.zeros(K + 2), r"q must .* = \(..., 5, 6\), got \(3, 5, 4\). w has 6 numbers, one for each"),
    "wide q": ("q", torch.zeros(B, L, 9), r"q must .* = \(..., 5, 4\), got \(3, 5, 9\). w has 4 numbers"),
    "wide k": ("k", torch.zeros(B, M, 9), r"k must .* = \(..., 7, 4\), got \(3, 7, 9\). w has 4 numbers"),
    "k's batch": ("k", torch.zeros(2, M, K), r"k must .* = \(3, 7, 4\), got \(2, 7, 4\).*batch of q is \(3,\)"),
    "one q": ("q", torch.zeros(K), r"q must have shape \(..., length, width\).* got \(4,\)"),
    "whole w": ("w", torch.zeros(K).long(), r"w must be of the same type .*float32, got torch.int64; try w\.to\(torch"),
    "w elsewhere": ("w", torch.zeros(K, device="meta"), r"w must be on the same device .*cpu, got meta; try w\.to\("),
    "k elsewhere": ("k", torch.zeros(B, M, K, device="meta"), r"k must be on the same device .*cpu, got meta"),
    "double k": ("k", torch.zeros(B, M, K).double(), r"k must be of the same type .*float32, got torch.float64"),
    "a list for w": ("w", [1.0] * K, r"w must be a tensor \(K,\), got list"),
    "whole q": ("q", torch.zeros(B, L, K).long(), r"q must hold floating-point numbers, got torch.int64"),
}


@each_form
@pytest.mark.parametrize(("name", "wrong", "words"), WRONG_SCORES.values(), ids=WRONG_SCORES)
def test_scores_refuse_what_does_not_fit(name, wrong, words, scores):
    call = {"q": torch.zeros(B, L, K), "k": torch.zeros(B, M, K), "w": torch.zeros(K)}
    with pytest.raises(ValueError, match=words):
        scores(**call | {name: wrong})
