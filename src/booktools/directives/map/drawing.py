"""The map of the book: the Transformer, drawn once; each of its parts leads to the chapter that says it builds it.

Light enters below and leaves above, as in the paper's figure. Large, it is the contents; small, with the parts of one
chapter lit, it heads that chapter; in chapter 9 it is the figure. Its looks are in map.css.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from attnbook.colours import STAGE
from attnbook.language import words
from booktools.book import BookError

HERE = Path(__file__).parent
WIDTH, HEIGHT = 400, 628
ENCODER, DECODER = 112, 306  # the middle of each column


@dataclass(frozen=True)
class Lead:
    """Where parts lead: a chapter, by the names that its metadata have for them. No address, no link."""

    number: int
    parts: tuple[str, ...]
    title: str = ""
    address: str = ""


@dataclass(frozen=True)
class Box:
    """Of a part, whose name has its words in en.json, a box: the middle of its lower edge, its size."""

    part: str
    x: float
    y: float  # from below, as everything here
    width: float = 140
    height: float = 28
    kind: str = ""

    def draw(self, labels: Mapping[str, str] | None) -> str:
        left, top = self.x - self.width / 2, HEIGHT - self.y - self.height
        if self.kind == "behind":  # of a sheet behind another, one sees two edges
            return f'<path class="sheet" d="M{left:g} {top:g}h{self.width - 8:g}q8 0 8 8v{self.height - 8:g}"/>'
        kind = f'class="{self.kind}" ' if self.kind else ""
        rect = f'<rect {kind}x="{left:g}" y="{top:g}" width="{self.width:g}" height="{self.height:g}" rx="7"/>'
        return rect + (lines(labels[self.part], self.x, self.y + self.height / 2) if labels and self.has_words else "")

    @property
    def has_words(self) -> bool:
        return self.kind != "sheet"


@dataclass(frozen=True)
class Text:
    """Words beside the parts, by their id in en.json, or as they are."""

    name: str
    x: float
    y: float
    kind: str = "beside"


# What holds others is an outline, and covers none of them.
PARTS = [
    Box("vectors", ENCODER, 30),
    Box("vectors", DECODER, 30),
    Box("masked", DECODER, 176, height=42),
    Box("softmax", 92, 242, 104),
    Box("softmax", DECODER, 556),
    Box("query", 64, 152, 48, kind="query"),
    Box("key", 112, 152, 42, kind="key"),
    Box("value", 158, 152, 44, kind="value"),
    Box("cross", DECODER, 294),
    Box("dot", 92, 191, 104, 40),
    Box("heads", 120, 154, 152, 162, "behind"),
    Box("heads", 115, 149, 152, 162, "behind"),
    Box("heads", 110, 144, 152, 162, "sheet"),
    Box("heads", 110, 283, 146, 20, "header"),
    Box("self", ENCODER, 134, 178, 212, "sheet"),
    Box("self", ENCODER, 321, 172, 22, "header"),
    Box("positions", ENCODER, 72),
    Box("positions", DECODER, 72),
    Box("norm", ENCODER, 356, height=24),
    Box("feed", ENCODER, 404),
    Box("norm", ENCODER, 440, height=24),
    Box("norm", DECODER, 226, height=24),
    Box("norm", DECODER, 330, height=24),
    Box("feed", DECODER, 404),
    Box("norm", DECODER, 440, height=24),
    Box("linear", DECODER, 514),
    Box("cache", 351, 132, 54, 26),
]
STACKS = [(4, 208), (224, 172)]  # of blocks: left edge, width
TEXTS = [
    Text("source", ENCODER, 11),
    Text("target", DECODER, 11),
    Text("encoder", 16, 477, "stack"),
    Text("decoder", 236, 477, "stack"),
    Text("× N", 194, 477),
    Text("× N", 376, 477),
    Text("memory", 147, 516),
    Text("next", DECODER, 615, "next"),
]
SHAPES = [
    Text("(B, M)", 176, 11, "shape"),
    Text("(B, L)", 364, 11, "shape"),
    Text("(B, M, D)", 205, 516, "shape"),
    Text("(B, L, D)", 340, 501, "shape"),
    Text("(B, L, N)", 372, 615, "shape"),
]
# The corners of each wire. A shortcut leaves the stream, and joins it again at a norm.
STREAM = [
    "112,19 112,30",
    "112,58 112,72",
    "112,100 112,134",
    "112,346 112,356",
    "112,380 112,404",
    "112,432 112,440",
    "112,464 112,505 218,505 218,308 236,308",
    "306,19 306,30",
    "306,58 306,72",
    "306,100 306,176",
    "306,218 306,226",
    "306,250 306,294",
    "306,322 306,330",
    "306,354 306,404",
    "306,432 306,440",
    "306,464 306,514",
    "306,542 306,556",
    "306,584 306,604",
]
SHORTCUTS = [
    "112,112 14,112 14,368 42,368",
    "112,390 14,390 14,452 42,452",
    "306,116 387,116 387,238 376,238",
    "306,268 387,268 387,342 376,342",
    "306,372 387,372 387,452 376,452",
]
INSIDE = {  # what becomes of queries, keys and values, in their colours
    "query": ["64,180 64,191"],
    "key": ["112,180 112,191", "306,148 324,148", "347,158 347,176"],
    "value": ["162,180 162,277 98,277", "306,141 324,141", "356,158 356,176"],
    "weights": ["92,231 92,242", "92,270 92,283"],
}


def draw_map(leads: Iterable[Lead], *, shapes=False) -> str:
    """The map as it stands in a page, its parts in the order of the chapters, which is the keyboard's, too."""
    return svg("whole", 'role="group"', whole(leads, shapes))


