"""A published model as a site serves it: its file in parts, each named by its hash, with their list and the licence."""

import json
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path

from attnbook.pretrained import KNOWN, find
from booktools.book import BookError

SIZE = 8_000_000  # of a part; what a host takes in one file is more, and a reader loses at most so much


def write_parts(folder: Path, name: str = "smollm2") -> Path:
    """Write a model's parts into a folder of its hash, unless they are there; a page asks for them at a press."""
    known = KNOWN[name]
    to = folder / known.sha256[:16]
    if not (to / "parts.json").is_file():
        try:
            content = find(name).read_bytes()  # once its hash is the published one
        except FileNotFoundError as error:
            raise BookError(f"the site serves a model: {error}") from error
        to.mkdir(parents=True, exist_ok=True)
        (to / "LICENSE").write_bytes(licence(known.package.partition("==")[0]))
        (to / "parts.json").write_text(split_file(content, to))
    return to


def split_file(content: bytes, to: Path, size: int = SIZE) -> str:
    """The parts of a file, written; and their list."""
    parts = []
    for start in range(0, len(content), size):
        part = content[start : start + size]
        digest = sha256(part).hexdigest()
        (to / f"{digest[:16]}.bin").write_bytes(part)
        parts.append({"name": f"{digest[:16]}.bin", "size": len(part), "sha256": digest})
    return json.dumps({"size": len(content), "parts": parts})


def licence(package: str) -> bytes:
    """The text that the package brings."""
    (file,) = (each for each in distribution(package).files or () if each.name == "LICENSE")
    return Path(str(file.locate())).read_bytes()
