"""What chapter 11 measures with several seeds: small language models of Shakespeare, and copiers of letters said twice.

vocabularies   for each seed, models that read characters, or 512, 1,000 or 2,000 tokens, trained with as many
               operations: bits per character of the text that is held out, and of characters and 1,000 tokens after
               four times as many; and after 400 steps the perplexity per token
parts          the model of characters as the chapter builds it, and with one part exchanged: with as many parameters
               in a network with ReLU, with LayerNorm, with sinusoidal positions, beside embeddings times √D as well,
               and with none; and of seed 0 with those beside embeddings times √D after four times as many steps
sizes          three sizes, each trained for several numbers of steps, from 200 on: bits per character, parameters, and
               operations of a step of training (six for each parameter and token); and of seed 0 after 200 steps at
               half the rate and at twice the rate
loops          of the 1,000 tokens after 400 steps: the share of four words in a row that the text has held before, in
               texts of 1,000 tokens from 16 prompts, greedily and at temperatures 0.5 and 1, with top-p 0.9; and in the
               plays, in pieces as long
twice          copiers of 4 to 12 letters said twice: the share of the second time that is right, on average over these
               lengths, with two layers of two heads and with one (by length, too); with one that is four times as
               wide, and has four times as many heads besides; with two of one head; and of seed 0, with one layer
               that is trained ten times as long, and with one that is wider, has more heads, and four times as long
"""

import math
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import shakespeare
from attnbook.device import seed_everything
from attnbook.learning.bytepairs import BytePairs
from attnbook.learning.training import fit
from attnbook.models.decoding import sample
from attnbook.models.transformer import FeedForward, LanguageModel
from attnbook.tasks.repeats import Copier, repeats, right
from attnbook.tasks.writing import next_token_loss, pieces, plays, todays

CONTEXT, BATCH, STEPS = 64, 16, 400


@cache
def tokens_of(N: int) -> tuple[Tensor, Tensor]:
    """Both as ids: of the 65 characters, or of N tokens, whose merges are learned from what is learned from."""
    if N == 65:
        ids = {letter: i for i, letter in enumerate(sorted({*shakespeare()}))}
        learned, held_out = (torch.tensor([ids[letter] for letter in part]) for part in plays())
    else:
        pairs = BytePairs.learn(plays()[0], N)
        learned, held_out = (pairs.encode(part) for part in plays())
    return learned, held_out


def model_of(
    N: int, D: int = 64, heads: int = 4, layers: int = 2, hidden: int | None = None, **options
) -> LanguageModel:
    """The chapter's model, twice as wide in its networks as in its vectors unless told otherwise."""
    return todays(N, D, heads, 2 * D if hidden is None else hidden, layers, **options)


def trained(seed: int, N: int = 65, steps: int = STEPS, rate: float = 1e-2, **sizes) -> LanguageModel:
    seed_everything(seed)
    model = model_of(N, **sizes)
    fit(model, next_token_loss, pieces(tokens_of(N)[0], BATCH, CONTEXT), steps, lr=rate, seed=seed)
    return model


@torch.no_grad()
def _nats(model: nn.Module, ids: Tensor) -> float:
    """The mean surprise at a token, in passages that do not overlap."""
    rows = ids.unfold(0, CONTEXT + 1, CONTEXT)
    sums = [F.cross_entropy(model(row[:, :-1]).mT, row[:, 1:], reduction="sum").item() for row in rows.split(64)]
    return sum(sums) / rows[:, 1:].numel()


def bits(model: nn.Module, N: int = 65) -> float:
    """Per character of the text that is held out."""
    _, held_out = tokens_of(N)
    return round(_nats(model, held_out) * len(held_out) / len(plays()[1]) / math.log(2), 3)


def operations(model: nn.Module) -> int:
    """Of a step, in training: a multiplication and an addition with each parameter, and twice that for gradients."""
    return 6 * sum(p.numel() for p in model.parameters()) * BATCH * CONTEXT


def vocabularies(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed, "steps": STEPS}
    most = operations(model_of(65))
    for N in (65, 512, 1000, 2000):
        steps = round(STEPS * most / operations(model_of(N)))
        model = trained(seed, N, steps)
        row[f"{N}"] = bits(model, N)
        row[f"{N}_steps"] = steps
        row[f"{N}_perplexity"] = round(math.exp(_nats(model, tokens_of(N)[1])), 2)
        if N in (65, 1000):
            row[f"{N}_longer"] = bits(trained(seed, N, 4 * steps), N)
    return row


