"""The same run twice is the same; a run that is killed goes on to the same numbers; what the loop itself must do."""

import math
import os
import signal
import subprocess
import sys
from functools import partial
from itertools import count

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close
from tqdm import tqdm

from attnbook.learning.training import fit

OPTIONS = {"steps": 23, "lr": 0.05, "warm_up": 4, "every": 5, "seed": 3}


def make():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))


def batch(generator):
    """Draws from every generator there is: all must go on where they were."""
    x = torch.randn(16, 3, generator=generator) + np.random.rand() + torch.rand(())  # noqa: NPY002
    return x, x.sum(1, keepdim=True)


def loss(model, given):
    x, y = given
    return (model(x) - y).square().mean()


def metric(model):
    assert not model.training
    return -loss(model, batch(torch.Generator().manual_seed(9))).item()


def train(checkpoint=None, batch=batch, **options):
    model = make()
    history = fit(model, loss, batch, metric=metric, checkpoint=checkpoint, **OPTIONS | options)
    return model.state_dict(), history


def test_the_same_seed_gives_the_same_run():
    (first, history), (second, again), (other, _) = train(), train(), train(seed=4)
    assert_close(first, second, rtol=0, atol=0)
    assert history == again
    assert not torch.equal(first["0.weight"], other["0.weight"])
    assert len(history.losses) == 23
    assert list(history.metrics) == [5, 10, 15, 20, 23]


KILLED_AT = (3, 6, 13, 22)


def train_until_killed(at, path):
    """The exit code of a process that is killed in a step, in the middle of everything."""
    steps = count(1)

    def last_batch(generator):
        if next(steps) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return batch(generator)

    child = os.fork()
    if not child:
        train(path, last_batch)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture(scope="module")
def killed_runs(tmp_path_factory):
    """A folder with the checkpoint of each run: forks of one process, which has loaded PyTorch once."""
    folder = tmp_path_factory.mktemp("killed")
    code = f"""
from tests.library.test_training import KILLED_AT, train, train_until_killed
train(steps=1)  # loads what PyTorch loads late
print([train_until_killed(at, f"{folder}/{{at}}.pt") for at in KILLED_AT])
"""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([-signal.SIGKILL.value] * len(KILLED_AT))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("at", KILLED_AT)
def test_a_run_that_was_killed_goes_on_to_the_same_numbers(at, killed_runs):
    path, want = killed_runs / f"{at}.pt", train()
    assert path.exists()
    drawn = []
    weights, history = train(path, lambda generator: (drawn.append(1), batch(generator))[1])
    assert len(drawn) == 23 - (at - 1) // 5 * 5  # what was done before the last look is not done again
    assert_close(weights, want[0], rtol=0, atol=0)
    assert history == want[1]


def test_a_finished_run_is_not_run_again(tmp_path):
    weights, history = train(tmp_path / "run.pt")
    again = train(tmp_path / "run.pt", lambda generator: pytest.fail("nothing is left to do"))
    assert_close(again[0], weights, rtol=0, atol=0)
    assert again[1] == history
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


def test_training_ends_where_the_metric_says():
    _, whole = train()
    looks = list(whole.metrics.items())
    best = max(value for _, value in looks[:3])
    end = next(step for step, value in looks if value >= best)
    _, short = train(until=best)
    assert len(short.losses) == end
    assert short.losses == whole.losses[:end]


def test_the_rate_rises_then_falls_and_gradients_are_clipped():
    """One weight whose gradient is always 1: Adam moves it by the rate itself."""
    model, places = nn.Linear(1, 1, bias=False), []

    def slope(model, _):
        places.append(model.weight.item())
        return model.weight.sum()

    fit(model, slope, lambda generator: None, 20, lr=0.1, warm_up=5, betas=(0.0, 0.0), clip=1.0)
    moves = -np.diff([*places, model.weight.item()])
    want = [0.1 * min(1, (i + 1) / 5) * (1 + math.cos(math.pi * i / 20)) / 2 for i in range(20)]
    np.testing.assert_allclose(moves, want, rtol=1e-3, atol=1e-6)
    fit(model, lambda model, _: 1000 * model.weight.sum(), lambda generator: None, 1, clip=0.5, warm_up=0)
    assert_close(model.weight.grad.abs(), torch.tensor([[0.5]]), rtol=1e-4, atol=0)


