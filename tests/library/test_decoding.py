"""Greedy is the argmax again and again; a beam wide enough finds the best of all; lengths may differ.

What is drawn comes as often as it should, and a seed writes the same whatever else is in the batch.
"""

from functools import partial
from itertools import product
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from attnbook import LanguageModel, Seq2Seq, Transformer, beam, filtered, greedy, sample

PAD, START, STOP, N = 0, 1, 2, 9
SMALL = {"D": 8, "heads": 2, "hidden": 16, "layers": 2}
SOURCES = torch.tensor([[3, 4, 5, 0, 0], [6, 7, 8, 3, 4], [8, 0, 0, 0, 0]])


def lively(model):
    """Sure of itself, so that no two tokens are nearly as likely, and in training mode, as a careless caller has it."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model.double().train()


def writer():
    return lively(LanguageModel(N, **SMALL, dropout=0.5))


def translator():
    return lively(Transformer(N, **SMALL, dropout=0.5))


def reader():
    return lively(Seq2Seq(N, D=8))


def log_probability(model, ids, source=None, given=1):
    """Of each sequence, whatever follows its prompt, all computed at once."""
    model.eval()
    scores = (model(ids) if source is None else model(source, ids)).log_softmax(-1).clone()
    scores[..., PAD] = -torch.inf
    steps = scores[:, given - 1 : -1].gather(-1, ids[:, given:, None])[..., 0]
    return torch.where(ids[:, given:] == PAD, 0, steps).sum(1)


@torch.no_grad()
def by_hand(model, ids, source, length):
    """One sequence, everything computed again for each token."""
    model.eval()
    while ids.shape[1] < length and ids[0, -1] != STOP:
        scores = (model(ids) if source is None else model(source, ids))[:, -1].clone()
        scores[:, PAD] = -torch.inf
        ids = torch.cat([ids, scores.argmax(-1, keepdim=True)], 1)
    return ids


@torch.no_grad()
def beam_by_hand(model, ids, source, length, width):
    """One sequence: its candidates in a list, each computed again for each token."""
    model.eval()
    candidates = [(0.0, ids)]
    for _ in range(length - len(ids)):
        longer = [(total, ids) for total, ids in candidates if ids[-1] == STOP]
        for total, ids in (candidate for candidate in candidates if candidate[1][-1] != STOP):
            scores = model(ids[None]) if source is None else model(source[None], ids[None])
            log_p = scores[0, -1].float().log_softmax(-1)
            longer += [(total + log_p[i].item(), torch.cat([ids, torch.tensor([i])])) for i in range(N) if i != PAD]
        candidates = sorted(longer, key=lambda candidate: candidate[0], reverse=True)[:width]
    return candidates[0][1]


def padded(rows, length):
    return torch.stack([torch.cat([r, r.new_zeros(length - len(r))]) for r in rows])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_greedy_is_the_argmax_again_and_again(seed):
    torch.manual_seed(seed)
    for model, source in ((writer(), None), (translator(), SOURCES)):
        prompt = torch.full((3, 1), START) if source is not None else torch.tensor([[3], [4], [5]])
        got = greedy(model, prompt, source, stop=STOP, length=12)
        rows = [
            by_hand(model, prompt[b : b + 1], None if source is None else source[b : b + 1], 12)[0] for b in range(3)
        ]
        assert torch.equal(got, padded(rows, max(map(len, rows))))


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 3, 6])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [writer, translator, reader])
def test_a_beam_with_caches_is_one_that_computes_everything_again(make, seed, width):
    """What a model keeps between two steps follows the candidates that go on."""
    torch.manual_seed(seed)
    model, prompt = make(), torch.tensor([[3, 4], [4, 8], [7, 6]])
    source = None if make is writer else SOURCES
    got = beam(model, prompt, source, stop=STOP, length=9, width=width)
    rows = [beam_by_hand(model, prompt[b], None if source is None else source[b], 9, width) for b in range(3)]
    assert torch.equal(got, padded(rows, max(map(len, rows))))


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_prompts_of_different_lengths_are_as_each_alone(seed, width):
    torch.manual_seed(seed)
    model, prompt = writer(), torch.tensor([[3, 4, 5, 6], [7, 0, 0, 0], [8, STOP, 4, 0]])
    got = beam(model, prompt, stop=STOP, length=9, width=width)
    for b, row in enumerate(prompt):
        alone = beam(model, row[row != PAD][None], stop=STOP, length=9, width=width)[0]
        assert torch.equal(got[b], padded([alone], got.shape[1])[0])
        assert torch.equal(got[b][: (row != PAD).sum()], row[row != PAD])


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_beam_wide_enough_finds_the_best_of_all(seed, penalty):
    torch.manual_seed(seed)
    model, source, length = translator(), SOURCES[:1], 4
    everything = set()
    for tokens in product(range(1, N), repeat=length - 1):
        end = tokens.index(STOP) + 1 if STOP in tokens else len(tokens)
        everything.add((START, *tokens[:end], *[PAD] * (len(tokens) - end)))
    ids = torch.tensor(sorted(everything))
    value = log_probability(model, ids, source.expand(len(ids), -1)) / ((ids != PAD).sum(1) - 1) ** penalty
    got = beam(model, torch.tensor([[START]]), source, stop=STOP, length=length, width=N**3, penalty=penalty)
    assert torch.equal(padded(list(got), length)[0], ids[value.argmax()])


@pytest.mark.parametrize("seed", range(4))
def test_a_wider_beam_knows_all_that_a_narrow_one_ends_with(seed):
    """Not always better, but here it is; and never worse than what it is compared with, if that is in it."""
    torch.manual_seed(seed)
    model, prompt = translator(), torch.full((3, 1), START)
    found = [padded(list(beam(model, prompt, SOURCES, stop=STOP, length=7, width=w)), 7) for w in (1, 200)]
    narrow, wide = (log_probability(model, ids, SOURCES) for ids in found)
    assert (wide >= narrow - 1e-9).all()


def test_after_stop_there_is_only_padding():
    torch.manual_seed(1)
    got = greedy(translator(), torch.full((3, 1), START), SOURCES, stop=STOP, length=30)
    for row in got:
        ends = (row == STOP).nonzero()
        assert len(ends) <= 1
        if len(ends):
            assert (row[ends[0, 0] + 1 :] == PAD).all()
    assert (got[:, -1] != PAD).any()


def test_a_full_prompt_is_the_answer():
    prompt = torch.tensor([[3, 4, 5]])
    assert torch.equal(greedy(writer(), prompt, stop=STOP, length=3), prompt)


def test_dropout_is_off_and_comes_back():
    model, prompt = writer(), torch.tensor([[3]])
    first, second = (greedy(model, prompt, stop=STOP, length=20) for _ in range(2))
    assert torch.equal(first, second)
    assert model.training
    with pytest.raises(ValueError, match="ids must lie"):
        greedy(model, torch.tensor([[N]]), stop=STOP, length=20)
    assert model.training
    model.decoder.eval()  # frozen, as a part may be
    greedy(model, prompt, stop=STOP, length=4)
    assert model.training
    assert not any(part.training for part in model.decoder.modules())
    greedy(model.eval(), prompt, stop=STOP, length=4)
    assert not model.training


def test_nothing_is_tracked_and_nothing_given_is_changed():
    model, prompt = translator(), torch.full((3, 1), START)
    before = [prompt.clone(), SOURCES.clone()]
    beam(model, prompt, SOURCES, stop=STOP, length=5, width=2)
    assert_close([prompt, SOURCES], before)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    ("prompt", "options", "words"),
    [
        ([[3]], {"width": 0}, "width must be at least 1, got 0"),
        (
            [[3, 4, 5]],
            {"length": 2},
            r"ids \(B, L\) with B ≥ 1, L from 1 to length = 2, got \(1, 3\)",
        ),
        ([3], {}, r"prompt must be token ids \(B, L\) .* got \(1,\)"),
        ([[]], {}, r"L from 1 to length = 9, got \(1, 0\)"),
        ([[0, 3]], {}, r"every prompt needs a first token, and padding \(0\) only on its right; got \[\[0, 3\]\]"),
        ([[3, 0, 3]], {}, "padding .* only on its right"),
        ([[3]], {"stop": 0}, "stop and pad must be two tokens, got 0 for both"),
        ([[3]], {"stop": N}, f"stop and pad must be tokens from 0 to {N - 1}, got {N} and 0"),
        ([[3]], {"stop": -2}, "stop and pad must be tokens"),
        ([[3]], {"pad": N}, "stop and pad must be tokens"),
        ([[3]], {"pad": -1}, "stop and pad must be tokens"),
        ([[3], [4]], {"source": SOURCES}, "each prompt has its source, but there are 2 and 3"),
    ],
)
def test_errors_teach(prompt, options, words):
    with pytest.raises(ValueError, match=words):
        beam(writer(), torch.tensor(prompt), **{"stop": STOP, "length": 9, "width": 2} | options)
    with pytest.raises(ValueError, match="got a list"):
        greedy(writer(), prompt, stop=STOP, length=9)


class Always(nn.Module):
    """Writes one token, again and again."""

    def __init__(self, token):
        super().__init__()
        self.scores = F.one_hot(torch.tensor(token), N).float()

    def start(self, source):
        return self

    def select(self, rows): ...

    def step(self, ids, state):
        return self.scores.expand(*ids.shape, N)


@pytest.mark.parametrize("token", range(1, N))
def test_without_a_stop_any_token_is_written_on(token):
    prompt = torch.tensor([[3], [4]])
    ids = greedy(Always(token), prompt, stop=None, length=6)
    assert torch.equal(ids, torch.cat([prompt, torch.full((2, 5), token)], 1))


def test_without_a_stop_it_writes_on():
    ids = greedy(writer(), torch.tensor([[3], [4]]), stop=None, length=30)
    assert ids.shape == (2, 30)
    assert (ids != 0).all()


def cut_by_hand(scores, temperature, top_k, top_p):
    """One row of scores, with lists: the definition."""
    exps = [torch.tensor((s - max(scores)) / temperature, dtype=torch.float64).exp().item() for s in scores]
    likeliest = sorted(range(len(scores)), key=lambda i: (-exps[i], i))[:top_k]
    total, kept, reached = sum(exps[i] for i in likeliest), [], 0.0
    for i in likeliest:
        if reached < (top_p or 2.0):
            kept.append(i)
            reached += exps[i] / total
    total = sum(exps[i] for i in kept)
    return torch.tensor([exps[i] / total if i in kept else 0.0 for i in range(len(scores))], dtype=torch.float64)


@given(
    scores=st.lists(st.integers(-6, 6), min_size=1, max_size=9),
    temperature=st.sampled_from([0.3, 0.7, 1.0, 2.5]),
    top_k=st.none() | st.integers(1, 10),
    top_p=st.none() | st.sampled_from([0.11, 0.47, 0.83, 0.9999]),
)
def test_filtered_is_its_definition(scores, temperature, top_k, top_p):
    got = filtered(torch.tensor([scores, scores[::-1]]).float(), temperature, top_k, top_p)
    assert got.dtype == torch.float64
    for row, values in zip(got, (scores, scores[::-1]), strict=True):
        assert_close(row, cut_by_hand(values, temperature, top_k, top_p))


def test_filtered_by_hand():
    scores = torch.tensor([[1.0, 4.0, 2.0, 1.0]], dtype=torch.float64).log()  # probabilities 1/8, 1/2, 1/4, 1/8
    for options, want in (
        ({}, [1, 4, 2, 1]),
        ({"temperature": 0.5}, [1, 16, 4, 1]),
        ({"top_k": 2}, [0, 4, 2, 0]),
        ({"top_k": 3}, [1, 4, 2, 0]),  # of the two 1/8 the first
        ({"top_k": 9}, [1, 4, 2, 1]),
        ({"top_p": 0.49}, [0, 1, 0, 0]),
        ({"top_p": 0.51}, [0, 4, 2, 0]),  # the one that crosses it is kept
        ({"top_p": 0.76}, [1, 4, 2, 0]),
        ({"top_p": 0.6, "top_k": 2}, [0, 1, 0, 0]),  # 1/2 is 2/3 of what top_k leaves
        ({"top_p": 0.6, "temperature": 0.5}, [0, 1, 0, 0]),  # and 16/22 of what the temperature makes
        ({"top_p": 1.0}, [1, 4, 2, 1]),
        ({"temperature": 0}, [0, 1, 0, 0]),
        ({"temperature": 1e-320}, [0, 1, 0, 0]),
        ({"temperature": 1e300}, [1, 1, 1, 1]),
    ):
        want = torch.tensor([want], dtype=torch.float64)
        assert_close(filtered(scores, **options), want / want.sum())


def test_what_is_as_likely_is_taken_in_order():
    same = torch.zeros(2, 3, 40)
    for options in ({"top_k": 1}, {"temperature": 0}, {"top_p": 1e-9}):
        assert (filtered(same, **options)[..., 0] == 1).all()
    assert (filtered(same, top_k=7)[..., :7] > 0.1).all()
    assert filtered(torch.zeros(4), top_p=0.5).tolist() == [0.5, 0.5, 0, 0], "two quarters are half, and enough"


def test_a_very_unlikely_token_is_still_there_with_top_p_1():
    p = filtered(torch.tensor([0.0, -50.0, -torch.inf]), top_p=1.0)
    assert 0 < p[1] < 1e-21
    assert p[2] == 0


def test_filtered_takes_any_type_and_changes_nothing():
    scores = torch.tensor([3.0, 1.0, 2.0])
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert_close(filtered(scores.to(kind), 0.5, 2, 0.9), filtered(scores, 0.5, 2, 0.9))
    assert scores.tolist() == [3, 1, 2]
    assert filtered(torch.tensor([1e30, 1e30, -1e30])).tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": -0.1}, "temperature must be a number from 0 on, got -0.1"),
        ({"temperature": float("nan")}, "temperature must be a number from 0 on, got nan"),
        ({"temperature": float("inf")}, "temperature must be"),
        ({"top_k": 0}, "top_k must be an integer, at least 1, or None for all; got 0"),
        ({"top_k": 2.0}, "top_k must be an integer, .* got 2.0"),
        ({"top_p": 0}, "top_p must be a probability above 0, up to 1; got 0"),
        ({"top_p": 1.01}, "top_p must be .* got 1.01"),
        ({"top_p": 90}, "top_p must be .* got 90"),
    ],
)
def test_filters_that_are_none_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        filtered(torch.zeros(3), **options)
    with pytest.raises(ValueError, match=words):
        sample(writer(), torch.tensor([[3]]), stop=STOP, length=4, seed=0, **options)


@pytest.mark.parametrize("bad", [[float("nan"), 1], [float("inf"), 1], [-float("inf")] * 2])
def test_scores_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="scores must be numbers, or -inf where a token can't come"):
        filtered(torch.tensor([[1.0, 2.0], bad]))


class Remembers(nn.Module):
    """Scores that depend on the token before, and on nothing else: a table (N, N)."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def start(self, source):
        return self

    def step(self, ids, state):
        return self.table[ids]


