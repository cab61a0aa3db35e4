"""A room for a new widget and its test, filled with a small one that works: `attnbook widget SoftLamp`.

The example is softmax at a temperature, a widget that keeps every law in tests/widgets/laws.py.
"""

import re
from pathlib import Path

from attnbook.widgets import room
from booktools.book import BookError

EXAMPLE = Path(__file__).parent / "example"
NAME, ROOM = "ExampleWidget", "example_widget"
REGISTRY = "src/attnbook/widgets/__init__.py"


def make_room(root: Path, name: str) -> list[Path]:
    """Writes the widget's folder and its test, enters it in the registry, and returns what was written."""
    if not re.fullmatch(r"(?:[A-Z][a-z0-9]+){2,}", name):
        raise BookError(f"{name!r} is no name of a widget; expected two words or more, as in SoftLamp")
    folder = root / Path(REGISTRY).parent / room(name)
    if folder.exists():
        raise BookError(f"{folder.relative_to(root)} is there already; take another name, or change that widget")
    folder.mkdir()
    written = [root / REGISTRY]
    names = {NAME: name, ROOM: room(name), ROOM.replace("_", "-"): room(name).replace("_", "-")}
    for path in sorted(EXAMPLE.glob("*.template")):
        file, text = path.stem, path.read_text("utf-8")
        for theirs, ours in names.items():
            file, text = file.replace(theirs, ours), text.replace(theirs, ours)
        target = (root / "tests/widgets" if file.startswith("test_") else folder) / file
        target.write_text(text, "utf-8")
        written.append(target)
    _enter(written[0], name)
    return written


def _enter(registry: Path, name: str) -> None:
    """Adds the name to the registry of widgets, in the order of the alphabet."""
    text = registry.read_text("utf-8")
    listed = re.findall(r'^    "\w+",\n', text, re.M)
    among = "".join(sorted([*listed, f'    "{name}",\n']))
    registry.write_text(text.replace("".join(listed), among, 1), "utf-8")
