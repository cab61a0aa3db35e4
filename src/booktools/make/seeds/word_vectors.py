"""What chapter 1 measures with several seeds.

plays      chapter 1: for each of three seeds, word vectors of Shakespeare: by skip-gram from all words, from what is
           left when frequent ones are thinned out, and from that three times as long, and by counting from the same.
           Of the words met at least twenty times that the English vectors have, too: how many have their nearest
           English word among their ten neighbours (`all`, `thinned`, `longer`, `counted`), and what share of the ten
           the first seed had (`shared`, `counted_shared`); and the neighbours of some (`near`, `counted_near`)
"""

import math
import random
import re
from collections import Counter
from functools import cache

import torch

from attnbook.data import english_vectors, shakespeare
from attnbook.learning.vectors import WordVectors, learn_vectors, skip_gram_pairs

PLAYS = {"D": 64, "window": 3, "batch": 4096, "lr": 0.02}
SHOWN = ["king", "romeo", "rome", "sea", "sun", "wife", "two", "gold", "sword", "hath"]


def plays(seed: int) -> dict[str, object]:
    words, thinned = spoken(), subsampled(seed)
    learned, counted = _by_skip_gram(seed), _by_counting(seed)
    return {
        "seed": seed,
        "words": len(words),
        "left": len(thinned),
        "tested": len(_compared()[0]),
        "all": _agreeing(learn_vectors([" ".join(words)], steps=600, seed=seed, **PLAYS)),
        "thinned": _agreeing(learned),
        "longer": _agreeing(learn_vectors([" ".join(thinned)], steps=1800, seed=seed, **PLAYS)),
        "counted": _agreeing(counted),
        "shared": shared(learned, _by_skip_gram(0)),
        "counted_shared": shared(counted, _by_counting(0)),
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
    """Returns the words of the plays; a frequent word is dropped at random, the more often the more frequent it is."""
    words, rng = spoken(), random.Random(seed)
    counts = Counter(words)
    return [word for word in words if rng.random() < math.sqrt(t * len(words) / counts[word])]


@cache
def _by_skip_gram(seed: int) -> WordVectors:
    return learn_vectors([" ".join(subsampled(seed))], steps=600, seed=seed, **PLAYS)


@cache
def _by_counting(seed: int) -> WordVectors:
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
def _compared() -> tuple[list[str], list[str]]:
    """Words that both know, and for each the nearest of the others, by the English vectors."""
    counts, english = Counter(spoken()), english_vectors()
    both = [word for word in sorted(counts) if counts[word] >= 20 and word in english]
    return both, [near for (near,) in within(WordVectors(both, english[both]), 1)]


def within(vectors: WordVectors, n: int) -> list[list[str]]:
    return [[near for near, _ in vectors.neighbours(word, n)] for word in vectors.words]


def _agreeing(vectors: WordVectors) -> int:
    both, nearest = _compared()
    found = within(WordVectors(both, vectors[both]), 10)
    return sum(near in ten for near, ten in zip(nearest, found, strict=True))


def shared(some: WordVectors, others: WordVectors) -> float:
    tens = zip(*(within(WordVectors(_compared()[0], each[_compared()[0]]), 10) for each in (some, others)), strict=True)
    return round(sum(len({*a} & {*b}) for a, b in tens) / (10 * len(_compared()[0])), 3)
