"""A mixture of experts against a loop over tokens; what balance says of a load; what capturing leaves behind."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import EncoderBlock, FeedForward, LanguageModel, MixtureOfExperts, Routing, capture_routing

B, L, D, HIDDEN, E = 2, 5, 6, 9, 4  # pairwise different: a swapped axis can't pass by luck
KINDS = {
    "one of four": {"active": 1},
    "two of four": {"active": 2},
    "all": {"active": E},
    "two, and two for all": {"active": 2, "shared": 2},
    "feed-forward": {"active": 2, "expert": FeedForward},
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def make(kind, **more):
    layer = MixtureOfExperts(D, HIDDEN, experts=E, **KINDS[kind], **more).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer


def token_by_token(layer, x):
    rows = []
    for row in x.reshape(-1, D):
        scores = (layer.router.weight @ row).tolist()
        best = sorted(range(E), key=scores.__getitem__, reverse=True)[: layer.router.active]
        loud = torch.stack([layer.router.weight[e] @ row for e in best]).exp()
        y = sum(expert(row) for expert in layer.shared)
        rows.append(y + sum(w * layer.experts[e](row) for w, e in zip(loud / loud.sum(), best, strict=True)))
    return torch.stack(rows).view(x.shape)


@each_kind
@pytest.mark.parametrize("shape", [(B, L, D), (L, D), (3, B, L, D), (B, 0, D)], ids=str)
def test_equals_a_loop_over_tokens(kind, shape):
    layer, x = make(kind), torch.randn(shape, dtype=torch.float64, requires_grad=True)
    if not x.numel():
        assert layer(x).shape == shape
        return
    got, want = layer(x), token_by_token(layer, x)
    assert_close(got, want)
    weight = torch.randn(shape, dtype=torch.float64)
    wrt = (x, *layer.parameters())
    got, want = (
        torch.autograd.grad((y * weight).sum(), wrt, allow_unused=True, materialize_grads=True) for y in (got, want)
    )
    assert_close(got, want)


def test_a_token_pays_for_the_experts_it_goes_through_alone():
    layer, asked = make("two of four"), []
    for number, expert in enumerate(layer.experts):
        expert.register_forward_hook(lambda _, given, output, n=number: asked.append((n, len(given[0]))))
    with capture_routing(layer) as routings:
        layer(torch.randn(B, L, D, dtype=torch.float64))
    counts = routings[""].chosen.flatten().bincount(minlength=E).tolist()
    assert asked == [(n, count) for n, count in enumerate(counts) if count]
    assert sum(counts) == 2 * B * L


def routing(probabilities, chosen):
    chosen = torch.tensor(chosen)
    return Routing(torch.tensor(probabilities), chosen, torch.ones(chosen.shape))


def test_balance_is_1_for_equal_loads_and_the_number_of_experts_for_one():
    even = routing([[0.25] * 4] * 4, [[0], [1], [2], [3]])
    assert even.load.tolist() == [0.25] * 4
    assert even.balance == 1
    alone = routing([[0.0, 1.0, 0.0, 0.0]] * 3, [[1], [1], [1]])
    assert alone.load.tolist() == [0, 1, 0, 0]
    assert alone.balance == 4
    between = routing([[0.5, 0.3, 0.2]] * 2, [[0, 1], [0, 2]])
    assert_close(between.balance, torch.tensor(3 * (0.5 * 0.5 + 0.25 * 0.3 + 0.25 * 0.2)))
    assert routing([[0.5, 0.5]], [[1]]).load.tolist() == [0, 1]


def test_a_routing_says_what_the_router_thinks_of_every_expert():
    layer, x = make("two of four"), torch.randn(B, L, D, dtype=torch.float64)
    with capture_routing(layer) as routings:
        layer(x)
    scores = x.flatten(0, 1) @ layer.router.weight.mT
    loud = scores.exp()
    assert_close(routings[""].probabilities, loud / loud.sum(1, keepdim=True))
    chosen = loud.gather(1, routings[""].chosen)
    assert_close(routings[""].weights, chosen / chosen.sum(1, keepdim=True))
    with capture_routing(layer) as routings:
        layer(x[:, :0])
    assert routings[""].load.tolist() == [0] * E


def test_balance_takes_probability_from_those_that_have_more_than_their_share():
    scores = torch.tensor([[2.0, 0.0, 0.0]] * 5, requires_grad=True)
    p = scores.softmax(-1)
    Routing(p, p.topk(1).indices, p).balance.backward()
    assert (scores.grad[:, 0] > 0).all()
    assert (scores.grad[:, 1:] < 0).all()


def test_what_is_captured_has_gradients_and_nothing_stays():
    model = LanguageModel(20, 8, 2, 16, 2, 0.0, feed_forward=partial(MixtureOfExperts, experts=3, active=1))
    with capture_routing(model) as routings:
        model(torch.tensor([[5, 6, 7]]))
    assert [*routings] == ["decoder.0.feed_forward", "decoder.1.feed_forward"]
    sum(routing.balance for routing in routings.values()).backward()
    first = model.get_submodule("decoder.0.feed_forward.router")
    assert first.weight.grad.abs().sum() > 0
    assert not first._forward_hooks
    model(torch.tensor([[5, 6, 7, 8]]))
    assert routings["decoder.0.feed_forward"].chosen.shape == (3, 1)
    with pytest.raises(KeyError), capture_routing(model):
        raise KeyError
    assert not first._forward_hooks


@each_kind
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_it_runs_in_half_precision_and_under_autocast(kind, dtype):
    layer, x = make(kind).to(dtype), torch.randn(B, L, D).to(dtype)
    want = token_by_token(layer.double(), x.double())
    with torch.autocast("cpu", dtype):
        automatic = layer.float()(x.float())
    for got in (automatic, layer.to(dtype)(x)):
        assert_close(got.double(), want, rtol=0, atol=0.06 * want.abs().max().item())
    assert layer(x).dtype == dtype


def test_dropout_is_the_experts():
    layer, x = make("two of four", dropout=0.5, shared=1), torch.randn(B, L, D, dtype=torch.float64)
    assert not torch.allclose(layer(x), layer(x))
    assert_close(layer.eval()(x), layer(x))
    assert [part.p for part in layer.modules() if isinstance(part, nn.Dropout)] == [0.5] * 5


def test_by_default_two_of_eight():
    layer = MixtureOfExperts(D, HIDDEN)
    assert (len(layer.experts), layer.router.active, len(layer.shared)) == (8, 2, 0)
    assert not any(part.p for part in layer.modules() if isinstance(part, nn.Dropout))
    block = EncoderBlock(D, 2, HIDDEN, 0.0, feed_forward=MixtureOfExperts)
    assert block(torch.ones(B, L, D)).shape == (B, L, D)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: MixtureOfExperts(D, HIDDEN, experts=2, active=3), "got active = 3 of experts = 2"),
        (lambda: MixtureOfExperts(D, HIDDEN, active=0), "active must be at least 1, got 0"),
        (lambda: MixtureOfExperts(D, HIDDEN, experts=0), "experts must be at least 1, got 0"),
        (lambda: MixtureOfExperts(D, HIDDEN, shared=-1), "shared must be at least 0, got -1"),
        (lambda: MixtureOfExperts(D, HIDDEN)(torch.ones(B, L, 5)), "made for x of width 6"),
        (lambda: MixtureOfExperts(D, HIDDEN)(torch.ones(B, L, D).long()), "x must hold floating-point numbers"),
    ],
)
def test_what_cannot_be_is_refused_in_words(act, words):
    with pytest.raises(ValueError, match=words):
        act()


def test_a_model_without_experts_says_so():
    with (
        pytest.raises(ValueError, match="Linear has no MixtureOfExperts; give it one as feed_forward"),
        capture_routing(nn.Linear(2, 2)),
    ):
        pass