def surprising(counts, p):
    """How far counts are from what the probabilities say, in chi-square's standard deviations."""
    counts, p = counts[p > 0], p[p > 0]
    expected = p * counts.sum()
    degrees = len(p) - 1
    return ((((counts - expected) ** 2 / expected).sum() - degrees) / (2 * degrees) ** 0.5).item()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0.6}, {"temperature": 1.7, "top_k": 5}, {"top_p": 0.8}, {"top_k": 6, "top_p": 0.9}],
)
def test_what_is_drawn_comes_as_often_as_it_should(options):
    """The first tokens of many rows, and the next ones of a few long texts: from many seeds, and from one."""
    table = torch.randn(N, N)
    wanted = table.clone()
    wanted[:, PAD] = -torch.inf
    p = filtered(wanted, **options)
    prompt = torch.full((4000, 1), 3)
    wide = sample(Remembers(table), prompt, stop=None, length=4, seed=5, **options)
    long = sample(Remembers(table), prompt[:3], stop=None, length=3000, seed=7, **options)
    found = []
    for ids in (wide[:, :2], wide[:, 1:], long):
        for token in range(1, N):
            following = ids[:, 1:][ids[:, :-1] == token].bincount(minlength=N).double()
            assert (following[p[token] == 0] == 0).all()
            if following.sum() > 300 and (p[token] > 0).sum() > 1:
                found.append(surprising(following, p[token]))
    assert len(found) >= 6
    assert max(found) < 4


