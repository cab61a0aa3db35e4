"""Steps that are replayed write the same tokens as plain ones, and a CUDA graph could hold each of them.

No GPU is needed for either: a step's operations are recorded on the CPU, and then run again on the tensors of the first
time, with no Python of the model's in between, as a graph does.
"""

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from attnbook import (
    LanguageModel,
    LatentAttention,
    LearnedPositions,
    MixtureOfExperts,
    RelativeBias,
    Rotary,
    Seq2Seq,
    SwiGLU,
    Transformer,
    _inputs,
    beam,
    capture_attention,
    greedy,
    sample,
)
from attnbook.layers.positions import Table
from attnbook.models import _replay
from attnbook.models._replay import FixedState, Steps
from tests.library.test_kernels import started

N, STOP = 23, 2
SMALL = {"D": 16, "heads": 4, "hidden": 32, "layers": 2}
MODELS = {
    "sinusoidal": {},
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "neighbours": {"positions": Rotary(4, pairing="neighbours")},
    "ALiBi": {"positions": "alibi"},
    "a learned bias": {"positions": "none", "score_bias": RelativeBias(4, 3)},
    "shared keys": {"positions": "rotary", "kv_heads": 2},
    "shared keys, ALiBi": {"positions": "alibi", "kv_heads": 1},
    "softcap and sink": {"softcap": 5.0, "learned_sink": True, "qk_norm": nn.RMSNorm},
    "wide values": {"d_k": 3, "d_v": 5, "bias": True},
    "as published": {"positions": "rotary", "kv_heads": 2, "norm": "pre", "norm_layer": nn.RMSNorm}
    | {"feed_forward": SwiGLU, "bias": False, "scale_embeddings": False},
}
PROMPTS = torch.tensor([[3, 4, 5, 6], [7, 0, 0, 0], [8, STOP, 4, 0]])
WAYS = {
    "greedy": lambda model, prompts, **options: greedy(model, prompts, stop=STOP, **options),
    "beam": lambda model, prompts, **options: beam(model, prompts, stop=STOP, width=3, **options),
    "sample": lambda model, prompts, **options: sample(model, prompts, stop=STOP, seed=1, **options),
    "on and on": lambda model, prompts, **options: beam(model, prompts.int(), stop=None, width=2, **options),
}