def draw_small(leads: Iterable[Lead], lit: int) -> str:
    """The map without words, the parts of one chapter lit; it says nothing that the chapter's title doesn't."""
    groups = (f'<g class="part{" lit" * (lead.number == lit)}">{boxes(lead)}</g>' for lead in complete(leads))
    return svg("small", 'aria-hidden="true"', ground() + "".join(groups))


def draw_file(leads: Iterable[Lead]) -> str:
    """The map as a picture of its own, which leads nowhere, for notebooks elsewhere."""
    palette = "".join(f"--{name}:{value};" for name, value in STAGE.items() if name.startswith(("ab-", "attn-")))
    style = f"svg{{{palette}background:{STAGE['ab-paper']}}}{(HERE / 'map.css').read_text('utf-8')}"
    alone = 'xmlns="http://www.w3.org/2000/svg" width="432" height="652"'
    nowhere = [replace(lead, address="") for lead in leads]
    return svg("whole", alone, f"<style>{style}</style>{whole(nowhere, shapes=True)}", "-16 -12 432 652")


def svg(kind: str, attributes: str, inside: str, box=f"0 0 {WIDTH} {HEIGHT}") -> str:
    return f'<svg class="map {kind}" viewBox="{box}" {attributes}>{inside}</svg>'


def whole(leads: Iterable[Lead], shapes: bool) -> str:
    say = words(HERE)["map"]
    about = f"<title>{escape(say['title'])}</title><desc>{escape(say['description'])}</desc>"
    parts, built = "", set()
    for lead in complete(leads):
        parts += link(lead, built)
        built |= set(lead.parts)
    return about + ground() + parts + "".join(map(beside, [*TEXTS, *(SHAPES if shapes else [])]))


def complete(leads: Iterable[Lead]) -> list[Lead]:
    """The chapters that build parts; and the parts that no chapter builds, which lead nowhere."""
    leads, known = [lead for lead in leads if lead.parts], dict.fromkeys(box.part for box in PARTS)
    for lead in leads:
        if strange := set(lead.parts) - known.keys():
            raise BookError(f"chapter {lead.number} builds {', '.join(strange)}; the map has {', '.join(known)}.")
    built = {part for lead in leads for part in lead.parts}
    return [*leads, *(Lead(0, (part,)) for part in known if part not in built)]