@pytest.mark.parametrize("make", [writer, translator, reader])
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_is_drawn_one_by_one_without_caches(make, seed):
    torch.manual_seed(seed)
    model, prompt, options = make(), torch.tensor([[3, 4], [4, 8], [7, 6]]), (0.8, 6, 0.95)
    source = None if make is writer else SOURCES
    temperature, top_k, top_p = options
    got = sample(
        model, prompt, source, stop=STOP, length=9, seed=seed, temperature=temperature, top_k=top_k, top_p=top_p
    )
    rows = []
    model.eval()
    for b in range(3):
        numbers, ids = torch.Generator().manual_seed(seed + b), prompt[b]
        while len(ids) < 9 and (len(ids) == 2 or ids[-1] != STOP):
            with torch.no_grad():
                scores = model(ids[None])[0, -1] if source is None else model(source[b : b + 1], ids[None])[0, -1]
            scores[PAD] = -torch.inf
            number, token = torch.rand((), dtype=torch.float64, generator=numbers), 0
            p = filtered(scores, *options)
            while number >= p[: token + 1].sum():
                token += 1
            ids = torch.cat([ids, torch.tensor([token])])
        rows.append(ids)
    assert torch.equal(got, padded(rows, max(map(len, rows))))


@pytest.mark.parametrize("seed", range(4))
def test_a_row_is_what_its_seed_writes_alone(seed):
    torch.manual_seed(seed)
    model, prompt = writer(), torch.tensor([[3, 4, 5, 6], [7, 0, 0, 0], [8, STOP, 4, 0]])
    got = sample(model, prompt, stop=STOP, length=12, seed=40)
    for b, row in enumerate(prompt):
        alone = sample(model, row[row != PAD][None], stop=STOP, length=12, seed=40 + b)[0]
        assert torch.equal(got[b], padded([alone], got.shape[1])[0])
        assert torch.equal(got[b][: (row != PAD).sum()], row[row != PAD])


