"""Static figures in the book's style: paper, thin rules, names beside what they name.

Every picture of weights has one scale, fixed to 0-1: heads, layers and chapters stay comparable.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from statistics import fmean
from typing import Any, overload

from attnbook.errors import ShapeError, lacking

if find_spec("matplotlib") is None:
    raise lacking("matplotlib", "Figures")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.transforms import offset_copy

from attnbook._inputs import weights_of
from attnbook.colours import LIGHT
from attnbook.plots.artists import Cells, Dots
from attnbook.plots.renderings import FONT, light, number_colour, shades, weight_colours

__all__ = ["axes", "bars", "cells", "dots", "heatmap", "label", "runs"]

QUERY, KEY, VALUE, ACCENT, INK, SOFT, LINE, RULE, PAPER = (
    str(LIGHT[name])
    for name in (
        "attn-query",
        "attn-key",
        "attn-value",
        "ab-accent",
        "ab-ink",
        "ab-soft",
        "ab-line",
        "ab-rule",
        "ab-paper",
    )
)
WEIGHTS, SHADES = weight_colours(LIGHT), shades(LIGHT)
_STYLE: dict[Any, Any] = {
    "font.family": FONT,
    "font.size": 10,
    "text.color": INK,
    "axes.facecolor": "none",
    "axes.edgecolor": LINE,
    "axes.linewidth": 0.8,
    "axes.labelcolor": SOFT,
    "axes.labelsize": 10,
    "axes.xmargin": 0.02,
    "axes.spines.top": False,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    # The first line is what the figure is about, the others are what it is compared with.
    "axes.prop_cycle": cycler(
        color=[ACCENT, INK, SOFT, INK], linestyle=["-", "--", "-.", ":"], linewidth=[2, 1.4, 1.4, 1.4]
    ),
}


class QuietAxes(Axes):
    """Axes with names where one starts to read: the title, and the vertical axis's own, stand above on the left."""

    def set_title(self, label: str, **options: Any):
        left: dict[str, Any] = {"x": 0, "horizontalalignment": "left", "fontsize": 10}
        return super().set_title(label, **left | options)

    def set_ylabel(self, ylabel: str, **options: Any):
        above: dict[str, Any] = {"y": 1, "rotation": 0, "horizontalalignment": "left", "verticalalignment": "bottom"}
        return super().set_ylabel(ylabel, **above | options)

    def _ipython_display_(self) -> None:
        """Say nothing: the figure shows itself, so a cell may end with its axes."""


class DataFigure(Figure):
    """A figure whose text tells its data: pictures are not compared when a notebook is tested, texts are."""

    def __repr__(self) -> str:
        drawn = [(name, np.asarray(numbers, dtype=float).ravel()) for ax in self.axes for name, numbers in _drawn(ax)]
        return f"<Figure: {'; '.join(_summary(name, numbers) for name, numbers in drawn)}>"

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display({"image/svg+xml": light(self), "text/plain": repr(self)}, raw=True)


def _drawn(ax: Axes) -> Iterator[tuple[Any, Any]]:
    """The name and the numbers of everything in the axes that stands for data."""
    yield from ((line.get_label(), line.get_ydata()) for line in ax.lines)
    yield from (("cells", image.get_array()) for image in ax.images)
    for shapes in ax.collections:
        if isinstance(shapes, QuadMesh):
            yield "cells", shapes.get_array()
        elif isinstance(shapes, PathCollection):
            yield "points", shapes.get_offsets()
        else:
            yield "points", np.concatenate([np.asarray(path.vertices)[:, 1] for path in shapes.get_paths()])
    bars: list[Any] = list(ax.patches)  # rectangles
    lying = {bar for group in ax.containers if getattr(group, "orientation", "") == "horizontal" for bar in group}
    if bars:
        yield "bars", [bar.get_width() if bar in lying else bar.get_height() for bar in bars]


def _summary(name: str, y: np.ndarray) -> str:
    """The ends, the mean, and a mean in which later numbers count more: two numbers swapped change it."""
    later = np.average(y, weights=np.arange(1, y.size + 1))
    return f"{name} {y[0]:.2g} to {y[-1]:.2g}, mean {y.mean():.2g}, later {later:.2g}, of {y.size}"


