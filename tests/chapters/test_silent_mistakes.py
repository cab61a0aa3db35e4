"""The page of silent mistakes: each test on it runs, passes what is right, and fails on the mistake that it is for."""

import copy
import math
import re

import nbformat
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attnbook
from attnbook import MultiHeadAttention, causal, diagnose, padding, sinusoidal
from attnbook.peers import copy_weights
from tests import ROOT
from tests.library import test_diagnosis as planted

PAGE = nbformat.read(ROOT / "silent_mistakes.ipynb", 4)
CELLS = {cell.id: cell.source for cell in PAGE.cells if cell.cell_type == "markdown"}
TESTS = {name: match[1] for name, text in CELLS.items() if (match := re.search(r"```python\n(.*?)```", text, re.S))}
NAMES = TESTS.pop("names")
D, H = planted.D, planted.H


def shifted(model, ids):
    return F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def unshifted(model, ids):
    return F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())


class Loop:
    """A model, and a step on one batch with a learning rate of 0."""

    def __init__(self, clears):
        self.model, self.clears = nn.Linear(D, 1), clears
        self.batch = torch.randn(4, D)

    def step(self):
        if self.clears:
            self.model.zero_grad()
        self.model(self.batch).square().mean().backward()


def loop(clears):
    made = Loop(clears)
    return {"step": made.step, "model": made.model}


def ours(broken=False):
    layer = MultiHeadAttention(D, H)
    if broken:
        layer.register_forward_pre_hook(lambda module, args: (0 * args[0], *args[1:]))
    return layer


def cuts(first):
    """Passages of a text, shuffled and then held out; or cut first."""
    ids = torch.arange(2000)
    passages = ids.unfold(0, 65, 1)
    order = torch.randperm(len(passages), generator=torch.Generator().manual_seed(0))
    taught, held_out = passages[order[200:]], passages[order[:200]]
    if first:
        taught, held_out = (part.unfold(0, 65, 1) for part in (ids[:1800], ids[1800:]))
    return {"taught": taught, "held_out": held_out}


def minus(fill):
    def masked_softmax(scores, mask):
        return scores.masked_fill(~mask, fill).softmax(-1)

    return masked_softmax


def in_place(scores, mask):
    return scores.masked_fill_(~mask, -torch.inf).softmax(-1)


def decoder(mask):
    block = attnbook.DecoderBlock(D, H, 24).eval()
    return {"decoder": lambda x, memory: block(x, memory, causal(6), mask), "memory": torch.randn(2, 6, D)}


def attend(scale):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=scale and scale(q.shape[-1]))


def compares(factor):
    """A test of a function on inputs of that size."""

    def test(function):
        q, k, v = factor * torch.randn(3, 5, 64)
        return torch.allclose(function(q, k, v), F.scaled_dot_product_attention(q, k, v), atol=1e-5)

    return test


def stored(values):
    keys, made = torch.eye(5), torch.tensor([[3.0], [1.0], [5.0], [2.0], [4.0]])
    return {"attend": attend(None), "keys": keys, "values": values(made), "values_as_made": made}


def by_length(trained, falls):
    """A model of sixteen tokens that says the next number, and beyond the length of training perhaps another."""

    def model(ids):
        wrong = falls & (torch.arange(ids.shape[1]) >= trained)
        return 5.0 * F.one_hot((ids + 1 + wrong) % 16, 16)

    return {"model": model, "trained": trained, "ids": torch.arange(32)[None] % 16}


def far(dtype):
    def table(L, D):
        angles = torch.arange(L, dtype=dtype)[:, None] * 10_000 ** (-torch.arange(0, D, 2, dtype=dtype) / D)
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).float()

    return table


def shifted_exponent(L, D):
    angles = torch.arange(L).double()[:, None] * 10_000 ** (-(torch.arange(0, D, 2).double() + 2) / D)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).float()


def turned(partner):
    """Rotary positions: feature 0 is turned with feature 1, or with another."""

    def rotate(x_BHLK):
        half = x_BHLK.shape[-1] // 2
        order = torch.arange(2 * half).view(half, 2) if partner == 1 else torch.arange(2 * half).view(2, half).T
        angle = torch.arange(x_BHLK.shape[-2])[:, None] * 0.5 ** torch.arange(half)
        first, second = x_BHLK[..., order[:, 0]], x_BHLK[..., order[:, 1]]
        y = torch.empty_like(x_BHLK)
        y[..., order[:, 0]] = first * angle.cos() - second * angle.sin()
        y[..., order[:, 1]] = first * angle.sin() + second * angle.cos()
        return y

    return rotate


def block(norm):
    made = attnbook.EncoderBlock(D, H, 4 * D, norm=norm).eval()

    def load(theirs, into):
        post = attnbook.EncoderBlock(D, H, 4 * D)
        copy_weights(theirs, post)
        into.load_state_dict(post.state_dict())

    return {"block": made, "load": load}