def test_a_seed_writes_the_same_and_another_something_else():
    model, prompt = writer(), torch.tensor([[3], [3]])
    torch.manual_seed(3)
    first = sample(model, prompt, stop=None, length=30, seed=1)
    state = torch.get_rng_state()
    assert torch.equal(sample(model, prompt, stop=None, length=30, seed=1), first)
    assert torch.equal(torch.get_rng_state(), state), "the seed of the rest of the program is not touched"
    assert torch.equal(sample(model, prompt, stop=None, length=9, seed=1), first[:, :9])
    assert not torch.equal(sample(model, prompt, stop=None, length=30, seed=3), first)
    assert not torch.equal(first[0], first[1])
    assert torch.equal(sample(model, prompt[:1], stop=None, length=30, seed=2)[0], first[1])
    assert (first != PAD).all()


def test_numbers_of_a_seed_are_these():
    """A row's text hangs on them: 53 bits of a Mersenne twister, here in thousandths, as NumPy's gives them, too."""
    spread = Remembers(torch.zeros(1001, 1001))
    ids = sample(spread, torch.tensor([[3], [3]]), stop=None, length=7, seed=0)
    assert (ids[:, 1:] - 1).tolist() == [[970, 707, 459, 920, 645, 791], [61, 224, 234, 177, 556, 109]]
    many = sample(spread, torch.full((9, 1), 3), stop=None, length=40, seed=0)
    assert torch.equal(many[:2, :7], ids)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{"temperature": 0}, {"temperature": 1e-9}, {"top_k": 1}, {"top_p": 1e-9}])