@overload
def axes(*, width: float = 4.8, height: float = 2.9) -> Axes: ...
@overload
def axes(columns: int = 1, width: float = 4.8, height: float = 2.9, *, rows: int = 1, sharey: bool = False) -> Any: ...
def axes(columns: int = 1, width: float = 4.8, height: float = 2.9, *, rows: int = 1, sharey: bool = False):
    """Axes in the book's style: one, a row of `columns`, which may share one vertical axis, or `rows`.

    The default width is the widest whose text can be read on a phone.

    >>> ax = axes()
    >>> line = ax.plot([0.9, 0.5, 0.4], label="loss")
    >>> ax.figure
    <Figure: loss 0.9 to 0.4, mean 0.6, later 0.52, of 3>
    """
    figure = plt.figure(figsize=(width, height), facecolor=PAPER, FigureClass=DataFigure)
    figure.set_layout_engine("constrained", hspace=0.12, wspace=0.06)
    with plt.rc_context(_STYLE):
        made = figure.subplots(rows, columns, sharey=sharey, subplot_kw={"axes_class": QuietAxes})
    for ax in figure.axes:
        _quieten(ax, figure)
    return made


def _quieten(ax: Axes, figure: Figure) -> None:
    """No ticks but their numbers, and rules for the eye to follow."""
    ax.tick_params(which="both", length=0, pad=5, labelcolor=SOFT, labelsize=9, labelfontfamily=FONT)
    ax.yaxis.get_major_locator().set_params(nbins=5)  # pyrefly: ignore[unexpected-keyword] (it has it)
    ax.grid(axis="y", color=RULE, linewidth=0.8, linestyle="-")
    ax.yaxis.set_label_coords(0, 1, offset_copy(ax.transAxes, figure, y=7, units="points"))


def label(ax: Axes) -> Axes:
    """Name every line at its right end, in its colour, and keep the names apart: better than a legend.

    >>> ax = axes()
    >>> lines = ax.plot([0.9, 0.4], label="with the root") + ax.plot([0.9, 0.8], label="without")
    >>> [name.get_text() for name in label(ax).texts]
    ['with the root', 'without']
    """
    figure: Any = ax.figure
    figure.draw_without_rendering()  # so that its size is known
    to_axes = ax.transData - ax.transAxes
    named = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    ends = [(to_axes.transform(np.asarray(line.get_xydata())[-1]), line) for line in named]
    ends.sort(key=lambda end: end[0][1])
    gap = 13 / (ax.bbox.height * 72 / figure.dpi)
    for ((x, _), line), y in zip(ends, apart([y for (_, y), _ in ends], gap), strict=True):
        name, beside = str(line.get_label()), offset_copy(ax.transAxes, figure, x=6, units="points")
        ax.text(x, y, name, transform=beside, color=line.get_color(), verticalalignment="center")
    return ax


