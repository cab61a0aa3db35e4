"""The model by hand, token by token; padding, steps and rows of a batch; errors that teach."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import Seq2Seq, additive_scores, beam, capture_attention, greedy

B, L, M, N, D = 3, 5, 7, 11, 6
SOURCE = torch.tensor([[3, 4, 5, 6, 7, 8, 9], [5, 4, 3, 0, 0, 0, 0], [6, 0, 0, 0, 0, 0, 0]])


def make(**options):
    model = Seq2Seq(N, D, embedding=4, **options)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model.double()


@torch.no_grad()
def by_hand(model, source, target):
    """One sequence without padding: the equations, and PyTorch's cells one at a time."""
    both = [nn.GRUCell(4, D).double() for _ in range(2)]
    for cell, suffix in zip(both, ("", "_reverse"), strict=True):
        cell.load_state_dict({name: getattr(model.encoder, f"{name}_l0{suffix}") for name in cell.state_dict()})
    x = model.source.weight[source]
    states = []
    for cell, order in zip(both, (range(len(x)), reversed(range(len(x)))), strict=True):
        hidden, found = torch.zeros(D, dtype=torch.float64), {}
        for i in order:
            hidden = found[i] = cell(x[i], hidden)
        states.append(torch.stack([found[i] for i in range(len(x))]))
    memory = torch.cat(states, -1)
    hidden = torch.tanh(model.first.weight @ states[1][0] + model.first.bias)
    scores, maps = [], []
    for token in target:
        q, k = model.attention.query(hidden[None]), model.attention.key(memory)
        weights = additive_scores(q, k, model.attention.score.weight[0]).softmax(-1)
        context = (weights @ memory)[0]
        hidden = model.decoder(torch.cat([model.target.weight[token], context]), hidden)
        scores.append(model.output(torch.cat([hidden, context])))
        maps.append(weights)
    return torch.stack(scores), torch.cat(maps)


def test_equals_the_equations():
    model, target = make(), torch.randint(N, (B, L))
    scores, maps = model(SOURCE, target), model.alignment(SOURCE, target)
    assert scores.shape == (B, L, N)
    for b, row in enumerate(SOURCE):
        real = row[row != 0]
        want, weights = by_hand(model, real, target[b])
        assert_close(scores[b], want)
        assert_close(maps[b, :, : len(real)], weights)
        assert (maps[b, :, len(real) :] == 0).all()


def test_step_by_step_is_all_at_once():
    model, target = make(), torch.randint(N, (B, L))
    state = model.start(SOURCE)
    parts = [model.step(part, state) for part in target.split([2, 1, 2], dim=1)]
    assert_close(torch.cat(parts, 1), model(SOURCE, target))


def test_rows_selected_go_on_as_they_were():
    model, target, rows = make(), torch.randint(N, (4, L)), torch.tensor([2, 0, 0, 1])
    state = model.start(SOURCE)
    state.select(rows)
    assert_close(model.step(target, state), model(SOURCE[rows], target))


def test_a_source_of_nothing_is_nothing_to_look_at():
    model, target = make(), torch.randint(N, (1, L))
    with capture_attention(model) as maps:
        scores = model(torch.zeros(1, M, dtype=torch.int64), target)
    assert (maps["attention"] == 0).all()
    assert scores.isfinite().all()


def test_every_parameter_learns():
    model = make(target_N=N + 2)
    model(SOURCE, torch.randint(N, (B, L))).square().sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())


def test_dropout_in_training_only():
    model, target = make(dropout=0.5), torch.randint(N, (B, L))
    assert not torch.allclose(model(SOURCE, target), model(SOURCE, target))
    model.eval()
    assert_close(model(SOURCE, target), model(SOURCE, target), rtol=0, atol=0)


def test_decodes_like_any_other_model():
    model, prompt = make().eval(), torch.ones(B, 1, dtype=torch.int64)
    ids = greedy(model, prompt, SOURCE, stop=2, length=8)
    for b in range(B):
        row, scores = ids[b][ids[b] != 0], model(SOURCE[b : b + 1], ids[b : b + 1])[0]
        scores[:, 0] = -torch.inf
        assert_close(scores[: len(row) - 1].argmax(-1), row[1:])
        alone = beam(model, prompt[:1], SOURCE[b : b + 1], stop=2, length=8, width=3)[0]
        together = beam(model, prompt, SOURCE, stop=2, length=8, width=3)[b]
        assert_close(together[together != 0], alone[alone != 0])


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: make()(SOURCE + 5, SOURCE), "ids must lie between 0 and 10, got 5 to 14"),
        (lambda: make()(SOURCE, SOURCE - 1), "ids must lie between 0 and 10, got -1 to 8"),
    ],
)
def test_errors_teach(act, words):
    with pytest.raises(ValueError, match=words):
        act()


def test_dropout_is_on_what_is_read_and_what_is_written():
    """With everything dropped, neither the source nor the target makes a difference."""
    model = make(dropout=1.0)
    source, target = torch.randint(1, N, (2, B, M)), torch.randint(N, (2, B, L))
    want = model(source[0], target[0])
    assert_close(model(source[1], target[0]), want)
    assert_close(model(source[0], target[1]), want)


def test_embeddings_are_16_wide_unless_told_otherwise():
    assert Seq2Seq(N).source.weight.shape == Seq2Seq(N).target.weight.shape == (N, 16)


@pytest.mark.slow
def test_compiled_it_computes_the_same():
    model, target = make().float(), torch.randint(N, (B, L))
    compiled = torch.compile(model, backend="aot_eager")
    assert_close(compiled(SOURCE, target), model(SOURCE, target), rtol=1e-4, atol=1e-5)


def test_alignment_is_without_dropout_and_leaves_training_as_it_was():
    model, target = make(dropout=0.5), torch.randint(N, (B, L))
    assert_close(model.alignment(SOURCE, target), model.alignment(SOURCE, target), rtol=0, atol=0)
    assert model.training


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ([[0, 5, 6]], [[1]], r"source must have its padding \(0\) on the right, got \[\[0, 5, 6\]\]"),
        ([5, 6], [[1]], r"source must have shape \(B, M\)"),
        ([[]], [[1]], r"source must have shape \(B, M\)"),
        ([[5, 6]], [[1], [2]], r"target must have shape \(B, L\) = \(1, L\), got \(2, 1\)"),
        ([[5, 6]], [[]], r"target must have shape \(B, L\)"),
        ([[5, 6]], [1, 2], r"target must have shape \(B, L\)"),
    ],
)
def test_batches_that_do_not_fit_are_refused(source, target, words):
    with pytest.raises(ValueError, match=words):
        make()(torch.tensor(source, dtype=torch.int64), torch.tensor(target, dtype=torch.int64))
