"""Labels of stored figures in another language, without running their notebooks again.

A figure is stored with its letters as outlines. Each outline is named by the number of its glyph in the book's font, so
a label can be read back. What a table says in its place is set as text, in a font of the reader's, at the same place:
`translations/zh/figures.toml` has a line for each label, `"width #" = "核宽 #"`, in which # is a number. Below the name
of a page, `["chapters/12_a_real_one.ipynb"]`, is what that page alone calls otherwise. A label of two lines is one,
with a space between them; what it is called may have a line break, or else stands in the last line's place.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from attnbook import plots
from attnbook.language import language

FILE = "figures.toml"
SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONTS = (
    "PingFang SC, Hiragino Sans GB, Microsoft YaHei, Noto Sans SC, Noto Sans CJK SC, WenQuanYi Micro Hei, sans-serif"
)
ABOVE, WIDE = 0.9, 0.55  # of an em: how high a Chinese sign stands, how wide a Latin letter is
_GLYPH = re.compile(r"#(BookSans-Regular|DejaVuSans)-([0-9a-f]+)")  # ★ and √ are in the second
_PLACE = re.compile(r"translate\(([-\d.]+) ([-\d.]+)\)(?: rotate\(([-\d.]+)\))? scale\(([\d.]+) ")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", LINK)


def read_table(root: Path, page: str) -> dict[str, str]:
    """What labels of a page are called in the language spoken now."""
    for tag in (language(), language().partition("-")[0]):
        if (path := root / "translations" / tag / FILE).is_file():
            table = tomllib.loads(path.read_text("utf-8"))
            return {said: text for said, text in table.items() if isinstance(text, str)} | table.get(page, {})
    return {}


def labels(svg: str) -> list[str]:
    """The labels of a figure that have words, as it says them."""
    said = (_read(label) for label in _labels(ElementTree.fromstring(svg)))
    return [text for text in said if re.search(r"[A-Za-z]{2}", text)]


def relabel(svg: str, table: Mapping[str, str]) -> str:
    """A figure with the labels of a table; those that it lacks stay as they are."""
    root = ElementTree.fromstring(svg)
    parents = {child: parent for parent in root.iter() for child in parent}
    boxes = []
    for label, held in [(label, _align(label, parents)) for label in _labels(root)]:
        said = _read(label)
        if (text := in_table(said, table)) not in (None, said):
            boxes += _exchange(label, (text or "").split("\n"), held)
    if not boxes:
        return svg
    _make_room(root, boxes)
    return ElementTree.tostring(root, encoding="unicode")


def in_table(said: str, table: Mapping[str, str]) -> str | None:
    """
    >>> in_table("width 0.02", {"width #": "核宽 #"})
    '核宽 0.02'
    """
    if said in table:
        return table[said]
    if (pattern := table.get(_NUMBER.sub("#", said))) is None:
        return None
    numbers = iter(_NUMBER.findall(said))
    return re.sub("#", lambda _: next(numbers), pattern)


def _labels(root: Element) -> Iterator[Element]:
    """The groups that are text."""
    for group in root.iter(f"{{{SVG}}}g"):
        if group.get("id", "").startswith("text_") and _lines(group):
            yield group


def _lines(label: Element) -> list[Element]:
    """The lines of a label, which hold its glyphs; what else is in it is the box around them."""
    return [child for child in label if _PLACE.match(child.get("transform", ""))]


def _uses(line: Element) -> list[tuple[str, int, float]]:
    """The glyphs of a line by their fonts and numbers, each with its place."""
    found = []
    for use in line.iter(f"{{{SVG}}}use"):
        if name := _GLYPH.fullmatch(use.get(f"{{{LINK}}}href", "")):
            at = re.match(r"translate\(([-\d.]+)", use.get("transform", ""))
            found.append((name[1], int(name[2], 16), float(at[1]) if at else 0.0))
    return found


def _read(label: Element) -> str:
    lines = ("".join(_font(name)[0].get(glyph, "?") for name, glyph, _ in _uses(line)) for line in _lines(label))
    return " ".join(line for line in lines if line)


@cache
def _font(name: str) -> tuple[dict[int, str], Any]:
    """The signs of the book's font, or of the one that draws what it lacks, by number; and it at 100 units an em."""
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    ours, other = Path(plots.__file__).with_name("sans.ttf"), Path(get_data_path(), "fonts/ttf/DejaVuSans.ttf")
    font = FT2Font(str(ours if name.startswith("Book") else other))
    font.set_size(100, 72)
    return {glyph: chr(code) for code, glyph in font.get_charmap().items()}, font


