"""News in a graph whose edges are a mask: one node is marked, and each layer carries the mark one edge further."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import count, whole
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table, painted

N = 8  # nodes
GRAPHS = {
    "chain": [(i, i + 1) for i in range(N - 1)],
    "ring": [(i, (i + 1) % N) for i in range(N)],
    "star": [(0, i) for i in range(1, N)],
    "parts": [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)],
}


class GraphWalk(BookWidget):
    """Eight nodes, and which of them have heard of the marked one after so many layers.

    Rows hear columns. Cells in `flipped` are the other way round, so an edge may lead one way only.

    >>> GraphWalk(graph="chain", layers=2).heard()  # after which layer; -1 for those who have not
    [0, 1, 2, -1, -1, -1, -1, -1]
    >>> GraphWalk(graph="chain", flipped=[[0, 7], [7, 0]], layers=2).heard()
    [0, 1, 2, -1, -1, -1, 2, 1]
    """

    graph = traitlets.Enum([*GRAPHS], "chain").tag(sync=True)
    marked = traitlets.Int(0, min=0, max=N - 1).tag(sync=True)
    layers = traitlets.Int(2, min=0, max=N - 1).tag(sync=True)
    flipped = traitlets.List(traitlets.List(traitlets.Int(), minlen=2, maxlen=2)).tag(sync=True)

    def mask(self) -> Tensor:
        """True where the row hears the column, (8, 8). Every node hears itself."""
        edges = GRAPHS[self.graph]
        both_ways = painted([*edges, *(edge[::-1] for edge in edges)], N, N)
        return (both_ways ^ painted(self.flipped, N, N)) | torch.eye(N, dtype=torch.bool)

    def distances(self) -> list[int]:
        """Of each node after how many layers it hears of the marked one, if there are enough; -1 for never."""
        mask, known, found = self.mask(), torch.arange(N) == self.marked, [-1] * N
        for layer in range(N):
            found = [layer if knows and at < 0 else at for knows, at in zip(known.tolist(), found, strict=True)]
            known = mask[:, known].any(1)
        return found

    def heard(self) -> list[int]:
        """The same of those who have heard after the layers that there are; -1 for the others."""
        return [at if at <= self.layers else -1 for at in self.distances()]

    def said(self) -> list[str]:
        """Who knows; and, once all have heard who ever will, whether these are all."""
        say, found = self.edition_words(), self.distances()
        node = whole(self.marked + 1)
        known = whole(sum(at >= 0 for at in self.heard()))
        never = [whole(i + 1) for i, at in enumerate(found) if at < 0]
        end = say["never"].format(names=say["list"].join(never)) if never else count(say["all"], max(found))
        end = "" if self.layers < max(found) else end
        return [count(say["heard"], self.layers, known=known, all=whole(N), node=node), end]

    def table(self) -> str:
        say = self.edition_words()
        names = [whole(i + 1) for i in range(N)]
        rows = (
            (name, [say["hears"] if hears else "" for hears in line])
            for name, line in zip(names, self.mask(), strict=True)
        )
        return html_table(say["map"], names, rows)
