"""Make seeds.json: what chapters 1, 4, 6, 8, 9 and 11 to 14 measure once or not at all, measured with several seeds.

    python -m booktools.make.seeds                    all of it
    python -m booktools.make.seeds numbers readers    these, and the rest as it is

plays      chapter 1: for each of three seeds, word vectors of Shakespeare: by skip-gram from all words, from what is
           left when frequent ones are thinned out, and from that three times as long, and by counting from the same.
           Of the words met at least twenty times that the English vectors have, too: how many have their nearest
           English word among their ten neighbours (`all`, `thinned`, `longer`, `counted`), and what share of the ten
           the first seed had (`shared`, `counted_shared`); and the neighbours of some (`near`, `counted_near`)
numbers    chapter 4: for each of three seeds, networks that read a number of up to 24 digits and write it again, with
           additive attention and without, and without but four times as wide, for 1,000 steps, and without for 8,000:
           the share that comes out right, by how many digits there are
rates_4    the same without attention for 1,000 steps, at a third of that learning rate and at three times it
readers    chapter 4: for each of three seeds, the reader of dates after 400 steps, with one score or another (products
           also divided by the root of their width), with what it knows at both ends, and with the mean of all it has
           read (after 1,200 steps, too): how many of a thousand dates come out right; and of the one with additive
           scores how many with a blindfold, and where it looks
joint      chapter 6: for each of ten seeds, one head whose values know the mark, trained as on the page: the shares of
           right answers under the star and under the dot
deep       the same for one head with a hidden layer behind it
copiers    chapter 6: for each of three seeds, one causal layer that reads a passage twice, twice as wide as the page's,
           with twice as many heads and trained ten and thirty times as long: the share of letters that it copies
wider      the same four times as wide as the page's, and as many heads, trained as long and ten times as long
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
places     chapter 8: see places.py
vocabularies, parts, sizes, loops, twice
           chapter 11: see small_models.py
head_kinds, copying, sink, names
           chapter 12: see real_heads.py
windows, silent, loud, lengths, experts, recall
           chapter 13: see today.py
images, orders, looks, questions, pairs, counts, reach
           chapter 14: see beyond_text.py
listeners, without
           chapter 14: see tones.py
"""

import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import FOLDER, english_vectors, shakespeare
from attnbook.device import seed_everything
from attnbook.layers.additive import AdditiveAttention
from attnbook.layers.masks import causal
from attnbook.layers.multihead import MultiHeadAttention
from attnbook.layers.softmax import masked_softmax
from attnbook.learning.text import PAD, START, STOP, Vocabulary
from attnbook.learning.training import fit
from attnbook.learning.translation import Translation
from attnbook.learning.vectors import WordVectors, learn_vectors, skip_gram_pairs
from attnbook.models.decoding import greedy
from attnbook.models.seq2seq import Seq2Seq
from attnbook.models.transformer import LanguageModel, Transformer
from attnbook.tasks import marks
from attnbook.tasks.dates import date_pairs, share_on_spans
from attnbook.tasks.phrases import new_and_control, phrase_pairs
from booktools.make.beyond_text import counts, images, looks_and_covers, orders, pairs, questions_and_pictures, reach
from booktools.make.places import places
from booktools.make.real_heads import copying, head_kinds, names, sink
from booktools.make.small_models import loops, parts, sizes, twice, vocabularies
from booktools.make.today import experts, lengths, loud, recall, silent, windows
from booktools.make.tones import listeners, without

SIZES = {"D": 32, "heads": 4, "hidden": 128, "dropout": 0.0}
PHRASES, DATES = 3000, 1000  # tested
SHORT, LONG, STEPS = 200, 500, 1000  # of the phrases, of the dates
LONGER = 8000  # steps, where 1,000 may be too few
LONGEST, NUMBERS = 24, 500  # digits, numbers tested of each length
PLAYS = {"D": 64, "window": 3, "batch": 4096, "lr": 0.02}
SHOWN = ["king", "romeo", "rome", "sea", "sun", "wife", "two", "gold", "sword", "hath"]


