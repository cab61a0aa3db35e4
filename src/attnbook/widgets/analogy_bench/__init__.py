"""a is to b as c is to what: the ranking, with and without the words asked, and a parallelogram that may not close."""

import traitlets

from attnbook.data import english_vectors
from attnbook.language import number
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table
from attnbook.widgets.shared.words import Word

SHOWN = 8


class AnalogyBench(BookWidget):
    """Three words in, a ranking out. With `asked` it starts with the answer on show.

    >>> AnalogyBench("man", "woman", "king").ranking()[0][0]
    'queen'
    >>> AnalogyBench("man", "woman", "king", queries="in").ranking()[0][0]
    'king'
    """

    a = Word("man").tag(sync=True)
    b = Word("woman").tag(sync=True)
    c = Word("king").tag(sync=True)
    queries = traitlets.Enum(["out", "in"], "out").tag(sync=True)
    asked = traitlets.Bool(False).tag(sync=True)
    words = Asset("word_map.bin")
    vectors = Asset("vectors.bin", later=True)

    def __init__(self, a: str = "man", b: str = "woman", c: str = "king", **traits):
        super().__init__(a=a, b=b, c=c, **traits)

    def ranking(self) -> list[tuple[str, float]]:
        """What the widget shows, by the book's own `analogy`."""
        return english_vectors().analogy(self.a, self.b, self.c, SHOWN, with_query=self.queries == "in")

    def table(self) -> str:
        say = self.edition_words()
        caption = say["table"].format(a=self.a, b=self.b, c=self.c)
        rows = ((Verbatim(word), [number(cosine, 3)]) for word, cosine in self.ranking())
        return html_table(caption, [say["cosine"]], rows)