class Recorded(TorchDispatchMode):
    """What some work did, to be done again on the same tensors: what a CUDA graph is on a GPU."""

    def __init__(self, work):
        super().__init__()
        self.operations = []
        with self:
            self.result = work()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        out = operation(*args, **(kwargs or {}))
        self.operations.append((operation, args, kwargs or {}, out))
        return out

    def replay(self):
        for operation, args, kwargs, out in self.operations:
            for old, new in zip(tree_leaves(out), tree_leaves(operation(*args, **kwargs)), strict=True):
                if isinstance(old, Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


def captured(work, device):
    """Unlike a capture, a recording computes: what is changed in place is set back."""
    state = work.__self__.state
    kept = {x: x.clone() for x in (state.place, state.hidden)}
    recorded = Recorded(work)
    for x, before in kept.items():
        x.copy_(before)
    return recorded.replay, recorded.result


@pytest.fixture
def replayed(monkeypatch):
    """Steps are replayed on a CPU, too; counts how many."""
    counts = {"aside": 0, "captured": 0, "replayed": 0}

    def count(name, work):
        def counted(*args):
            counts[name] += 1
            return work(*args)

        return counted

    def recorded(work, device):
        replay, scores = captured(work, device)
        return count("replayed", replay), scores

    for name, value in {"DEVICES": ("cpu",), "LEAST": 1, "ROOM": 16, "LOOK": 5}.items():
        monkeypatch.setattr(_replay, name, value)
    monkeypatch.setattr(_replay, "aside", count("aside", lambda work, device: work()))
    monkeypatch.setattr(_replay, "captured", count("captured", recorded))
    return counts


def lively(options, seed=0):
    """Sure of itself, so that no two tokens are nearly as likely."""
    torch.manual_seed(seed)
    model = LanguageModel(N, **SMALL, **deepcopy(options))  # some hold modules, which move with the model
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model.double().eval()


def plainly(work, *args, **options):
    """The same with steps that are not replayed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_replay, "DEVICES", ())
        return work(*args, **options)


EACH = [(name, "beam") for name in MODELS] + [("as published", way) for way in WAYS if way != "beam"]


@pytest.mark.parametrize(("name", "way"), EACH)
def test_the_same_tokens(name, way, replayed, as_on_a_gpu):
    model = lively(MODELS[name])
    got = WAYS[way](model, PROMPTS, length=38)
    assert torch.equal(got, plainly(WAYS[way], model, PROMPTS, length=38))
    steps = replayed["aside"] + replayed["replayed"]
    assert steps >= got.shape[1] - 2
    assert way != "greedy" or steps < got.shape[1] - 2 + _replay.LOOK
    assert replayed["aside"] == _replay.WARM_UP
    assert replayed["captured"] == (steps > 3) + (steps > 15) + (steps > 31), "for 16 positions, 32, and 48"


@pytest.mark.parametrize("name", MODELS)
def test_the_same_scores(name, replayed, as_on_a_gpu):
    """One row that writes on, and room that runs out in between; to the last few bits, since zeros are added."""
    model = lively(MODELS[name])
    ids = torch.randint(1, N, (2, 36))
    with torch.no_grad():
        want, step = model(ids), Steps(model, None, 36)
        got = [step(ids[:, :3]), *(step(token).clone() for token in ids[:, 3:].split(1, 1))]
    assert step.replayed.room == 48
    torch.testing.assert_close(torch.stack(got, 1), want[:, 2:], atol=1e-9, rtol=1e-9)


def test_where_no_graph_can_be_captured_it_goes_on_without(replayed, as_on_a_gpu, monkeypatch):
    def refused(work, device):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(_replay, "captured", refused)
    model = lively(MODELS["as published"])
    with pytest.warns(UserWarning, match="goes on without a CUDA graph, and slower: operation not permitted") as told:
        got = greedy(model, PROMPTS, stop=STOP, length=38)
    assert len(told) == 1
    assert torch.equal(got, plainly(greedy, model, PROMPTS, stop=STOP, length=38))


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Nothing is looked at that only a CPU looks at."""
    monkeypatch.setattr(_inputs, "may_look", lambda x: False)


def fixed(model, room):
    """A model's state after two rows of three tokens, in memory that stays where it is."""
    state = model.start()
    model.step(torch.tensor([[5, 6, 7], [8, 9, 3]]), state)
    for part in model.modules():
        if isinstance(part, Table):
            part.reach(room, part.table.dtype, part.table.device)
    return FixedState(state, room)


def described(operations):
    """Their names, and of each tensor its shape and its memory: by address, or by which operation it is from."""
    made, lines = {}, []

    def where(x):
        address = x.untyped_storage().data_ptr()
        return tuple(x.shape), x.stride(), x.storage_offset(), made.get(address, address)

    for number, (operation, args, kwargs, out) in enumerate(operations):
        lines.append((operation.overloadpacket.__name__, str(tree_map_only(Tensor, where, (args, kwargs)))))
        given = {x.untyped_storage().data_ptr() for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
        for x in tree_leaves(out):
            if isinstance(x, Tensor) and (address := x.untyped_storage().data_ptr()) not in given:
                made[address] = number
    return lines


@pytest.mark.parametrize("name", MODELS)
def test_every_step_is_the_same_operations_on_the_same_memory(name, as_on_a_gpu):
    model = lively(MODELS[name])
    with torch.no_grad():
        state, ids, steps = fixed(model, 32), torch.tensor([[3], [4]]), []
        for token in range(3, 9):
            ids.fill_(token)
            steps.append(described(Recorded(lambda: model.step(ids, state)).operations))
    assert len(state) == 9
    assert all(step == steps[0] for step in steps)
    names = {name for name, _ in steps[0]}
    assert {"index_copy_", "index_fill_"} <= names
    assert not {"_local_scalar_dense", "nonzero", "is_nonzero", "equal"} & names


def test_a_growing_cache_is_not_the_same_at_every_step(as_on_a_gpu):
    """So the test above would see it."""
    model, ids = lively(MODELS["rotary"]), torch.tensor([[3], [4]])
    with torch.no_grad():
        state = model.start()
        first, second = (described(Recorded(lambda: model.step(ids, state)).operations) for _ in range(2))
    assert first != second


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["learned", "as published", "shared keys, ALiBi"])
def test_it_compiles_once_for_many_steps(name, backend):
    torch.compiler.reset()
    model = lively(MODELS[name])
    counter = CompileCounterWithBackend(backend)
    with torch.no_grad():
        state, ids = fixed(model, 32), torch.tensor([[3], [4]])
        compiled = torch.compile(model.step, backend=counter, fullgraph=True)
        other = fixed(model, 32)
        for token in range(3, 13):
            ids.fill_(token)
            torch.testing.assert_close(compiled(ids, state), model.step(ids, other))
    assert counter.frame_count == 1


def kernels(model):
    state, ids = fixed(model, 32), torch.empty(2, 1, dtype=torch.int64, device="meta")
    return started(lambda: model.step(ids, state))


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 14),  # 4 projections, keys and values written, attention; 2 norms, 2 sums, 3 of the feed-forward network
        ({"positions": "rotary"}, 20),  # queries beside keys, their angles, 4 to turn them
        ({"positions": "alibi"}, 20),
        (MODELS["as published"], 22),  # SwiGLU has 2 more
    ],
)
def test_kernels_of_a_block(options, most, as_on_a_gpu):
    one, two = (LanguageModel(N, **SMALL | {"layers": layers}, **options).to("meta").eval() for layers in (1, 2))
    more = kernels(two) - kernels(one)
    assert more["scaled_dot_product_attention"] == 1
    assert more.total() <= most, more


