"""Make the small files with which widgets start: of a large one the words that their first picture needs.

    python -m booktools.make.first

Each is like the file that it is a part of, which is fetched when a reader goes beyond it. first.words.bin is a part of
words.bin, with the words of the first AttentionHeatmap; first.word_map.bin one of word_map.bin, with the commonest.
bank.bin is one of vectors.bin; its first line also says what sentences BankInContext offers, which words lie beside
them, and between which two meanings a needle stands. stars.bin has these words and, for each sentence, the nearest of
all 8,000 to what a word is alone and to what it becomes, and to the meanings.
"""

import json
from collections.abc import Iterable

from torch import Tensor

from attnbook.data import FOLDER, english_vectors
from attnbook.tasks.senses import three_matrices
from attnbook.widgets.attention_heatmap import FIRST_TOKENS
from attnbook.widgets.bank_in_context import BETWEEN, TRAY, TRIES
from attnbook.widgets.word_map import FIRST_WORDS

NEAR = 5


def make() -> dict[str, bytes]:
    """Each file's name and content."""
    sentences = sorted(
        {*" ".join(TRIES).split(), *TRAY, *BETWEEN, *(word for pair in BETWEEN.values() for word in pair)}
    )
    near = {word for vector in _starry() for word, _ in english_vectors().neighbours(vector, NEAR)}
    return {
        "stars.bin": part("vectors.bin", sorted(near.union(sentences))),
        "bank.bin": part("vectors.bin", sentences, tries=TRIES, tray=TRAY, between=BETWEEN),
        "first.words.bin": part("words.bin", sorted(set(FIRST_TOKENS)), part=True),
        "first.word_map.bin": part("word_map.bin", _words_of("word_map.bin")[:FIRST_WORDS], align=2, part=True),
    }


def _starry() -> Iterable[Tensor]:
    """The vectors whose neighbours are named: of words alone, of what they become, and of meanings."""
    for sentence in TRIES:
        x_LD = english_vectors()[sentence.split()]
        yield from x_LD
        yield from three_matrices()(x_LD)[0]
    yield from (english_vectors()[word] for pair in BETWEEN.values() for word in pair)


def _words_of(file: str) -> list[str]:
    return json.loads((FOLDER / file).read_bytes().partition(b"\n")[0])["words"].split()


def part(file: str, words: Iterable[str], align: int = 1, **more) -> bytes:
    """Some words of a file and their numbers, as they are there, which begin at a multiple of `align`.

    What else is given goes into the first line.
    """
    head, _, numbers = (FOLDER / file).read_bytes().partition(b"\n")
    row = {word: n for n, word in enumerate(_words_of(file))}
    size = len(numbers) // len(row)
    header = json.dumps(json.loads(head) | {"words": " ".join(words)} | more) + "\n"
    found = b"".join(numbers[size * row[word] :][:size] for word in words)
    return header.rjust(len(header) + -len(header) % align).encode() + found


if __name__ == "__main__":
    for name, content in make().items():
        (FOLDER / name).write_bytes(content)
