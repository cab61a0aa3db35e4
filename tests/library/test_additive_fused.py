"""Additive attention in one kernel, where there is no GPU: interpreted, it gives the numbers of plain operations."""

import importlib
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch.autograd import forward_ad
from torch.testing import assert_close

from attnbook import AdditiveAttention, additive_scores, capture_attention, causal, masked_softmax
from attnbook.layers import additive
from tests.interpreted import interpreted
from tests.library.test_additive import Watch, agree
from tests.library.test_additive_triton import used

triton = pytest.importorskip("triton", reason="triton is not installed (it is only for Linux)")
additive_fused = importlib.import_module("attnbook.layers._additive_fused")
pytestmark = pytest.mark.slow
X, WARPS, Y = 4, 2, 4  # small tiles, 8 keys for 4 queries, so that few numbers fill several
TOLERANCE = {torch.float32: 3e-6, torch.bfloat16: 2e-2, torch.float16: 3e-3}


@pytest.fixture
def kernel(monkeypatch):
    """The layer takes the kernel, interpreted, for whatever it is given."""
    with interpreted(additive_fused) as module:
        module.X, module.WARPS, module.Y, module.AT_ONCE = X, WARPS, Y, triton.language.constexpr(4)
        monkeypatch.setattr(additive, "_fused", lambda *_: module)
        yield module


def draw(batch, L, M, K, V, dtype=torch.float32, reach=1.0):
    shapes = ((*batch, L, K), (*batch, M, K), (*batch, M, V), (K,))
    q, k, v, w = (torch.randn(shape) for shape in shapes)
    return [x.to(dtype).requires_grad_() for x in (reach * q, reach * k, v, w)]


def fused(q, k, v, w, mask=None):
    return additive._at_once(additive._fused(q, k, v), q, k, v, w, mask)


def plain(q, k, v, w, mask=None):
    return masked_softmax(additive_scores(q, k, w), mask) @ v


def with_gradients(call, inputs):
    output = call(*inputs)
    direction = torch.linspace(-1, 2, output.numel(), device=output.device).view_as(output).to(output.dtype)
    return output, *torch.autograd.grad(output, inputs, direction)


def check(inputs, mask=None):
    """Against plain operations in float64."""
    got = with_gradients(lambda *x: fused(*x, mask), inputs)
    want = with_gradients(lambda *x: plain(*x, mask), [x.detach().double().requires_grad_() for x in inputs])
    assert [x.shape for x in got] == [x.shape for x in want]
    assert {x.dtype for x in got} == {inputs[0].dtype}
    agree(got, want, TOLERANCE[inputs[0].dtype])
    return got


