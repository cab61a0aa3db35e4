"""A number in the words that can be pressed and dragged; the widget beside them answers.

    At {drag}`0.1 <temperature>` attention becomes a lookup of the best match.

Pressed, the widget's trait becomes the number; dragged, both move on; left, the number is again what was written. Its
widget is the one that stands before it in its section, and else the next one. A trait without bounds is given some:
`<temperature 0.1..10>`. `drag.js`, which comes when the widget is live, makes it work; without scripts and on paper it
is a number.
"""

import json
import math
import re
from html import escape
from pathlib import Path

import traitlets
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from attnbook.language import words
from booktools.book.myst import split_target
from booktools.directives import Room
from booktools.directives.page import raw
from booktools.directives.touch import is_widget, kind_of, section_of

HERE = Path(__file__).parent
TARGET = re.compile(r"(?P<trait>\w+)(?: (?P<low>\S+?)\.\.(?P<high>\S+))?")
LEAPS = 50  # from so many times the lowest on, the stops are spaced by factors
DECADES = [start * 10**n for n in range(-3, 9) for start in (1, 1.5, 2, 3, 5, 7)]

log = logging.getLogger(__name__)


class dragged(nodes.inline):
    """A number, until its widget is known."""


def drag(_role, rawtext, text, lineno, inliner, options=None, content=None):
    """The role `drag`."""
    number, target = split_target(text)
    if not number or not (moved := TARGET.fullmatch(target)):
        return [], [inliner.reporter.error(f"write {{drag}}`0.1 <temperature>`, not {rawtext}", line=lineno)]
    node = dragged(rawtext, number, trait=moved["trait"], bounds=(moved["low"], moved["high"]))
    node.source, node.line = inliner.document.current_source, lineno
    return [node], []


class Numbers(SphinxPostTransform):
    """Ties each number to its widget."""

    default_priority = 409  # while widget and words still stand where the chapter has them
    formats = ("html",)

    def run(self):
        found = list(self.document.findall(lambda node: isinstance(node, dragged) or is_widget(node)))
        for place, node in enumerate(found):
            if isinstance(node, dragged):
                beside = [*reversed(found[:place]), *found[place:]]
                node.replace_self(tied(node, [other for other in beside if is_widget(other)]))


def tied(node, widgets):
    """A number as a page has it, which belongs to the first of these widgets in its section."""
    text = node.astext()
    kind = next((kind_of(widget) for widget in widgets if section_of(widget) is section_of(node)), None)
    if kind is None:
        log.warning("a number to drag, %s, has no widget in its section", text, location=node)
        return [nodes.Text(text)]
    try:
        kind(**{node["trait"]: value_of(text)})
        stops = stops_of(kind.inputs()[node["trait"]], value_of(text), node["bounds"])
    except (KeyError, TypeError, ValueError, traitlets.TraitError) as why:
        log.warning("%s can't be dragged here: %s", text, why, location=node)
        return [nodes.Text(text)]
    say = words(HERE)
    label = say["label"].format(trait=node["trait"].replace("_", " "), widget=kind.edition_words()["name"])
    told = {
        "title": say["title"],
        "aria-label": label,
        "data-of": kind.name,
        "data-trait": node["trait"],
        "data-stops": json.dumps(stops, separators=(",", ":")),
    }
    written = " ".join(f'{name}="{escape(value)}"' for name, value in told.items())
    return [raw(f'<span class="drag" {written}>'), nodes.Text(text), raw("</span>")]


def value_of(text):
    """
    >>> value_of("1,024"), value_of("−0.5")
    (1024, -0.5)
    """
    plain = text.replace(",", "").replace("\N{MINUS SIGN}", "-")
    return float(plain) if "." in plain else int(plain)


def stops_of(trait, written, bounds=(None, None)):
    """The values that a number goes through, and what is written among them.

    >>> stops_of(traitlets.Enum([1, 2, 4, 8]), 2)
    [1, 2, 4, 8]
    >>> stops_of(traitlets.Int(min=16, max=1024), 100)
    [16, 32, 64, 100, 128, 256, 512, 1024]
    >>> stops_of(traitlets.Float(), 0.5, ("0.1", "10"))
    [0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10]
    >>> stops_of(traitlets.Float(min=0.0, max=2.5), 0.25)[:5]
    [0, 0.1, 0.2, 0.25, 0.3]
    """
    if isinstance(trait, traitlets.Enum):
        return sorted(trait.values or ())
    ends = [
        known if given is None else float(given) for given, known in zip(bounds, (trait.min, trait.max), strict=True)
    ]
    if None in ends or math.isinf(ends[1] - ends[0]):
        raise ValueError(f"the trait has no bounds: give some, as <{trait.name} 0.1..10>")
    (low, high), whole = ends, isinstance(trait, traitlets.Int)
    if low > 0 and high / low >= LEAPS:
        between = [low * 2**n for n in range(64)] if whole else DECADES
    else:
        step = 10 ** math.floor(math.log10((high - low) / 20))
        step = max(step, 1) if whole else step
        between = [low + step * n for n in range(round((high - low) / step))]
    stops = {float(f"{stop:.10g}") for stop in (low, *between, high, written) if low <= stop <= high}
    return [int(stop) if stop.is_integer() else stop for stop in sorted(stops)]


def plain(_directive, _page):
    """Nothing: it is a role alone, which printers/plain.py says as its number."""


def setup(app):
    app.add_node(dragged)
    app.add_role("drag", drag)
    app.add_post_transform(Numbers)


ROOM = Room(("drag",), setup, plain)
