"""Training: one loop for every model of the book. On one device the same numbers each time; no step is lost."""

import math
import os
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from attnbook._inputs import check_module, check_sizes, kind_of
from attnbook.device import pick_device, seed_everything


@dataclass
class History:
    """What happened: the loss of every step, and what the metric was after which step.

    >>> history = History(losses=[1.5, 0.7, 0.4], metrics={2: 0.5, 3: 0.9})
    >>> history.losses[-1], max(history.metrics.values())
    (0.4, 0.9)
    """

    losses: list[float] = field(default_factory=list)
    metrics: dict[int, float] = field(default_factory=dict)


def fit(
    model: nn.Module,
    loss: Callable[[Any, Any], Tensor],
    batch: Callable[[torch.Generator], Any],
    steps: int,
    *,
    lr: float = 1e-3,
    warm_up: int = 50,
    betas: tuple[float, float] = (0.9, 0.98),
    clip: float = 1.0,
    optimizer: Callable[..., torch.optim.Optimizer] | None = None,
    accumulate: int = 1,
    after_step: Callable[[nn.Module, History], object] | None = None,
    metric: Callable[[Any], float] | None = None,
    until: float = math.inf,
    every: int = 100,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> History:
    """The history of a training whose rate rises to `lr` in `warm_up` steps and falls along a cosine to 0.

    Every random generator starts from `seed` (`seed_everything`), and in the end the model is in evaluation mode.

    batch(generator)   draws what one step learns from
    loss(model, it)    is made smaller
    optimizer          Adam with `betas`, unless given: what makes one from parameters and `lr=`, such as
                       `partial(torch.optim.AdamW, weight_decay=0.1)`
    clip               the gradient of a step is made no longer than this
    accumulate         how many batches a step learns from, one after the other: for more than memory holds at once
    after_step(model, history)   is called after each step, to draw, log or look inside
    metric(model)      is looked at after every so many steps, in evaluation mode: more is better, and once it is at
                       least `until` training ends
    checkpoint         a file: with every look all is stored there, and a run that was cut off goes on from it, to the
                       same numbers it would have reached with the same model, loss and batches
    device             where the model learns: the GPU, if there is one. What batch draws is taken along: tensors, or
                       tuples, lists and dicts of them. For each look, and at the end, the model is back where it was
    dtype              torch.bfloat16 for mixed precision: matrices are multiplied in it, which a GPU does several times
                       faster; parameters, what Adam keeps and sums stay in float32

    >>> model, x = nn.Linear(1, 1), torch.linspace(-1, 1, 9)[:, None]
    >>> history = fit(model, lambda model, x: (model(x) - 3 * x).square().mean(), lambda generator: x, 300, lr=0.1)
    >>> round(model.weight.item(), 3), len(history.losses)
    (3.0, 300)
    """
    check_module("model", model)
    check_sizes(steps=steps, every=every, accumulate=accumulate)
    if until < math.inf and metric is None:
        raise ValueError("until is what a metric must reach: give a metric, or leave it out.")
    if dtype not in (None, torch.bfloat16):
        hint = " Small gradients vanish in float16." if dtype == torch.float16 else ""
        raise ValueError(f"dtype must be torch.bfloat16, for mixed precision, or left out; got {dtype}.{hint}")
    device = _device(device)
    seed_everything(seed)
    settings = {"steps": steps, "lr": lr, "warm_up": warm_up, "clip": clip, "every": every, "accumulate": accumulate}
    settings |= {"seed": seed, "model": str(model), "dtype": dtype and str(dtype)}
    with _on(model, device) as home:
        run = _Run(model, optimizer or partial(torch.optim.Adam, betas=betas), settings)
        if checkpoint is not None:
            run.go_on_from(Path(checkpoint))
        with tqdm(total=steps, initial=run.taken) as bar:
            while run.taken < steps and not run.metric >= until:
                run.step(loss, batch, device, dtype)
                bar.update()
                if after_step is not None:
                    after_step(model, run.history)
                if run.taken % every and run.taken < steps:
                    continue  # it is not time for a look
                if metric is not None:
                    run.look(metric, home)
                    bar.set_postfix(loss=run.history.losses[-1], metric=run.metric)
                if checkpoint is not None:
                    run.save(Path(checkpoint))
        return run.history


def _device(asked: torch.device | str | None) -> torch.device:
    try:
        return pick_device() if asked is None else torch.device(asked)
    except RuntimeError:
        raise ValueError(f"device must be one of PyTorch's, such as 'cpu' or 'cuda', got {asked!r}.") from None


def _number(value: object, step: int) -> float:
    """The loss of a step, which must be one number, and a number."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        hint = "Try .mean()." if isinstance(value, Tensor) else "Leave out .item(): a number has no gradient."
        raise ValueError(f"loss(model, it) must give a tensor of one number, got {kind_of(value)}. {hint}")
    return _finite("loss", value.item(), step)


@contextmanager
def _on(model: nn.Module, device: torch.device) -> Iterator[torch.device]:
    """Where the model was; in between it is on `device`, and in the end, in evaluation mode, back there."""
    home = next((parameter.device for parameter in model.parameters()), device)
    try:
        model.to(device)
        yield home
    finally:
        model.eval().to(home)


def _to_device(given, device):
    """The same batch, its tensors on a device."""
    match given:
        case Tensor():
            return given.to(device)
        case dict():
            return {name: _to_device(part, device) for name, part in given.items()}
        case list() | tuple():
            parts = [_to_device(part, device) for part in given]
            return type(given)(*parts) if hasattr(given, "_fields") else type(given)(parts)
    return given


def _finite(what: str, value: float, step: int) -> float:
    if not math.isfinite(value):
        raise ValueError(f"the {what} became {value} in step {step}. Try a smaller lr; is a mask or a log behind it?")
    return value


def _optimizer(make: Callable[..., torch.optim.Optimizer], model: nn.Module, lr: float) -> torch.optim.Optimizer:
    made = make(model.parameters(), lr=lr) if callable(make) else make
    if callable(make) and isinstance(made, torch.optim.Optimizer):
        return made
    raise ValueError(
        f"optimizer must be what makes one of PyTorch's from parameters and lr=, got {kind_of(made)}. "
        "Try torch.optim.SGD, or functools.partial(torch.optim.AdamW, weight_decay=0.1)."
    )


def _warm_up_then_cosine(step: int, steps: int, warm_up: int) -> float:
    """The factor of the learning rate in a step, counted from 0."""
    rising = min(1.0, (step + 1) / max(1, warm_up))
    return rising * (1 + math.cos(math.pi * step / steps)) / 2


class _Run:
    """A step after the other, a look after some; and all that decides how training goes on, in a file."""

    def __init__(self, model: nn.Module, make: Callable[..., torch.optim.Optimizer], settings: dict):
        self.model, self.history = model, History()
        steps, warm_up = settings["steps"], settings["warm_up"]
        self.generator = torch.Generator().manual_seed(settings["seed"])
        self.optimizer = _optimizer(make, model, settings["lr"])
        defaults = self.optimizer.defaults | {"lr": settings["lr"]}
        self.settings = settings | {"optimizer": f"{type(self.optimizer).__name__} {defaults}"}
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: _warm_up_then_cosine(step, steps, warm_up)
        )

    def step(
        self, loss: Callable[[Any, Any], Tensor], batch: Callable, device: torch.device, dtype: torch.dtype | None
    ) -> None:
        """The step of chapter 3, with gradients clipped and a rate that changes."""
        self.model.train()
        self.optimizer.zero_grad()
        batches, number = self.settings["accumulate"], 0.0
        for _ in range(batches):
            given = _to_device(batch(self.generator), device)
            with nullcontext() if dtype is None else torch.autocast(device.type, dtype):
                value = loss(self.model, given)
            number += _number(value, self.taken) / batches  # before it spoils what was learned
            (value / batches).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings["clip"])
        self.optimizer.step()
        self.schedule.step()
        self.history.losses.append(number)

    def look(self, metric: Callable[[Any], float], home: torch.device) -> None:
        with _on(self.model, home), torch.no_grad():
            self.history.metrics[self.taken] = _finite("metric", float(metric(self.model.eval())), self.taken)

    @property
    def taken(self) -> int:
        """How many steps were taken."""
        return len(self.history.losses)

    @property
    def metric(self) -> float:
        """What it was after the last step; if there was no look then, less than any."""
        return self.history.metrics.get(self.taken, -math.inf)

    def go_on_from(self, path: Path) -> None:
        """What is stored there; or a first checkpoint, since a path that can't be written to is to fail now."""
        if path.exists():
            self.load(path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.save(path)

    def save(self, path: Path) -> None:
        """Whole or not at all: the file takes its name when it is complete."""
        stored = {
            "settings": self.settings,
            "states": [part.state_dict() for part in (self.model, self.optimizer, self.schedule)],
            "generator": self.generator.get_state(),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "numpy": _listed(np.random.get_state()),  # noqa: NPY002 (the generator that seed_everything seeds)
            "python": random.getstate(),
            "history": (self.history.losses, self.history.metrics),
        }
        part = path.with_name(f"{path.name}.part")
        torch.save(stored, part)
        os.replace(part, path)

    def load(self, path: Path) -> None:
        try:
            stored = torch.load(path, map_location="cpu", weights_only=True)
            was = dict.fromkeys(self.settings) | stored["settings"]
        except Exception as error:
            raise ValueError(f"{path} is not a checkpoint of training: {error}") from error
        changed = {name: now for name, now in self.settings.items() if was[name] != now}
        if changed:
            model = ["the model is another"] * (changed.pop("model", None) is not None)
            differ = "; ".join(model + [f"{name} was {was[name]}, is {now}" for name, now in changed.items()])
            raise ValueError(f"{path} is of another run: {differ}. Delete it, or name another checkpoint.")
        for part, state in zip((self.model, self.optimizer, self.schedule), stored["states"], strict=True):
            part.load_state_dict(state)
        self.generator.set_state(stored["generator"])
        torch.set_rng_state(stored["torch"])
        if torch.cuda.is_available():
            torch.cuda.set_rng_state_all(stored["cuda"][: torch.cuda.device_count()])
        np.random.set_state(stored["numpy"])  # noqa: NPY002
        random.setstate(stored["python"])
        self.history.losses[:], self.history.metrics = stored["history"]


def _listed(state: Iterable) -> tuple:
    """NumPy's state without arrays, which a file that is only data can hold."""
    return tuple(part.tolist() if isinstance(part, np.ndarray) else part for part in state)