class Cached(nn.Module):
    """One layer with positions and a cache, a list of the tokens so far."""

    def __init__(self, corner=False, position=0, stale=False):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.layer = nn.Embedding(16, D), MultiHeadAttention(D, H)
        self.corner, self.position = corner, position
        self.kept = [torch.tensor([[7, 7]])] if stale else []

    def new_cache(self):
        return list(self.kept)

    def forward(self, ids, cache=None):
        before = [] if cache is None else list(cache)
        whole = torch.cat([*before, ids], 1)
        L, M = ids.shape[1], whole.shape[1]
        places = torch.arange(M)
        if before and self.position:
            places = torch.cat([places[: M - L], torch.arange(L)])
        x = self.embedding(whole) + sinusoidal(M, D)[places]
        mask = torch.ones(L, M).tril().bool() if self.corner else causal(L, M)
        if cache is not None:
            cache.append(ids)
        return self.layer(x[:, M - L :], x, mask)


def cached(**mistake):
    model = Cached(**mistake).eval()
    return {"model": model, "new_cache": model.new_cache, "ids": torch.arange(8)[None]}


def mean(counts_padding):
    def pool(x, mask):
        weights = torch.ones_like(mask).float() if counts_padding else mask.float()
        return (weights / weights.sum(-1, keepdim=True) @ x)[:, 0]

    return pool


def cosine(a, b):
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT


def home_made(a, b):
    return a @ b.mT / (a.norm(dim=-1)[:, None] * b.norm(dim=-1))


def dots(a, b):
    return a @ b.mT


def vectors(alike, change):
    made = torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    made[3] *= change
    return {"alike": alike, "vectors": made}


def layer(kind):
    return {"layer": kind()}


def encoder(kind):
    return {"encoder": kind().eval()}


class Spelling:
    def __init__(self, *parts):
        self.parts = parts

    def encode(self, text):
        return re.findall("|".join(self.parts), text)


class Blind(planted.Right):
    """Its mask means the opposite."""

    def weights(self, scores, mask):
        return super().weights(scores, mask if mask is None else ~mask)


class ByText(planted.Right):
    """A mask (B, 1, M) for each text."""

    def weights(self, scores, mask):
        return super().weights(scores, mask if mask is None or mask.ndim == 2 else mask[:, None])


class Folded(planted.RepeatedInTheWrongOrder):
    def attend(self, x, mask):
        return super().attend(x, mask if mask is None else mask[:, 0])


def text_mask(kind):
    """A planted mistake whose mask is of (B, 1, M)."""

    class Wrapped(kind):
        def weights(self, scores, mask):
            return super().weights(scores, mask if mask is None or mask.ndim == 2 else mask[:, None])

    return Wrapped


def sequence_first():
    inner = nn.MultiheadAttention(D, H)
    return {"layer": lambda x: inner(x, x, x)[0]}


def counted(layer, x):
    return attnbook.SelfAttention(H).cost(x.shape[1], D).operations


def linear(layer, x):
    return 8 * x.shape[1] * D**2


def averaging(each):
    inner = nn.MultiheadAttention(D, H, batch_first=True)
    return {"weights_of": lambda x: inner(x, x, x, average_attn_weights=not each)}


right_layer = lambda: layer(planted.Right)  # noqa: E731
masked = attnbook.masked_softmax
# Of each test: what is right, and the mistakes.
CASES = {
    "one-behind": ({"loss": shifted}, [{"loss": unshifted}]),
    "one-ahead": (layer(planted.Causal), [layer(planted.OneAhead), layer(planted.Right)]),
    "order-ignored": (encoder(planted.WithPlaces), [encoder(planted.Right)]),
    "never-the-rest": (right_layer(), [layer(planted.Viewed)]),
    "loss-turns": (loop(True), [loop(False)]),
    "part-never-learns": (right_layer(), [layer(planted.Detached), layer(planted.NoOutput)]),
    "nan-in-gradients": (right_layer(), [layer(planted.Repaired)]),
    "held-out-too-good": (cuts(first=True), [cuts(first=False)]),
    "copies-flawlessly": ({"layer": ours()}, [{"layer": ours(broken=True)}]),
    "padding-answers": (
        layer(ByText),
        [layer(text_mask(kind)) for kind in (planted.Ignored, planted.FilledWithZero, planted.TooLate)],
    ),
    "another-batch": (layer(ByText), [layer(Folded)]),
    "texts-mix": (right_layer(), [sequence_first(), layer(planted.AcrossTheBatch), layer(planted.BatchReshapedAway)]),
    "average-of-nothing": (right_layer(), [layer(planted.Averaged)]),
    "half-precision": ({"masked_softmax": masked}, [{"masked_softmax": minus(fill)} for fill in (-1e4, -1e9)]),
    "upside-down": ({"masked_softmax": masked}, [{"masked_softmax": lambda scores, mask: masked(scores, ~mask)}]),
    "rows-short": (
        {"masked_softmax": masked},
        [
            {"masked_softmax": lambda scores, mask: scores.softmax(-1) * mask},
            {"masked_softmax": lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(-2)},
        ],
    ),
    "scores-changed": ({"masked_softmax": masked}, [{"masked_softmax": in_place}]),
    "source-forgotten": (decoder(None), [decoder(causal(6))]),
    "flat-or-sharp": (
        {"attend": attend(None)},
        [{"attend": attend(scale)} for scale in (lambda d: 1.0, lambda d: 1 / d, lambda d: (8 * d) ** -0.5)],
    ),
    "passes-always": (
        {"attend": attend(None), "test": compares(1)},
        [{"attend": attend(None), "test": compares(100)}],
    ),
    "heads-averaged": (averaging(each=True), [averaging(each=False)]),
    "wrong-values": (stored(lambda made: made), [stored(lambda made: made.sort(0).values)]),
    "place-in-batch": (encoder(planted.WithPlaces), [encoder(planted.PlacedByRow)]),
    "longer-texts": (by_length(16, falls=False), [by_length(16, falls=True)]),
    "far-positions": ({"table": far(torch.float64)}, [{"table": far(torch.float32)}, {"table": shifted_exponent}]),
    "still-fluent": ({"rotate": turned(1)}, [{"rotate": turned(4)}]),
    "key-heads": (
        {"shared": lambda k, n: k.repeat_interleave(n, 1)},
        [{"shared": lambda k, n: k.repeat(1, n, 1, 1)}],
    ),
    "loads-and-differs": (block("post"), [block("pre")]),
    "cache-differs": (cached(), [cached(corner=True), cached(position=1), cached(stale=True)]),
    "each-run-differs": (right_layer(), [layer(planted.Dropping), layer(planted.Keeping)]),
    "perplexities": (
        {"first": Spelling("."), "second": Spelling(".")},
        [{"first": Spelling("."), "second": Spelling("..", ".")}],
    ),
    "pooled-padding": ({"pool": mean(False)}, [{"pool": mean(True)}]),
    "unknown-nearest": (vectors(cosine, 5), [vectors(dots, 20), vectors(home_made, 0)]),
    "work-only-doubles": ({"counted": counted, "layer": None}, [{"counted": linear, "layer": None}]),
}


