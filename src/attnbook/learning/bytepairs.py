"""Byte-pair encoding: any text as pieces that occur often, which are learned by merging pairs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Self

import torch
from torch import Tensor

from attnbook._inputs import check_ids
from attnbook.errors import ShapeError

Pair = tuple[bytes, bytes]

# GPT-2's: a space goes with the word after it. GPT-2 counts numerals such as ² and Ⅷ as digits, `re` as letters; and
# `re` counts the four separators from U+001C as blanks.
_WORD = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
_BYTES = [bytes([number]) for number in range(256)]
_PRINTABLE = [*range(ord("!"), 127), *range(161, 173), *range(174, 256)]  # GPT-2 writes these as they are in Latin-1
ALPHABET = {chr(number): number for number in _PRINTABLE}
ALPHABET |= {chr(256 + i): number for i, number in enumerate(n for n in range(256) if n not in _PRINTABLE)}


class BytePairs:
    """Text to token ids and back. Tokens are the 256 bytes, then what each merge makes of two of them, then specials.

    >>> pairs = BytePairs.learn("low lower lowest", N=259)
    >>> pairs.merges
    ((b'l', b'o'), (b'lo', b'w'), (b' ', b'low'))
    >>> pairs.encode("low glow")
    tensor([257,  32, 103, 257])
    >>> pairs.decode(torch.tensor([257, 258]))
    'low low'

    A text is cut into words, as GPT-2 does; within a word the first merge in the list that applies is made first, from
    left to right. No text is unknown: in the worst case it is its UTF-8 bytes. A special is one token wherever it
    stands.
    """

    def __init__(self, merges: Iterable[Pair], specials: Sequence[str] = ()):
        self.merges, self.specials = tuple(map(_pair, merges)), _checked(specials)
        self.ranks: dict[Pair, int] = {}
        known = dict.fromkeys(_BYTES)
        for rank, pair in enumerate(self.merges):
            for part in pair:
                if part not in known:
                    raise ValueError(
                        f"merge {rank} joins {part!r}, which is no byte and which no merge before it made."
                    )
            if self.ranks.setdefault(pair, rank) != rank:
                raise ValueError(f"merges {self.ranks[pair]} and {rank} are the same, {pair}.")
            known[b"".join(pair)] = None  # two merges may make the same, which is one token
        self.tokens = (*known, *(special.encode() for special in self.specials))
        self._ids = {token: number for number, token in enumerate(known)}
        self._special_ids = {special: len(known) + i for i, special in enumerate(self.specials)}

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def learn(cls, text: str, N: int) -> Self:
        """Merge the pair that occurs most often, again and again, until there are N tokens or no pairs.

        Of pairs that occur equally often it is the one whose bytes come first. No pair reaches across words.
        """
        if not isinstance(text, str):
            raise ValueError(f"text must be one string, got a {type(text).__name__}; for several, try ''.join(texts).")
        if N < 256:
            raise ValueError(f"N must be at least 256, since every byte is a token; got {N}.")
        often = Counter(words(text))
        pieces = [[_BYTES[number] for number in word.encode()] for word in often]
        times = [*often.values()]
        counts: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)
        for place, word in enumerate(pieces):
            for pair in pairwise(word):
                counts[pair] += times[place]
                places[pair].add(place)
        queue = [(-count, pair) for pair, count in counts.items()]
        heapify(queue)
        merges, known = [], set(_BYTES)
        while len(known) < N and queue:
            count, best = heappop(queue)
            if -count != counts[best]:  # it has changed since, and was queued again
                continue
            merges.append(best)
            known.add(b"".join(best))
            more: Counter[Pair] = Counter()
            for place in places[best]:
                before, pieces[place] = pieces[place], merged(pieces[place], best)
                for pair in pairwise(before):
                    more[pair] -= times[place]
                for pair in pairwise(pieces[place]):
                    more[pair] += times[place]
                    places[pair].add(place)
            for pair in more:
                counts[pair] += more[pair]
                if more[pair] and counts[pair]:
                    heappush(queue, (-counts[pair], pair))
        return cls(merges)

    @classmethod
    def read(cls, lines: Iterable[str], specials: Sequence[str] = ()) -> Self:
        """From a published list: one merge per line, two tokens with a space between, in GPT-2's alphabet.

        >>> BytePairs.read(["#version: 0.2", "Ġ t", "Ġt h"]).merges
        ((b' ', b't'), (b' t', b'h'))

        The alphabet has a printable character for each byte: Ġ is the space, Ċ the end of a line.
        """
        merges: list[Pair] = []
        for number, line in enumerate(lines, start=1):
            parts = line.rstrip("\r\n").split(" ")
            if number == 1 and parts[0] == "#version:":
                continue
            if len(parts) != 2 or not all(parts):
                raise ValueError(f"line {number} must be two tokens with a space between, got {line!r}.")
            for letter in "".join(parts):
                if letter not in ALPHABET:
                    raise ValueError(
                        f"line {number} has {letter!r}, which is not in GPT-2's alphabet of the 256 bytes."
                    )
            left, right = (bytes(ALPHABET[letter] for letter in part) for part in parts)
            merges.append((left, right))
        return cls(merges, specials)

    def encode(self, text: str) -> Tensor:
        """Ids (L,)."""
        if not isinstance(text, str):
            raise ValueError(f"text must be one string, got a {type(text).__name__}; each text has ids of its own.")
        longest_first = sorted(self.specials, key=len, reverse=True)
        parts = re.split(f"({'|'.join(map(re.escape, longest_first))})", text) if self.specials else [text]
        ids: list[int] = []
        known: dict[str, list[int]] = {}
        for place, part in enumerate(parts):
            if place % 2:
                ids.append(self._special_ids[part])
                continue
            for word in self._words(part):
                if word not in known:
                    known[word] = [self._ids[piece] for piece in self._pieces(word.encode())]
                ids += known[word]
        return torch.tensor(ids, dtype=torch.int64)

    def decode(self, ids: Tensor) -> str:
        """The text of ids (L,). Bytes that are no UTF-8, as half a character's are none, become U+FFFD."""
        check_ids(ids, len(self))
        if ids.ndim != 1:
            raise ShapeError("ids", "(L,)", ("L",), ids.shape, "Several texts? Try one row at a time.")
        return b"".join(self.tokens[number] for number in ids.tolist()).decode(errors="replace")

    def _words(self, text: str) -> list[str]:
        return words(text)

    def _pieces(self, word: bytes) -> list[bytes]:
        """The word's tokens. A queue holds the merges that apply, so that time grows with L log L."""
        L = len(word)
        # Of the piece that starts, or ends, at each place. Before the word and after it are pieces of no bytes.
        end, start = [*range(1, L + 2)], [*range(-1, L)]
        queue: list[tuple[int, int, int, int]] = []

        def offer(i: int, j: int, k: int) -> None:
            rank = self.ranks.get((word[i:j], word[j:k]))
            if rank is not None:
                heappush(queue, (rank, i, j, k))

        for i in range(L):
            offer(i, i + 1, i + 2)
        while queue:
            _, i, j, k = heappop(queue)
            if end[i] != j or end[j] != k:  # one of the two has been merged meanwhile
                continue
            end[i], end[j], start[k] = k, 0, i
            offer(start[i], i, k)
            offer(i, k, end[k])
        pieces, i = [], 0
        while i < L:
            pieces.append(word[i : end[i]])
            i = end[i]
        return pieces


