"""Byte-pair encoding of the reader's own text, merge by merge; or with the merges that Shakespeare's plays taught."""

from collections import Counter
from itertools import pairwise

import traitlets

from attnbook.language import whole
from attnbook.learning.bytepairs import Pair, merged, words
from attnbook.tasks.writing import writer_pairs
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.pairs import shown_token
from attnbook.widgets.shared.tables import Verbatim, html_table

LONGEST = 160  # letters
FIRST = "low lower lowest, new newer newest"


class BpeStepper(BookWidget):
    """The text after `step` merges: the pairs that occur most often, or the first of the `book`'s that occur in it.

    >>> BpeStepper().merges()[:3]
    [(b'w', b'e'), (b' ', b'n'), (b' n', b'e')]
    >>> BpeStepper(step=4).tokens()[:2]
    [[b'lo', b'w'], [b' ', b'lo', b'we', b'r']]
    """

    text = traitlets.Unicode(FIRST).tag(sync=True)
    source = traitlets.Enum(["own", "book"], "own").tag(sync=True)
    step = traitlets.Int(3, min=0).tag(sync=True)
    pairs = Asset("pairs.bin")

    def __init__(self, text: str = FIRST, **traits):
        super().__init__(text=text, **traits)

    @traitlets.validate("text")
    def _short(self, proposal) -> str:
        if not 0 < len(proposal["value"]) <= LONGEST:
            raise traitlets.TraitError(f"a text of 1 to {LONGEST} letters; got {len(proposal['value'])}")
        return proposal["value"]

    def steps(self) -> list[tuple[list[list[bytes]], list[tuple[Pair, int]]]]:
        """Before each merge, and after the last: the tokens of each word; and the pairs that could be merged, with how
        often they occur. The first of them is merged next.
        """
        tokens, found = [[bytes([byte]) for byte in word.encode()] for word in words(self.text)], []
        while True:
            pairs = self._could(Counter(pair for word in tokens for pair in pairwise(word)))
            found.append((tokens, pairs))
            if not pairs:
                return found
            tokens = [merged(word, pairs[0][0]) for word in tokens]

    def _could(self, counts: Counter[Pair]) -> list[tuple[Pair, int]]:
        if self.source == "own":
            often = [(pair, count) for pair, count in counts.items() if count > 1]
            return sorted(often, key=lambda pair: (-pair[1], pair[0]))
        ranks = writer_pairs().ranks
        return sorted(((pair, n) for pair, n in counts.items() if pair in ranks), key=lambda pair: ranks[pair[0]])

    def merges(self) -> list[Pair]:
        """Returns all merges that the text leads to, in their order."""
        return [pairs[0][0] for _, pairs in self.steps()[:-1]]

    def tokens(self) -> list[list[bytes]]:
        """Returns the tokens of each word after the steps that were taken."""
        steps = self.steps()
        return steps[min(self.step, len(steps) - 1)][0]

    def table(self) -> str:
        say, steps, rows = self.edition_words()["table"], self.steps(), []
        for n, (_, pairs) in enumerate(steps[:-1], start=1):
            (pair, count), size = pairs[0], sum(map(len, steps[n][0]))
            named = Verbatim(" + ".join(map(shown_token, pair)))
            rows.append((say["step"].format(n=whole(n)), [named, whole(count), whole(size)]))
        caption = say["caption"].format(text=self.text, n=whole(sum(map(len, steps[0][0]))))
        return html_table(caption, [say["pair"], say["count"], say["tokens"]], rows)
