"""Make seeds.json: what chapter 9 measures once on the page, measured again with other seeds.

    python -m booktools.make.seeds

phrases    for each of eight seeds, a Transformer trained on phrases: how many of three thousand it gets wrong, where a
           noun and an adjective meet for the first time (`new`), and where they have met before, in phrases as long
           that are not in training either (`control`); how many of the new ones it gets right at step 150 and in the
           end, greedily and with a beam of four; and, at step 150, of the words that follow its first mistake in a
           phrase, the share it gets right after that mistake, and after the right word in its place
dates      for each of three seeds, how many of a thousand dates come out right: from an encoder and a decoder of one
           block, from a decoder alone of one block, and of two
"""

import json
from collections.abc import Iterable, Sequence
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import FOLDER
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
HALF, STEPS = 150, 1000  # of the phrases, of the dates


def main() -> None:
    measured = {
        "phrases": [phrases(seed) for seed in range(8)],
        "dates": [dates(seed) for seed in range(3)],
    }
    (FOLDER / "seeds.json").write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


def phrases(seed: int) -> dict[str, float]:
    taught = phrase_pairs(30_000)
    task = Translation(taught, words=True)
    new, control = (
        Translation(pairs, words=True, vocabulary=task.vocabulary) for pairs in new_and_control(taught, PHRASES)
    )
    copies = []

    def keep_a_copy(model: nn.Module) -> float:
        copies.append(deepcopy(model))
        return 0.0

    seed_everything(seed)
    model = Transformer(len(task.vocabulary), **SIZES, layers=1, norm="pre")
    fit(model, task.loss, task.batch(64), 500, lr=1e-2, metric=keep_a_copy, every=HALF, seed=seed)
    half = copies[0]
    own, forced = after_a_mistake(new, half)
    return {
        "seed": seed,
        "half_step": HALF,
        "tested": PHRASES,
        "new": PHRASES - right(new, model),
        "control": PHRASES - right(control, model),
        "after_mistake": own,
        "after_right_word": forced,
        "half_greedy": right(new, half),
        "half_beam": right(new, half, width=4),
        "greedy": right(new, model),
        "beam": right(new, model, width=4),
    }


def right(task: Translation, model: nn.Module, width: int = 1) -> int:
    return sum(got == want for got, (_, want, *_) in zip(task.translate(model, width=width), task.pairs, strict=True))


@torch.no_grad()
def after_a_mistake(task: Translation, model: nn.Module) -> tuple[float, float]:
    length = task.target.shape[1]
    written = greedy(model, torch.full_like(task.source[:, :1], START), task.source, stop=STOP, length=length)
    written = F.pad(written, (0, length - written.shape[1]), value=PAD)
    right = written == task.target
    forced = F.pad(model(task.source, task.target[:, :-1]).argmax(-1), (1, 0), value=START) == task.target
    next_one = F.pad((~right).long().cumsum(1).cumsum(1) == 1, (1, 0))[:, :-1] & (task.target != PAD)
    return round(right[next_one].float().mean().item(), 3), round(forced[next_one].float().mean().item(), 3)


def dates(seed: int) -> dict[str, int]:
    task = Translation(date_pairs(30_000))
    rest = Translation(date_pairs(DATES, held_out=True), vocabulary=task.vocabulary)
    seed_everything(seed)
    both = Transformer(len(task.vocabulary), **SIZES, layers=1)
    fit(both, task.loss, task.batch(64), STEPS, lr=5e-3, seed=seed)
    alone = {f"alone_{layers}": decoder_alone(task, rest, layers, seed) for layers in (1, 2)}
    return {"seed": seed, "tested": DATES, "steps": STEPS, "both": right(rest, both)} | alone


def decoder_alone(task: Translation, rest: Translation, layers: int, seed: int) -> int:
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
    fit(model, loss, draw, STEPS, lr=5e-3, seed=seed)
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


if __name__ == "__main__":
    main()
