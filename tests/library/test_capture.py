import copy
import gc
import pickle
import weakref

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import AdditiveAttention, DotProductAttention, MultiHeadAttention, Rotary, capture_attention, causal


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.later = DotProductAttention(), nn.ModuleList([DotProductAttention()])

    def forward(self, x):
        x = self.first(x, x, x)
        return self.later[0](x, x, x)


X = torch.linspace(-1, 1, 12).view(1, 3, 4)


class Model(nn.Module):
    """One layer of each kind, somewhere below."""

    def __init__(self):
        super().__init__()
        self.block = nn.ModuleDict({"self": MultiHeadAttention(4, heads=2, kv_heads=1, rotary=Rotary(2), dropout=0.5)})
        self.block["cross"] = MultiHeadAttention(4, heads=4, bias=True)
        self.additive = AdditiveAttention(4, 4, num_hiddens=3)
        self.out = DotProductAttention()

    def forward(self, x, context):
        x = self.block["self"](x, mask=causal(x.shape[-2]))
        x = self.block["cross"](x, context)
        return self.out(*[self.additive(x, context, context)] * 3)


def test_a_whole_model_shows_every_kind_of_layer_and_computes_the_same():
    model, context = Model().eval(), torch.randn(1, 5, 4)
    want = model(X, context)
    with capture_attention(model) as maps:
        got = model(X, context)
    assert_close(got, want)
    sizes = {"block.self": (1, 2, 3, 3), "block.cross": (1, 4, 3, 5), "additive": (1, 3, 5), "out": (1, 3, 3)}
    assert {name: tuple(w.shape) for name, w in maps.items()} == sizes
    assert (maps["block.self"].triu(1) == 0).all()
    for weights in maps.values():
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert not weights.requires_grad


def test_captures_inside_each_other_all_see_the_weights():
    reader = Reader()
    with capture_attention(reader) as outer:
        with capture_attention(reader.first) as inner:
            reader(X)
        assert set(inner) == {""}
    assert set(outer) == {"first", "later.0"}
    assert torch.equal(inner[""], outer["first"])
    assert "_watchers" not in reader.first.__dict__


def test_captures_may_be_closed_in_any_order():
    layer = DotProductAttention()
    first, second = capture_attention(layer), capture_attention(layer)
    first.__enter__()
    maps = second.__enter__()
    first.__exit__(None, None, None)
    layer(X, X, X)
    second.__exit__(None, None, None)
    assert set(maps) == {""}
    assert "_watchers" not in vars(layer)


def test_a_copy_made_inside_is_not_looked_at():
    reader = Reader()
    with capture_attention(reader) as maps:
        copies = copy.deepcopy(reader), pickle.loads(pickle.dumps(reader))
        for other in copies:
            other(X)
    assert maps == {}
    assert all("_watchers" not in other.first.__dict__ for other in copies)


def test_a_compiled_model_keeps_its_names():
    compiled = torch.compile(Reader(), backend="eager")
    with capture_attention(compiled) as maps:
        compiled(X)
    assert set(maps) == {"first", "later.0"}


def test_closed_it_holds_nothing_even_after_an_error():
    reader = Reader()
    before = {name: dict(m.__dict__) for name, m in reader.named_modules()}
    with pytest.raises(RuntimeError, match="the size of tensor"), capture_attention(reader) as maps:
        reader(X) + torch.ones(5)
    assert {name: dict(m.__dict__) for name, m in reader.named_modules()} == before
    kept = weakref.ref(maps["first"])
    del maps
    gc.collect()
    assert kept() is None


def test_nothing_to_capture_is_said():
    with (
        pytest.raises(ValueError, match=r"Linear holds no attention layer of attnbook"),
        capture_attention(nn.Linear(1, 1)),
    ):
        pass


@pytest.mark.parametrize("layers", [["later.0"], [1], ["later.0", 1], "later.0", 1])
def test_only_some_layers_are_kept(layers):
    model = Reader()
    with capture_attention(model, layers=layers) as maps:
        model(X)
        model(X)
    assert maps.keys() == {"later.0"}
    with capture_attention(model, layers=["first", "later.0"]) as both:
        model(X)
    assert_close(both["later.0"], maps["later.0"])


def test_a_map_may_be_kept_as_something_smaller():
    model = Reader()
    with capture_attention(model) as maps, capture_attention(model, keep=lambda weights: weights.half()) as halves:
        model(X)
    assert {weights.dtype for weights in halves.values()} == {torch.float16}
    assert_close(halves, {name: weights.half() for name, weights in maps.items()})
