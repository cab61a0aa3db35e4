"""What is known of a mask: found once, kept while the mask lives and nobody writes to it, and never wrong."""

import gc
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from attnbook import DotProductAttention, KVCache, MultiHeadAttention, attention, causal, padding, sliding_window
from attnbook.layers import _known, _sight
from attnbook.layers.masks import is_causal

SHAPES = [(7,), (5, 7), (1, 7), (5, 1), (1, 1), (2, 1, 7), (2, 5, 7), (2, 5, 1), (2, 1, 1), (1, 5, 7), (2, 2, 5, 7)]


def random_mask(*shape):
    return torch.rand(*shape) < 0.5


def blind_mask():
    """Sequence 0 has nothing to see, sequence 1 three keys."""
    return padding(torch.tensor([0, 3]), 5)


@pytest.fixture
def given_to_kernel(monkeypatch):
    """The mask, and how many keys, of each call of PyTorch's kernel."""
    given, fused = [], F.scaled_dot_product_attention

    def spy(q, k, v, attn_mask=None, *args, **options):
        given.append((attn_mask, k.shape[-2]))
        return fused(q, k, v, attn_mask, *args, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    return given


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Nobody looks at a number."""
    monkeypatch.setattr(_sight, "may_look", lambda x: False)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("make", [random_mask, lambda *shape: torch.ones(shape, dtype=torch.bool)])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_mask_reaches_the_kernel_with_its_last_axis_whole(shape, make, turned, device, given_to_kernel):
    """A mask (L, 1) ends the process on CUDA: 'last dimension must be contiguous', or a misaligned address."""
    mask = make(*shape).to(device)
    if turned and mask.ndim > 1:
        mask = mask.mT.contiguous().mT
    x, context = torch.randn(2, 5, 8, device=device), torch.randn(2, 7, 8, device=device)
    for options in ({}, {"learned_sink": True}, {"kv_heads": 1}):
        MultiHeadAttention(8, 2, **options).to(device)(x, context, mask)
    if mask.ndim < 4:
        DotProductAttention()(x, context, context, mask)
        DotProductAttention()._attend(x, context, context, mask, bias=torch.zeros(5, 7, device=device))
    assert len(given_to_kernel) >= 3
    for given, M in given_to_kernel:
        if given is not None:
            assert given.shape[-1] == M
            assert given.stride(-1) == 1
            assert given.dtype == torch.float32  # or PyTorch makes numbers of it in each call


@pytest.mark.parametrize("shape", SHAPES)
def test_a_masks_last_user_frees_it(shape):
    mask = random_mask(*shape)
    kept, before = weakref.ref(mask), len(_known._FACTS)
    x, context = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    MultiHeadAttention(8, 2)(x, context, mask)
    if mask.ndim < 4:
        attention(x, context, context, mask)
        DotProductAttention()(x, context, context, mask)
    del mask
    gc.collect()
    assert kept() is None
    assert len(_known._FACTS) <= before


def test_a_mask_may_outlive_the_names_of_a_module(monkeypatch):
    """When Python ends, it takes modules apart, and masks that are still there go after them."""
    said, mask = [], causal(4)
    monkeypatch.setattr("sys.unraisablehook", said.append)
    monkeypatch.setattr(_known, "_FACTS", None)
    del mask
    gc.collect()
    assert not said


WRITES = {
    "a cell": lambda mask: mask.__setitem__((0, 0, 0), False),
    "a view": lambda mask: mask[0].fill_(True),
    "what was detached": lambda mask: mask.detach().logical_not_(),
    "a view of a view": lambda mask: mask.unsqueeze(-3)[0].zero_(),
    "all": lambda mask: mask.copy_(random_mask(*mask.shape)),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_who_writes_to_a_mask_is_noticed(write):
    x, mask, layer = torch.randn(2, 5, 8), padding(torch.tensor([3, 5])), MultiHeadAttention(8, 2)
    for _ in range(2):
        layer(x, mask=mask)
        write(mask)
        assert torch.equal(layer(x, mask=mask), layer(x, mask=mask.clone()))
        assert torch.equal(attention(x, x, x, mask)[0], attention(x, x, x, mask.clone())[0])
    with torch.inference_mode():
        write(mask)
    assert torch.equal(layer(x, mask=mask), layer(x, mask=mask.clone()))


def test_what_is_told_of_a_mask_is_what_a_look_would_find():
    masks = [causal(4), causal(2, 4), sliding_window(4, window=2), sliding_window(3, 6, window=2, sinks=1)]
    for mask in [*masks, padding(torch.tensor([3, 5])), padding(torch.tensor([0, 5]))]:
        for find in (_sight.blind, _sight.unseen):
            told, found = find(mask), find(mask.clone())
            assert (told is None) == (found is None)
            assert told is None or torch.equal(told, found)
        mask[..., 0, :] = False
        assert _sight.blind(mask) is not None
        assert not is_causal(mask)


def test_a_mask_found_in_inference_serves_training():
    x, mask, layer = torch.randn(2, 5, 8, requires_grad=True), blind_mask(), MultiHeadAttention(8, 2)
    with torch.inference_mode():
        layer(x, mask=mask)
    blind = torch.tensor([True, False])[:, None, None]
    layer(x.masked_fill(blind, torch.nan), mask=mask).sum().backward()
    assert x.grad.isfinite().all()


def test_writes_to_a_mask_made_in_inference_are_seen_though_not_counted():
    x, layer = torch.randn(2, 5, 8), MultiHeadAttention(8, 2)
    with torch.inference_mode():
        mask = blind_mask()
        layer(x, mask=mask)
        mask[1] = False
        assert not layer(x, mask=mask).any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_transforms_see_the_mask_they_are_given():
    x, mask, other = torch.randn(2, 5, 8), blind_mask(), padding(torch.tensor([5, 1]), 5)
    layer = MultiHeadAttention(8, 2).requires_grad_(False)
    want, want_other = layer(x, mask=mask), layer(x, mask=other)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    exported = torch.export.export(layer, (x,), {"mask": mask}).module()
    each = torch.func.vmap(lambda x, mask: layer(x, mask=mask))
    for run in (compiled, exported, lambda x, mask: each(x, mask)):
        torch.testing.assert_close(run(x, mask=mask), want)
        torch.testing.assert_close(run(x, mask=other), want_other)
    mask[0, 0, 1] = True
    torch.testing.assert_close(compiled(x, mask=mask), layer(x, mask=mask.clone()))


@pytest.mark.filterwarnings("ignore")  # torch.jit is deprecated, and warns of each Python number
@pytest.mark.parametrize(
    "record",
    [lambda run, *given: make_fx(run)(*given), lambda run, *given: torch.jit.trace(run, given)],
    ids=["make_fx", "torch.jit.trace"],
)
def test_a_recorded_call_works_out_the_mask_it_is_given(record, as_on_a_gpu):
    """As when a CUDA graph is replayed: what the mask held when it was recorded is not what it holds now."""

    def run(x, mask):
        return attention(x, x, x, mask)[0]

    x, mask, other = torch.randn(2, 5, 8), blind_mask(), padding(torch.tensor([3, 0]), 5)
    run(x, mask)  # seen before it is recorded
    recorded = record(run, x, mask)
    for given in (mask, other):
        y = x.masked_fill(~given.any(-1, keepdim=True), torch.nan)  # of which nothing is to be seen
        torch.testing.assert_close(recorded(y, given), run(y, given))


def test_what_has_no_numbers_is_not_kept(as_on_a_gpu):
    x, mask, layer = torch.randn(2, 5, 8), blind_mask(), MultiHeadAttention(8, 2).requires_grad_(False)
    want = layer(x, mask=mask.clone())
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        layer(mode.from_tensor(x), mask=mask)
    torch.testing.assert_close(layer(x, mask=mask), want)


def test_one_mask_serves_all_types():
    mask = padding(torch.tensor([2, 5]))
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.float16, torch.float32):
        x = torch.randn(2, 5, 8, dtype=dtype)
        assert MultiHeadAttention(8, 2).to(dtype)(x, mask=mask).dtype == dtype
    with torch.autocast("cpu", torch.bfloat16):
        MultiHeadAttention(8, 2)(torch.randn(2, 5, 8), mask=mask)
        DotProductAttention()(*[torch.randn(2, 5, 8)] * 3, mask)


@pytest.mark.parametrize("looks", [True, False])
def test_a_blind_step_with_a_cache_may_hold_nan(looks, request):
    if not looks:
        request.getfixturevalue("as_on_a_gpu")
    layer, cache, x = MultiHeadAttention(8, 2), KVCache(), torch.randn(2, 4, 8)
    with torch.no_grad():
        layer(x[:, :3], mask=causal(3), cache=cache)
        x[0, 3] = torch.nan
        y = layer(x[:, 3:], mask=padding(torch.tensor([0, 3]), 4), cache=cache)
    assert not y[0].any()
    assert y[1].isfinite().all()


def test_threads_share_a_mask():
    mask, layer, x = padding(torch.tensor([2, 5, 0]), 5), MultiHeadAttention(8, 2), torch.randn(3, 5, 8)
    want, wrong = layer(x, mask=mask.clone()), []

    def work():
        wrong.extend(1 for _ in range(50) if not torch.equal(layer(x, mask=mask), want))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
