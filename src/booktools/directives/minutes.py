"""How long a chapter takes, counted in its notebook: nobody's wish, and the same in every language.

Reading is 180 words a minute and half a minute a code cell; a widget takes 3 minutes to touch, an exercise 7 to do.
What counts is what stands open on the way to the summary: no tables, formulas or code among the words, no folded
answer, no imports or checks, and nothing that comes under *Going further* or after the exercises.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from booktools.book.contents import read_notebook
from booktools.book.myst import INLINE, Directive, blocks, lines_of
from booktools.book.widget_html import widgets_shown_by
from booktools.directives import rooms

WORDS_A_MINUTE, CODE_CELL, WIDGET, EXERCISE = 180, 0.5, 3, 7
END = ("## Going further", "## Exercises")
OUT_OF_SIGHT = {"hide-input", "hide-cell", "remove-input", "remove-cell", "checks"}
WORD = re.compile(r"[^\W\d_][\w’'-]*")


@dataclass(frozen=True)
class Minutes:
    words: int
    cells: int
    reading: int
    touching: int
    exercises: int

    @classmethod
    def of(cls, notebook) -> "Minutes":
        core = list(until_the_end(notebook))
        words = sum(_words_in(cell.source) for cell in core if cell.cell_type == "markdown")
        cells = sum(map(is_read_as_code, core))
        reading = words / WORDS_A_MINUTE + CODE_CELL * cells
        touching, exercises = WIDGET * sum(map(widgets_in, core)), EXERCISE * tasks_in(notebook)["exercises"]
        return cls(words, cells, round(reading), touching, exercises)

    @classmethod
    def read(cls, path: Path) -> "Minutes":
        return cls.of(read_notebook(path))


def until_the_end(notebook, end: str | tuple[str, ...] = END) -> Iterator:
    """The cells of the core path; of the one in which it ends, what stands before that."""
    for cell in notebook.cells:
        lines = cell.source.split("\n")
        ends = [i for i, line in enumerate(lines) if cell.cell_type == "markdown" and line.startswith(end)]
        if ends:
            yield type(cell)(cell, source="\n".join(lines[: ends[0]]))
            return
        yield cell


def _words_in(source: str) -> int:
    """The words that are read in order.

    >>> _words_in("# Two words\\n\\nThree {key}`more` words, $x$ and `code`.\\n\\n| a | table |\\n|---|---|")
    6
    >>> _words_in(":::{tip}\\nOne [link](to/what.md).\\n:::\\n\\n:::{hint}\\n:class: dropdown\\nfolded\\n:::")
    2
    """
    lines, counted = source.split("\n"), 0
    for block in blocks(source):
        start, end = lines_of(block)
        if block.type in ("inline", "heading") and not lines[start].lstrip().startswith("|"):
            counted += len(WORD.findall(INLINE.sub(_what_is_read, "\n".join(lines[start:end]))))
        elif block.type in ("fence", "colon_fence") and (directive := Directive.of(block)) and _is_open(directive):
            counted += _words_in(directive.body)
    return counted


def _is_open(directive: Directive) -> bool:
    room = rooms().get(directive.name)
    return not directive.folded and (room.is_read if room else directive.name not in ("dropdown", "math"))


def _what_is_read(mark: re.Match) -> str:
    """What a role or a link says; of a formula, code or a picture, nothing."""
    return mark["text"] or (mark["content"] if mark["role"] else "") if not mark["image"] else ""


def is_read_as_code(cell) -> bool:
    return cell.cell_type == "code" and not OUT_OF_SIGHT & set(cell.metadata.get("tags", []))


def widgets_in(cell) -> int:
    """The widgets that a cell shows, or that a page without code names."""
    if cell.cell_type == "markdown":
        return len(re.findall(r"^\s*[`:]{3,}\{widget\}", cell.source, re.MULTILINE))
    return len(widgets_shown_by(cell))


def tasks_in(notebook) -> dict[str, int]:
    """How many exercises there are to do, and guesses to make."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    kinds = {"exercises": r"exercise(?:-start)?", "guesses": "guess"}
    return {
        name: sum(len(re.findall(rf"^\s*[`:]{{3,}}\{{{kind}\}}", text, re.MULTILINE)) for text in texts)
        for name, kind in kinds.items()
    }
