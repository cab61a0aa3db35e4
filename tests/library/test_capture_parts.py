"""What weights came from, and what they led to, in anybody's model: queries, keys, values, scores, outputs."""

from contextlib import ExitStack

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import flex_attention
from torch.testing import assert_close

from attnbook import (
    AdditiveAttention,
    DotProductAttention,
    MultiHeadAttention,
    Rotary,
    capture_attention,
    causal,
    change_attention,
)

PARTS = ("queries", "keys", "values", "scores", "weights", "outputs")
B, L, D, HEADS = 2, 5, 16, 4
X = torch.randn(B, L, D, generator=torch.Generator().manual_seed(0))
ENDS = torch.tensor([5, 3])
PADDING = torch.arange(L) >= ENDS[:, None]  # PyTorch's: True is hidden


class Kernel(nn.Module):
    def __init__(self, kv_heads=HEADS, **options):
        super().__init__()
        self.kv_heads, self.options = kv_heads, options

    def forward(self, x):
        q = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        return F.scaled_dot_product_attention(
            q, q[:, : self.kv_heads], x[:, None].expand(-1, self.kv_heads, -1, -1), **self.options
        )


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, HEADS, 32, batch_first=True), 1)

    def forward(self, x):
        return self.encoder(x, src_key_padding_mask=PADDING)


class Ours(MultiHeadAttention):
    def forward(self, x):
        return super().forward(x, mask=causal(L) & ~PADDING[:, None])


class Additive(AdditiveAttention):
    def forward(self, x):
        return super().forward(x, x, x, mask=causal(L))


MODELS = {
    "kernel": Kernel,
    "kernel, causal, shared keys": lambda: Kernel(2, is_causal=True, enable_gqa=True),
    "kernel, mask and scale": lambda: Kernel(attn_mask=causal(L), scale=0.3),
    "kernel, added mask": lambda: Kernel(attn_mask=torch.linspace(-3, 3, L * L).view(L, L)),
    "MultiheadAttention": lambda: nn.MultiheadAttention(D, HEADS, batch_first=True),
    "encoder, on its fast path": Encoder,
    "ours": lambda: Ours(D, HEADS, kv_heads=2, rotary=Rotary(D // HEADS), softcap=2.0),
    "ours, additive": lambda: Additive(D, D, 8),
}


def parts_of(model, call):
    """All parts of a model's only layer, and what it computed."""
    with torch.no_grad(), ExitStack() as stack:
        maps = {part: stack.enter_context(capture_attention(model, what=part)) for part in PARTS}
        output = call(model)
    return {part: only for part, (only,) in ((part, found.values()) for part, found in maps.items())}, output


@pytest.mark.parametrize("name", MODELS)
def test_the_parts_belong_together_and_the_model_computes_what_it_did(name):
    model = MODELS[name]().eval()
    call = (lambda m: m(X, X, X)[0]) if name == "MultiheadAttention" else (lambda m: m(X))
    with torch.no_grad():
        want = call(model)
    part, got = parts_of(model, call)
    assert torch.equal(got, want) or (name.startswith("ours") and torch.allclose(got, want, atol=1e-6))
    share = part["outputs"].ndim > 3
    values = part["values"].repeat_interleave(HEADS // part["values"].shape[1], 1) if share else part["values"]
    assert_close(part["scores"].softmax(-1), part["weights"])
    assert_close(part["weights"] @ values, part["outputs"])


def test_scores_are_those_of_queries_and_keys_as_they_meet():
    """With the turns of their positions in them: without those, other scores come out."""
    layer = MultiHeadAttention(D, HEADS, rotary=Rotary(D // HEADS))
    part, _ = parts_of(layer, lambda m: m(X))
    assert_close(part["queries"] @ part["keys"].mT / 2, part["scores"])
    plain = MultiHeadAttention(D, HEADS)
    plain.load_state_dict(layer.state_dict(), strict=False)
    assert not torch.allclose(parts_of(plain, lambda m: m(X))[0]["scores"], part["scores"], atol=1e-3)


@pytest.mark.parametrize("name", ["MultiheadAttention", "ours", "kernel"])
def test_what_a_head_brings_is_shown_as_it_was_changed(name):
    model = MODELS[name]().eval()
    call = (lambda m: m(X, X, X)[0]) if name == "MultiheadAttention" else (lambda m: m(X))
    with change_attention(model, {(0, 1): "off"}):
        part, _ = parts_of(model, call)
    assert not part["outputs"][:, 1].any()
    assert not part["weights"][:, 1].any()
    assert part["outputs"][:, 0].all()


def test_outputs_of_heads_side_by_side_are_what_the_projection_gets():
    layer = nn.MultiheadAttention(D, HEADS, batch_first=True).eval()
    part, got = parts_of(layer, lambda m: m(X, X, X)[0])
    assert_close(layer.out_proj(part["outputs"].transpose(1, 2).flatten(2)), got)


def test_without_heads_there_is_no_axis_for_them():
    part, _ = parts_of(DotProductAttention(), lambda m: m(X, X, X))
    assert {what: tuple(tensor.shape) for what, tensor in part.items()} == {
        "queries": (B, L, D),
        "keys": (B, L, D),
        "values": (B, L, D),
        "scores": (B, L, L),
        "weights": (B, L, L),
        "outputs": (B, L, D),
    }


def test_half_precision_has_scores_in_float32():
    model = Kernel()
    part, _ = parts_of(model, lambda m: m(X.bfloat16()))
    assert part["outputs"].dtype == torch.bfloat16
    assert part["scores"].dtype == torch.float32


def test_flex_attention_shows_all_but_its_scores():
    class Flex(nn.Module):
        def forward(self, x):
            q = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            return flex_attention(q, q, q)

    model = Flex()
    for what in set(PARTS) - {"scores"}:
        with capture_attention(model, what=what) as found:
            model(X)
        assert found[""].shape[:3] == (B, HEADS, L)
    said = "flex_attention keeps its scores to itself; it shows all else: queries"
    with pytest.raises(ValueError, match=said), capture_attention(model, what="scores"):
        model(X)


def test_a_part_that_there_is_not():
    said = r"what must be one of 'queries', .*; got 'querys'\. Did you mean 'queries'\?"
    with pytest.raises(ValueError, match=said), capture_attention(nn.Identity(), what="querys"):
        pass
