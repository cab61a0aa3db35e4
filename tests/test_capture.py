import copy
import gc
import pickle
import weakref

import pytest
import torch
from torch import nn

from attnbook import DotProductAttention, capture_attention


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.later = DotProductAttention(), nn.ModuleList([DotProductAttention()])

    def forward(self, x):
        x = self.first(x, x, x)
        return self.later[0](x, x, x)


X = torch.randn(1, 3, 4)


def test_every_layer_by_name():
    reader = Reader()
    with capture_attention(reader) as maps:
        reader(X)
    assert {name: tuple(w.shape) for name, w in maps.items()} == {"first": (1, 3, 3), "later.0": (1, 3, 3)}


def test_captures_inside_each_other_all_see_the_weights():
    reader = Reader()
    with capture_attention(reader) as outer:
        with capture_attention(reader.first) as inner:
            reader(X)
        assert set(inner) == {""}
    assert set(outer) == {"first", "later.0"}
    assert torch.equal(inner[""], outer["first"])
    assert "_show_weights" not in reader.first.__dict__


def test_a_copy_made_inside_is_not_looked_at():
    reader = Reader()
    with capture_attention(reader) as maps:
        copies = copy.deepcopy(reader), pickle.loads(pickle.dumps(reader))
        for other in copies:
            other(X)
    assert maps == {}
    assert all("_show_weights" not in other.first.__dict__ for other in copies)


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
