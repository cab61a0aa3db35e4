"""A figure as SVG: light as it is drawn and stored, dark by exchanging every colour for its counterpart.

Letters are outlines: an SVG that a page shows as an image sees none of the page's fonts.
"""

import re
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.text import Text

from attnbook.colours import DARK, LIGHT

fontManager.addfont(Path(__file__).with_name("sans.ttf"))
FONT = ["Book Sans", "DejaVu Sans"]  # the second for signs such as √ and →; it comes with Matplotlib
_STORED: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "attnbook", "mathtext.default": "regular"}
_UNSAID = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def light(figure: Figure) -> str:
    """The same bytes on every machine: no date, no version, no name that is drawn by lot."""
    for text in figure.findobj(Text):
        text.set_fontfamily(FONT)
    written = StringIO()
    with mpl.rc_context(_STORED):
        figure.savefig(written, format="svg", metadata=_UNSAID)
    return _short(written.getvalue())


def dark(svg: str) -> str:
    """The same figure on a dark page.

    >>> dark('<path style="fill: #fffdfa"/>')
    '<path style="fill: #121018"/>'
    """
    if unknown := sorted(colours(svg) - DARK_OF.keys()):
        raise ValueError(f"{', '.join(unknown)}: a figure has colours that are in no palette. Take them from plots.")
    return _COLOUR.sub(lambda found: DARK_OF[found[0]], svg)


def colours(svg: str) -> set[str]:
    return set(_COLOUR.findall(svg))


def _short(svg: str) -> str:
    """Without a head, comments and line ends, to a hundredth of a point; what has no colour is ink."""
    svg = re.sub(r"<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'\b(?:d|x|y)="[^"]*"|translate\([^)]*\)', lambda found: _rounded(found[0]), svg)
    svg = svg.replace("<svg ", f'<svg fill="{LIGHT["ab-ink"]}" ', 1)
    svg = re.sub(r'(?<=<g )id="seamless\w*"', 'shape-rendering="crispEdges"', svg)
    return re.sub(r"\n\s*", "", svg)


def _rounded(numbers: str) -> str:
    """
    >>> _rounded("M 1.0049 -20.5 \\nL 3.999999 0 \\nz")
    'M1 -20.5L4 0z'
    """
    short = re.sub(r"-?\d+\.\d+", lambda found: f"{round(float(found[0]), 2) + 0:.10g}", numbers)
    short = re.sub(r"\s*([A-Za-z\"])\s*", r"\1", short)
    return re.sub(r"M(-?[\d.]+ -?[\d.]+)L\1(?=M|\")", r"M\1h0", short)


def weight_colours(palette: dict[str, str | float]) -> ListedColormap:
    """The widgets' scale: a straight line in OKLCH, on paper from almost white to deep violet."""
    L, dL, C, dC, hue = (float(palette[f"weight-{name}"]) for name in ("L", "dL", "C", "dC", "hue"))
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


def shades(palette: dict[str, str | float]) -> ListedColormap:
    """From paper to ink, for numbers that are no weights."""
    paper, ink = (np.array(to_rgb(str(palette[name]))) for name in ("ab-paper", "ab-ink"))
    return ListedColormap(paper + np.linspace(0, 1, 32)[:, None] * (ink - paper), "shades")


def number_colour(w: float) -> str:
    """The colour of a number on a cell of weight w, which can be read in both renderings.

    On paper it turns to white when cells get dark, in the dark from white when they get light: not at the same weight.
    """
    on_dark_flip, on_light_flip = sorted((float(DARK["weight-flip"]), float(LIGHT["weight-flip"])))
    return NUMBERS[int(w > on_dark_flip) + int(w > on_light_flip)][0]


NUMBERS = (("#010101", "#ffffff"), ("#020202", "#000000"), ("#fefefe", "#010101"))


def _counterparts() -> dict[str, str]:
    named = {str(LIGHT[name]): str(DARK[name]) for name in LIGHT if str(LIGHT[name]).startswith("#")}
    scales = {
        to_hex(day): to_hex(night)
        for scale in (weight_colours, shades)
        for day, night in zip(scale(LIGHT).colors, scale(DARK).colors, strict=True)  # pyrefly: ignore[bad-argument-type]
    }
    return scales | named | dict(NUMBERS)


DARK_OF = _counterparts()
