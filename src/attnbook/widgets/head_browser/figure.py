"""What the widget shows as a figure to print: all heads, and the chosen one with the names of its tokens."""

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.plots import INK, KEY, QUERY, WEIGHTS, axes

if TYPE_CHECKING:
    from attnbook.widgets.head_browser import HeadBrowser

THUMBNAIL, NAMED = 48, 64  # points of its side, tokens with names
FAINT, BRIGHT = 0.1, 0.3  # the weight of the faintest strand to the framed token, and to others


def save(browser: "HeadBrowser", path: Path) -> None:
    """Write the figure into a file, and leave none open for a notebook to show."""
    drawn = figure(browser)
    drawn.savefig(path, dpi=200)
    plt.close(drawn)


def figure(browser: "HeadBrowser") -> Figure:
    """What the widget shows: all heads and the chosen one, or all layers."""
    texts = [(browser.queries, browser.tokens, browser.weights())]
    if browser.other_tokens:
        texts.append((browser.other_tokens, browser.other_tokens, browser.other_weights()))
    return _strands(browser, texts) if browser.view == "strands" else _maps(browser, texts)


def _maps(browser: "HeadBrowser", texts: list[tuple[list[str], list[str], Tensor]]) -> Figure:
    """Square roots of the weights, as in the widget, so that faint ones can be seen."""
    say = browser.edition_words()
    overview, *large = axes(1 + len(texts), width=4.6 * (1 + len(texts)), height=4.8)
    N, H = len(browser.layers), browser.heads
    _weights(overview, _mosaic(texts[0][2]), extent=(-0.5, H - 0.5, N - 0.5, -0.5))
    overview.set(title=say["grid"], xticks=range(H), yticks=range(N), yticklabels=browser.layers)
    for ax, (queries, tokens, maps_NHLM) in zip(large, texts, strict=True):
        _weights(ax, maps_NHLM[browser.layer, browser.head].sqrt())
        ax.set_title(say["here"].format(layer=browser.layers[browser.layer], head=browser.head))
        _name(ax.xaxis, tokens, KEY)
        _name(ax.yaxis, queries, QUERY)
        ax.tick_params(axis="x", rotation=90)
    return overview.figure


def _strands(browser: "HeadBrowser", texts: list[tuple[list[str], list[str], Tensor]]) -> Figure:
    """A line for each token through all layers, and strands to it from the tokens that it looks at."""
    first = axes(len(texts), width=6.4 * len(texts), height=4.8)
    all_axes = first if len(texts) > 1 else [first]
    for ax, (_, tokens, maps_NHLM) in zip(all_axes, texts, strict=True):
        light_NLM = browser.strands(maps_NHLM)
        N, L = light_NLM.shape[:2]
        at = min(browser.token, L - 1)
        seen_NLM = light_NLM >= BRIGHT
        seen_NLM[:, at] = light_NLM[:, at] >= FAINT
        places = seen_NLM.nonzero()
        layer, i, j = places[light_NLM[*places.T].argsort()].T  # the brightest on top
        framed = (i == at).numpy()
        ends = torch.stack([torch.stack([layer, j], -1), torch.stack([layer + 1, i], -1)], 1).numpy()
        light = light_NLM[layer, i, j].numpy()
        for those, width, colours in ((~framed, 0.8, WEIGHTS(light)), (framed, 1.6, to_rgba_array(QUERY, light))):
            ax.add_collection(LineCollection(list(ends[those]), colors=colours[those], linewidths=width))
        ax.set(xlim=(0, N), ylim=(L - 0.5, -0.5), xticks=torch.arange(N) + 0.5)
        ax.set_xticklabels(browser.layers, fontsize=min(9, 180 / N))
        ax.grid(visible=False)
        ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        _name(ax.yaxis, tokens, INK)
    return all_axes[0].figure


def _name(axis: Axis, tokens: list[str], colour: str) -> None:
    named = tokens if len(tokens) <= NAMED else []
    size = min(9, 240 / len(tokens))
    axis.set_ticks(range(len(named)), named, fontsize=size, color=colour, parse_math=False)


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
