"""Training on another device: everything is taken along, comes back, and the numbers are the same."""

import copy
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import fit, learn_vectors
from attnbook.learning import training
from attnbook.learning.translation import Translation
from attnbook.models.seq2seq import Seq2Seq
from attnbook.models.transformer import Transformer
from attnbook.tasks.dates import date_pairs
from attnbook.tasks.grammar import sentences
from attnbook.tasks.marks import Finder, marked_letters
from attnbook.tasks.neighbours import KINDS, Neighbour, letters_with_a_star
from attnbook.tasks.senses import ThreeMatrices, texts_to_read

from .pretend import DEVICE, Pretended, Pretending


@pytest.fixture
def elsewhere():
    with Pretending():
        yield DEVICE


def test_it_refuses_what_a_gpu_refuses(elsewhere):
    there, here = torch.ones(2, 3, device=elsewhere), torch.ones(2, 3)
    assert there.device == elsewhere
    assert (there @ there.mT).sum().item() == 12
    for mix in (lambda: there + here, lambda: here.mul_(there), lambda: torch.cat([there, here])):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            mix()
    with pytest.raises(RuntimeError, match="numpy"):
        there.numpy()
    with pytest.raises(RuntimeError, match="Expected a 'pretend' device type for generator but found 'cpu'"):
        torch.rand(2, device=elsewhere, generator=torch.Generator())
    assert_close(there.cpu() + here, 2 * here)
    assert (there * 2).tolist() == [[2.0] * 3] * 2


def trained():
    """What chapters train: a model, its loss, its batches."""
    task = Translation(date_pairs(200, seed=1))
    N = len(task.vocabulary)
    yield "recurrent", Seq2Seq(N, D=16), task.loss, task.batch(8)
    yield "transformer", Transformer(N, 16, 2, 32, 1, dropout=0.0), task.loss, task.batch(8)
    yield "heads", Finder(2), Finder.loss, marked_letters(8)
    yield "matrices", ThreeMatrices(), ThreeMatrices.loss, texts_to_read(4)
    for kind in KINDS:
        yield kind, Neighbour(kind), Neighbour.loss, letters_with_a_star(8)


@pytest.mark.parametrize(("model", "loss", "batch"), [pytest.param(*rest, id=name) for name, *rest in trained()])
def test_what_chapters_train(model, loss, batch, elsewhere):
    seen, twin = set(), copy.deepcopy(model)

    def watched(model, given):
        seen.update(type(parameter) for parameter in model.parameters())
        return loss(model, given)

    there = fit(model, watched, batch, 4, lr=1e-2, device=elsewhere)
    here = fit(twin, loss, batch, 4, lr=1e-2, device="cpu")
    assert seen == {Pretended}
    assert_close(torch.tensor(there.losses), torch.tensor(here.losses))
    assert_close(dict(model.named_parameters()), dict(twin.named_parameters()), rtol=1e-3, atol=1e-4)
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu"}


def test_where_there_is_a_gpu_it_is_used(elsewhere, monkeypatch):
    used = []
    monkeypatch.setattr(training, "pick_device", lambda: used.append(elsewhere) or elsewhere)
    vectors = learn_vectors(sentences(20, seed=1), steps=5)
    assert used == [elsewhere]
    assert vectors.vectors.device.type == "cpu"


@pytest.fixture
def same_parameters():
    """A module keeps its parameters on the way, as it does on the way to a GPU."""
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_each_look_is_at_home_and_training_goes_on(elsewhere, same_parameters):
    model, looks = nn.Linear(1, 1), []

    def metric(model):
        looks.append(model.weight.device.type)
        return model(torch.ones(1, 1)).item()

    x = torch.linspace(-1, 1, 9)[:, None]
    history = fit(
        model, lambda model, x: (model(x) - 3 * x).square().mean(), lambda _: x, 300, lr=0.1, metric=metric,
        device=elsewhere,
    )  # fmt: skip
    assert looks == ["cpu"] * 3
    assert history.metrics[300] == pytest.approx(3, abs=1e-3)
    assert model.weight.item() == pytest.approx(3, abs=1e-3)


class Drawn(NamedTuple):
    x: torch.Tensor
    more: dict


def test_all_that_a_batch_holds_is_taken_along(elsewhere):
    def loss(model, given):
        x, (y, name) = given.x, given.more["pair"]
        assert (x.device, y.device, name) == (elsewhere, elsewhere, "dots")
        return (model(x) - y).square().mean()

    drawn = Drawn(torch.ones(2, 2), {"pair": [torch.ones(2, 1), "dots"]})
    fit(nn.Linear(2, 1), loss, lambda _: drawn, 1, device=elsewhere)


def test_a_model_comes_home_from_what_fails(elsewhere, tmp_path):
    model, path = nn.Linear(2, 1), tmp_path / "checkpoint"
    path.write_text("not one")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        fit(model, lambda model, x: model(x).sum(), lambda _: torch.ones(1, 2), 1, checkpoint=path, device=elsewhere)
    assert model.weight.device.type == "cpu"


def test_a_forgotten_tensor_is_found(elsewhere):
    wanted = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="same device"):
        fit(
            nn.Linear(2, 1), lambda model, x: (model(x) - wanted).sum(), lambda _: torch.ones(4, 2), 1, device=elsewhere
        )
