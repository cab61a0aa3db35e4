"""Word vectors: which words are near, which differ by the same step; learned, stored, read from files."""

import gzip
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.device import seed_everything
from attnbook.errors import ShapeError
from attnbook.learning.text import STOP, Vocabulary
from attnbook.learning.training import fit

_NUMBER = re.compile(r"-?\d*\.?\d+(e[-+]?\d+)?")


class WordVectors:
    """A vector for each word: vectors (N, D), one row a word.

    >>> pets = WordVectors(["cat", "dog", "car"], torch.tensor([[2.0, 1.0], [4.0, 3.0], [-1.0, 2.0]]))
    >>> pets["dog"]
    tensor([4., 3.])
    >>> [word for word, cosine in pets.neighbours("cat")]
    ['dog', 'car']
    """

    def __init__(self, words: Sequence[str], vectors: Tensor):
        self.words = tuple(words)
        if vectors.ndim != 2 or len(vectors) != len(self.words):
            raise ShapeError("vectors", "(N, D)", (len(self.words), "D"), vectors.shape, "One row for each word.")
        self.index = {word: row for row, word in enumerate(self.words)}
        if len(self.index) < len(self.words):
            twice = next(word for row, word in enumerate(self.words) if self.index[word] != row)
            raise ValueError(f"every word has one vector, but {twice!r} is there more than once.")
        self.vectors = vectors

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def __getitem__(self, words: str | Sequence[str]) -> Tensor:
        """One word's vector (D,), or several words' (n, D)."""
        if isinstance(words, str):
            return self.vectors[self._row(words)].clone()
        return self.vectors[[self._row(word) for word in words]]

    def similarity(self, a: str, b: str) -> float:
        """The cosine of the angle between two words."""
        return F.cosine_similarity(self[a], self[b], dim=0).item()

    def neighbours(self, of: str | Tensor, n: int = 10, *, without: Iterable[str] = ()) -> list[tuple[str, float]]:
        """The n words nearest to a word, which is not its own neighbour, or to a vector; each with its cosine."""
        without = {without} if isinstance(without, str) else {*without}
        if isinstance(of, str):
            of, without = self[of], without | {of}
        if of.shape != self.vectors.shape[1:]:
            raise ShapeError("of", "(D,)", self.vectors.shape[1:], of.shape, "One vector, as wide as the words' are.")
        cosines = F.normalize(self.vectors, dim=-1) @ F.normalize(of, dim=0)
        left_out = {self._row(word) for word in without}
        order = cosines.argsort(descending=True, stable=True).tolist()
        found = islice((row for row in order if row not in left_out), n)
        return [(self.words[row], cosines[row].item()) for row in found]

    def analogy(self, a: str, b: str, c: str, n: int = 5, *, with_query: bool = False) -> list[tuple[str, float]]:
        """a is to b as c is to what? The words nearest to b - a + c, all three first made equally long.

        The nearest of all is often b or c itself. They and a are left out, as is usual, unless `with_query`.
        """
        unit_a, unit_b, unit_c = F.normalize(self[[a, b, c]], dim=-1)
        return self.neighbours(unit_b - unit_a + unit_c, n, without=() if with_query else (a, b, c))

    def save(self, path: str | Path) -> None:
        """Write a NumPy archive, in single precision."""
        with open(path, "wb") as file:
            np.savez_compressed(file, words=np.array(self.words), vectors=self.vectors.detach().cpu().float().numpy())

    @classmethod
    def load(cls, path: str | Path) -> "WordVectors":
        """The words and vectors of a NumPy archive; the latter times `scale`, where it has one."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                words, vectors = stored["words"].tolist(), torch.from_numpy(stored["vectors"]).float()
                return cls(words, vectors * float(stored["scale"]) if "scale" in stored else vectors)
        except (BadZipFile, EOFError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} does not hold word vectors: {error}") from None

    def _row(self, word: str) -> int:
        if word not in self.index:
            near = " or ".join(map(repr, get_close_matches(word.lower(), self.words, 3)))
            raise KeyError(f"no vector for {word!r}" + (f"; try {near}" if near else ""))
        return self.index[word]


class SkipGram(nn.Module):
    """How well words fit together: word · context, from a vector for every word and another for it as context.

    >>> SkipGram(N=20, D=8)(torch.tensor([3, 5]), torch.tensor([[4, 6, 7], [0, 1, 2]])).shape
    torch.Size([2, 3])
    """

    def __init__(self, N: int, D: int):
        super().__init__()
        self.words, self.contexts = nn.Embedding(N, D), nn.Embedding(N, D)
        nn.init.normal_(self.words.weight, std=1 / D)
        nn.init.zeros_(self.contexts.weight)

    def forward(self, words: Tensor, contexts: Tensor) -> Tensor:
        """The scores (B, C) of C contexts for each of B words."""
        return (self.words(words)[:, None] * self.contexts(contexts)).sum(-1)


def skip_gram_pairs(ids: Tensor, window: int, *, pad: int = 0) -> Tensor:
    """Every token of sentences (B, L) with every other one at most `window` away: pairs (word, context) in rows.

    >>> skip_gram_pairs(torch.tensor([[5, 6, 7], [8, 9, 0]]), window=1).tolist()
    [[5, 6], [6, 7], [8, 9], [6, 5], [7, 6], [9, 8]]
    """
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}.")
    apart = [torch.stack([ids[:, :-n], ids[:, n:]], -1) for n in range(1, window + 1)]
    ahead = torch.cat([pairs[(pairs != pad).all(-1)] for pairs in apart])
    return torch.cat([ahead, ahead.flip(1)])


def learn_vectors(
    sentences: Iterable[str],
    D: int = 32,
    *,
    window: int = 5,
    negatives: int = 5,
    steps: int = 400,
    batch: int = 2048,
    lr: float = 0.04,
    seed: int = 0,
) -> WordVectors:
    """Skip-gram with negative sampling: a word should fit what it was met with, and not what was drawn at random.

    -log σ(word · context) - Σ log σ(-word · negative), where a word is drawn as negative in proportion to its
    count^0.75. Words are what is between spaces; two within `window` of each other in a sentence have met.

    >>> tiny = learn_vectors(["red wine", "red apple", "old house", "old street"], D=4, steps=100, batch=32, lr=0.1)
    >>> tiny.neighbours("wine", 1)[0][0]
    'apple'
    """
    sentences = list(sentences)
    vocabulary = Vocabulary(sentences, words=True)
    pairs = skip_gram_pairs(vocabulary.encode(sentences, stop=False), window)
    if not len(pairs):
        raise ValueError("no two words met: sentences are strings, with a space between words.")
    counts = pairs[:, 1].bincount(minlength=len(vocabulary)).float()

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        met = pairs[torch.randint(len(pairs), (batch,), generator=generator)]
        drawn = torch.multinomial(counts**0.75, batch * negatives, replacement=True, generator=generator)
        return met[:, 0], torch.cat([met[:, 1:], drawn.view(batch, negatives)], 1)

    def loss(model: SkipGram, given: tuple[Tensor, Tensor]) -> Tensor:
        scores = model(*given)
        return -(F.logsigmoid(scores[:, 0]) + F.logsigmoid(-scores[:, 1:]).sum(1)).mean()

    seed_everything(seed)
    model = SkipGram(len(vocabulary), D)
    fit(model, loss, draw, steps, lr=lr, seed=seed)
    return WordVectors(vocabulary.tokens[STOP + 1 :], model.words.weight.detach()[STOP + 1 :])


def read_vectors(path: str | Path, *, limit: int | None = None, sha256: str | None = None) -> WordVectors:
    """The text format of GloVe (a word and its numbers in each line) or word2vec (the same after a line of N and D).

    `limit` reads only so many words, from the first; `sha256` is what the whole file must hash to. A name that ends
    in .gz is unpacked on the way.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "pets.txt")
    ...     _ = file.write_text("cat 2 1\\ndog 4 3\\n")
    ...     pets = read_vectors(file)
    >>> pets["dog"]
    tensor([4., 3.])
    """
    path = Path(path)
    if sha256 is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            raise ValueError(f"{path.name} is not the file it should be: its sha256 is {found}, not {sha256}.")
    words, rows = [], []
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        for number, word, vector in islice(_lines(file, path.name), limit):
            if rows and len(vector) != len(rows[0]):
                expected = f"{len(vector)} numbers for {word!r}, but {len(rows[0])} in the lines before"
                raise ValueError(f"{path.name}, line {number}: {expected}. Was the download cut short?")
            words.append(word)
            rows.append(vector)
    if not words:
        raise ValueError(f"{path.name} holds no word vectors.")
    return WordVectors(words, torch.from_numpy(np.stack(rows)))


def _lines(file: Iterable[bytes], name: str) -> Iterator[tuple[int, str, np.ndarray]]:
    """Line number, word, numbers. Once it is known how wide vectors are, a word may hold spaces, as some of GloVe's."""
    width = None
    for number, line in enumerate(file, 1):
        try:
            pieces = line.decode("utf-8").rstrip().split(" ")
            if number == 1 and len(pieces) == 2 and pieces[0].isdecimal():
                continue  # word2vec's first line
            cut = 1 if width is None else max(1, len(pieces) - width)
            if any(_NUMBER.fullmatch(piece) for piece in pieces[1:cut]):
                cut = 1
            word, numbers = " ".join(pieces[:cut]), pieces[cut:]
            vector = np.array(numbers, np.float32)
            width = width or len(vector)
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}. Is this a text file of word vectors?") from None
        if not numbers or not np.isfinite(vector).all():
            raise ValueError(f"{name}, line {number}: a word and its numbers were expected, got {line[:50]!r}.")
        yield number, word, vector