def boxes(lead: Lead, labels: Mapping[str, str] | None = None, built: Collection[str] = ()) -> str:
    """The parts of a chapter; those that an earlier one built are out of sight until this one is lit."""

    def drawn(box: Box) -> str:
        return f'<g class="again">{box.draw(labels)}</g>' if box.part in built else box.draw(labels)

    return "".join(drawn(box) for box in PARTS if box.part in lead.parts)


def link(lead: Lead, built: Collection[str] = ()) -> str:
    """The parts that a chapter builds, as one link to it: what they are, and where it leads."""
    say = words(HERE)["map"]
    inside = boxes(lead, say["parts"], built)
    if not lead.address:
        return f'<g class="part">{inside}</g>'
    names = say["and"].join(say["parts"][part].replace("\n", " ") for part in lead.parts)
    told = say["leads"].format(parts=names, n=lead.number, title=lead.title)
    head = f'<a class="part" href="{escape(lead.address)}" data-chapter="{lead.number}"><title>{escape(told)}</title>'
    return f"{head}{inside}</a>"


def ground() -> str:
    """What the parts stand on: two stacks of blocks, and the wires."""
    stacks = "".join(
        f'<rect class="block" x="{left}" y="{HEIGHT - 490}" width="{width}" height="382" rx="14"/>'
        for left, width in STACKS
    )
    wires = {"stream": STREAM, "shortcut": SHORTCUTS, **INSIDE}
    return stacks + "".join(
        f'<path class="wire {kind}" d="{"".join(map(wire, corners))}"/>' for kind, corners in wires.items()
    )


def wire(corners: str) -> str:
    """The path of a wire with round corners and an arrow at its end.

    >>> wire("10,22 10,102 30,102")
    'M10 606V534Q10 526 18 526H30m-4-3l4 3-4 3'
    """
    points = [(float(x), HEIGHT - float(y)) for x, y in (corner.split(",") for corner in corners.split())]
    path = "M{:g} {:g}".format(*points[0])
    for before, (x, y), after in zip(points, points[1:-1], points[2:], strict=False):
        (x1, y1), (x2, y2) = _towards((x, y), before), _towards((x, y), after)
        path += f"{_straight(y == y1, x1, y1)}Q{x:g} {y:g} {x2:g} {y2:g}"
    (x1, y1), (x, y) = points[-2:]
    heads = {(0, -1): "m-3 4l3-4 3 4", (1, 0): "m-4-3l4 3-4 3", (-1, 0): "m4-3l-4 3 4 3"}
    return path + _straight(y == y1, x, y) + heads[sign(x - x1), sign(y - y1)]


def _straight(level: bool, x: float, y: float) -> str:
    return f"H{x:g}" if level else f"V{y:g}"


def _towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Where a corner's curve begins or ends: 8 away, or half of what there is."""
    (x, y), (x1, y1) = corner, other
    step = min(8, max(abs(x1 - x), abs(y1 - y)) / 2)
    return x + step * sign(x1 - x), y + step * sign(y1 - y)


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


def beside(text: Text) -> str:
    said = words(HERE)["map"]["beside"].get(text.name, text.name)
    return lines(said, text.x, text.y, f' class="{text.kind}"')


def lines(said: str, x: float, y: float, attributes: str = "") -> str:
    """Words around a point, in one line or two."""
    rows = said.split("\n")
    first = HEIGHT - y + 4.5 - 7.5 * (len(rows) - 1)
    parts = (
        f'<text{attributes} x="{x:g}" y="{first + 15 * row:g}">{escape(part)}</text>' for row, part in enumerate(rows)
    )
    return "".join(parts)