def test_the_bar_shows_the_loss_and_the_metric_of_each_look(monkeypatch):
    said = []

    class Bar(tqdm):
        def set_postfix(self, **shown):
            said.append(shown)

    monkeypatch.setattr("attnbook.learning.training.tqdm", Bar)
    _, history = train()
    assert said == [{"loss": history.losses[n - 1], "metric": metric} for n, metric in history.metrics.items()]


def test_afterwards_the_model_is_ready_to_use():
    model = make()
    fit(model, loss, batch, 2)
    assert not model.training


def test_a_checkpoint_of_another_run_or_a_damaged_one_says_so(tmp_path):
    train(tmp_path / "run.pt")
    with pytest.raises(ValueError, match=r"run.pt is of another run: steps was 23, is 24; lr was 0.05, is 0.1"):
        train(tmp_path / "run.pt", steps=24, lr=0.1)
    with pytest.raises(ValueError, match=r"run.pt is of another run: the model is another\. Delete it"):
        fit(nn.Linear(3, 1), loss, batch, checkpoint=tmp_path / "run.pt", **OPTIONS)
    whole = (tmp_path / "run.pt").read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"something else"):
        (tmp_path / "bad.pt").write_bytes(content)
        with pytest.raises(ValueError, match=r"bad.pt is not a checkpoint of training"):
            train(tmp_path / "bad.pt")


@pytest.mark.parametrize("options", [{"steps": 0}, {"every": 0}])
def test_nothing_to_do_is_refused(options):
    with pytest.raises(ValueError, match=r"(steps|every) must be at least 1"):
        train(**options)


def test_it_ends_by_the_last_metric_not_by_the_best(tmp_path):
    """A run that was good once, and was cut off later, goes on."""
    looks = iter([0.95, 0.2, 0.3, 0.96, 0.1])

    def cut_off(generator):
        if len(drawn) == 12:
            raise KeyboardInterrupt
        drawn.append(1)
        return batch(generator)

    drawn, model = [], make()
    with pytest.raises(KeyboardInterrupt):
        fit(model, loss, cut_off, metric=lambda model: next(looks), checkpoint=tmp_path / "run.pt", **OPTIONS)
    assert not model.training
    history = fit(
        make(), loss, batch, metric=lambda model: next(looks), until=0.9, checkpoint=tmp_path / "run.pt", **OPTIONS
    )
    assert history.metrics == {5: 0.95, 10: 0.2, 15: 0.3, 20: 0.96}
    assert len(history.losses) == 20


def test_numbers_that_are_none_are_not_passed_over():
    with pytest.raises(ValueError, match=r"the metric became nan in step 5\. Try a smaller lr"):
        fit(make(), loss, batch, metric=lambda model: math.nan, **OPTIONS)
    model = make()
    with pytest.raises(ValueError, match="the loss became inf in step 0"):
        fit(model, lambda model, given: loss(model, given) * math.inf, batch, **OPTIONS)
    assert_close(model.state_dict(), make().state_dict(), rtol=0, atol=0)  # nothing is lost
    with pytest.raises(ValueError, match="until is what a metric must reach: give a metric"):
        fit(make(), loss, batch, until=0.9, **OPTIONS)


def test_a_checkpoint_gets_a_folder_before_the_first_step(tmp_path):
    def no_batch(generator):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(make(), loss, no_batch, checkpoint=tmp_path / "new" / "run.pt", **OPTIONS)
    assert (tmp_path / "new" / "run.pt").exists()


def test_what_it_does_unless_told_otherwise():
    """seed 0, lr 0.001, 50 steps of warming up, Adam's (0.9, 0.98), gradients clipped at 1, a look every 100 steps."""
    told = {"lr": 1e-3, "warm_up": 50, "betas": (0.9, 0.98), "clip": 1.0, "every": 100, "seed": 0, "until": math.inf}
    (one, other), histories = (make(), make()), []
    for model, options in ((one, {}), (other, told)):
        histories.append(fit(model, loss, batch, 101, metric=metric, **options))
    assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=0)
    assert histories[0] == histories[1]
    assert list(histories[0].metrics) == [100, 101]


