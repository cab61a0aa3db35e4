"""What of the book a test reads: files that Python opens, and those that a server here hands to a browser."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path

from tests.proven.parts import ALL, EVERYBODYS, room_of


class Reads:
    def __init__(self, root: Path):
        self.root, self.rooms, self.known = f"{root}/", None, False
        sys.addaudithook(self._hear)

    @contextmanager
    def noted(self) -> Iterator[set[str]]:
        """The rooms of all files that are opened meanwhile."""
        self.rooms = rooms = set()
        yield rooms
        self.rooms = None

    def _hear(self, event, given):
        if event == "book.known":
            self.known = given[0]
        if self.rooms is None or self.known:
            return
        if event in ("subprocess.Popen", "os.fork") and "playwright" not in str(given):
            self.rooms |= ALL  # what another process reads is not heard; a browser reads what a server here gives it
        if event not in ("open", "book.read"):
            return
        path = given[0]
        if isinstance(path, str | PathLike) and (name := os.path.normpath(fspath(path))).startswith(self.root):
            room = room_of(Path(name[len(self.root) :]))
            # Python and words of a package are read once in a process, by whoever comes first.
            once = name.startswith(f"{self.root}src/") and name.endswith((".py", ".pyc", "en.json"))
            if room != EVERYBODYS and not once:
                self.rooms.add(room)
