"""A room for each of the book's own directives: how it stands on a page, in plain Markdown, and what of it is read.

A room's folder holds its Python, its words (`en.json`), and for the page its style and its script, of the room's name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol

from sphinx.application import Sphinx

from attnbook.widgets.shared.files import without_comments
from booktools.book.edition import Edition
from booktools.book.myst import Directive

ROOMS = (
    "api",
    "assignment",
    "drag",
    "exercise",
    "from_scratch",
    "glossary",
    "guess",
    "map",
    "slide",
    "story",
    "touch",
    "widget",
)


class Plain(Protocol):
    """A page that becomes plain Markdown, as rooms need it: see printers/plain.py."""

    page: str
    edition: Edition

    def convert(self, source: str) -> str: ...
    def inline(self, text: str) -> str: ...
    def box(self, title: str, body: str, folded: bool) -> str: ...
    def label_text(self, label: str) -> str: ...


@dataclass(frozen=True)
class Room:
    """What a room says of its directives; each `__init__.py` holds one, as ROOM."""

    names: tuple[str, ...]
    setup: Callable[[Sphinx], None]  # its page form
    plain: Callable[[Directive, Plain], str | None]  # None where it is for pages alone
    is_read: bool = True  # whether its words are among those that a reader reads in order


@cache
def rooms() -> dict[str, Room]:
    """Returns each directive's room, the module that prints it, by the directive's name."""
    found = [import_module(f"{__name__}.{name}").ROOM for name in ROOMS]
    return {name: room for room in found for name in room.names}


def front() -> dict[str, bytes]:
    """The styles and scripts of all rooms, as the site serves them."""
    here = Path(__file__).parent
    files = [path for name in ROOMS for path in sorted((here / name).glob(f"{name}.*s"))]
    return {path.name: without_comments(path).encode() for path in files}