def main() -> None:
    path = FOLDER / "seeds.json"
    measured = json.loads(path.read_text("utf-8"))
    kinds = {
        "plays": (plays, 3),
        "phrases": (phrases, 5),
        "dates": (dates, 3),
        "rates": (rates, 3),
        "numbers": (numbers, 3),
        "rates_4": (rates_4, 3),
        "readers": (readers, 3),
        "joint": (joint, 10),
        "deep": (deep, 10),
        "copiers": (copiers, 3),
        "wider": (wider, 3),
        "vocabularies": (vocabularies, 3),
        "parts": (parts, 3),
        "sizes": (sizes, 3),
        "loops": (loops, 3),
        "twice": (twice, 3),
        "head_kinds": (head_kinds, 2),
        "copying": (copying, 2),
        "sink": (sink, 8),
        "names": (names, 2),
        "windows": (windows, 2),
        "silent": (silent, 3),
        "loud": (loud, 3),
        "lengths": (lengths, 3),
        "experts": (experts, 3),
        "recall": (recall, 3),
        "images": (images, 5),
        "orders": (orders, 3),
        "looks": (looks_and_covers, 3),
        "questions": (questions_and_pictures, 3),
        "pairs": (pairs, 3),
        "counts": (counts, 3),
        "reach": (reach, 3),
        "listeners": (listeners, 3),
    }
    once = {"places": places, "without": without}
    for name in sys.argv[1:] or [*kinds, *once]:
        if name in once:
            measured[name] = once[name]()
            continue
        measure, count = kinds[name]
        measured[name] = [measure(seed) for seed in range(count)]
    path.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


def plays(seed: int) -> dict[str, object]:
    words, thinned = spoken(), subsampled(seed)
    learned, counted = by_skip_gram(seed), by_counting(seed)
    return {
        "seed": seed,
        "words": len(words),
        "left": len(thinned),
        "tested": len(compared()[0]),
        "all": agreeing(learn_vectors([" ".join(words)], steps=600, seed=seed, **PLAYS)),
        "thinned": agreeing(learned),
        "longer": agreeing(learn_vectors([" ".join(thinned)], steps=1800, seed=seed, **PLAYS)),
        "counted": agreeing(counted),
        "shared": shared(learned, by_skip_gram(0)),
        "counted_shared": shared(counted, by_counting(0)),
        "near": {word: [near for near, _ in learned.neighbours(word)] for word in SHOWN},
        "counted_near": {word: [near for near, _ in counted.neighbours(word)] for word in SHOWN},
    }


@cache
def spoken() -> list[str]:
    """What is spoken in the plays: words met at least five times, without the names of the speakers."""
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", re.sub(r"(?m)^.+:$", "", shakespeare()).lower())
    counts = Counter(words)
    return [word for word in words if counts[word] >= 5]


def subsampled(seed: int, t: float = 1e-3) -> list[str]:
    """As the chapter does it."""
    words, rng = spoken(), random.Random(seed)
    counts = Counter(words)
    return [word for word in words if rng.random() < math.sqrt(t * len(words) / counts[word])]


@cache
def by_skip_gram(seed: int) -> WordVectors:
    return learn_vectors([" ".join(subsampled(seed))], steps=600, seed=seed, **PLAYS)


@cache
def by_counting(seed: int) -> WordVectors:
    """The logarithms of how much more often two words met than by chance, where it is more, on 64 singular vectors."""
    thinned = subsampled(seed)
    vocabulary = sorted({*thinned})
    N, row = len(vocabulary), {word: i for i, word in enumerate(vocabulary)}
    pairs = skip_gram_pairs(torch.tensor([[row[word] for word in thinned]]), PLAYS["window"], pad=-1)
    n_NN = (pairs[:, 0] * N + pairs[:, 1]).bincount(minlength=N * N).view(N, N).double()
    often = n_NN.sum(0) ** 0.75
    more = (n_NN / (n_NN.sum(1, keepdim=True) * often / often.sum())).log().clamp(min=0)
    values, vectors = torch.linalg.eigh(more @ more.T)
    return WordVectors(vocabulary, (vectors * values.clamp(min=0) ** 0.25)[:, -PLAYS["D"] :].float())


