"""The GPU kernel where there is no GPU: interpreted, it gives the CPU's numbers; compiled, it fits the registers."""

import importlib
import re
import subprocess
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from attnbook import AdditiveAttention, additive_scores, capture_attention
from attnbook.layers import _additive_tiled as additive_tiled
from attnbook.layers.additive import fast_additive_scores
from tests.interpreted import interpreted

triton = pytest.importorskip("triton", reason="triton is not installed (it is only for Linux)")
tl = triton.language
additive_triton = importlib.import_module("attnbook.layers._additive_triton")
pytestmark = pytest.mark.slow
SIZES = {
    "less than a tile": (2, 5, 7, 4),
    "one row, one column": (1, 1, 1, 2),
    "tiles of queries to the brim": (1, 16, 64, 2),
    "tiles of scores to the brim": (1, 32, 64, 2),
    "one short of a tile": (2, 31, 63, 3),
    "one more than a tile": (2, 33, 65, 3),
    "several tiles": (1, 70, 130, 2),
    "many sequences": (5, 3, 2, 6),
    "one feature": (2, 6, 9, 1),
}


@pytest.fixture
def kernel():
    with interpreted(additive_triton) as module:
        yield module


def draw(B, L, M, K, reach=1.0):
    """Queries, keys, w and the gradient of the scores; the largest query and the largest key are `reach` in size."""
    q, k, w, grad = (torch.randn(shape) for shape in ((B, L, K), (B, M, K), (K,), (B, L, M)))
    q, k = (x * reach / x.abs().max() if x.numel() else x for x in (q, k))
    return q, k, w, grad


def close(got, want):
    assert_close(got, want, rtol=1e-5, atol=2e-6 * max([1.0, *want.abs().flatten().tolist()]))


def check(kernel, q, k, w, grad):
    """Against the CPU's path, in float64."""
    exact = [x.double() for x in (q, k, w, grad)]
    close(kernel.scores(q, k, w), additive_tiled.scores(*exact[:3]).float())
    for got, want in zip(kernel.gradients(q, k, w, grad), additive_tiled.gradients(*exact), strict=True):
        close(got, want.float())


@pytest.mark.parametrize("reach", [3.0, 12.0, 200.0])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_interpreted_it_gives_the_numbers_of_the_cpu(kernel, sizes, reach):
    inputs = draw(*sizes, reach=reach)
    assert bool(kernel._ready(*inputs[:3])[-1]) == (reach < kernel.SAFE)  # both branches
    check(kernel, *inputs)


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("turned", [1, -1])
def test_the_shared_division_is_safe_as_far_as_it_is_used(kernel, turned, beyond):
    """Every feature at the limit: the largest product there is, and (turned) the sum where tanh is steepest."""
    limit = torch.tensor(kernel.SAFE)
    edge = torch.nextafter(limit, 2 * limit) if beyond else limit
    q, k = edge.expand(1, 2, 4) * torch.tensor([[1.0], [-1.0]]), turned * edge.expand(1, 3, 4)
    assert bool(kernel._ready(q, k, torch.ones(4))[-1]) != beyond
    check(kernel, q, k, torch.tensor([1.0, -2.0, 3.0, 0.5]), torch.linspace(-1, 2, 6).view(1, 2, 3))


@pytest.mark.parametrize("side", ["q", "k"])
def test_one_large_number_on_either_side_is_enough_to_divide_apart(kernel, side):
    q, k, w, grad = draw(2, 5, 7, 3)
    (q if side == "q" else k)[1, 2, 1] = -90.0
    assert not kernel._ready(q, k, w)[-1]
    check(kernel, q, k, w, grad)


@pytest.mark.parametrize("sizes", [(0, 3, 4, 2), (2, 0, 4, 2), (2, 3, 0, 2), (2, 3, 4, 0), (0, 0, 0, 0)], ids=str)
def test_nothing_to_score(kernel, sizes):
    check(kernel, *draw(*sizes))


def test_inputs_may_lie_in_memory_as_they_like(kernel):
    q, k, w, grad = draw(3, 6, 9, 4)
    turned = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in (q, k)]
    strided = torch.stack([w, w + 1], -1)[:, 0]
    for gradient in (grad.mT.contiguous().mT, grad.sum().expand(3, 6, 9)):
        assert not any(x.is_contiguous() for x in (*turned, strided, gradient))
        check(kernel, *turned, strided, gradient)


def test_nothing_given_is_changed(kernel):
    inputs = draw(2, 5, 7, 3)
    before = [x.clone() for x in inputs]
    check(kernel, *inputs)
    assert all(map(torch.equal, inputs, before))


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_nan_stays_in_its_row_and_column(kernel, broken):
    q, k, w, grad = draw(3, 33, 65, 3)
    clean, *clean_grads = kernel.scores(q, k, w), *kernel.gradients(q, k, w, grad)
    q[0, 4, 1], k[0, :, 1] = broken, -torch.inf if broken == torch.inf else 0.0
    k[1, 64, 2] = torch.nan
    got, *grads = kernel.scores(q, k, w), *kernel.gradients(q, k, w, grad)
    lost = torch.zeros(3, 33, 65, dtype=torch.bool)
    lost[0, 4] = lost[1, :, 64] = True
    assert torch.equal(got.isnan(), lost)
    close(got[1:][~lost[1:]], clean[1:][~lost[1:]])
    for now, then in zip(grads[:2], clean_grads[:2], strict=True):
        assert now[:2].isnan().any()
        close(now[2], then[2])
    close(grads[0][0, :4, [0, 2]], clean_grads[0][0, :4, [0, 2]])


