"""How many kernels a GPU starts for a layer, and that none waits for it: counted on the device `meta`, with no GPU.

A tensor there has a shape and no numbers, so layers take the way that they take on a GPU: whoever looks at a number
gets an error. Attention and RMSNorm are one kernel each on a GPU, and count as one.
"""

from collections import Counter
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook import (
    DotProductAttention,
    KVCache,
    LanguageModel,
    LatentAttention,
    LinearAttention,
    MultiHeadAttention,
    Rotary,
    TextEncoder,
    Transformer,
    causal,
)
from attnbook.layers.multihead import FixedCache

B, H, L, D = 1, 4, 512, 256
NO_KERNELS = {"_unsafe_view", "empty", "promote_types"}
WAITS = {"item", "_local_scalar_dense", "nonzero", "is_nonzero", "equal", "_to_cpu", "masked_select"}
AS_ONE = (F.scaled_dot_product_attention, F.rms_norm)  # which on `meta` are many
SDPA = "scaled_dot_product_attention"


class Kernels(TorchDispatchMode):
    """Counts what a GPU would start, by name: no views; and whatever waits."""

    def __init__(self):
        super().__init__()
        self.names, self.inside = Counter(), False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        name = operation.overloadpacket.__name__
        counts = not (self.inside or operation.is_view or name in NO_KERNELS)
        self.names[name] += counts or name in WAITS
        return operation(*args, **(kwargs or {}))

    def as_one(self, function):
        def one(*args, **options):
            self.names[function.__name__] += 1
            self.inside = True
            result = function(*args, **options)
            self.inside = False
            return result

        return one


def started(call) -> Counter:
    """The kernels that a call starts."""
    with torch.no_grad(), Kernels() as kernels, pytest.MonkeyPatch.context() as patch:
        for function in AS_ONE:
            patch.setattr(F, function.__name__, kernels.as_one(function))
        call()
    return +kernels.names


def empty(*shape, dtype=None):
    return torch.empty(*shape, device="meta", dtype=dtype)


def hiding(*shape):
    return empty(*shape, dtype=torch.bool)


def filled(M: int) -> KVCache:
    cache = KVCache()
    cache.append(empty(B, H, M, D // H), empty(B, H, M, D // H))
    return cache


def fixed(M: int) -> FixedCache:
    return FixedCache(filled(M - 9), torch.empty(1, dtype=torch.long, device="meta"), empty(1, M))


SELF, DOT_PRODUCT, X, HEADS = (
    MultiHeadAttention(D, H).to("meta"),
    DotProductAttention(),
    empty(B, L, D),
    empty(B, H, L, D // H),
)
TURNED = MultiHeadAttention(D, H, rotary=Rotary(D // H)).to("meta")
TURNED.rotary.reach(L, torch.float32, torch.device("meta"))
FIXED = fixed(L)
NONE, CAUSAL, PADDING, BOTH, EACH_HEAD = "none", "causal", "padding", "padding and causal", "for each head"
MASKS = {
    NONE: lambda: None,
    CAUSAL: lambda: causal(L, device="meta"),
    PADDING: lambda: hiding(B, 1, L),
    BOTH: lambda: hiding(B, 1, L) & causal(L, device="meta"),
    EACH_HEAD: lambda: hiding(B, H, L, L),
}
CALLS = {
    "self-attention": lambda mask: SELF(X, mask=mask),
    "cross-attention": lambda mask: SELF(X[:, :7], X, mask=mask),
    "a replayed step": lambda mask: SELF(X[:, :1], cache=FIXED),
    "a turned one": lambda mask: TURNED(X[:, :1], cache=FIXED),
    "a step": lambda mask: SELF(X[:, :1], mask=mask, cache=filled(L - 1)),
    "dot product": lambda mask: DOT_PRODUCT(HEADS, HEADS, HEADS, mask),
}
MOST = {  # of a mask that was seen before
    (
        "self-attention",
        NONE,
    ): 6,  # four projections, the attention, and heads side by side, which a GPU's kernel leaves so
    ("self-attention", CAUSAL): 6,
    ("self-attention", PADDING): 8,
    ("self-attention", BOTH): 9,
    ("self-attention", EACH_HEAD): 9,
    ("cross-attention", PADDING): 8,
    ("a step", NONE): 7,  # keys and values grow by a row
    ("a step", PADDING): 10,
    ("a replayed step", NONE): 7,  # two of them write a key and a value where they belong
    ("a turned one", NONE): 13,
    ("dot product", NONE): 1,
    ("dot product", CAUSAL): 1,
    ("dot product", EACH_HEAD): 4,
}


@pytest.mark.parametrize(("call", "mask"), MOST)
def test_a_layer_starts_few_kernels(call, mask):
    given = MASKS[mask]()
    started(lambda: CALLS[call](given))  # what can be known of a mask is found
    kernels = started(lambda: CALLS[call](given))
    assert kernels[SDPA] == 1
    assert kernels.total() <= MOST[call, mask], kernels


def test_a_dot_product_with_padding_starts_three_kernels():
    """The queries' and the values' zeros, and the attention."""
    mask = hiding(B, 1, 1, L)
    started(lambda: CALLS["dot product"](mask))
    assert started(lambda: CALLS["dot product"](mask)).total() <= 3


def test_the_layers_of_a_model_share_what_is_found():
    """Six layers, one mask: what is found of it is found in the first."""
    ids, counts = hiding(B, L).long(), []
    for layers in (1, 2, 6):
        model = TextEncoder(9, D=D, heads=H, hidden=4 * D, layers=layers).to("meta").eval()
        counts.append(started(lambda model=model: model(ids)).total())
    one, two, six = counts
    assert six - one == 5 * (two - one)
    assert two - one < one - (two - one)


def models():
    ids = torch.zeros(B, 9, dtype=torch.long, device="meta")
    vectors = empty(B, 9, D)
    yield "latent", LatentAttention(D, H, latent=16), lambda layer, mask: layer(vectors, mask)
    yield "linear", LinearAttention(D, H), lambda layer, mask: layer(vectors)
    for name, options in {
        "window": {"window": 3, "sinks": 1},
        "softcap": {"softcap": 5.0},
        "sink": {"learned_sink": True},
        "shared heads": {"kv_heads": 2},
        "norm": {"qk_norm": torch.nn.RMSNorm},
    }.items():
        yield name, MultiHeadAttention(D, H, **options), lambda layer, mask: layer(vectors, mask=mask)
    yield "language model", LanguageModel(9, D=D, heads=H, hidden=64, layers=2), lambda model, mask: model(ids)
    yield "encoder", TextEncoder(9, D=D, heads=H, hidden=64, layers=2), lambda model, mask: model(ids)
    yield "Transformer", Transformer(9, D=D, heads=H, hidden=64, layers=2), lambda model, mask: model(ids, ids)


@pytest.mark.parametrize(("model", "call"), [pytest.param(*rest, id=name) for name, *rest in models()])
@pytest.mark.parametrize("mask", [None, (1, 9), (9, 1), (9, 9), (B, 1, 9), (B, 9, 9)])
def test_no_forward_call_waits_for_the_gpu(model, call, mask, monkeypatch):
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # which knows no `meta`
    kernels = started(lambda: call(model.to("meta"), None if mask is None else hiding(*mask)))
    assert kernels
    assert not kernels.keys() & WAITS
