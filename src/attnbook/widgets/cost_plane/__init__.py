"""The plane of lengths n and widths d: where attention needs more operations than what it is compared with."""

import traitlets

from attnbook.language import count, plain, whole
from attnbook.learning.complexity import Convolution, Kind, Recurrence, SelfAttention
from attnbook.widgets.shared.base import BookWidget, html_table

LONGEST, WIDEST = 2**20, 2**14


class CostPlane(BookWidget):
    """One point of it, n tokens of width d, and the costs of three layers there.

    >>> CostPlane().crossover()  # n² d against n d²
    1.0
    """

    n = traitlets.Int(512, min=16, max=LONGEST).tag(sync=True)
    d = traitlets.Int(512, min=16, max=WIDEST).tag(sync=True)
    heads = traitlets.Int(8, min=1, max=128).tag(sync=True)
    kernel = traitlets.Enum([3, 5, 9, 17, 33], 9).tag(sync=True)
    against = traitlets.Enum(["recurrence", "gru", "lstm", "convolution"], "recurrence").tag(sync=True)
    projections = traitlets.Enum(["in", "out"], "out").tag(sync=True)

    def kinds(self) -> dict[str, Kind]:
        return {
            "attention": SelfAttention(self.heads),
            "recurrence": Recurrence(),
            "gru": Recurrence("gru"),
            "lstm": Recurrence("lstm"),
            "convolution": Convolution(self.kernel),
        }

    def operations(self, kind: Kind) -> int:
        left_out = self.projections == "out" and isinstance(kind, SelfAttention)
        return kind.cost(self.n, self.d).operations - left_out * 8 * self.n * self.d**2

    def crossover(self) -> float:
        """The n / d at which attention needs as many operations as what it is compared with; 0 if it always needs more.

        4 n² d + 8 n d² (without the projections, 4 n² d) is then c n d², where c is that of the other.
        """
        c = self.kinds()[self.against].cost(1, 1).operations
        return max(c - 8 * (self.projections == "in"), 0) / 4

    def table(self) -> str:
        say, ratio = self.edition_words()["table"], self.crossover()
        text = say[self.against]["border" if ratio else "nowhere"]
        heads = count(say["heads"], self.heads)
        caption = text.format(n=self.n, d=self.d, heads=heads, ratio=plain(ratio))
        rows = (
            (
                say["rows"][name].format(k=self.kernel),
                [whole(self.operations(kind)), whole(kind.memory(self.n, self.d))],
            )
            for name, kind in self.kinds().items()
        )
        return html_table(caption, say["columns"], rows)