POINTER, SIZE, FIXED = "*fp32", "i32", "constexpr"
INPUTS = {"q_BKL": POINTER, "k_BKM": POINTER, "w_K": POINTER, "safe": "*i32"}
TAIL = {"L": SIZE, "M": SIZE, "K": SIZE, "ROWS": FIXED, "COLUMNS": FIXED}
MADE = {"grad_q_BKL": POINTER, "grad_w": POINTER, **TAIL}
KERNELS = {  # a stride of 1 is compiled in: so the gradients of queries and of keys are two programs
    "scores": ("_scores", {**INPUTS, "out_BLM": POINTER, **TAIL}, {"ROWS": 32}),
    "gradients of queries": (
        "_gradients",
        {**INPUTS, "grad": POINTER, "row_stride": SIZE, "column_stride": FIXED, **MADE},
        {"ROWS": 16, "column_stride": 1},
    ),
    "gradients of keys": (
        "_gradients",
        {**INPUTS, "grad": POINTER, "row_stride": FIXED, "column_stride": SIZE, **MADE},
        {"ROWS": 16, "row_stride": 1},
    ),
}


def used(cubin, folder):
    """What the compiled kernel takes of a GPU, as NVIDIA's own tool tells: registers, stack and so on."""
    (folder / "kernel.cubin").write_bytes(cubin)
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    told = subprocess.run([tool, "-res-usage", folder / "kernel.cubin"], capture_output=True, text=True, check=True)
    return {name: int(number) for name, number in re.findall(r"(\w+):(\d+)", told.stdout)}


@pytest.mark.parametrize("generation", [75, 80, 90])
@pytest.mark.parametrize(("name", "signature", "constants"), KERNELS.values(), ids=KERNELS)
def test_compiled_it_fits_the_registers(name, signature, constants, generation, tmp_path, monkeypatch):
    """Stack would mean that running sums spilled to memory, which is many times slower."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    function = getattr(additive_triton, name)
    assert list(signature) == function.arg_names
    source = triton.compiler.ASTSource(function, signature, {"COLUMNS": 64, **constants})
    target = triton.backends.compiler.GPUTarget("cuda", generation, 32)
    use = used(triton.compile(source, target=target).asm["cubin"], tmp_path)
    assert use["STACK"] == use["LOCAL"] == 0
    assert 0 < use["REG"] <= 168  # three blocks of 128 threads on one multiprocessor


def test_the_programs_compiled_here_are_the_ones_a_gpu_would_run(kernel, monkeypatch):
    """The tile sizes and names above are those of the launches."""
    launched = set()
    for name in ("_scores", "_gradients"):
        original = getattr(kernel, name)

        def run(*args, original=original, name=name, **kwargs):
            named = dict(zip(original.arg_names, args, strict=False)) | kwargs
            assert list(named) == original.arg_names
            ones = {n for n in ("row_stride", "column_stride") if named.get(n) == 1}
            launched.add((name, named["ROWS"], named["COLUMNS"], *ones))

        monkeypatch.setattr(kernel, name, type("Launch", (), {"__getitem__": lambda self, grid, run=run: run})())
    q, k, w, grad = draw(2, 5, 7, 3)
    kernel.scores(q, k, w)
    kernel.gradients(q, k, w, grad)
    wanted = {(n, c["ROWS"], 64, *({"row_stride", "column_stride"} & c.keys())) for n, _, c in KERNELS.values()}
    assert launched == wanted


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_on_a_gpu_a_layer_that_is_watched_uses_it_and_needs_no_memory_for_all_pairs_and_features(monkeypatch):
    B, L, M, K = 4, 500, 700, 128
    calls = []
    for name in ("scores", "gradients"):
        original = getattr(additive_triton, name)
        monkeypatch.setattr(additive_triton, name, lambda *x, f=original, n=name: (calls.append(n), f(*x))[1])
    layer = AdditiveAttention(6, 8, K).cuda()
    q, k, v = (torch.randn(s, device="cuda", requires_grad=True) for s in ((B, L, 6), (B, M, 8), (B, M, 10)))
    wanted = [q, k, v, *layer.parameters()]
    exact = additive_scores(layer.query(q).double(), layer.key(k).double(), layer.score.weight[0].double())
    want = exact.softmax(-1).float() @ v
    want_grads = torch.autograd.grad(want.square().sum(), wanted)
    del exact
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with capture_attention(layer):
        got = layer(q, k, v)
    grads = torch.autograd.grad(got.square().sum(), wanted)
    assert torch.cuda.max_memory_allocated() - before < B * L * M * K * 4 / 8
    assert calls == ["scores", "gradients"]
    for ours, theirs in zip([got, *grads], [want, *want_grads], strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-5 * theirs.abs().max().item())


def test_without_a_gpu_it_is_left_alone(monkeypatch):
    for name in ("scores", "gradients"):
        monkeypatch.setattr(additive_triton, name, None)
    q, k, w, _ = (x.requires_grad_() for x in draw(2, 5, 7, 3))
    fast_additive_scores(q, k, w).sum().backward()
    assert q.grad.isfinite().all()