def test_the_likeliest_alone_is_greedy(seed, options):
    torch.manual_seed(seed)
    for model, source in ((writer(), None), (translator(), SOURCES)):
        prompt = torch.tensor([[3, 4], [4, 0], [5, 6]])
        got = sample(model, prompt, source, stop=STOP, length=12, seed=seed, **options)
        assert torch.equal(got, greedy(model, prompt, source, stop=STOP, length=12))


def test_a_sample_ends_with_stop_and_never_writes_padding():
    torch.manual_seed(1)
    got = sample(Remembers(torch.zeros(N, N)), torch.full((200, 1), 3), stop=STOP, length=60, seed=0)
    assert got.shape[1] < 61
    for row in got:
        ends = (row == STOP).nonzero()
        assert len(ends) <= 1
        length = ends[0, 0] + 1 if len(ends) else 60
        assert (row[:length] != PAD).all()
        assert (row[length:] == PAD).all()
    assert (got[:, -1] != PAD).any()
    assert {*got.flatten().tolist()} == {*range(N)}
    other = sample(Remembers(torch.zeros(N, N)), torch.full((50, 1), 3), stop=STOP, length=30, seed=0, pad=5)
    assert (other == 0).any()
    for row in other:
        assert (row[: (row != 5).sum()] != 5).all()


