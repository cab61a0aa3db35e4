"""`diagnose` names each planted mistake, and that one alone; it accuses no right layer, and changes none."""

import math
from copy import deepcopy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attnbook
from attnbook import diagnose
from attnbook.peers import d2l

D, H = 12, 3


class Right(nn.Module):
    """Multi-head self-attention as one writes it; each mistake below changes one of its steps."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.query, self.key, self.value, self.output = (nn.Linear(D, D) for _ in range(4))

    def split(self, x):
        return x.view(*x.shape[:2], H, -1).transpose(1, 2)

    def merge(self, y):
        return y.transpose(1, 2).flatten(2)

    def scores(self, q, k):
        return q @ k.mT / math.sqrt(q.shape[-1])

    def weights(self, scores, mask):
        lowest = torch.finfo(scores.dtype).min
        return scores.softmax(-1) if mask is None else scores.masked_fill(~mask, lowest).softmax(-1) * mask

    def attend(self, x, mask):
        q, k, v = (self.split(project(x)) for project in (self.query, self.key, self.value))
        return self.merge(self.weights(self.scores(q, k), mask) @ v)

    def forward(self, x, mask=None):
        return self.output(self.attend(x, mask))


class Causal(Right):
    """The same with a mask of its own."""

    diagonal = 0

    def forward(self, x):
        n = x.shape[1]
        return super().forward(x, torch.ones(n, n).tril(self.diagonal).bool())


class Cross(nn.Module):
    """Queries, keys and values from outside, no parameters."""

    axis = -1

    def forward(self, q, k, v, mask=None):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        hidden = torch.finfo(scores.dtype).min
        return (scores if mask is None else scores.masked_fill(~mask, hidden)).softmax(self.axis) @ v


class OneAhead(Causal):
    diagonal = 1


class Viewed(Right):
    def split(self, x):
        return x.reshape(len(x), H, x.shape[1], -1)

    def merge(self, y):
        return y.reshape(len(y), -1, D)


class MergedWithoutTransposing(Right):
    def merge(self, y):
        return y.reshape(len(y), -1, D)


class WrongAxis(Right):
    def weights(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -1e30)).softmax(-2)


class AcrossTheBatch(Right):
    def weights(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -1e30)).softmax(0)


class BatchReshapedAway(Right):
    def attend(self, x, mask):
        return super().attend(x.reshape(1, -1, D), None).reshape(x.shape)


class NoRoot(Right):
    def scores(self, q, k):
        return q @ k.mT


class Twice(Right):
    def scores(self, q, k):
        return super().scores(q, k) / math.sqrt(q.shape[-1])


class OfTheModel(Right):
    def scores(self, q, k):
        return q @ k.mT / math.sqrt(D)


class Times(Right):
    def scores(self, q, k):
        return q @ k.mT * math.sqrt(q.shape[-1])


class OtherScale(Right):
    def scores(self, q, k):
        return q @ k.mT * 0.3


class Ignored(Right):
    def weights(self, scores, mask):
        return scores.softmax(-1)


class Turned(Right):
    def weights(self, scores, mask):
        return super().weights(scores, mask if mask is None else mask.mT)


class FilledWithZero(Right):
    def weights(self, scores, mask):
        return scores.softmax(-1) if mask is None else (scores * mask).softmax(-1)


class FilledWithMinusTen(Right):
    def weights(self, scores, mask):
        return scores.softmax(-1) if mask is None else scores.masked_fill(~mask, -10.0).softmax(-1) * mask.any(-1, True)


class TooLate(Right):
    def weights(self, scores, mask):
        return scores.softmax(-1) if mask is None else scores.softmax(-1) * mask


class NotLowEnough(Right):
    def weights(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, -1e4).softmax(-1) * mask.any(-1, True)


class Repaired(Right):
    def weights(self, scores, mask):
        hidden = torch.zeros(()) if mask is None else torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        return (scores + hidden).softmax(-1).nan_to_num(0)


class Infinite(Right):
    def weights(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)


class Averaged(Right):
    def weights(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -6e4)).softmax(-1)


class TooLowForHalf(Right):
    def weights(self, scores, mask):
        return scores.softmax(-1) if mask is None else scores.masked_fill(~mask, -1e9).softmax(-1) * mask


class ByHand(Right):
    def weights(self, scores, mask):
        raised = scores.exp() if mask is None else scores.exp() * mask
        return raised / raised.sum(-1, keepdim=True).clamp(min=1e-9)


class OffByOne(Right):
    """A softmax that may abstain."""

    def weights(self, scores, mask):
        scores = scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return scores.softmax(-1) * scores.logsumexp(-1, keepdim=True).sigmoid()


class RepeatedInTheWrongOrder(Right):
    """Heads folded into the batch; masks (B, M) repeated for each head."""

    def attend(self, x, mask):
        q, k, v = (self.split(project(x)).flatten(0, 1) for project in (self.query, self.key, self.value))
        mask = mask if mask is None else mask.repeat(H, 1)[:, None]
        return self.merge((self.weights(self.scores(q, k), mask) @ v).unflatten(0, (-1, H)))


class RepeatedInOrder(RepeatedInTheWrongOrder):
    def attend(self, x, mask):
        q, k, v = (self.split(project(x)).flatten(0, 1) for project in (self.query, self.key, self.value))
        mask = mask if mask is None else mask.repeat_interleave(H, 0)[:, None]
        return self.merge((self.weights(self.scores(q, k), mask) @ v).unflatten(0, (-1, H)))


class PlacedByRow(Right):
    def forward(self, x, mask=None):
        return super().forward(x + attnbook.sinusoidal(len(x), D).to(x)[:, None], mask)


class WritesIntoItsInput(Right):
    def forward(self, x, mask=None):
        x += 1
        return super().forward(x, mask)


class Dropping(Right):
    def weights(self, scores, mask):
        return F.dropout(super().weights(scores, mask), 0.1)


class Keeping(Right):
    """A cache that nobody empties."""

    def __init__(self):
        super().__init__()
        self.kept = 0.0

    def forward(self, x, mask=None):
        self.kept = self.kept + x.detach().mean()
        return super().forward(x + self.kept, mask)


class Detached(Right):
    def scores(self, q, k):
        return super().scores(q, k.detach())


class NoOutput(Right):
    def forward(self, x, mask=None):
        return self.attend(x, mask)


class Alone(Right):
    def attend(self, x, mask):
        return self.value(x)


class CrossWrongAxis(Cross):
    axis = -2


PLANTED = {
    OneAhead: "one_ahead",
    Viewed: "heads_mixed",
    MergedWithoutTransposing: "heads_mixed",
    WrongAxis: "softmax_axis",
    CrossWrongAxis: "softmax_axis",
    AcrossTheBatch: "batch_mixed",
    BatchReshapedAway: "batch_mixed",
    PlacedByRow: "batch_place",
    NoRoot: "scale_missing",
    Twice: "scale_twice",
    OfTheModel: "scale_model",
    Times: "scale_times",
    OtherScale: "scale_other",
    Ignored: "mask_ignored",
    Turned: "mask_turned",
    FilledWithZero: "mask_leaks",
    FilledWithMinusTen: "mask_leaks",
    TooLate: "mask_too_late",
    NotLowEnough: "fill_too_high",
    RepeatedInTheWrongOrder: "mask_of_others",
    Repaired: "nan_gradients",
    Infinite: "empty_nan_everywhere",
    Averaged: "empty_average",
    TooLowForHalf: "half",
    ByHand: "overflow",
    OffByOne: "not_normalised",
    WritesIntoItsInput: "changes_input",
    Dropping: "not_repeatable",
    Keeping: "not_repeatable",
    Detached: "cut",
    NoOutput: "unused",
    Alone: "no_mixing",
}


class Additive(Right):
    """As in BERT: a mask of 0 and a low number, (B, 1, L, M), added to the scores; softmax in float32."""

    def weights(self, scores, attention_mask):
        scores = scores if attention_mask is None else scores + attention_mask
        return scores.softmax(-1, dtype=torch.float32).to(scores.dtype)

    def forward(self, hidden_states, attention_mask=None, head_mask=None, output_attentions=False):
        if attention_mask is not None and attention_mask.ndim != 4:
            raise ValueError("attention_mask must have four axes")
        return super().forward(hidden_states, attention_mask), None


class Fused(nn.Module):
    """As in GPT-2: one projection for all three, (D, 3D), and a causal mask in a buffer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.attn, self.proj = nn.Parameter(torch.randn(D, 3 * D) / 4), nn.Linear(D, D)
        self.bias = nn.Parameter(torch.randn(3 * D))
        self.register_buffer("seen", torch.ones(1, 1, 64, 64).tril().bool())

    def forward(self, hidden_states, layer_past=None, use_cache=False):
        n = hidden_states.shape[1]
        q, k, v = (hidden_states @ self.attn + self.bias).unflatten(-1, (3, H, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / v.shape[-1] ** 0.5
        scores = torch.where(self.get_buffer("seen")[..., :n, :n], scores, torch.finfo(scores.dtype).min)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2)), None