@cache
def compared() -> tuple[list[str], list[str]]:
    """Words that both know, and for each the nearest of the others, by the English vectors."""
    counts, english = Counter(spoken()), english_vectors()
    both = [word for word in sorted(counts) if counts[word] >= 20 and word in english]
    return both, [near for (near,) in within(WordVectors(both, english[both]), 1)]


def within(vectors: WordVectors, n: int) -> list[list[str]]:
    return [[near for near, _ in vectors.neighbours(word, n)] for word in vectors.words]


def agreeing(vectors: WordVectors) -> int:
    both, nearest = compared()
    found = within(WordVectors(both, vectors[both]), 10)
    return sum(near in ten for near, ten in zip(nearest, found, strict=True))


def shared(some: WordVectors, others: WordVectors) -> float:
    tens = zip(*(within(WordVectors(compared()[0], each[compared()[0]]), 10) for each in (some, others)), strict=True)
    return round(sum(len({*a} & {*b}) for a, b in tens) / (10 * len(compared()[0])), 3)


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
    task = Translation(date_pairs(60_000))
    pairs = date_pairs(DATES, held_out=True)
    rest = Translation(pairs, vocabulary=task.vocabulary)
    row: dict[str, object] = {"seed": seed, "tested": DATES, "steps": 400}

    def trained(look: Callable[[AdditiveAttention], nn.Module], steps: int = 400) -> Seq2Seq:
        seed_everything(seed)
        model = Seq2Seq(len(task.vocabulary), D=32)
        model.add_module("attention", look(model.attention))
        fit(model, task.loss, task.batch(64), steps, lr=3e-2, seed=seed)
        return model

    model = trained(lambda additive: additive)
    row["additive"] = right(rest, model)
    shares = share_on_spans(model.alignment(rest.source, rest.target[:, :-1]), pairs)
    row["spans"] = {part: round(share, 3) for part, share in shares.items()}
    nn.init.zeros_(model.attention.score.weight)
    row["blindfold"] = right(rest, model)
    row["linear"] = right(rest, trained(Linear))
    row["bilinear"] = right(rest, trained(lambda _: Bilinear(32)))
    row["dot"] = right(rest, trained(lambda _: Bilinear(32, width=32)))
    row["bilinear_scaled"] = right(rest, trained(lambda _: Bilinear(32, scaled=True)))
    row["dot_scaled"] = right(rest, trained(lambda _: Bilinear(32, width=32, scaled=True)))
    row["ends"] = right(rest, trained(lambda _: BothEnds()))
    for steps in (400, 1200):
        mean = trained(lambda _: Mean(), steps)
        row[f"mean_{steps}"] = right(rest, mean)
        hits = [text == pair.target for text, pair in zip(rest.translate(mean), pairs, strict=True)]
        slashes = [hit for hit, pair in zip(hits, pairs, strict=True) if "/" in pair.source]
        row[f"mean_{steps}_slashes"] = round(sum(slashes) / len(slashes), 3)
    return row


class JointFinder(marks.Finder):
    def __init__(self, heads: int, D: int = 16):
        super().__init__(heads, D)
        self.letters = nn.Embedding(len(marks.MARKS) * len(marks.LETTERS), D)

    def forward(self, letters: Tensor, marked: Tensor) -> Tensor:
        return super().forward(letters + len(marks.LETTERS) * marked, marked)


class DeepFinder(marks.Finder):
    def __init__(self, heads: int, D: int = 16):
        super().__init__(heads, D)
        hidden = nn.Linear(D, 2 * D)
        self.answers = nn.Sequential(hidden, nn.ReLU(), nn.Linear(2 * D, 2 * len(marks.LETTERS)))


