"""The plane of lengths n and widths d: where attention needs more operations than what it is compared with."""

import traitlets

from attnbook.language import count, plain, whole
from attnbook.learning.complexity import Convolution, Kind, Recurrence, SelfAttention
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table

LONGEST, WIDEST = 2**20, 2**14


class CostPlane(BookWidget):
    """One point of it, n tokens of width d, and the costs of three layers there.

    >>> CostPlane().crossover()  # n² d against n d²
    1.0
    """

    n = traitlets.Int(8192, min=16, max=LONGEST).tag(sync=True)
    d = traitlets.Int(512, min=16, max=WIDEST).tag(sync=True)
    heads = traitlets.Int(8, min=1, max=128).tag(sync=True)
    kernel = traitlets.Enum([3, 5, 9, 17, 33], 9).tag(sync=True)
    against = traitlets.Enum(["recurrence", "gru", "lstm", "convolution"], "recurrence").tag(sync=True)
    projections = traitlets.Enum(["in", "out"], "out").tag(sync=True)
    pairs = traitlets.Enum(["all", "half"], "all").tag(sync=True)

    def kinds(self) -> dict[str, Kind]:
        return {
            "attention": SelfAttention(self.heads),
            "recurrence": Recurrence(),
            "gru": Recurrence("gru"),
            "lstm": Recurrence("lstm"),
            "convolution": Convolution(self.kernel),
        }

    def operations(self, kind: Kind) -> int:
        """Half of the pairs are a causal layer's, but for n / 2 of them."""
        every = kind.cost(self.n, self.d).operations
        if not isinstance(kind, SelfAttention):
            return every
        projections = 8 * self.n * self.d**2
        pairs = every - projections
        return (pairs // 2 if self.pairs == "half" else pairs) + (projections if self.projections == "in" else 0)

    def memory(self, kind: Kind) -> int:
        kept = kind.memory(self.n, self.d)
        halved = self.pairs == "half" and isinstance(kind, SelfAttention)
        return kept - (self.heads * self.n**2 + 1) // 2 if halved else kept

    def crossover(self) -> float:
        """The n / d at which attention needs as many operations as what it is compared with; 0 if it always needs more.

        4 n² d + 8 n d² (2 n² d for half of the pairs; without the projections, no 8 n d²) is then c n d², where c is
        that of the other.
        """
        c = self.kinds()[self.against].cost(1, 1).operations
        return max(c - 8 * (self.projections == "in"), 0) / (2 if self.pairs == "half" else 4)

    def table(self) -> str:
        say, ratio = self.edition_words()["table"], self.crossover()
        text = say[self.against]["border" if ratio else "nowhere"] + say["pairs"][self.pairs]
        heads = count(say["heads"], self.heads)
        caption = text.format(n=whole(self.n), d=whole(self.d), heads=heads, ratio=plain(ratio))
        rows = (
            (
                say["rows"][name].format(k=self.kernel),
                [whole(self.operations(kind)), whole(self.memory(kind))],
            )
            for name, kind in self.kinds().items()
        )
        return html_table(caption, say["columns"], rows)