def _width(line: Element) -> float:
    """How wide a line is, at 100 units an em."""
    for name, glyph, at in reversed(_uses(line)):
        return at + _font(name)[1].load_glyph(glyph).linearHoriAdvance / 65536
    return 0.0


def _align(label: Element, parents: dict[Element, Element]) -> str:
    """Where a label is held: names of axes and marks in their middle, marks beside rows at their end if they end there.

    Marks beside rows may begin at one place instead, as those of a list with indents do.
    """
    above, node = [], label
    while node in parents:
        node = parents[node]
        above.append(node)
    ids = [each.get("id", "") for each in above]
    turned = _PLACE.match(_lines(label)[0].get("transform", ""))
    for tick, axis in pairwise(above):
        if tick.get("id", "").startswith("ytick"):
            return "start" if _begin_together(axis) else "end"
    if ids[0].startswith("xtick") and turned and turned[3]:
        return "end"
    return "middle" if ids[0].startswith(("xtick", "matplotlib.axis_1")) else "start"


def _begin_together(axis: Element) -> bool:
    """Whether the marks beside rows, of several lengths, begin at one place."""
    rows = [_lines(label)[0] for tick in axis if tick.get("id", "").startswith("ytick") for label in _labels(tick)]
    begins = {line.get("transform", "").partition(" ")[0] for line in rows}
    return len(begins) == 1 < len({_width(line) for line in rows})


def _exchange(label: Element, texts: list[str], align: str) -> list[tuple[float, float, float, float]]:
    """Put lines of text in the places of a label's last ones; the boxes that they take."""
    lines = _lines(label)
    if len(texts) > len(lines):
        raise ValueError(f"{FILE}: {_read(label)!r} is drawn in {len(lines)} lines, and called something of more")
    widths = [_width(line) for line in lines]
    for line in lines:
        for use in line.findall(f"{{{SVG}}}use"):
            line.remove(use)  # and not what defines glyphs, which later labels use
    places = zip(lines[-len(texts) :], widths[-len(texts) :], texts, strict=True)
    return [_set(label, line, width, text, align) for line, width, text in places]


def _set(label: Element, line: Element, before: float, text: str, align: str) -> tuple[float, float, float, float]:
    """Put a text in the place of a label's line, which was so wide; the box that it takes."""
    place = _PLACE.match(line.get("transform", ""))
    x, y, turn, scale = (float(part or 0) for part in place.groups())  # pyrefly: ignore[missing-attribute]
    size, held = 100 * scale, {"start": 0.0, "middle": 0.5, "end": 1.0}[align]
    along = held * before * scale
    turned = f" rotate({turn:g})" if turn else ""
    look = {"style": line.get("style", ""), "font-size": f"{size:g}", "font-family": FONTS, "text-anchor": align}
    new = ElementTree.SubElement(label, f"{{{SVG}}}text", look | {"transform": f"translate({x:g} {y:g}){turned}"})
    new.set("x", f"{along:.2f}")
    new.text = text
    width = size * sum(WIDE if sign.isascii() else 1 for sign in text)
    if turn:
        return x - ABOVE * size, y - along - width, x, y - along + width
    left = x + along - held * width
    return left, y - ABOVE * size, left + width, y + 0.15 * size


def _make_room(root: Element, boxes: list[tuple[float, float, float, float]]) -> None:
    """Make a figure so large that nothing of its labels is cut off."""
    left, top, wide, high = map(float, root.get("viewBox", "").split())
    lefts, tops, rights, bottoms = zip(*boxes, (left, top, left + wide, top + high), strict=True)
    new = (min(lefts), min(tops), max(rights) - min(lefts), max(bottoms) - min(tops))
    root.set("viewBox", " ".join(f"{side:.10g}" for side in new))
    for name, size in (("width", new[2]), ("height", new[3])):
        root.set(name, f"{size:.10g}pt")
    paper = root.find(f".//{{{SVG}}}g[@id='patch_1']/{{{SVG}}}path")
    if paper is not None:
        x, y = new[0] + new[2], new[1] + new[3]
        paper.set("d", f"M{new[0]:g} {y:g}L{x:g} {y:g}L{x:g} {new[1]:g}L{new[0]:g} {new[1]:g}z")


def figures_of(notebook) -> Iterator[dict]:
    """The data of each stored figure."""
    outputs = chain.from_iterable(cell.get("outputs", []) for cell in notebook.cells)
    return (output.data for output in outputs if "image/svg+xml" in output.get("data", {}))
