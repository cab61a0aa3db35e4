"""What chapter 4 measures with several seeds.

numbers    chapter 4: for each of three seeds, networks that read a number of up to 24 digits and write it again, with
           additive attention and without, and without but four times as wide, for 1,000 steps, and without for 8,000:
           the share that comes out right, by how many digits there are
rates_4    the same without attention for 1,000 steps, at a third of that learning rate and at three times it
readers    chapter 4: for each of three seeds, the reader of dates after 400 steps, with one score or another (products
           also divided by the root of their width), with what it knows at both ends, and with the mean of all it has
           read (after 1,200 steps, too): how many of a thousand dates come out right; and of the one with additive
           scores how many with a blindfold, and where it looks
readers_slower  chapter 4: the same for each score at a third of that learning rate
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.device import seed_everything
from attnbook.layers.additive import AdditiveAttention
from attnbook.layers.softmax import masked_softmax
from attnbook.learning.text import PAD, START, STOP
from attnbook.learning.training import fit
from attnbook.learning.translation import Translation
from attnbook.models.decoding import greedy
from attnbook.models.seq2seq import Seq2Seq
from attnbook.tasks.dates import date_pairs, share_on_spans
from booktools.make.seeds.transformers import DATES, right

TAUGHT = 60_000  # dates
STEPS, LONGER = 1000, 8000  # of networks without attention, where 1,000 may be too few
LONGEST, NUMBERS = 24, 500  # digits, numbers tested of each length


class BothEnds(nn.Module):
    """In place of attention: what each direction of the encoder knows when it has read all, for every query."""

    def __init__(self):
        super().__init__()
        self.query = self.key = nn.Identity()

    def blend(self, query: Tensor, keys: Tensor, memory_BMV: Tensor, mask_B1M: Tensor) -> Tensor:
        forwards, backwards = memory_BMV.chunk(2, -1)
        last_B = mask_B1M.sum((1, 2)) - 1
        return torch.cat([forwards[torch.arange(len(last_B)), last_B], backwards[:, 0]], -1)[:, None]


class Mean(BothEnds):
    """In place of attention: the mean of all that was read."""

    def blend(self, query: Tensor, keys: Tensor, memory_BMV: Tensor, mask_B1M: Tensor) -> Tensor:
        return mask_B1M / mask_B1M.sum(-1, keepdim=True) @ memory_BMV


class Bilinear(nn.Module):
    """Scores q·W k (Luong's *general*); with `width`, W_q q · W_k k, both of that width.

    `scaled` divides them by the root of the width that is summed over.
    """

    def __init__(self, D: int, width: int | None = None, *, scaled: bool = False):
        super().__init__()
        self.root = (width or 2 * D) ** 0.5 if scaled else 1.0
        self.query = nn.Linear(D, width or 2 * D, bias=False)
        self.key = nn.Linear(2 * D, width, bias=False) if width else nn.Identity()

    def blend(self, query: Tensor, keys: Tensor, memory_BMV: Tensor, mask_B1M: Tensor) -> Tensor:
        return masked_softmax(query @ keys.mT / self.root, mask_B1M) @ memory_BMV


class Linear(nn.Module):
    """Additive scores without their tanh."""

    def __init__(self, attention: AdditiveAttention):
        super().__init__()
        self.query, self.key, self.score = attention.query, attention.key, attention.score

    def blend(self, query: Tensor, keys: Tensor, memory_BMV: Tensor, mask_B1M: Tensor) -> Tensor:
        scores_BLM = self.score(query[:, :, None] + keys[:, None])[..., 0]
        return masked_softmax(scores_BLM, mask_B1M) @ memory_BMV


def numbers(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed, "tested": NUMBERS, "steps": STEPS, "longer": LONGER, "longest": LONGEST}
    for name, D, looks, steps in (
        ("attention", 32, True, STEPS),
        ("none", 32, False, STEPS),
        ("none_wide", 128, False, STEPS),
        ("none_longer", 32, False, LONGER),
    ):
        seed_everything(seed)
        model = Seq2Seq(N=13, D=D)  # ten digits, and what pads, starts and stops
        if not looks:
            model.add_module("attention", BothEnds())
        fit(model, Translation.loss, lambda generator: drawn(generator, 64, 1, LONGEST), steps, lr=1e-2, seed=seed)
        row[name] = {n: copied(model, n) for n in range(4, LONGEST + 1, 4)}
    return row


def rates_4(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed}
    for rate in (3e-3, 3e-2):
        seed_everything(seed)
        model = Seq2Seq(N=13, D=32)
        model.add_module("attention", BothEnds())
        fit(model, Translation.loss, lambda generator: drawn(generator, 64, 1, LONGEST), STEPS, lr=rate, seed=seed)
        row[f"{rate:g}"] = {n: copied(model, n) for n in range(4, LONGEST + 1, 4)}
    return row


def drawn(generator: torch.Generator, size: int, shortest: int, longest: int) -> tuple[Tensor, Tensor]:
    """Random numbers as ids, each with a STOP, and the same with a START in front: what is read and what is written."""
    lengths_B = torch.randint(shortest, longest + 1, (size,), generator=generator)
    ids_BM = torch.randint(STOP + 1, STOP + 11, (size, longest + 1), generator=generator)
    places_M = torch.arange(longest + 1)
    ids_BM[places_M == lengths_B[:, None]] = STOP
    ids_BM[places_M > lengths_B[:, None]] = PAD
    return ids_BM, F.pad(ids_BM, (1, 0), value=START)


@torch.no_grad()
def copied(model: Seq2Seq, n: int) -> float:
    """The share of numbers of n digits that come out right to the last."""
    source, target = drawn(torch.Generator().manual_seed(99), NUMBERS, n, n)
    written = greedy(model, target[:, :1], source, stop=STOP, length=n + 2)
    right = (F.pad(written, (0, n + 2 - written.shape[1]), value=PAD) == target).all(1)
    return round(right.float().mean().item(), 3)


def readers(seed: int) -> dict[str, object]:
    task = Translation(date_pairs(TAUGHT))
    pairs = date_pairs(DATES, held_out=True)
    rest = Translation(pairs, vocabulary=task.vocabulary)
    row: dict[str, object] = {"seed": seed, "taught": TAUGHT, "tested": DATES, "steps": 400}

    model = _trained_reader(task, _SCORES["additive"], seed)
    row["additive"] = right(rest, model)
    shares = share_on_spans(model.alignment(rest.source, rest.target[:, :-1]), pairs)
    row["spans"] = {part: round(share, 3) for part, share in shares.items()}
    nn.init.zeros_(model.attention.score.weight)
    row["blindfold"] = right(rest, model)
    for name, look in _SCORES.items():
        if name != "additive":
            row[name] = right(rest, _trained_reader(task, look, seed))
    for steps in (400, 1200):
        mean = _trained_reader(task, lambda _: Mean(), seed, steps)
        row[f"mean_{steps}"] = right(rest, mean)
        hits = [text == pair.target for text, pair in zip(rest.translate(mean), pairs, strict=True)]
        slashes = [hit for hit, pair in zip(hits, pairs, strict=True) if "/" in pair.source]
        row[f"mean_{steps}_slashes"] = round(sum(slashes) / len(slashes), 3)
    return row


def readers_slower(seed: int) -> dict[str, object]:
    task = Translation(date_pairs(TAUGHT))
    rest = Translation(date_pairs(DATES, held_out=True), vocabulary=task.vocabulary)
    row: dict[str, object] = {"seed": seed, "tested": DATES, "steps": 400, "rate": 1e-2}
    return row | {name: right(rest, _trained_reader(task, look, seed, rate=1e-2)) for name, look in _SCORES.items()}


_SCORES: dict[str, Callable[[AdditiveAttention], nn.Module]] = {
    "additive": lambda additive: additive,
    "linear": Linear,
    "bilinear": lambda _: Bilinear(32),
    "dot": lambda _: Bilinear(32, width=32),
    "bilinear_scaled": lambda _: Bilinear(32, scaled=True),
    "dot_scaled": lambda _: Bilinear(32, width=32, scaled=True),
    "ends": lambda _: BothEnds(),
}


def _trained_reader(
    task: Translation,
    look: Callable[[AdditiveAttention], nn.Module],
    seed: int,
    steps: int = 400,
    rate: float = 3e-2,
) -> Seq2Seq:
    """A reader of dates that has learned; `look` makes its attention from an additive one."""
    seed_everything(seed)
    model = Seq2Seq(len(task.vocabulary), D=32)
    model.add_module("attention", look(model.attention))
    fit(model, task.loss, task.batch(64), steps, lr=rate, seed=seed)
    return model
