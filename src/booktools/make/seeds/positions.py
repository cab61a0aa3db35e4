"""What chapter 8 measures beside its page, by its own code: layers trained on 12 letters read longer texts.

both      the chapter's table once more, without a mask: for each of three seeds, by the number of letters
attacks   of texts of 96 letters, how many in a hundred come out right, for each of three seeds, all with a causal mask:
          as on the page, trained five times as long, with steeper slopes, with other clocks, with positions from random
          starts
slower    rotary clocks, two heads of width 16, slowed down after training in one way or another, and trained a little
          on 96 letters then
none      two layers with a causal mask and no positions, after two budgets, by the number of letters
buckets   a number for each of T5's buckets, with a causal mask, by the number of letters
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.device import seed_everything
from attnbook.layers.positions import Rotary
from attnbook.layers.scaling import NTKAware, PositionInterpolation, YaRN
from attnbook.learning.training import fit
from booktools.book.edition import edition

LONG, SEEDS, TIMES = 96, 3, 8


def places() -> dict[str, dict[str, Any]]:
    own: dict[str, Any] = {"__name__": "chapter_8"}
    exec(edition(Path()).from_scratch["08_positional_encoding"], own)
    return {measure.__name__: measure(own) for measure in (both, _attacks, none, _slower, _buckets)}


def percent(own: dict[str, Any], models: Iterable[nn.Module], length: int = LONG) -> list[int]:
    return [round(100 * own["right"](model.eval(), length)) for model in models]


def _trained_three_times(own: dict[str, Any], kind: Callable[[], nn.Module], **named: Any) -> list[nn.Module]:
    return [own["trained"](kind, seed, **named) for seed in range(SEEDS)]


class Clocks(nn.Module):
    """Rotary positions with any base, and with clocks that are slowed down in one way or another."""

    def __init__(self, base: float = 10_000.0, scaling: PositionInterpolation | None = None):
        super().__init__()
        self.base, self.scaling = base, scaling

    def add(self, x_BLD: Tensor) -> Tensor:
        return x_BLD

    def turn(self, x_BHLK: Tensor) -> Tensor:
        return Rotary(x_BHLK.shape[-1], pairing="neighbours", base=self.base, scaling=self.scaling)(x_BHLK)

    def bias(self, L: int) -> Tensor:
        return torch.zeros(L, L)


class Louder(PositionInterpolation):
    """Clocks as they are, and scores as large as YaRN makes them."""

    loudness = YaRN(TIMES, trained=12).loudness


class Wandering(Clocks):
    """Sinusoidal positions that begin anywhere from 0 to 99 in training."""

    def __init__(self, sinusoidal: Callable[[int, int], Tensor]):
        super().__init__()
        self.sinusoidal = sinusoidal

    def add(self, x_BLD: Tensor) -> Tensor:
        L, D = x_BLD.shape[1:]
        start = int(torch.randint(100, ())) if self.training else 0
        return x_BLD + self.sinusoidal(start + L, D)[start:]

    def turn(self, x_BHLK: Tensor) -> Tensor:
        return x_BHLK


def both(own: dict[str, Any]) -> dict[str, list[list[int]]]:
    _, rows = own["table"](False, [own[name] for name in ("Sinusoidal", "Relative", "ALiBi", "Rotary")])
    return {name: row.round().int().tolist() for name, row in rows.items()}


def _attacks(own: dict[str, Any]) -> dict[str, list[int]]:
    longer = {"steps": 1500}
    tried = {
        "Relative": (own["Relative"], {}),
        "Relative, five times as long": (own["Relative"], longer),
        "ALiBi": (own["ALiBi"], {}),
        "ALiBi, five times as long": (own["ALiBi"], longer),
        "ALiBi, four times as steep": (_steep(own), {}),
        "Rotary": (Clocks, {}),
        "Rotary, five times as long": (Clocks, longer),
        "Rotary, base 100": (lambda: Clocks(100.0), {}),
        "Rotary, base 500,000": (lambda: Clocks(500_000.0), {}),
        "Sinusoidal": (own["Sinusoidal"], {}),
        "Sinusoidal, five times as long": (own["Sinusoidal"], longer),
        "the same, from random starts": (lambda: Wandering(own["sinusoidal"]), longer),
    }
    found = {name: percent(own, _trained_three_times(own, kind, **named)) for name, (kind, named) in tried.items()}
    return found | {"Rotary, a rate that rises and falls": percent(own, map(partial(_fitted, own), range(SEEDS)))}


def _steep(own: dict[str, Any]) -> type[nn.Module]:
    base: Any = own["ALiBi"]

    class Steep(base):
        def bias(self, L: int) -> Tensor:
            return 4 * super().bias(L)

    return Steep


def _fitted(own: dict[str, Any], seed: int) -> nn.Module:
    """Trained not by the chapter's loop but by `fit`, with its warm-up, its cosine and its clipped gradients."""
    seed_everything(seed)
    model = own["Neighbour"](Clocks())
    fit(model, lambda model, given: F.cross_entropy(model(*given[:2]), given[2]), own["draw"], 200, lr=5e-2, seed=seed)
    return model