class Turning(nn.Module):
    """As in Llama: rotary positions that the caller hands over, fewer heads of keys, no biases."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.q_proj, self.o_proj = (nn.Linear(16, 16, bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (nn.Linear(16, 8, bias=False) for _ in range(2))

    def forward(self, hidden_states, position_embeddings, attention_mask=None):
        cos, sin = position_embeddings
        q, k, v = (p(hidden_states).unflatten(-1, (-1, 4)).transpose(1, 2) for p in self.of_three())
        q, k = (x * cos + torch.cat([-x[..., 2:], x[..., :2]], -1) * sin for x in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, attention_mask, enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).flatten(2)), None

    def of_three(self):
        return self.q_proj, self.k_proj, self.v_proj


def call_turning(layer, x, mask):
    angles = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * torch.tensor([1.0, 0.1, 1.0, 0.1], dtype=x.dtype)
    return layer(x, (angles.cos(), angles.sin()), mask)


class LlamaBlock(nn.Module):
    """A whole block with norms of its own, not causal."""

    def __init__(self):
        super().__init__()
        self.attention, self.mlp = Turning(), attnbook.SwiGLU(16, 24)
        self.norm1, self.norm2 = nn.RMSNorm(16), nn.RMSNorm(16)

    def forward(self, x, mask=None):
        x = x + call_turning(self.attention, self.norm1(x), mask)[0]
        return x + self.mlp(self.norm2(x))


class BlockWithViewedHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm = Viewed(), nn.LayerNorm(D)

    def forward(self, x):
        return x + self.attention(self.norm(x))


class NormedQueries(Right):
    def scores(self, q, k):
        return 3 * F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT


class WithPlaces(Right):
    def forward(self, x, mask=None):
        return super().forward(x + attnbook.sinusoidal(x.shape[1], D).to(x), mask)


class CausalALiBi(Causal):
    def scores(self, q, k):
        n = q.shape[2]
        return super().scores(q, k) - (torch.arange(n)[:, None] - torch.arange(n)).abs() * 0.3


def kernel(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, mask)


class CrossFromOne(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = attnbook.MultiHeadAttention(D, H)

    def forward(self, x, context, mask=None):
        return self.inner(x, context, mask)


torch_layer = partial(nn.TransformerEncoderLayer, D, H, 2 * D)
NAN, AVERAGE = {"empty_nan_everywhere"}, {"empty_average"}
RIGHT = {
    "PyTorch: MultiheadAttention": (lambda: nn.MultiheadAttention(D, H, batch_first=True), NAN),
    "PyTorch: sequence first": (lambda: nn.MultiheadAttention(D, H, dropout=0.1), NAN),
    "PyTorch: separate widths": (lambda: nn.MultiheadAttention(D, H, kdim=8, vdim=6, batch_first=True), NAN),
    "PyTorch: TransformerEncoderLayer": (lambda: torch_layer(batch_first=True), set()),
    "PyTorch: pre-norm, sequence first": (lambda: torch_layer(norm_first=True), set()),
    "PyTorch: TransformerEncoder": (
        lambda: nn.TransformerEncoder(torch_layer(batch_first=True), 2, None, False),
        set(),
    ),
    "PyTorch: TransformerDecoderLayer": (lambda: nn.TransformerDecoderLayer(D, H, 24, batch_first=True), set()),
    "PyTorch: its kernel": (lambda: F.scaled_dot_product_attention, set()),
    "PyTorch: its kernel, wrapped": (lambda: kernel, set()),
    "d2l: DotProductAttention": (lambda: d2l().DotProductAttention(0.1), AVERAGE),
    "d2l: AdditiveAttention": (lambda: d2l().AdditiveAttention(8, 0.1), AVERAGE),
    "d2l: MultiHeadAttention": (lambda: d2l().MultiHeadAttention(D, H, 0.1), AVERAGE),
    "d2l: TransformerEncoderBlock": (lambda: d2l().TransformerEncoderBlock(D, 24, H, 0.1), AVERAGE),
    "attnbook: attention": (lambda: attnbook.attention, set()),
    "attnbook: DotProductAttention": (attnbook.DotProductAttention, set()),
    "attnbook: AdditiveAttention": (lambda: attnbook.AdditiveAttention(D, 10, 8), set()),
    "attnbook: MultiHeadAttention": (lambda: attnbook.MultiHeadAttention(D, H, bias=True), set()),
    "attnbook: shared heads": (lambda: attnbook.MultiHeadAttention(16, 4, kv_heads=2), set()),
    "attnbook: Rotary": (lambda: attnbook.MultiHeadAttention(16, 4, rotary=attnbook.Rotary(4)), set()),
    "attnbook: ALiBi": (lambda: attnbook.MultiHeadAttention(16, 4, score_bias=attnbook.ALiBi(4)), set()),
    "attnbook: EncoderBlock": (lambda: attnbook.EncoderBlock(D, H, 24), set()),
    "attnbook: DecoderBlock": (lambda: attnbook.DecoderBlock(D, H, 24), set()),
    "as in BERT": (Additive, AVERAGE | NAN),
    "as in GPT-2": (Fused, set()),
    "as in Llama": (Turning, set()),
    "a block as in Llama": (LlamaBlock, set()),
    "by hand": (Right, set()),
    "by hand, causal": (Causal, set()),
    "by hand, across": (Cross, AVERAGE),
    "by hand, heads in the batch": (RepeatedInOrder, set()),
    "context": (CrossFromOne, set()),
    "normed queries": (NormedQueries, set()),
    "with places": (WithPlaces, set()),
    "causal, ALiBi": (CausalALiBi, set()),
}
CALLS = {"as in Llama": call_turning}


class ViewedAndCausal(Causal, Viewed):
    pass


PLANTED |= {BlockWithViewedHeads: "heads_mixed", ViewedAndCausal: "heads_mixed"}


def problems(diagnosis):
    return {found.name for found in (*diagnosis.mistakes, *diagnosis.cautions)}


@pytest.mark.parametrize(("layer", "name"), PLANTED.items(), ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_a_planted_mistake_is_found_and_no_other(layer, name):
    assert problems(diagnose(layer())) == {name}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_no_right_layer_is_accused(name):
    make, cautions = RIGHT[name]
    diagnosis = diagnose(make(), call=CALLS.get(name))
    assert diagnosis, diagnosis
    assert problems(diagnosis) <= cautions
    assert not [fact for fact in diagnosis.facts if fact.name == "not_looked"]


CLAIMS = [
    (lambda: nn.MultiheadAttention(D, H), {"batch_first": True}, "batch_axis"),
    (lambda: nn.MultiheadAttention(D, H, batch_first=True), {"batch_first": False}, "batch_first"),
    (lambda: nn.MultiheadAttention(D, H, batch_first=True), {"mask": "may attend"}, "mask_is_hidden"),
    (Right, {"mask": "hidden"}, "mask_is_may"),
    (Additive, {"mask": "may attend"}, "mask_is_added"),
    (Right, {"causal": True}, "sees_ahead"),
    (OneAhead, {"causal": True}, "sees_ahead"),
    (Right, {"positions": True}, "no_order"),
    (Causal, {"positions": True}, "no_order"),
]


@pytest.mark.parametrize(("make", "claim", "name"), CLAIMS)
def test_what_turns_out_otherwise_is_a_mistake(make, claim, name):
    assert name in {found.name for found in diagnose(make(), **claim).mistakes}


@pytest.mark.parametrize(
    ("make", "claim"),
    [
        (lambda: nn.MultiheadAttention(D, H, batch_first=True), {"batch_first": True, "mask": "hidden"}),
        (lambda: nn.MultiheadAttention(D, H), {"batch_first": False}),
        (Additive, {"mask": "added"}),
        (Causal, {"causal": True}),
        (CausalALiBi, {"causal": True, "positions": True}),
        (WithPlaces, {"positions": True}),
    ],
)
def test_what_is_as_one_says_is_none(make, claim):
    assert diagnose(make(), **claim)


@pytest.mark.parametrize(
    "call",
    [
        lambda layer, x: layer(x),
        lambda layer, x, mask: layer(x, mask),
        lambda layer, q, k, v: layer.inner(q, k, v),
        lambda layer, q, k, v, mask: layer.inner(q, k, v, mask),
    ],
)
def test_it_is_called_as_one_says(call):
    layer = Right()
    layer.inner = Cross()
    diagnosis = diagnose(layer, call=call, width=D)
    assert not [found for found in diagnosis.mistakes if found.name != "unused"]
    assert any(fact.name == "mask_means_may" for fact in diagnosis.facts) == ("mask" in call.__code__.co_varnames)


def test_what_can_not_be_called_is_told():
    with pytest.raises(ValueError, match=r"No way to call Linear .* call=lambda layer, q, k, v, mask: …"):
        diagnose(nn.Linear(3, 4), width=5)
    with pytest.raises(ValueError, match="Transformer"):
        diagnose(nn.Transformer(D, H, 1, 1, 24))
    with pytest.raises(ValueError, match="got one of 6 arguments"):
        diagnose(Right(), call=lambda layer, q, k, v, mask, more: q)
    with pytest.raises(ValueError, match="mask must be one of 'may attend', 'hidden', 'added', got 'True'"):
        diagnose(Right(), mask="True")


@pytest.mark.parametrize("make", [Keeping, lambda: d2l().MultiHeadAttention(D, H, 0.1), lambda: torch_layer()])
def test_the_layer_stays_as_it_is(make):
    layer = make().train()
    x = torch.randn(2, 4, D)
    layer(x, x, x, None).sum().backward() if hasattr(layer, "W_q") else layer(x).sum().backward()
    before, vars_before = deepcopy([(p, p.grad) for p in layer.parameters()]), dict(vars(layer))
    torch.manual_seed(1)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    with torch.no_grad():
        diagnose(layer)
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.rand(1), drawn)
    assert all(part.training for part in layer.modules())
    assert vars(layer) == vars_before
    for (old, grad), now in zip(before, layer.parameters(), strict=True):
        assert old.dtype == now.dtype == torch.float32
        assert torch.equal(old, now)
        assert torch.equal(grad, now.grad)


def test_a_diagnosis_reads_well():
    diagnosis = diagnose(NoRoot())
    assert repr(diagnosis).splitlines() == [
        "NoRoot, called as layer(x): one mistake found.",
        "✗ The root is missing: scores are q·k, and for heads of width 4 they should be divided by √4. "
        "(T5 leaves it out on purpose.)",
        "· The order of tokens makes no difference to it: where order matters, add positions.",
        "· In mask True means: may attend.",
    ]
    assert diagnosis._repr_html_().count("✗") == 1
    assert diagnosis._repr_html_().count("</li>") == 3
    assert [found.kind for found in diagnosis.findings] == ["mistake", "fact", "fact"]
    assert not diagnosis