def test_in_mixed_precision_products_are_in_bfloat16_and_all_that_is_kept_in_float32(tmp_path):
    products = set()

    def looked_at(model, given):
        x, y = given
        guess = model(x)
        products.add(guess.dtype)
        return (guess.float() - y).square().mean()

    model = make()
    history = fit(model, looked_at, batch, dtype=torch.bfloat16, checkpoint=tmp_path / "mixed", **OPTIONS)
    assert products == {torch.bfloat16}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    whole = fit(make(), looked_at, batch, **OPTIONS)
    assert history.losses != whole.losses
    assert_close(history.losses, whole.losses, atol=0.05, rtol=0.05)
    assert products == {torch.bfloat16, torch.float32}
    with pytest.raises(ValueError, match=r"dtype was torch\.bfloat16, is None"):
        fit(make(), looked_at, batch, checkpoint=tmp_path / "mixed", **OPTIONS)


def test_who_has_chosen_a_precision_around_it_keeps_it():
    seen = set()

    def looked_at(model, given):
        seen.add(model(given[0]).dtype)
        return loss(model, given)

    with torch.autocast("cpu", torch.bfloat16):
        fit(make(), looked_at, batch, **OPTIONS)
    assert seen == {torch.bfloat16}


def test_a_precision_that_needs_more_than_this_is_refused():
    with pytest.raises(ValueError, match="Small gradients vanish in float16"):
        train(dtype=torch.float16)
    with pytest.raises(ValueError, match=r"must be torch\.bfloat16"):
        train(dtype=torch.float64)


def test_another_optimizer_has_the_same_rates():
    """Plain gradient descent: each step goes down its gradient by the rate that rises and falls."""
    model = nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    weights = []
    fit(
        model,
        lambda model, x: 3 - model.weight.sum(),  # its gradient is -1
        lambda generator: None,
        6,
        lr=0.1,
        warm_up=3,
        optimizer=torch.optim.SGD,
        after_step=lambda model, history: weights.append(model.weight.item()),
    )
    factors = [min(1, (step + 1) / 3) * (1 + math.cos(math.pi * step / 6)) / 2 for step in range(6)]
    assert_close(torch.tensor(weights), 0.1 * torch.tensor(factors).cumsum(0))


def test_settings_of_an_optimizer_come_along():
    decayed, plain = (train(optimizer=partial(torch.optim.AdamW, weight_decay=w))[0] for w in (0.5, 0.0))
    assert not torch.equal(decayed["0.weight"], plain["0.weight"])


@pytest.mark.parametrize("optimizer", [torch.optim.SGD(make().parameters()), lambda parameters, lr: None, "adam"])
def test_what_makes_no_optimizer(optimizer):
    said = "optimizer must be what makes one of PyTorch's from parameters and lr=, got .*Try torch.optim.SGD"
    with pytest.raises(ValueError, match=said):
        train(optimizer=optimizer)


def test_small_batches_one_after_the_other_are_one_large_batch():
    model, x, y = nn.Linear(3, 1), torch.randn(24, 3), torch.randn(24, 1)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    parts = iter(list(zip(x.split(8), y.split(8), strict=True)) * 5)
    many = fit(model, loss, lambda generator: next(parts), 5, accumulate=3)
    learned = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(start)
    once = fit(model, loss, lambda generator: (x, y), 5)
    assert_close(learned, model.state_dict())
    assert_close(many.losses, once.losses)
    assert next(parts, None) is None


def test_a_small_batch_whose_loss_is_no_number_changes_nothing():
    model, good = make(), torch.ones(1, 3)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    batches = iter([good, good * math.nan])
    with pytest.raises(ValueError, match="the loss became nan in step 0"):
        fit(model, lambda model, x: model(x).sum(), lambda generator: next(batches), 1, accumulate=2)
    assert_close(model.state_dict(), start, rtol=0, atol=0)


def test_after_each_step_somebody_may_look():
    seen = []
    _, history = train(after_step=lambda model, history: seen.append((model.training, history.losses[-1])))
    assert seen == [(True, value) for value in history.losses]


def test_a_checkpoint_of_another_optimizer_says_so(tmp_path):
    train(tmp_path / "run.pt", optimizer=torch.optim.SGD)
    with pytest.raises(ValueError, match=r"of another run: optimizer was SGD {'lr': .*, is Adam {'lr'"):
        train(tmp_path / "run.pt")
