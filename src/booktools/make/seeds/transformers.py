"""What chapter 9 measures with several seeds.

phrases    chapter 9: for each of five seeds, its Transformer and its recipe on phrases, 200 steps and 500: how many of
           three thousand the longer training gets wrong, where a noun and an adjective meet for the first time (`new`),
           and where they have met before, in phrases as long that are not in training either (`control`); how many of
           the new ones each of the two gets right, greedily and with a beam of four; and after the first mistake of a
           phrase, wrong words in a hundred: aligned where the model goes on by itself, and where it is given the right
           words
dates      for each of three seeds, how many of a thousand dates come out right: from an encoder and a decoder of one
           block, from a decoder alone of one block, and of two; and of one block after four times as many steps
rates      for each of three seeds, how many come out right of Transformers of three sizes, width by blocks, after 500
           steps at one rate and at another
warm_up    for each of three seeds, how many come out right after 500 steps, of one block and of six, where the rate
           rises for 50 steps at first, and where it is there at once
"""

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.device import seed_everything
from attnbook.learning.text import PAD, START, STOP, Vocabulary
from attnbook.learning.training import fit
from attnbook.learning.translation import Translation
from attnbook.models.decoding import greedy
from attnbook.models.transformer import LanguageModel, Transformer
from attnbook.tasks.dates import date_pairs
from attnbook.tasks.phrases import new_and_control, phrase_pairs

SIZES = {"D": 32, "heads": 4, "hidden": 128, "dropout": 0.0}
PHRASES, DATES = 3000, 1000  # tested
SHORT, LONG, STEPS = 200, 500, 1000  # of the phrases, of the dates


def phrases(seed: int) -> dict[str, float]:
    taught = phrase_pairs(30_000)
    task = Translation(taught, words=True)
    new, control = (
        Translation(pairs, words=True, vocabulary=task.vocabulary) for pairs in new_and_control(taught, PHRASES)
    )
    row: dict[str, float] = {"seed": seed, "tested": PHRASES, "short_steps": SHORT, "long_steps": LONG}
    for name, steps in (("short", SHORT), ("long", LONG)):
        seed_everything(seed)
        model = Transformer(len(task.vocabulary), **SIZES, layers=1)
        fit(model, task.loss, task.batch(64), steps, lr=1e-2, seed=seed)
        own, forced = _after_a_mistake(new, model)
        row |= {f"{name}_own": own, f"{name}_forced": forced}
        row |= {f"{name}_greedy": right(new, model), f"{name}_beam": right(new, model, width=4)}
    return row | {"new": PHRASES - right(new, model), "control": PHRASES - right(control, model)}


def right(task: Translation, model: nn.Module, width: int = 1) -> int:
    return sum(got == want for got, (_, want, *_) in zip(task.translate(model, width=width), task.pairs, strict=True))


@torch.no_grad()
def _after_a_mistake(task: Translation, model: nn.Module) -> tuple[float, float]:
    """Wrong words in a hundred after the first mistake of a phrase: going on by itself (the fewest words to replace, to
    put in or to take out, so that a word left out costs one and not the rest), and given the right words."""
    length = task.target.shape[1]
    written = greedy(model, torch.full_like(task.source[:, :1], START), task.source, stop=STOP, length=length)
    likeliest = model(task.source, task.target[:, :-1]).argmax(-1)
    own = forced = words = 0
    for got, choices, want in zip(
        written[:, 1:].tolist(), likeliest.tolist(), task.target[:, 1:].tolist(), strict=True
    ):
        want = want[: want.index(STOP) + 1]
        got = got[: got.index(STOP) + 1] if STOP in got else got
        wrong = [choice != word for choice, word in zip(choices, want, strict=False)]
        if any(wrong):
            first = wrong.index(True)
            own += distance(got[first:], want[first:]) - 1
            forced += sum(wrong[first + 1 :])
            words += len(want) - first - 1
    return round(100 * own / words, 1), round(100 * forced / words, 1)


