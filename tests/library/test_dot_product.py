"""Parity with PyTorch and d2l, forward and backward; properties that parity can't see; errors that teach."""

import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook import DotProductAttention, ShapeError, attention, capture_attention, causal, padding
from attnbook.peers import d2l

B, H, L, M, K, V = 2, 3, 5, 7, 8, 6  # pairwise different: a swapped axis can't pass by luck
DTYPES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}
LENGTHS = torch.tensor([4, 7])
MASKS = {
    "none": None,
    "causal": causal(L, M),
    "padding": padding(LENGTHS)[:, None],
    "keys": torch.arange(M) % 3 > 0,
    "queries": (torch.arange(L) % 2 > 0)[:, None],
    "both": causal(L, M) & padding(LENGTHS)[:, None],
    "a mask per head": torch.rand(B, H, L, M, generator=torch.Generator().manual_seed(1)) < 0.5,
    "an empty row": causal(L, M) & (torch.arange(L) != 2)[:, None],
    "nothing": torch.zeros(L, M, dtype=torch.bool),
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def draw(*shape, dtype=torch.float64, device="cpu"):
    return torch.randn(*shape, dtype=torch.float64).to(device, dtype).requires_grad_()


def qkv(dtype=torch.float64, device="cpu", heads=True):
    axes = (B, H) if heads else (B,)
    return tuple(draw(*axes, *s, dtype=dtype, device=device) for s in ((L, K), (M, K), (M, V)))


def twins(tensors):
    return tuple(t.detach().clone().requires_grad_() for t in tensors)


def outputs_and_grads(call, inputs):
    """What `call` returns for the inputs, and every gradient of a fixed random sum of it."""
    output = call(*inputs)
    weight = torch.linspace(-1, 2, output.numel(), dtype=torch.float64, device=output.device).view_as(output)
    (output.double() * weight).sum().backward()
    return output, *(x.grad for x in inputs)


def close(got, want, dtype):
    for ours, theirs in zip(got, want, strict=True):
        assert_close(ours.double(), theirs.double(), rtol=DTYPES[dtype], atol=DTYPES[dtype] * theirs.abs().max().item())


@each_dtype
@each_mask
def test_equals_torch(mask, dtype, torch_device):
    """The readable path and the layer against F.scaled_dot_product_attention computed in float64."""
    mask = None if mask is None else mask.to(torch_device)
    inputs = qkv(dtype, torch_device)
    exact = tuple(x.detach().double().requires_grad_() for x in inputs)
    reference = None if mask is None else mask.expand(B, H, L, M)
    want = outputs_and_grads(lambda *x: F.scaled_dot_product_attention(*x, reference), exact)
    readable = outputs_and_grads(lambda *x: attention(*x, mask)[0], twins(inputs))
    layer = outputs_and_grads(lambda *x: DotProductAttention()(*x, mask), twins(inputs))
    close(readable, want, dtype)
    close(layer, want, dtype)
    assert readable[0].dtype == layer[0].dtype == dtype


def test_without_a_batch_the_layer_still_equals_attention():
    q, k, v = draw(L, K), draw(L, K), draw(L, V)
    for mask in (None, causal(L), MASKS["keys"][:L]):
        assert_close(DotProductAttention()(q, k, v, mask), attention(q, k, v, mask)[0])


@pytest.mark.parametrize("sizes", [(B, 0, M), (B, L, 0), (0, L, M)], ids=["no query", "no key", "no batch"])
def test_nothing_in_nothing_out(sizes):
    batch, queries, keys = sizes
    for axes in ((batch,), (batch, H)):
        inputs = draw(*axes, queries, K), draw(*axes, keys, K), draw(*axes, keys, V)
        for mask in (None, torch.ones(queries, keys, dtype=torch.bool)):
            for path in (DotProductAttention(), lambda *x: attention(*x)[0]):
                output, *grads = outputs_and_grads(lambda *x: path(*x, mask), twins(inputs))  # noqa: B023
                assert output.shape == (*axes, queries, V)
                assert (output == 0).all()
                assert all((grad == 0).all() for grad in grads)


@pytest.mark.parametrize("junk", [torch.nan, torch.inf])
def test_what_nobody_sees_may_hold_anything(junk, torch_device):
    mask = padding(LENGTHS.to(torch_device))
    real = LENGTHS[0]
    for path in (DotProductAttention(), lambda *x: attention(*x)[0]):
        q, k, v = twins(qkv(device=torch_device, heads=False))
        want = outputs_and_grads(path, twins((q[:1], k[:1, :real], v[:1, :real])))
        with torch.no_grad():
            k[0, real:], v[0, real:] = junk, junk
        output, *grads = outputs_and_grads(lambda *x: path(*x, mask)[:1], (q, k, v))  # noqa: B023
        assert_close(output, want[0])
        for got, grad in zip(grads, want[1:], strict=True):
            assert_close(got[0, : grad.shape[1]], grad[0])
            assert (got[0, grad.shape[1] :] == 0).all()


class Calls(TorchDispatchMode):
    """The names of all operations that run."""

    def __enter__(self):
        self.names = []
        return super().__enter__()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.names.append(op.overloadpacket.__name__)
        return op(*args, **(kwargs or {}))


@each_mask
@pytest.mark.parametrize("heads", [True, False])
def test_the_layer_takes_the_kernel_that_never_holds_the_weights(mask, heads):
    if mask is not None and mask.ndim > 2 and not heads:
        mask = mask[:, 0]
    with Calls() as calls, torch.no_grad():
        DotProductAttention()(*qkv(heads=heads), mask)
    assert "_scaled_dot_product_flash_attention_for_cpu" in calls.names
    assert "_softmax" not in calls.names


def test_a_mask_of_three_axes_takes_that_kernel_too():
    with Calls() as calls, torch.no_grad():
        DotProductAttention()(*qkv(), MASKS["a mask per head"][0])
    assert "_scaled_dot_product_flash_attention_for_cpu" in calls.names


def test_a_written_mask_is_obeyed():
    q, k, v = qkv(heads=False)
    q, mask = q[..., :M, :], causal(L)
    k, v = k[:, :L], v[:, :L]
    mask[0, L - 1] = True
    assert_close(DotProductAttention()(q, k, v, mask), attention(q, k, v, mask.clone())[0])


@pytest.mark.parametrize("lengths", [None, LENGTHS, torch.tensor([[1, 2, 3, 4, 5], [7, 6, 5, 4, 3]])], ids=str)
def test_equals_d2l(lengths, torch_device):
    inputs = qkv(torch.float32, torch_device, heads=False)
    lengths = None if lengths is None else lengths.to(torch_device)
    theirs = d2l().DotProductAttention(dropout=0).eval()
    want = outputs_and_grads(lambda *x: theirs(*x, lengths), twins(inputs))
    mask = None if lengths is None else padding(lengths, M)
    close(outputs_and_grads(lambda *x: DotProductAttention()(*x, mask), twins(inputs)), want, torch.float32)
    assert_close(attention(*inputs, mask)[1], theirs.attention_weights, rtol=1e-5, atol=1e-5)


@each_dtype
@pytest.mark.parametrize("heads", [True, False])
def test_a_query_with_nothing_to_attend_to(dtype, heads, torch_device):
    mask = MASKS["an empty row"].to(torch_device)
    for path in (DotProductAttention(), lambda *x: attention(*x)[0]):
        inputs = qkv(dtype, torch_device, heads)
        output, *grads = outputs_and_grads(lambda *x: path(*x, mask), inputs)  # noqa: B023
        assert (output[..., 2, :] == 0).all()
        assert (grads[0][..., 2, :] == 0).all()
        assert all(g.isfinite().all() and g.abs().sum() > 0 for g in grads)


def test_weights_are_the_softmax_of_scaled_scores_by_hand():
    q, k = torch.tensor([[1.0, 2.0, 2.0, 0.0]]), torch.tensor([[2.0, 1.0, 0.0, 3.0], [0.0, 0.0, 1.0, 0.0]])
    _, weights = attention(q, k, k)
    assert_close(
        weights, torch.tensor([[2.718281828, 1.0]]).mul(2.718281828).div(2.718281828**2 + 2.718281828)
    )  # 4/2, 2/2


@pytest.mark.parametrize("mask_name", ["none", "causal"])
def test_capture_shows_the_weights_and_changes_nothing(mask_name, torch_device):
    mask = MASKS[mask_name]
    mask = None if mask is None else mask.to(torch_device)
    q, k, v = qkv(torch.float32, torch_device)
    layer = DotProductAttention()
    with capture_attention(layer) as maps:
        watched = layer(q, k, v, mask)
    assert_close(watched, layer(q, k, v, mask))
    assert_close(maps[""], attention(q, k, v, mask)[1])
    assert not maps[""].requires_grad


def test_large_half_precision_inputs_do_not_overflow():
    q = torch.full((2, 64), 80.0).half()  # 64 · 80² is beyond float16, an eighth of it is not
    assert attention(q, q, q)[0].isfinite().all()


def test_zero_is_zero_and_not_minus_zero():
    output = DotProductAttention()(*qkv(), MASKS["nothing"])
    assert not output.signbit().any()


@pytest.mark.parametrize("dropout", [-0.1, 1, 2])
def test_dropout_is_a_share(dropout):
    with pytest.raises(ValueError, match=f"dropout must be at least 0 and below 1.*got {dropout}"):
        DotProductAttention(dropout)


@pytest.mark.parametrize("huge", [1e30, torch.nan, torch.inf])
@pytest.mark.parametrize("call", [DotProductAttention(), lambda *x: attention(*x)[0]], ids=["layer", "attention"])
def test_who_sees_nothing_and_whom_nobody_sees_may_hold_anything(call, huge):
    """Square padding over junk: neither the output nor any gradient notices."""
    real = torch.tensor([True, True, False])
    mask = real & real[:, None]
    clean = [torch.randn(2, 3, 4) for _ in range(3)]
    inputs = [torch.where(real[:, None], x, huge).requires_grad_() for x in clean]
    twins = [torch.where(real[:, None], x, 0).requires_grad_() for x in clean]
    got, want = call(*inputs, mask), call(*twins, mask)
    assert_close(got, want)
    assert_close(torch.autograd.grad(got.sum(), inputs), torch.autograd.grad(want.sum(), twins))


def test_one_sequence_alone_takes_the_kernel_that_holds_no_weights():
    q, k, v = torch.randn(3, 50, 4)
    with Calls() as calls:
        DotProductAttention()(q, k, v, causal(50) & (torch.arange(50) < 40))
    assert not any("softmax" in name for name in calls.names)


def test_integers_and_lists_are_refused():
    q = torch.ones(2, 3)
    with pytest.raises(ValueError, match=r"k must hold floating-point numbers, got torch.int64; try k.float\(\)"):
        attention(q, q.long(), q)
    with pytest.raises(ValueError, match=r"k must be on the same device as the queries, cpu, got meta.*try k.to"):
        attention(q, q.to("meta"), q)
    with pytest.raises(ValueError, match=r"mask must be on the same device as the queries"):
        attention(q, q, q, torch.ones(2, 2, dtype=torch.bool, device="meta"))
    with pytest.raises(ValueError, match=r"v must be of the same type as the queries, torch.float32, got .*float16"):
        attention(q, q, q.half())
    with pytest.raises(ValueError, match="mask must be a boolean tensor with True = may attend, got a list"):
        attention(q, q, q, [[True, False], [True, True]])


def test_dropout_only_in_training():
    q, k, v = qkv()
    layer = DotProductAttention(dropout=0.5)
    assert not torch.allclose(layer(q, k, v), attention(q, k, v)[0])
    with capture_attention(layer) as maps:
        assert not torch.allclose(layer(q, k, v), attention(q, k, v)[0])
    assert_close(maps[""], attention(q, k, v)[1])  # taken before dropout
    assert_close(layer.eval()(q, k, v), attention(q, k, v)[0])


@given(n=st.integers(2, 9), cut=st.integers(1, 8), seed=st.integers(0, 999))
def test_causal_output_ignores_the_future(n, cut, seed):
    cut = min(cut, n - 1)
    torch.manual_seed(seed)
    q, k, v = (torch.randn(n, 4, dtype=torch.float64) for _ in range(3))
    k_other, v_other = k.clone(), v.clone()
    k_other[cut:], v_other[cut:] = 7.0, -7.0
    was, _ = attention(q, k, v, causal(n))
    now, _ = attention(q, k_other, v_other, causal(n))
    assert_close(was[:cut], now[:cut])
    assert not torch.allclose(was[cut:], now[cut:])


@given(seed=st.integers(0, 999), real=st.integers(1, 6))
def test_padding_never_changes_a_real_position(seed, real):
    torch.manual_seed(seed)
    q, k, v = torch.randn(1, 3, 4), torch.randn(1, 6, 4), torch.randn(1, 6, 2)
    want, _ = attention(q, k[:, :real], v[:, :real])
    got = DotProductAttention()(q, k, v, padding(torch.tensor([real]), 6))
    assert_close(got, want)


@given(seed=st.integers(0, 999))
def test_the_order_of_key_value_pairs_does_not_matter(seed):
    torch.manual_seed(seed)
    q, k, v = torch.randn(3, 4), torch.randn(6, 4), torch.randn(6, 2)
    shuffle = torch.randperm(6)
    output, weights = attention(q, k, v)
    shuffled, shuffled_weights = attention(q, k[shuffle], v[shuffle])
    assert_close(shuffled, output)
    assert_close(shuffled_weights, weights[:, shuffle])


def test_a_batch_of_one_is_a_row_of_a_batch():
    q, k, v = qkv()
    mask = MASKS["a mask per head"]
    for b in range(B):
        assert_close(attention(q[b], k[b], v[b], mask[b])[0], attention(q, k, v, mask)[0][b])


def test_nothing_is_mutated():
    inputs = qkv()
    before = [x.clone() for x in inputs]
    mask = MASKS["an empty row"].clone()
    DotProductAttention()(*inputs, mask)
    attention(*inputs, mask)
    assert torch.equal(mask, MASKS["an empty row"])
    assert all(torch.equal(x, y) for x, y in zip(inputs, before, strict=True))


@pytest.mark.slow
def test_compiles_copies_and_runs_under_autocast():
    q, k, v = qkv(torch.float32)
    layer = copy.deepcopy(DotProductAttention())
    want = layer(q, k, v, MASKS["both"])
    assert_close(torch.compile(layer, backend="aot_eager", fullgraph=True)(q, k, v, MASKS["both"]), want)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(layer(q, k, v, MASKS["both"]).float(), want, rtol=5e-2, atol=5e-2)
    assert layer.state_dict() == {}
    assert repr(layer) == "DotProductAttention(dropout=0.0)"


@pytest.mark.parametrize(
    ("q", "k", "v", "mask", "words"),
    [
        ((4,), (7, 4), (7, 6), None, r"^q\w* must have shape \(..., length, width\), got \(4,\).*x\[None\]"),
        ((5, 4), (7, 3), (7, 6), None, r"^k\w* must have shape .* = \(..., 7, 4\), got \(7, 3\).*one width"),
        (
            (5, 4),
            (7, 4),
            (8, 6),
            None,
            r"^v\w* must have shape .* = \(..., 7, 6\), got \(8, 6\).*as many of both",
        ),
        ((2, 5, 4), (3, 7, 4), (3, 7, 6), None, r"^k\w* must have shape .* = \(2, 7, 4\), got \(3, 7, 4\).*expand"),
        ((2, 5, 4), (2, 7, 4), (1, 7, 6), None, r"^v\w* must have shape .* = \(2, 7, 6\), got \(1, 7, 6\)"),
        ((5, 4), (7, 4), (7, 6), (7, 5), r"mask must have shape \(L, M\) = \(5, 7\), got \(7, 5\).*try mask.mT"),
        (
            (2, 5, 4),
            (2, 7, 4),
            (2, 7, 6),
            (3, 5, 7),
            r"mask must have shape \(..., L, M\) = \(2, 5, 7\), got \(3, 5, 7\).* must fit \(2,\), or be 1.$",
        ),
    ],
)
def test_errors_teach_on_every_path(q, k, v, mask, words):
    tensors = [torch.zeros(shape) for shape in (q, k, v)]
    mask = None if mask is None else torch.ones(mask, dtype=torch.bool)
    for call in (attention, DotProductAttention()):
        with pytest.raises(ShapeError, match=words):
            call(*tensors, mask)