SIZES = {  # batch, L, M, K, V
    "less than a tile": ((2,), 3, 5, 3, 6),
    "tiles to the brim": ((), 8, 16, 2, 16),
    "one more than a tile": ((), 5, 9, 2, 17),
    "one query, one key": ((), 1, 1, 1, 1),
    "many features": ((), 2, 3, 5, 2),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_interpreted_it_gives_the_numbers_of_plain_operations(kernel, sizes):
    check(draw(*sizes))


@pytest.mark.parametrize("sizes", [(0, 3, 4, 2, 2), (2, 0, 4, 2, 2), (2, 3, 0, 2, 2), (2, 3, 4, 0, 2), (2, 3, 4, 2, 0)])
def test_nothing_to_score_or_to_mix(kernel, sizes):
    check(draw(sizes[:1], *sizes[1:]))


@pytest.mark.parametrize("reach", [5.0, 300.0])
def test_no_number_is_too_large(kernel, reach):
    """Some tiles are in range, some are not: the first keys are small, and so are the first queries."""
    q, k, v, w = draw((), 5, 9, 3, 2, reach=reach)
    q, k = (torch.cat([x[:-1] / 100, x[-1:]]).detach().requires_grad_() for x in (q, k))
    check([q, k, v, w])


@pytest.mark.parametrize("turned", [1, -1])
@pytest.mark.parametrize("beyond", [False, True])
def test_the_shared_division_is_safe_as_far_as_it_is_used(kernel, beyond, turned):
    """Every feature at the limit: the largest product there is, and (turned) the sum where tanh is steepest."""
    half = torch.tensor(kernel.SAFE.value / 2)
    half = torch.nextafter(half, 2 * half) if beyond else half
    q = half * torch.tensor([[1.0], [-1.0]]).expand(2, 4)
    k = turned * half.expand(3, 4)
    check([x.clone().requires_grad_() for x in (q, k, torch.randn(3, 2), torch.tensor([1.0, -2.0, 3.0, 0.5]))])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_it_reads_half_precision_as_it_is(kernel, dtype):
    with Watch() as watch:
        check(draw((), 5, 9, 3, 3, dtype), causal(5, 9))
    assert watch.made["_to_copy"] > 0


B, H, L, M = 2, 3, 4, 5
MASKS = {
    "keys": (M,),
    "queries": (L, 1),
    "padding": (B, 1, 1, M),
    "by head": (H, 1, M),
    "full": (B, H, L, M),
}


@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
def test_a_mask_is_read_as_it_lies(kernel, shape, monkeypatch):
    mask = torch.rand(shape) < 0.6
    read = []
    for name in ("_attend", "_gradients"):
        spy(monkeypatch, kernel, name, lambda named: read.append(named["mask"].data_ptr()))
    check(draw((B, H), L, M, 1, 2), mask)
    assert read == [mask.data_ptr()] * 3


def test_what_sees_nothing_gives_zeros_and_what_nobody_sees_weighs_nothing(kernel):
    mask = causal(5, 9).clone()
    mask[1] = mask[4] = False
    mask[:, 3] = False
    output, grad_q, grad_k, grad_v, _ = check(draw((), 5, 9, 3, 2), mask)
    assert (output[[1, 4]] == 0).all()
    assert (grad_q[[1, 4]] == 0).all()
    assert (grad_k[3] == 0).all()
    assert (grad_v[3] == 0).all()
    nothing = with_gradients(lambda *x: fused(*x, torch.zeros(5, 9).bool()), draw((), 5, 9, 3, 2))
    assert all((x == 0).all() for x in nothing)


def test_inputs_may_lie_in_memory_as_they_like(kernel):
    q, k, v, w = (x.detach() for x in draw((2,), 5, 9, 3, 2))
    turned = [x.mT.contiguous().mT for x in (q, k, v)]
    shared = [x[:1].expand_as(x) for x in (q, k, v)]
    for given in (turned, shared):
        assert not any(x.is_contiguous() for x in given)
        check([x.requires_grad_() for x in (*given, w)])


def spy(monkeypatch, module, name, look, run=True):
    """Shows each launch of a kernel, all arguments by name, and lets it run or not."""
    original = getattr(module, name)

    def launch(grid, *args, **kwargs):
        look(dict(zip(original.arg_names, args, strict=False)) | kwargs)
        if run:
            original[grid](*args, **kwargs)

    monkeypatch.setattr(module, name, type("Spy", (), {"__getitem__": lambda self, grid: partial(launch, grid)})())


class Memory(Watch):
    """Writes down instead the largest piece of memory, in numbers of four bytes, and what was done, views apart."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        self.largest = max(self.largest, result.untyped_storage().nbytes() // 4)
        if not operation.is_view:
            self.made[operation.overloadpacket.__name__] += 1
        return result


def test_one_launch_forward_three_backward_and_nothing_as_large_as_all_pairs(kernel, monkeypatch):
    launches, (B, L, M, K) = [], (2, 1600, 2000, 8)
    kernel.X, kernel.WARPS, kernel.Y = additive_fused.X, additive_fused.WARPS, additive_fused.Y
    for name in ("_attend", "_gradients"):
        spy(monkeypatch, kernel, name, lambda named, name=name: launches.append(name), run=False)
    inputs, mask = draw((B,), L, M, K, 4), torch.ones(L, 1, dtype=torch.bool)
    with Memory() as forward:
        output = fused(*inputs, mask)
    assert launches == ["_attend"]
    grad = torch.ones_like(output)
    with Memory() as backward:
        output.backward(grad)
    assert launches == ["_attend", "_gradients", "_gradients"]
    free = {"new_empty", "empty_like", "_unsafe_view"}
    assert forward.made.keys() - free == set()
    assert {name: backward.made[name] for name in backward.made.keys() - free} == {"sum": 1}
    assert max(forward.largest, backward.largest) < B * L * M / 2


def test_gradients_of_gradients(kernel):
    def twice(call, inputs):
        first = torch.autograd.grad(call(*inputs).square().sum(), inputs, create_graph=True)
        return *first, *torch.autograd.grad(sum(x.square().sum() for x in first), inputs)

    inputs, mask = draw((), 5, 9, 3, 2), causal(5, 9)
    got = twice(lambda *x: fused(*x, mask), inputs)
    want = twice(lambda *x: plain(*x, mask), [x.detach().double().requires_grad_() for x in inputs])
    agree(got, want, 1e-5)


def layer_and_inputs(device="cpu", dropout=0.0):
    layer = AdditiveAttention(2, 6, 4, dropout).to(device)
    return layer, [torch.randn(shape, device=device).requires_grad_() for shape in ((3, 5, 2), (3, 7, 6), (3, 7, 8))]


def test_a_layer_uses_it_unless_somebody_looks_or_weights_are_dropped(kernel, monkeypatch):
    launches = []
    spy(monkeypatch, kernel, "_attend", lambda named: launches.append(named["K"]))
    layer, inputs = layer_and_inputs(dropout=0.5)
    got = layer.eval()(*inputs, causal(5, 7))
    assert launches == [4]
    with capture_attention(layer) as maps:
        watched = layer(*inputs, causal(5, 7))
    layer.train()(*inputs)
    assert launches == [4]
    assert_close(got, watched)
    assert_close(maps[""] @ inputs[2], got)


def test_a_layer_runs_under_autocast(kernel):
    layer, inputs = layer_and_inputs()
    wanted = [*inputs, *layer.parameters()]
    want = layer(*inputs)
    want_grads = torch.autograd.grad(want.sum(), wanted)
    with torch.autocast("cpu", torch.bfloat16):
        got = layer(*inputs)
    grads = torch.autograd.grad(got.float().sum(), wanted)
    assert got.dtype == torch.bfloat16
    assert {g.dtype for g in grads} == {torch.float32}
    agree([got, *grads], [want, *want_grads], 3e-2)


def test_a_layer_says_what_does_not_fit(kernel):
    layer, inputs = layer_and_inputs()
    with pytest.raises(ValueError, match=r"mask must have shape .* = \(5, 7\), got \(7, 5\).*try mask\.mT"):
        layer(*inputs, torch.ones(7, 5, dtype=torch.bool))


def test_forward_mode_is_refused_rather_than_left_out(kernel):
    q, k, v, w = (x.detach() for x in draw((), 5, 7, 4, 8))
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="forward mode AD"):
        fused(forward_ad.make_dual(q, torch.ones_like(q)), k, v, w)


CUDA = {"is_cuda": True, "dtype": torch.float32, "L": 5, "V": 8, "values": 7}
NOT_FOR_IT = {
    "a CPU": {"is_cuda": False},
    "float64": {"dtype": torch.float64},
    "one query": {"L": 1},
    "wide values": {"V": 129},
    "values for another batch": {"values": 1},
}


@pytest.mark.parametrize("but", [{}, {"dtype": torch.bfloat16}, {"V": 128}, *NOT_FOR_IT.values()], ids=str)
def test_only_a_gpu_gets_it(but):
    case = SimpleNamespace(**CUDA | but)
    q, k, v = (torch.empty(shape, device="meta") for shape in ((case.L, 4), (7, 4), (case.values, case.V)))
    q = SimpleNamespace(is_cuda=case.is_cuda, dtype=case.dtype, shape=q.shape)
    assert additive._fused(q, k, v) is (None if but in NOT_FOR_IT.values() else additive_fused)


def test_torch_func_goes_by_plain_operations():
    q, k = SimpleNamespace(is_cuda=True, dtype=torch.float32, shape=(5, 4)), torch.zeros(7, 4)
    chosen = []
    torch.func.vmap(lambda x: (chosen.append(additive._fused(q, k, k)), x)[1])(torch.zeros(2))
    assert chosen == [None]


KERNELS = {
    "output": ("_attend", {}, 0),
    "gradients of queries": ("_gradients", {"OF_KEYS": False}, 0),
    "gradients of keys": ("_gradients", {"OF_KEYS": True}, 128),  # little, and not in the loop over features
}


@pytest.mark.parametrize(("name", "constants", "stack"), KERNELS.values(), ids=KERNELS)
def test_compiled_it_fits_the_registers(name, constants, stack, tmp_path, monkeypatch):
    """Stack would mean that running sums spilled to memory, which is many times slower."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernel, fixed = getattr(additive_fused, name), {**additive_fused._sizes(64), **constants}
    warps = fixed.pop("num_warps")
    floats = {"scratch", "k", "q", "v", "w", "out", "lse", "x", "y", "x_values", "y_values", "delta"}
    floats |= {"grad_y", "grad_values", "grad_w"}
    fixed |= {name: 1 for name in kernel.arg_names if name.endswith("_stride")}
    signature = {name: "*fp32" if name in floats else "i32" for name in kernel.arg_names} | {"mask": "*i1"}
    signature |= dict.fromkeys(fixed, "constexpr")
    aligned = {(n,): [["tt.divisibility", 16]] for n, name in enumerate(kernel.arg_names) if name not in fixed}
    source = triton.compiler.ASTSource(kernel, signature, fixed, aligned)
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    use = used(triton.compile(source, target=target, options={"num_warps": warps}).asm["cubin"], tmp_path)
    assert use["STACK"] <= stack
    assert use["LOCAL"] == 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("reach", [1.0, 30.0])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("sizes", [((2,), 100, 300, 33, 40), ((), 33, 129, 64, 128), ((2, 2), 64, 64, 7, 1)], ids=str)
def test_on_a_gpu_it_gives_the_numbers_of_plain_operations(sizes, dtype, reach):
    inputs = [x.detach().cuda().requires_grad_() for x in draw(*sizes, dtype, reach)]
    L, M = sizes[1:3]
    mask = causal(L, M, device="cuda") & (torch.arange(L, device="cuda") != 2)[:, None]
    for given in (None, mask, mask[-1], mask[:, :1]):
        assert additive._fused(*inputs[:3]) is additive_fused
        assert all(map(torch.equal, check(inputs, given), check(inputs, given)))  # the same to the last bit


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_on_a_gpu_no_memory_grows_with_all_pairs():
    n = 4096
    inputs = [x.detach().cuda().requires_grad_() for x in draw((), n, n, 16, 16)]
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    fused(*inputs, None).sum().backward()
    assert torch.cuda.max_memory_allocated() - before < n * n * 4 / 2
