"""What a step of training is given, what it makes smaller, and how many come out right.

That both models learn the dates, and look where they should, is asserted in chapters 4 and 9.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from attnbook import Transformer, fit, seed_everything
from attnbook.learning.text import PAD, START, STOP
from attnbook.learning.translation import Translation

PAIRS = [("ab", "ba"), ("abc", "cba"), ("c", "c")]


class Known(nn.Module):
    """Writes what it is told to, letter by letter, whatever it reads."""

    def __init__(self, ids, N):
        super().__init__()
        self.scores = F.one_hot(ids, N).float() * 9

    def forward(self, source, target):
        return self.scores[:, : target.shape[1]]

    def start(self, source):
        self.seen = 0
        return self

    def step(self, ids, state):
        self.seen += ids.shape[1]
        return self.scores[:, self.seen - ids.shape[1] : self.seen]

    def select(self, rows):
        assert torch.equal(rows, torch.arange(len(self.scores)))


def test_sources_end_and_targets_begin_and_end():
    task = Translation(PAIRS)
    assert task.source.tolist() == [[3, 4, STOP, PAD], [3, 4, 5, STOP], [5, STOP, PAD, PAD]]
    assert task.target.tolist() == [
        [START, 4, 3, STOP, PAD],
        [START, 5, 4, 3, STOP],
        [START, 5, STOP, PAD, PAD],
    ]
    other = Translation([("cc", "a")], vocabulary=task.vocabulary)
    assert other.source.tolist() == [[5, 5, STOP]]
    assert Translation([("the cat", "le chat")], words=True).vocabulary.tokens[3:] == ("cat", "chat", "le", "the")


def test_batches_are_pairs_at_random():
    task = Translation(PAIRS)
    source, target = task.batch(3000)(torch.Generator().manual_seed(0))
    rows = [task.source.tolist().index(row) for row in source.tolist()]
    assert rows == [task.target.tolist().index(row) for row in target.tolist()]
    assert all(900 < rows.count(row) < 1100 for row in range(3))
    again, _ = task.batch(3000)(torch.Generator().manual_seed(0))
    assert torch.equal(source, again)


def test_the_loss_is_of_each_next_token_and_not_of_padding():
    task = Translation(PAIRS)
    scores = torch.randn(3, 4, 6)
    chances = scores.softmax(-1)
    want = [
        -chances[row, i, task.target[row, i + 1]].log() for row, length in enumerate((3, 4, 2)) for i in range(length)
    ]
    got = task.loss(lambda source, target: scores[:, : target.shape[1]], (task.source, task.target))
    assert_close(got, torch.stack(want).mean())


def test_how_many_are_right_to_the_last_letter():
    task = Translation(PAIRS)
    right = Known(task.target[:, 1:], 6)
    assert task.translate(right) == ["ba", "cba", "c"]
    assert task.exact(right) == 1
    wrong = task.target[:, 1:].clone()
    wrong[1, 2] = 4
    assert task.translate(Known(wrong, 6)) == ["ba", "cbb", "c"]
    assert task.exact(Known(wrong, 6)) == 2 / 3
    wrong[0, 2] = 3  # goes on where it should stop
    assert task.exact(Known(wrong, 6)) == 1 / 3


@pytest.mark.slow
def test_a_wider_beam_translates_no_worse():
    seed_everything(1)
    task = Translation(PAIRS)
    model = Transformer(len(task.vocabulary), 16, 2, 32, 1, 0.0)
    fit(model, task.loss, task.batch(8), 60, lr=1e-2)
    assert task.translate(model) == task.translate(model, width=3) == [target for _, target in PAIRS]


def test_spaces_between_words_do_not_count_and_nothing_is_not_enough():
    task = Translation([("a", " b  a "), ("b", "a\n")], words=True)
    assert task.exact(Known(task.target[:, 1:], 5)) == 1
    with pytest.raises(ValueError, match="there is nothing to learn from"):
        Translation([])
