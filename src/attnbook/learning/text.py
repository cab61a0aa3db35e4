"""Text to token ids and back."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from attnbook._inputs import check_ids
from attnbook.errors import ShapeError

PAD, START, STOP = 0, 1, 2


class Vocabulary:
    """The characters, or the words, of some texts and their ids. 0 pads, 1 starts and 2 stops a sequence.

    >>> letters = Vocabulary(["bee", "cab"])
    >>> letters.encode(["bee", "a"])
    tensor([[4, 6, 6, 2],
            [3, 2, 0, 0]])
    >>> letters.decode(torch.tensor([[1, 5, 3, 4, 2, 0]]))
    ['cab']
    >>> Vocabulary(["the cat", "the dog"], words=True).tokens[3:]
    ('cat', 'dog', 'the')
    """

    def __init__(self, texts: Iterable[str], *, words: bool = False):
        _check_several(texts)
        self.words = words
        known = sorted({token for text in texts for token in self._split(text)})
        self.tokens = ("<pad>", "<start>", "<stop>", *known)
        self.ids = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, texts: Sequence[str], *, start: bool = False, stop: bool = True) -> Tensor:
        """Ids (B, L), shorter texts with padding on their right."""
        _check_several(texts)
        rows = [[START] * start + [self._id(token) for token in self._split(text)] + [STOP] * stop for text in texts]
        longest = max(map(len, rows), default=0)
        return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows]).view(len(rows), longest).long()

    def decode(self, ids: Tensor) -> list[str]:
        """The texts of ids (B, L), each up to where it stops."""
        check_ids(ids, len(self))
        if ids.ndim != 2:
            raise ShapeError("ids", "(B, L)", ("B", "L"), ids.shape, "A single text? Try ids[None].")
        texts = []
        for row in ids.tolist():
            end = row.index(STOP) if STOP in row else len(row)
            tokens = [self.tokens[number] for number in row[:end] if number not in (PAD, START)]
            texts.append((" " if self.words else "").join(tokens))
        return texts

    def _split(self, text: str) -> Sequence[str]:
        return text.split() if self.words else text

    def _id(self, token: str) -> int:
        if token not in self.ids or self.ids[token] <= STOP:
            raise KeyError(f"{token!r} is not in this vocabulary of {len(self) - 3}.")
        return self.ids[token]


def _check_several(texts: Iterable[str]) -> None:
    if isinstance(texts, str):
        raise ValueError(f"texts are several strings; for a single one, try [{texts[:20]!r}].")
