"""Figures in fewer bytes, as they travel; a notebook stores what Matplotlib wrote.

A letter's outline is written in steps of a twentieth of a pixel, each from where the last one ended, a cell by its
corner, width and height; names are short, or left out where nothing asks for them. So a third less is fetched.
"""

import re
from pathlib import Path

STEP = 20  # of the units of a font in Matplotlib's outlines
SCALE = 1 / 64
OUTLINE = re.compile(rf'd="([MLQz\d. -]*)" transform="scale\({SCALE}\)"')
CELL = re.compile(r"M{0} {0}L{0} \2L\3 {0}L\1 \4z".format(r"(-?[\d.]+)"))
PART = re.compile(r"([MLQz])([^MLQz]*)")


def _pack_figures(app, exception):
    if not exception and app.builder.format == "html":
        for file in Path(app.outdir, "_images").glob("*.svg"):
            svg = file.read_text("utf-8")
            if (shorter := pack_svg(svg)) != svg:  # those of pages that are not new have been packed
                file.write_text(shorter, "utf-8")


def pack_svg(svg):
    """
    >>> pack_svg('<g id="a"/><g id="b"><path id="c" d="M40 20L40 100z" transform="scale(0.015625)"/></g>')
    '<g><path id="c" d="m2 1l0 4z" transform="scale(0.3125)"/></g>'
    >>> pack_svg('<path d="M1 2.5L9 2.5L9 4L1 4zM1 2L9 2.5"/>')
    '<path d="M1 2.5h8v1.5h-8zM1 2L9 2.5"/>'
    """
    svg = re.sub(r'<g id="[^"]*"/>', "", svg.replace("BookSans-Regular-", "s"))
    svg = re.sub(r'(?<=<g) id="[^"]*"', "", svg)
    svg = CELL.sub(lambda found: _outline_of_box(*found.groups()), svg)
    return OUTLINE.sub(lambda found: f'd="{_relative_outline(found[1])}" transform="scale({SCALE * STEP})"', svg)


def _outline_of_box(left, top, right, bottom):
    width, height = (f"{float(b) - float(a):.5g}" for a, b in ((left, right), (top, bottom)))
    return f"M{left} {top}h{width}v{height}h{-float(width):g}z"


def _relative_outline(outline):
    """
    >>> _relative_outline("M20 20L60 20Q80 40 60 80zM200 20z")
    'm1 1l2 0q1 1 0 3zm9 0z'
    """
    steps, here, start = [], (0, 0), (0, 0)
    for command, numbers in PART.findall(outline):
        ends = [round(float(number) / STEP) for number in numbers.split()]
        moved = [end - here[place % 2] for place, end in enumerate(ends)]
        steps.append(command.lower() + " ".join(map(str, moved)).replace(" -", "-"))
        here = tuple(ends[-2:]) or start  # z leads back
        start = here if command == "M" else start
    return "".join(steps)


def setup(app):
    app.connect("build-finished", _pack_figures)