def distance(got: Sequence[int], want: Sequence[int]) -> int:
    """The fewest words to replace, to put in or to take out that make one text the other.

    >>> distance("the cat sleeps".split(), "the small cat runs".split())
    2
    """
    row = list(range(len(want) + 1))
    for i, word in enumerate(got, start=1):
        above, row[0] = row[0], i
        for j, other in enumerate(want, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (word != other))
    return row[-1]


def dates(seed: int) -> dict[str, int]:
    task = Translation(date_pairs(30_000))
    rest = Translation(date_pairs(DATES, held_out=True), vocabulary=task.vocabulary)
    seed_everything(seed)
    both = Transformer(len(task.vocabulary), **SIZES, layers=1)
    fit(both, task.loss, task.batch(64), STEPS, lr=5e-3, seed=seed)
    alone = {f"alone_{layers}": _decoder_alone(task, rest, layers, seed) for layers in (1, 2)}
    alone["alone_1_longer"] = _decoder_alone(task, rest, 1, seed, steps=4 * STEPS)
    return {"seed": seed, "tested": DATES, "steps": STEPS, "both": right(rest, both)} | alone


def rates(seed: int) -> dict[str, object]:
    task = Translation(date_pairs(30_000))
    rest = Translation(date_pairs(DATES, held_out=True), vocabulary=task.vocabulary)
    row: dict[str, object] = {"seed": seed, "tested": DATES, "steps": 500}
    for D, layers in (32, 1), (64, 2), (128, 1):
        for rate in (1e-2, 2e-3):
            seed_everything(seed)
            model = Transformer(len(task.vocabulary), D, 4, 4 * D, layers, dropout=0.0)
            fit(model, task.loss, task.batch(64), 500, lr=rate, seed=seed)
            row[f"{D} x {layers}, {rate:g}"] = right(rest, model)
    return row


def warm_up(seed: int) -> dict[str, object]:
    task = Translation(date_pairs(30_000))
    rest = Translation(date_pairs(DATES, held_out=True), vocabulary=task.vocabulary)
    row: dict[str, object] = {"seed": seed, "tested": DATES, "steps": 500, "rates": [1e-2, 5e-3]}
    for D, layers, rate in (32, 1, 1e-2), (64, 6, 5e-3):
        for rising in (50, 0):
            seed_everything(seed)
            model = Transformer(len(task.vocabulary), D, 4, 4 * D, layers, dropout=0.0)
            fit(model, task.loss, task.batch(64), 500, lr=rate, warm_up=rising, seed=seed)
            row[f"{layers}, {rising}"] = right(rest, model)
    return row


def _decoder_alone(task: Translation, rest: Translation, layers: int, seed: int, steps: int = STEPS) -> int:
    """How many dates come out right when source and target are one text, and the model goes on from the source."""
    taught = one_text(task.vocabulary, task.pairs)

    def draw(generator: torch.Generator) -> Tensor:
        return taught[torch.randint(len(taught), (64,), generator=generator)]

    def loss(model: nn.Module, ids_BL: Tensor) -> Tensor:
        answers_BL = ids_BL[:, 1:].clone()
        answers_BL[(ids_BL == START).cumsum(1)[:, :-1] == 0] = PAD  # what it is given, it need not guess
        return F.cross_entropy(model(ids_BL[:, :-1]).flatten(0, 1), answers_BL.flatten(), ignore_index=PAD)

    seed_everything(seed)
    model = LanguageModel(len(task.vocabulary), **SIZES, layers=layers)
    fit(model, loss, draw, steps, lr=5e-3, seed=seed)
    texts = one_text(rest.vocabulary, rest.pairs)
    prompts = texts.where((texts == START).cumsum(1) - (texts == START).long() == 0, PAD)
    written = greedy(model, prompts, stop=STOP, length=texts.shape[1])
    whole = F.pad(written, (0, texts.shape[1] - written.shape[1]), value=PAD)
    return int((whole == texts).all(1).sum())


def one_text(letters: Vocabulary, pairs: Iterable[Sequence]) -> Tensor:
    """A date, START, the same as year-month-day, STOP."""
    ids = letters.ids
    rows = [[*map(ids.get, source), START, *map(ids.get, target), STOP] for source, target, *_ in pairs]
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