def words(text: str) -> list[str]:
    """What a text is cut into before pairs are merged, as GPT-2 does it.

    >>> words("The cat's 12 mats.")
    ['The', ' cat', "'s", ' 12', ' mats', '.']
    """
    return _WORD.findall(text)


def merged(tokens: Sequence[bytes], pair: Pair) -> list[bytes]:
    """The pair made one token wherever it occurs, from left to right: of aaa, the first two."""
    made, i = [], 0
    while i < len(tokens):
        both = (*tokens[i : i + 2],) == pair
        made.append(b"".join(pair) if both else tokens[i])
        i += 2 if both else 1
    return made


def _pair(merge: object) -> Pair:
    if (
        not isinstance(merge, Sequence)
        or len(merge) != 2
        or not all(isinstance(part, bytes) and part for part in merge)
    ):
        raise ValueError(f"a merge must be two tokens of bytes, such as (b't', b'h'), got {merge!r}.")
    return merge[0], merge[1]


def _checked(specials: Sequence[str]) -> tuple[str, ...]:
    if isinstance(specials, str) or not all(isinstance(special, str) and special for special in specials):
        raise ValueError(f"specials are several strings, none of them empty, such as ['<|end|>']; got {specials!r}.")
    if len({*specials}) < len(specials):
        raise ValueError(f"specials must differ, got {specials!r}.")
    return tuple(specials)
