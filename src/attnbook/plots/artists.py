"""What Matplotlib draws as thousands of things, drawn as a few, so that a figure stays small."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.collections import QuadMesh
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform


class Cells(QuadMesh):
    """Those of one colour are one path, and neighbours of one colour one rectangle where there is no gap."""

    def __init__(self, numbers, gap: float, **colours: Any):
        edges = np.meshgrid(*(np.arange(n + 1) - 0.5 for n in reversed(numbers.shape)))
        super().__init__(np.stack(edges, -1), array=np.asarray(numbers), **colours)
        self.gap = gap

    def draw(self, renderer) -> None:
        edges = np.asarray(self.get_coordinates())
        corners = self.get_transform().transform(edges.reshape(-1, 2)).reshape(edges.shape)
        inside = self.gap / 2 * np.array([1, -1])
        rectangles: dict[tuple, list[Path]] = {}
        for i, row in enumerate(self.to_rgba(np.asarray(self.get_array()))):
            for colour, start, end in self._runs([tuple(colour) for colour in row]):
                (left, top), (right, bottom) = corners[i, start] + inside, corners[i + 1, end] - inside
                around = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
                rectangles.setdefault(colour, []).append(Path(around, closed=True))
        gc = renderer.new_gc()
        gc.set_linewidth(0)
        renderer.open_group("apart" if self.gap else "seamless")
        for colour, paths in rectangles.items():
            renderer.draw_path(gc, Path.make_compound_path(*paths), IdentityTransform(), colour)
        renderer.close_group("cells")

    def _runs(self, row: list[tuple]) -> Iterator[tuple[tuple, int, int]]:
        """A colour, where it starts and where it ends; with a gap, every cell is a run."""
        start = 0
        for j in range(1, len(row) + 1):
            if self.gap or j == len(row) or row[j] != row[start]:
                yield row[start], start, j
                start = j


class Dots(Line2D):
    """Each is a line of no length with a round end."""

    def draw(self, renderer) -> None:
        places = self.get_transform().transform(self.get_xydata()).round(1)
        path = Path(np.repeat(places, 2, axis=0), [Path.MOVETO, Path.LINETO] * len(places))
        path.should_simplify = False  # it would take away what has no length
        gc = renderer.new_gc()
        gc.set_foreground(self.get_color())
        gc.set_linewidth(self.get_linewidth())
        gc.set_capstyle("round")
        renderer.draw_path(gc, path, IdentityTransform())