def test_a_full_prompt_is_the_sample_and_dropout_comes_back():
    model, prompt = writer(), torch.tensor([[3, 4, 5]])
    assert torch.equal(sample(model, prompt, stop=STOP, length=3, seed=0), prompt)
    assert model.training
    scores = torch.zeros(N, N)
    sample(Remembers(scores), prompt, stop=STOP, length=9, seed=0)
    assert (scores == 0).all()
    written = sample(model, prompt.int(), stop=STOP, length=9, seed=0)
    assert not written.requires_grad
    assert written.dtype == torch.int32


@pytest.mark.parametrize(
    ("prompt", "options", "words"),
    [
        ([[3, 4, 5]], {"length": 2}, r"ids \(B, L\) with B ≥ 1, L from 1 to length = 2, got \(1, 3\)"),
        ([[0, 3]], {}, "every prompt needs a first token"),
        ([[3]], {"stop": 0}, "stop and pad must be two tokens, got 0 for both"),
        ([[3]], {"stop": N}, f"stop and pad must be tokens from 0 to {N - 1}, got {N} and 0"),
        ([[3]], {"pad": N}, "stop and pad must be tokens"),
        ([[3], [4]], {"source": SOURCES}, "each prompt has its source, but there are 2 and 3"),
    ],
)
def test_errors_of_a_sample_teach(prompt, options, words):
    with pytest.raises(ValueError, match=words):
        sample(writer(), torch.tensor(prompt), **{"stop": STOP, "length": 9, "seed": 0} | options)


class Anybodys(nn.Module):
    """A model that knows nothing of this package: ids (B, L) give scores, or what `transformers` gives."""

    def __init__(self, wrapped=False):
        super().__init__()
        torch.manual_seed(0)
        self.model, self.wrapped = LanguageModel(N, 8, 2, 32, 1), wrapped

    def forward(self, ids):
        scores = self.model(ids)
        return SimpleNamespace(logits=scores) if self.wrapped else scores


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("write", [greedy, partial(beam, width=3), partial(sample, seed=1)])
def test_anybodys_model_writes_what_one_that_keeps_its_keys_would(write, wrapped):
    theirs, prompts = Anybodys(wrapped), torch.tensor([[3, 4, 5], [6, 0, 0]])
    assert torch.equal(write(theirs, prompts, stop=None, length=9), write(theirs.model, prompts, stop=None, length=9))


def test_a_model_that_can_not_write_is_told_why():
    prompt = torch.tensor([[1, 2]])
    for model, message in (
        (3, "model must be a torch.nn.Module, got an int"),
        (Flat(), r"Flat\(ids\) must give the scores \(B, L, N\) .* \(1, 2\), got torch.float32 of \(1, 9\)"),
    ):
        with pytest.raises(ValueError, match=message):
            greedy(model, prompt, stop=None, length=4)
    with pytest.raises(ValueError, match="Anybodys is called with ids alone"):
        greedy(Anybodys(), prompt, prompt, stop=None, length=4)
    with pytest.raises(ValueError, match="seed must be an integer"):
        sample(Anybodys(), prompt, stop=None, length=4, seed="x")


class Flat(nn.Module):
    def forward(self, ids):
        return torch.zeros(len(ids), 9)