def apart(places: list[float], gap: float) -> list[float]:
    """Rising numbers, moved as little as possible so that neighbours differ by a gap: a regression that only rises.

    >>> apart([0.0, 0.5, 0.5], 0.25)
    [0.0, 0.375, 0.625]
    """
    n, slack = len(places), [y - i * gap for i, y in enumerate(places)]
    pooled = [max(min(fmean(slack[a : b + 1]) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]
    return [y + i * gap for i, y in enumerate(pooled)]


def heatmap(weights, queries: str | Sequence[str], keys: str | Sequence[str], ax: Axes | None = None, title="") -> Axes:
    """Weights (L, M) as a picture, 0 to 1, with its numbers as long as there is room for them: up to 12 keys.

    `weights` is a tensor, an array or lists; one query may come as (M,). Names may be a text, whose words they are.

    >>> ax = heatmap([[0.75, 0.25]], queries="bank", keys="river money")
    >>> [number.get_text() for number in ax.texts]
    ['0.75', '0.25']
    """
    queries, keys = (names.split() if isinstance(names, str) else list(names) for names in (queries, keys))
    numbers = _weights(weights, len(queries), len(keys))
    L, M = numbers.shape
    roomy = M <= 12
    wide, high = (0.46, 0.36) if roomy else (0.2, 0.2)
    ax = axes(width=wide * M + 0.9, height=high * L + 0.6) if ax is None else ax
    cells(numbers, ax, colours=WEIGHTS, gap=1.2)
    for (i, j), w in np.ndenumerate(numbers) if roomy else ():
        ax.text(j, i, f"{w:.2f}", ha="center", va="center", fontsize=8.5, color=number_colour(w))
    ax.set_xticks(range(M), keys)
    ax.set_yticks(range(L), queries)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.tick_params(axis="x", labelcolor=KEY)
    ax.tick_params(axis="y", labelcolor=QUERY)
    ax.set(xlabel="keys", ylabel="queries", title=title)
    ax.xaxis.set_label_position("top")
    ax.xaxis.label.set_color(KEY)
    ax.yaxis.label.set(color=QUERY, x=-0.02, horizontalalignment="right")
    _turn_if_they_touch(ax)
    return ax


def _weights(given, L: int, M: int) -> np.ndarray:
    """Checked: as many as there are names, numbers, and weights."""
    numbers = weights_of("weights", given).numpy()
    if numbers.ndim > 2:
        one = ", ".join("0" * (numbers.ndim - 2))
        hint = f"Maps of several heads or texts? Take one, weights[{one}], or look at all of them in a HeadBrowser."
        raise ShapeError("weights", "(L, M)", (L, M), numbers.shape, hint)
    if np.atleast_2d(numbers).shape != (L, M):
        hint = f"There is a row for each of the {L} queries and a column for each of the {M} keys."
        raise ShapeError("weights", "(L, M)", (L, M), numbers.shape, hint)
    return np.atleast_2d(numbers)


def _turn_if_they_touch(ax: Axes) -> None:
    """The names of the columns, by a quarter."""
    figure: Any = ax.figure
    figure.draw_without_rendering()  # so that their places are known
    names = [name.get_window_extent() for name in ax.get_xticklabels()]
    if any(right.x0 < left.x1 + 2 for left, right in pairwise(names)):
        ax.tick_params(axis="x", labelrotation=90)


def cells(numbers, ax: Axes | None = None, *, low=0.0, high=1.0, colours=SHADES, gap=0.0) -> Axes:
    """A table (rows, columns) of cells, the first row on top; from the colour of the page to that of its ink.

    >>> cells(np.eye(2), low=0, high=1).figure
    <Figure: cells 1 to 1, mean 0.5, later 0.5, of 4>
    """
    numbers = np.asarray(numbers)
    if numbers.ndim != 2:
        raise ValueError(f"numbers must be a table, rows of columns, got the shape {numbers.shape}.")
    rows, columns = numbers.shape
    ax = axes() if ax is None else ax
    ax.add_collection(Cells(numbers, gap, cmap=colours, norm=Normalize(low, high)))
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    return ax


def bars(numbers: Mapping[str, float], ax: Axes | None = None, *, title="", form=".2f") -> Axes:
    """A lying bar for each name, the first on top, with its number at its end in place of a scale.

    >>> ax = bars({"plain": 1024, "in tiles": 32}, form=",")
    >>> [number.get_text() for number in ax.texts]
    ['1,024', '32']
    """
    if not numbers:
        raise ValueError("numbers must have a bar at least, as in bars({'plain': 1024}), got none.")
    ax = axes(height=0.3 * len(numbers) + 0.6) if ax is None else ax
    drawn = ax.barh(list(numbers), list(numbers.values()), color=ACCENT)
    ax.bar_label(drawn, [format(number, form) for number in numbers.values()], padding=3)
    ax.set(xticks=[], xlim=(0, 1.75 * max(numbers.values())), title=title)
    ax.yaxis.set_inverted(True)
    ax.grid(visible=False)
    return ax


def dots(x, y, ax: Axes, *, size=2.0, label="points") -> Axes:
    """Very many points, as light as one line.

    >>> dots([0, 1, 2], [3, 4, 5], axes()).figure
    <Figure: points 3 to 5, mean 4, later 4.3, of 3>
    """
    ax.add_line(Dots(x, y, color=ACCENT, linewidth=size, label=label))
    ax.autoscale_view()
    return ax


def runs(numbers: Mapping[str, Sequence[float]], ax: Axes | None = None, *, title="", xlim=(-0.05, 1.05)) -> Axes:
    """A row for each name, the first on top, with a dot for each of its runs, so that one sees the spread.

    >>> ax = runs({"with the root": [0.9, 0.95], "without": [0.4, 0.6]})
    >>> [name.get_text() for name in ax.get_yticklabels()]
    ['with the root', 'without']
    """
    ax = axes(height=0.2 * len(numbers) + 0.7) if ax is None else ax
    for y, found in enumerate(numbers.values()):
        ax.scatter(found, [y] * len(found), s=18, color=INK)
    ax.set(title=title, xlim=xlim, ylim=(len(numbers) - 0.5, -0.5))
    ax.set_yticks(range(len(numbers)), list(numbers))
    return ax
