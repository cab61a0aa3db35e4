"""Words in an assignment's code that students read: what checks say, docstrings of what is to be written.

They are translated, while the code around them stays. Each is a line: a text in quotes that has words with a blank
between them, or a line of a docstring. What hidden tests say is for instructors alone, and stays English.

>>> from nbformat.v4 import new_code_cell
>>> check = new_code_cell('assert f(1) == 2, f"twice 1 is 2, got {f(1)}"  # "a comment"')
>>> lines_said(check)
['twice 1 is 2, got {f(1)}']
>>> say_instead(check, ["1 的两倍是 2，得到 {f(1)}"])
'assert f(1) == 2, f"1 的两倍是 2，得到 {f(1)}"  # "a comment"'
"""

import re
from collections.abc import Iterator, Sequence

from nbformat import NotebookNode

from booktools.book.variants import TEXT, draws

HIDDEN = re.compile(r"^### BEGIN HIDDEN TESTS\n(.*?)^### END HIDDEN TESTS[ \t]*\n?", re.DOTALL | re.MULTILINE)
_LITERAL = re.compile(r'#[^\n]*|"""(?P<doc>.*?)"""|"(?P<text>(?:[^"\\\n]|\\.)*)"', re.DOTALL)
_DOC_LINE = re.compile(r"\S.*[A-Za-z]{2}.*\S|[A-Za-z]{2}.*\S")
_WORDS = re.compile(r"[A-Za-z]{2}.*\s|\s.*[A-Za-z]{2}")


def lines_said(cell: NotebookNode) -> list[str]:
    """What a code cell of an assignment says to students in words, line by line."""
    return [cell.source[start:end] for start, end in _places(cell)]


def say_instead(cell: NotebookNode, lines: Sequence[str]) -> str:
    """The source of a cell with other words in it."""
    source = cell.source
    for (start, end), line in reversed(list(zip(_places(cell), lines, strict=True))):
        source = source[:start] + line + source[end:]
    return source


def _places(cell: NotebookNode) -> list[tuple[int, int]]:
    return [] if cell.cell_type != "code" else list(_drawn(cell) if draws(cell) else _quoted(cell))


def _drawn(cell: NotebookNode) -> Iterator[tuple[int, int]]:
    return (found.span(1) for found in TEXT.finditer(cell.source))


def _quoted(cell: NotebookNode) -> Iterator[tuple[int, int]]:
    """Of a cell to complete the docstrings, of others all texts; of a test those of the part that students see."""
    seen = HIDDEN.sub(lambda hidden: " " * len(hidden[0]), cell.source)
    for literal in _LITERAL.finditer(seen):
        if literal["doc"]:
            start = literal.start("doc")
            yield from ((start + line.start(), start + line.end()) for line in _DOC_LINE.finditer(literal["doc"]))
        elif literal["text"] and _WORDS.search(literal["text"]) and not nbgrader(cell).get("solution"):
            yield literal.span("text")


def nbgrader(cell) -> dict:
    """What nbgrader's metadata say of a cell."""
    return cell.get("metadata", {}).get("nbgrader", {})
