"""Greedy is the argmax again and again; a beam wide enough finds the best of all; lengths may differ."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from attnbook import LanguageModel, Seq2Seq, Transformer, beam, greedy

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
        ([[0, 3]], {}, r"every prompt needs a first token, and padding \(0\) only on its right; got \[\[0, 3\]\]"),
        ([[3, 0, 3]], {}, "padding .* only on its right"),
        ([[3]], {"stop": 0}, "stop and pad must be two tokens, got 0 for both"),
        ([[3]], {"stop": N}, f"stop and pad must be tokens from 0 to {N - 1}, got {N} and 0"),
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
