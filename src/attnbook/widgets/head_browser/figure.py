"""What the widget shows, as a figure: all heads, and the chosen one with the names of its tokens."""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.plots import WEIGHTS, axes, cells

if TYPE_CHECKING:
    from attnbook.widgets.head_browser import HeadBrowser

THUMBNAIL = 48  # points of its side


def figure(browser: "HeadBrowser") -> Figure:
    """Square roots of the weights, as on the page, so that faint ones can be seen."""
    say, maps = browser.edition_words(), [(browser.queries, browser.tokens, browser.weights())]
    if browser.other_tokens:
        maps.append((browser.other_tokens, browser.other_tokens, browser.other_weights()))
    overview, *large = axes(1 + len(maps), width=4.2 * (1 + len(maps)), height=4.6)
    small = _mosaic(maps[0][2])
    overview.imshow(small, cmap=WEIGHTS, vmin=0, vmax=1, interpolation="nearest", extent=(-0.5, browser.heads - 0.5, len(browser.layers) - 0.5, -0.5), aspect="equal")
    for ax, (queries, tokens, maps_NHLM) in zip(large, maps, strict=True):
        map_LM = maps_NHLM[browser.layer, browser.head].sqrt()
        ax.imshow(map_LM, cmap=WEIGHTS, vmin=0, vmax=1, interpolation="nearest")
        ax.set_title(say["here"].format(layer=browser.layers[browser.layer], head=browser.head))
    return overview.figure


def _mosaic(maps_NHLM: Tensor) -> Tensor:
    """Thumbnails side by side; a point of one is the largest of the weights that fall on it."""
    *_, L, M = maps_NHLM.shape
    small = F.adaptive_max_pool2d(maps_NHLM, (min(L, THUMBNAIL), min(M, THUMBNAIL))).sqrt()
    framed = F.pad(small, (1, 1, 1, 1), value=torch.nan)
    return framed.transpose(1, 2).flatten(2, 3).flatten(0, 1)
