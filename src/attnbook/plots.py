"""Static figures, in the colours of the widgets: black on nothing, so that a dark page can turn them over.

Every picture of weights has one scale, fixed to 0-1: heads, layers and chapters stay comparable.
"""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from torch import Tensor

from attnbook.colours import LIGHT

QUERY, KEY, VALUE, ACCENT = (LIGHT[name] for name in ("attn-query", "attn-key", "attn-value", "ab-accent"))
_STYLE: dict[Any, Any] = {
    "axes.facecolor": "none",
    "axes.prop_cycle": cycler(color=[ACCENT]),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "font.size": 9,
}


class DataFigure(Figure):
    """A figure whose text tells its data: pictures are not compared when a notebook is tested, texts are."""

    def __repr__(self) -> str:
        drawn = [(name, np.asarray(numbers, dtype=float).ravel()) for ax in self.axes for name, numbers in _drawn(ax)]
        return f"<Figure: {'; '.join(_summary(name, numbers) for name, numbers in drawn)}>"


def _drawn(ax: Axes) -> Iterator[tuple[Any, Any]]:
    """The name and the numbers of everything in the axes that stands for data."""
    yield from ((line.get_label(), line.get_ydata()) for line in ax.lines)
    yield from (("cells", image.get_array()) for image in ax.images)
    for shapes in ax.collections:
        outlines = [np.asarray(path.vertices)[:, 1] for path in shapes.get_paths()]
        yield "points", shapes.get_offsets() if isinstance(shapes, PathCollection) else np.concatenate(outlines)
    if ax.patches:
        yield "bars", [bar.get_height() for bar in ax.patches]  # pyright: ignore[reportAttributeAccessIssue] (rectangles)


def _summary(name: str, y: np.ndarray) -> str:
    """The ends, the mean, and a mean in which later numbers count more: two numbers swapped change it."""
    later = np.average(y, weights=np.arange(1, y.size + 1))
    return f"{name} {y[0]:.2g} to {y[-1]:.2g}, mean {y.mean():.2g}, later {later:.2g}, of {y.size}"


@overload
def axes(*, width: float = 5.0, height: float = 3.0) -> Axes: ...
@overload
def axes(columns: int = 1, width: float = 5.0, height: float = 3.0, *, rows: int = 1) -> Any: ...
def axes(columns: int = 1, width: float = 5.0, height: float = 3.0, *, rows: int = 1):
    """Axes in the book's style: one, a row of `columns`, or `rows` below each other."""
    figure = plt.figure(
        figsize=(width, height), dpi=150, facecolor="none", layout="constrained", FigureClass=DataFigure
    )
    with plt.rc_context(_STYLE):
        return figure.subplots(rows, columns)


def heatmap(weights: Tensor, queries: Sequence[str], keys: Sequence[str], ax: Axes | None = None, title="") -> Axes:
    """Weights (L, M) as a picture, 0 to 1, with its numbers as long as there is room for them: up to 12 keys."""
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} need as many names: {len(queries)} × {len(keys)} came."
        )
    L, M = weights.shape
    roomy = M <= 12
    wide, high = (0.7, 0.5) if roomy else (0.25, 0.22)
    ax = axes(width=wide * M + 1.2, height=high * L + 0.8) if ax is None else ax
    numbers = weights.detach().cpu().float().numpy()
    ax.imshow(numbers, cmap=WEIGHTS, vmin=0, vmax=1, aspect="auto")
    for (i, j), w in np.ndenumerate(numbers) if roomy else ():
        ax.text(j, i, f"{w:.2f}", ha="center", va="center", fontsize=8, color="white" if w > _FLIP else "black")
    ax.set_xticks(range(M), keys)
    ax.set_yticks(range(L), queries)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.tick_params(axis="x", labelcolor=KEY)
    ax.tick_params(axis="y", labelcolor=QUERY)
    ax.set(xlabel="keys", ylabel="queries", title=title)
    ax.xaxis.set_label_position("top")
    ax.spines[:].set_visible(False)
    return ax


def _weight_colours() -> ListedColormap:
    """The widgets' scale: a straight line in OKLCH, from almost white to deep violet."""
    L, dL, C, dC, hue = (float(LIGHT[f"weight-{name}"]) for name in ("L", "dL", "C", "dC", "hue"))
    w = np.linspace(0, 1, 256)
    lightness, chroma, angle = L + w * dL, C + w * dC, np.radians(hue)
    lab = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)])
    # Ottosson's OKLab to linear sRGB, then the sRGB transfer curve
    cone = np.array(
        [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.2914855480]]
    )
    rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = (rgb @ (cone @ lab) ** 3).clip(0, 1).T
    return ListedColormap(np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055), "weights")


WEIGHTS = _weight_colours()
_FLIP = LIGHT["weight-flip"]
