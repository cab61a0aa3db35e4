"""What of the book a test reads: files that Python opens, and those that a server here hands to a browser."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path

from tests.proven.parts import EVERYBODYS, room_of


class Reads:
    def __init__(self, root: Path):
        self.root, self.rooms = f"{root}/", None
        sys.addaudithook(self._hear)

    @contextmanager
    def noted(self) -> Iterator[set[str]]:
        """The rooms of all files that are opened meanwhile."""
        self.rooms = rooms = set()
        yield rooms
        self.rooms = None

    def _hear(self, event, given):
        if self.rooms is None or event not in ("open", "book.read"):
            return
        path = given[0]
        if isinstance(path, str | PathLike) and (name := str(fspath(path))).startswith(self.root):
            room = room_of(Path(name[len(self.root) :]))
            if room != EVERYBODYS and "__pycache__" not in name:
                self.rooms.add(room)