def none(own: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    one = own["Neighbour"]

    class Two(one):
        def __init__(self, positions: nn.Module, causal: bool = True):
            super().__init__(positions, causal)
            self.layer = nn.Sequential(_Residual(own["Layer"](positions, causal)), _Residual(self.layer))

    found = {}
    own["Neighbour"] = Two  # which `trained` makes
    for steps in (300, 3000):
        models = _trained_three_times(own, own["Positions"], steps=steps, lr=5e-3)
        found[f"{steps:,} steps"] = {str(n): percent(own, models, n) for n in (12, 24, 48, 96)}
    own["Neighbour"] = one
    return found


class _Residual(nn.Module):
    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layer(x)


def _slower(own: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    heads, own["HEADS"] = own["HEADS"], 2
    trained = _trained_three_times(own, Clocks)
    ways = {
        "as they are": Clocks(),
        "larger scores": Clocks(scaling=Louder(1)),
        "all slower": Clocks(scaling=PositionInterpolation(TIMES)),
        "slow ones": Clocks(scaling=NTKAware(TIMES)),
        "YaRN": Clocks(scaling=YaRN(TIMES, trained=12)),
    }
    found: dict[str, dict[str, list[int]]] = {}
    for name, clocks in ways.items():
        models: list[Any] = deepcopy(trained)
        for model in models:
            model.layer.positions = clocks
        found[name], before = {"0": percent(own, models)}, 0
        for steps in (20, 50, 100):
            for seed, model in enumerate(models):
                _go_on(own, model, steps - before, seed=100 + seed + before)
            found[name][str(steps)], before = percent(own, models), steps
    own["HEADS"] = heads
    return found


def _go_on(own: dict[str, Any], model: nn.Module, steps: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        letters_BL, stars_BL, before_B = own["draw"](generator, length=LONG)
        optimizer.zero_grad()
        F.cross_entropy(model(letters_BL, stars_BL), before_B).backward()
        optimizer.step()


def _buckets(own: dict[str, Any]) -> dict[str, list[int]]:
    base: Any = own["Positions"]

    class Buckets(base):
        """T5's 16 buckets for what comes before: eight for distances below 8, then two for each doubling."""

        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.zeros(own["HEADS"], 16))

        def bias(self, L: int) -> Tensor:
            back_LL = -own["distances"](L).clamp(max=0)
            far_LL = (8 + 2 * (back_LL.clamp(min=8) / 8).log2()).long().clamp(max=15)
            return self.table[:, torch.where(back_LL < 8, back_LL, far_LL)]

    models = _trained_three_times(own, Buckets)
    return {str(n): percent(own, models, n) for n in own["LENGTHS"]}