def joint(seed: int) -> dict[str, float]:
    return answers_of_one_head(JointFinder, seed)


def deep(seed: int) -> dict[str, float]:
    return answers_of_one_head(DeepFinder, seed)


def answers_of_one_head(kind: type[marks.Finder], seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    model = kind(1)
    generator, draw = torch.Generator().manual_seed(0), marks.marked_letters(64)
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    for _ in range(1000):
        loss = model.loss(model, draw(generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    letters, marked, answers_B2 = marks.marked_letters(2000)(torch.Generator().manual_seed(1))
    with torch.no_grad():
        star, dot = (model(letters, marked).argmax(-1) == answers_B2).float().mean(0).tolist()
    return {"seed": seed, "star": round(star, 3), "dot": round(dot, 3)}


class Copier(nn.Module):
    """Causal layers one after the other, each added to what it was given; chapter 6 builds them on its page."""

    def __init__(self, layers: int, D: int, heads: int):
        super().__init__()
        self.letters, self.places = nn.Embedding(16, D), nn.Embedding(17, D)
        self.layers = nn.ModuleList(MultiHeadAttention(D, heads) for _ in range(layers))
        self.answers = nn.Linear(D, 16)

    def forward(self, letters_BL: Tensor) -> Tensor:
        L = letters_BL.shape[1]
        x_BLD = self.letters(letters_BL) + self.places.weight[:L]
        for layer in self.layers:
            x_BLD = x_BLD + layer(x_BLD, mask=causal(L))
        return self.answers(x_BLD)


def copiers(seed: int) -> dict[str, float]:
    return copied_by(64, 4, 3000, 9000, seed)


def wider(seed: int) -> dict[str, float]:
    return copied_by(128, 8, 300, 3000, seed)


def copied_by(D: int, heads: int, steps: int, longer: int, seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    model = Copier(1, D, heads)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    tested_BL = said_twice(1000, torch.Generator().manual_seed(1))
    row: dict[str, float] = {"seed": seed, "width": D, "heads": heads, "steps": steps, "longer": longer}
    for step in range(1, longer + 1):
        texts_BL = said_twice(64, generator)
        loss = F.cross_entropy(model(texts_BL[:, :-1])[:, 12:].flatten(0, 1), texts_BL[:, 13:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (steps, longer):
            with torch.no_grad():
                copied = model(tested_BL[:, :-1])[:, 12:].argmax(-1) == tested_BL[:, 13:]
            row[f"after_{step}"] = round(copied.float().mean().item(), 3)
    return row


def said_twice(B: int, generator: torch.Generator) -> Tensor:
    """Twelve different letters of sixteen, and six of them, in a row, once more."""
    first_BL = torch.rand(B, 16, generator=generator).argsort(-1)[:, :12]
    start_B1 = torch.randint(7, (B, 1), generator=generator)
    return torch.cat([first_BL, first_BL.gather(1, start_B1 + torch.arange(6))], 1)


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
        own, forced = after_a_mistake(new, model)
        row |= {f"{name}_own": own, f"{name}_forced": forced}
        row |= {f"{name}_greedy": right(new, model), f"{name}_beam": right(new, model, width=4)}
    return row | {"new": PHRASES - right(new, model), "control": PHRASES - right(control, model)}


def right(task: Translation, model: nn.Module, width: int = 1) -> int:
    return sum(got == want for got, (_, want, *_) in zip(task.translate(model, width=width), task.pairs, strict=True))


@torch.no_grad()
def after_a_mistake(task: Translation, model: nn.Module) -> tuple[float, float]:
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
    alone = {f"alone_{layers}": decoder_alone(task, rest, layers, seed) for layers in (1, 2)}
    alone["alone_1_longer"] = decoder_alone(task, rest, 1, seed, steps=4 * STEPS)
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


def decoder_alone(task: Translation, rest: Translation, layers: int, seed: int, steps: int = STEPS) -> int:
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


if __name__ == "__main__":
    main()