def run(name, names):
    torch.manual_seed(0)
    space = {"torch": torch, "nn": nn, "F": F, "D": D, "H": H, "math": math, "padding": padding}
    space |= {"copy_weights": copy_weights, **copy.copy(names)}
    exec(NAMES, space)
    exec(TESTS[name], space)


def test_each_test_of_the_page_is_tried():
    assert TESTS.keys() == CASES.keys()
    assert not [name for name, test in TESTS.items() if len(test.strip().splitlines()) > 3]


@pytest.mark.parametrize("name", CASES)
def test_what_is_right_passes(name):
    run(name, CASES[name][0])


@pytest.mark.parametrize(("name", "mistake"), [(name, one) for name, (_, wrong) in CASES.items() for one in wrong])
def test_a_mistake_is_caught(name, mistake):
    stops = (AssertionError, RuntimeError) if name == "half-precision" else AssertionError  # −10⁹ can't be written
    with pytest.raises(stops):
        run(name, mistake)


# What `diagnose` is said to find, and what it is told for that.
DIAGNOSED = {
    "one-ahead": ([planted.OneAhead, planted.Right], {"causal": True}),
    "order-ignored": ([planted.Right], {"positions": True}),
    "never-the-rest": ([planted.Viewed], {}),
    "part-never-learns": ([planted.Detached, planted.NoOutput], {}),
    "nan-in-gradients": ([planted.Repaired], {}),
    "padding-answers": ([planted.Ignored, planted.FilledWithZero, planted.TooLate], {}),
    "another-batch": ([planted.RepeatedInTheWrongOrder], {}),
    "texts-mix": ([lambda: nn.MultiheadAttention(D, H)], {"batch_first": True}),
    "average-of-nothing": ([planted.Averaged], {}),
    "half-precision": ([planted.NotLowEnough, planted.TooLowForHalf], {}),
    "upside-down": ([lambda: nn.MultiheadAttention(D, H)], {"mask": "may attend"}),
    "rows-short": ([planted.TooLate, planted.WrongAxis], {}),
    "flat-or-sharp": ([planted.NoRoot, planted.Twice, planted.OfTheModel], {}),
    "place-in-batch": ([planted.PlacedByRow], {}),
    "each-run-differs": ([planted.Dropping, planted.Keeping], {}),
}


def test_the_list_says_what_diagnose_finds():
    listed = re.findall(r"^\| \[.*?\]\(#([\w-]+)\) \| .*?( ✓)? \|$", CELLS["title"], re.M)
    assert [name for name, _ in listed] == list(TESTS)
    assert {name for name, sign in listed if sign} == DIAGNOSED.keys()
    for name, text in CELLS.items():
        said = re.search(r"`diagnose` finds it(?:, with `(\w+)=|\.)", text)
        assert (said is not None) == (name in DIAGNOSED)
        assert said is None or [said[1]] == (list(DIAGNOSED[name][1]) or [None])


@pytest.mark.slow
@pytest.mark.parametrize("name", DIAGNOSED)
def test_diagnose_finds_it(name):
    layers, claims = DIAGNOSED[name]
    for make in layers:
        diagnosis = diagnose(make(), **claims)
        assert diagnosis.mistakes or diagnosis.cautions