@pytest.mark.slow
def test_short_texts_and_other_models_go_the_plain_way(replayed, as_on_a_gpu, monkeypatch):
    monkeypatch.setattr(_replay, "LEAST", 32)
    prompt = torch.tensor([[3, 4]])

    def count(model, length=40, source=None):
        before = replayed["aside"]
        greedy(model, prompt, source, stop=None, length=length)
        return replayed["aside"] - before

    model, source = lively({}), torch.tensor([[3, 4, 5]])
    assert [count(model, length) for length in (33, 34)] == [0, 3]
    for options in ({"window": 4}, {"attention": LatentAttention, "latent": 4}, {"feed_forward": MixtureOfExperts}):
        assert count(lively(options)) == 0
    for other in (Transformer(N, **SMALL), Seq2Seq(N, D=8)):
        assert count(other, source=source) == 0
    with capture_attention(model) as maps:
        assert count(model) == 0
    assert maps
    hook = model.decoder.get_submodule("1").register_forward_hook(lambda *_: None)
    assert count(model) == 0
    hook.remove()
    with torch.autocast("cpu", torch.bfloat16):
        assert count(lively({}).float()) == 0
    assert count(model) == 3
    model.tokens.positions = LearnedPositions(40, 16).double()
    assert count(model, 40) == 3
    with pytest.raises(ValueError, match="only 0 to 39 were learned"):
        count(model, 42)


def test_without_the_switch_a_cpu_goes_the_plain_way():
    assert _replay.DEVICES == ("cuda",)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("name", "way"), EACH)
def test_a_real_graph_writes_the_same_tokens(name, way, monkeypatch):
    model = lively(MODELS[name]).cuda()
    graphs = []
    real = _replay.captured
    monkeypatch.setattr(_replay, "captured", lambda *args: graphs.append(real(*args)) or graphs[-1])
    monkeypatch.setattr(_replay, "ROOM", 16)
    monkeypatch.setattr(_replay, "LEAST", 1)
    got = WAYS[way](model, PROMPTS.cuda(), length=38)
    assert torch.equal(got, plainly(WAYS[way], model, PROMPTS.cuda(), length=38))
    assert graphs or got.shape[1] < 6