SCALED = {"positions": "sinusoidal", "scale_embeddings": True}  # as in chapter 9


def parts(seed: int) -> dict[str, float]:
    ways: dict[str, dict[str, Any]] = {
        "built": {},
        "relu": {"feed_forward": FeedForward, "hidden": 192},
        "layer_norm": {"norm_layer": nn.LayerNorm},
        "sinusoidal": {"positions": "sinusoidal"},
        "scaled": SCALED,
        "none": {"positions": "none"},
    }
    row = {"seed": seed} | {name: bits(trained(seed, **options)) for name, options in ways.items()}
    return row if seed else row | {"scaled_longer": bits(trained(seed, steps=4 * STEPS, **SCALED))}


SIZES = {"small": (32, 2, 1), "middle": (64, 4, 2), "large": (128, 4, 3)}
TRAINED = {"small": (200, 400, 800, 1600, 3200), "middle": (200, 400, 800, 1600), "large": (200, 400, 1600)}  # steps


def sizes(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed}
    for name, (D, heads, layers) in SIZES.items():
        size = {"D": D, "heads": heads, "layers": layers}
        model = model_of(65, **size)
        row[f"{name}_parameters"] = sum(p.numel() for p in model.parameters())
        row[f"{name}_operations"] = operations(model)
        for steps in TRAINED[name]:
            row[f"{name}_{steps}"] = bits(trained(seed, steps=steps, rate=0.64 / D, **size))
        if seed == 0:
            for times in (0.5, 2):
                row[f"{name}_rate_{times}"] = bits(trained(seed, steps=200, rate=times * 0.64 / D, **size))
    return row


def loops(seed: int) -> dict[str, float]:
    _, held_out = tokens_of(1000)
    pairs = BytePairs.learn(plays()[0], 1000)
    model = trained(seed, 1000)
    prompts_BL = held_out[: 16 * 1000].view(16, 1000)[:, :32]
    row: dict[str, float] = {"seed": seed}
    ways = {"greedy": {"temperature": 0}, "cool": {"temperature": 0.5}, "plain": {}, "top_p": {"top_p": 0.9}}
    for name, way in ways.items():
        texts_BL = _windowed(model, prompts_BL, 1000, seed=100 * seed, **way)
        row[name] = seen_before([pairs.decode(ids) for ids in texts_BL])
    row["plays"] = seen_before([pairs.decode(ids) for ids in held_out[: 16 * 1000].view(16, 1000)])
    return row


def _windowed(model: LanguageModel, ids_BL: Tensor, length: int, seed: int, **way) -> Tensor:
    """As `sample` writes, but in pieces: the model begins again from the last 32 tokens whenever 64 are full."""
    while ids_BL.shape[1] < length:
        written = sample(model, ids_BL[:, -32:], stop=None, length=CONTEXT, seed=seed + ids_BL.shape[1], **way)
        ids_BL = torch.cat([ids_BL, written[:, 32:]], 1)
    return ids_BL[:, :length]


def seen_before(texts: list[str]) -> float:
    """The share of four words in a row that the same text has held before."""
    seen = total = 0
    for text in texts:
        words = text.split()
        fours = list(zip(words, words[1:], words[2:], words[3:], strict=False))
        seen += len(fours) - len({*fours})
        total += len(fours)
    return round(seen / total, 3)


def twice(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed, "steps": STEPS}
    ways = {
        "two": (2, 2, 32, STEPS),
        "one": (1, 2, 32, STEPS),
        "wider": (1, 2, 128, STEPS),
        "heads": (1, 8, 128, STEPS),
        "single": (2, 1, 32, STEPS),
    }
    if seed == 0:
        ways |= {"longer": (1, 2, 32, 10 * STEPS), "all": (1, 8, 128, 4 * STEPS)}
    for name, (layers, heads, D, steps) in ways.items():
        seed_everything(seed)
        model = Copier(layers, heads, D)
        fit(model, Copier.loss, repeats(64), steps, lr=1e-2, seed=seed)
        shares = copied(model)
        row[name] = round(sum(shares) / len(shares), 3)
        if name == "one":
            row["one_by_length"] = [round(share, 3) for share in shares]
    return row


@torch.no_grad()
def copied(model: nn.Module) -> list[float]:
    """The share that is right of 4 to 12 letters said twice."""
    draws = ((n, torch.Generator().manual_seed(n)) for n in range(4, 13))
    return [right(model, repeats(500, n, n)(generator)) for n, generator in draws]
