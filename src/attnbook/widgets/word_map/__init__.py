"""8,000 words on a flat map, and which words are really near."""

import torch
import traitlets
from torch import Tensor

from attnbook.data import english_vectors
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table
from attnbook.widgets.shared.words import Word

EXAMPLES = ["river", "bank", "monday", "seven", "blue"]
FIRST_WORDS = 400  # the bright ones


class WordMap(BookWidget):
    """The reader moves about, chooses a word, and sees its ten nearest: by their vectors, and whether the map agrees.

    >>> WordMap(word="river").neighbours()[0][0]
    'rivers'
    """

    word = Word("").tag(sync=True)
    x = traitlets.Float(0.0, min=-1.0, max=1.0).tag(sync=True)
    y = traitlets.Float(0.0, min=-1.0, max=1.0).tag(sync=True)
    zoom = traitlets.Float(1.0, min=1.0, max=24.0).tag(sync=True)
    map = Asset("word_map.bin", first=True)
    vectors = Asset("vectors.bin", later=True)

    def __init__(self, word: str = "", **traits):
        if word in english_vectors() and not traits.keys() & {"x", "y", "zoom"}:
            x, y = self.place(word)
            traits |= {"x": round(x, 3), "y": round(y, 3), "zoom": 6.0}
        super().__init__(word=word, **traits)

    def neighbours(self) -> list[tuple[str, float]]:
        """The ten nearest of all 8,000, with their cosines."""
        return english_vectors().neighbours(self.word, 10)

    @classmethod
    def places(cls) -> Tensor:
        """Where on the map each word is, (words, 2), from -1 to 1."""
        _, _, steps = cls.map.path.read_bytes().partition(b"\n")
        return torch.frombuffer(bytearray(steps), dtype=torch.int16).view(-1, 2).double() / 32767

    @classmethod
    def place(cls, word: str) -> tuple[float, float]:
        """Where on the map a word is."""
        return tuple(cls.places()[english_vectors().index[word]].tolist())

    def table(self) -> str:
        say = self.edition_words()["table"]
        rows = (
            (Verbatim(word), [Verbatim(near) for near, _ in english_vectors().neighbours(word, len(say["ranks"]))])
            for word in ([self.word] if self.word else EXAMPLES)
        )
        return html_table(say["caption"], say["ranks"], rows)
