"""What the widget shows as a figure to print: all heads, and the chosen one with the names of its tokens."""

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.plots import KEY, QUERY, WEIGHTS, axes

if TYPE_CHECKING:
    from attnbook.widgets.head_browser import HeadBrowser

THUMBNAIL, NAMED = 48, 64  # points of its side, tokens with names


def save(browser: "HeadBrowser", path: Path) -> None:
    """Write the figure into a file, and leave none open for a notebook to show."""
    drawn = figure(browser)
    drawn.savefig(path, dpi=200)
    plt.close(drawn)


def figure(browser: "HeadBrowser") -> Figure:
    """Square roots of the weights, as in the widget, so that faint ones can be seen."""
    say, texts = browser.edition_words(), [(browser.queries, browser.tokens, browser.weights())]
    if browser.other_tokens:
        texts.append((browser.other_tokens, browser.other_tokens, browser.other_weights()))
    overview, *large = axes(1 + len(texts), width=4.6 * (1 + len(texts)), height=4.8)
    N, H = len(browser.layers), browser.heads
    _weights(overview, _mosaic(texts[0][2]), extent=(-0.5, H - 0.5, N - 0.5, -0.5))
    overview.set(title=say["grid"], xticks=range(H), yticks=range(N), yticklabels=browser.layers)
    for ax, (queries, tokens, maps_NHLM) in zip(large, texts, strict=True):
        _weights(ax, maps_NHLM[browser.layer, browser.head].sqrt())
        ax.set_title(say["here"].format(layer=browser.layers[browser.layer], head=browser.head))
        for axis, names, colour in ((ax.xaxis, tokens, KEY), (ax.yaxis, queries, QUERY)):
            named = names if len(names) <= NAMED else []
            size = min(9, 240 / len(names))
            axis.set_ticks(range(len(named)), named, fontsize=size, color=colour, parse_math=False)
        ax.tick_params(axis="x", rotation=90)
    return overview.figure


def _weights(ax: Axes, weights: Tensor, **options) -> None:
    ax.imshow(weights.numpy(), cmap=WEIGHTS, vmin=0, vmax=1, interpolation="nearest", **options)
    ax.grid(visible=False)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.spines[:].set_visible(False)


def _mosaic(maps_NHLM: Tensor) -> Tensor:
    """Thumbnails side by side; a point of one is the largest of the weights that fall on it."""
    *_, L, M = maps_NHLM.shape
    small = F.adaptive_max_pool2d(maps_NHLM, (min(L, THUMBNAIL), min(M, THUMBNAIL))).sqrt()
    edge = max(1, small.shape[-1] // 12)
    return F.pad(small, (edge, edge, edge, edge), value=float("nan")).transpose(1, 2).flatten(2, 3).flatten(0, 1)
