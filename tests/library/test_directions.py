"""Imports point one way: what readers install knows nothing of what makes the book; no two rooms need each other."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests import ROOT

# What each room of a package may import of its own package, rooms that stand above it here, and beyond OTHERS.
ROOMS = {
    "attnbook": {
        "errors": "",
        "_public": "",
        "": "errors _public",  # the façade: it imports what is asked for, when it is asked for
        "device": "",
        "language": "",
        "colours": "",
        "telling": "",
        "_inputs": "errors device",
        "layers": "errors device _inputs",
        "models": "errors device _inputs layers",
        "learning": "errors device _inputs layers models",
        "pretrained": "errors layers models learning",
        "data": "learning",
        "tasks": "errors device _inputs layers models learning data",
        "checks": "errors language layers models learning",
        "diagnosis": "errors device _inputs language",
        "handing_in": "language",
        "peers": "layers models",
        "plots": "errors _inputs colours language",
        "widgets": "errors _inputs colours language layers models learning data tasks plots",
    },
    "booktools": {
        "": "",
        "serving": "",
        "progress": "",
        "jupyter": "",
        "book": "",
        "directives": "book",
        "live": "book",
        "site": "progress book directives live",
        "printers": "serving progress book directives",
        "rehearsal": "serving progress book",
        "make": "serving book directives site",
        "dev": "serving book directives printers site live",
        "arguments": "",
        "cli": "arguments book directives printers rehearsal make dev",
    },
    "grading": {
        "": "",
        "wording": "",
        "tables": "",
        "pages": "",
        "similarity": "",
        "sandbox": "wording booktools",  # it hides that package from submissions
        "processes": "sandbox",
        "platforms": "",
        "look_alikes": "",
        "submissions": "wording platforms",
        "roster": "tables platforms submissions",
        "collect": "wording platforms look_alikes submissions roster",
        "lateness": "submissions roster",
        "adjustments": "tables",
        "run_tests": "wording sandbox submissions",
        "prove": "wording sandbox submissions run_tests",
        "classroom": "wording sandbox processes submissions collect run_tests prove",
        "scores": "wording submissions roster lateness adjustments classroom",
        "gradescope": "wording scores",
        "nbgrader_gradebook": "pages scores",
        "reports": "wording tables pages run_tests scores gradescope nbgrader_gradebook",
        "summary": "wording tables pages run_tests scores",
        "similar_work": "wording tables pages similarity submissions",
        "by_hand": "wording tables pages submissions adjustments run_tests scores",
        "commands": "wording sandbox platforms roster lateness adjustments prove classroom scores reports summary "
        "similar_work by_hand booktools.arguments booktools.printers",  # which print the copies that students get
    },
}
# What all of a package may import of the other ones.
OTHERS = {"attnbook": "", "booktools": "attnbook*", "grading": "attnbook* booktools.book booktools.progress"}


def turned_round(src: Path) -> list[str]:
    """The imports below a folder that point the wrong way."""
    return [
        f"{path.relative_to(src)}, line {line}: {room(here)} may not import {name}"
        for path in sorted(src.glob("*/**/*.py"))
        for here in [module(path.relative_to(src))]
        for line, name in imports(path, here)
        if name.split(".")[0] in ROOMS and not allowed(here, name)
    ]


def module(path: Path) -> str:
    """The dotted name of a file; a package's own file has the package's, with a dot behind it.

    >>> module(Path("attnbook/layers/masks.py")), module(Path("attnbook/layers/__init__.py"))
    ('attnbook.layers.masks', 'attnbook.layers.')
    """
    return ".".join(path.with_suffix("").parts).removesuffix("__init__")


def imports(path: Path, here: str) -> Iterator[tuple[int, str]]:
    """Everything that a file imports, anywhere in it, by its whole name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here.split(".")[: -node.level] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def room(name: str) -> str:
    """The folder or file of a package that a module is in; the package itself for what its own file holds.

    >>> room("attnbook.layers.masks"), room("attnbook.attention"), room("attnbook.")
    ('attnbook.layers', 'attnbook', 'attnbook')
    """
    package, *rest = name.split(".")
    return f"{package}.{rest[0]}" if rest and rest[0] in ROOMS[package] and rest[0] else package


def allowed(here: str, name: str) -> bool:
    (package, _, own), (other, _, wanted) = room(here).partition("."), room(name).partition(".")
    may = ROOMS[package][own].split()
    if other == package:
        return wanted == own or wanted in may
    return any(fnmatch(room(name), known) for known in [*OTHERS[package].split(), *may])


def test_every_import_points_one_way():
    assert turned_round(ROOT / "src") == []


def test_every_room_has_its_line_below_those_it_needs():
    for package, rooms in ROOMS.items():
        for place, (name, wanted) in enumerate(rooms.items()):
            own = {word for word in wanted.split() if word.partition(".")[0] not in ROOMS}
            assert own <= set(list(rooms)[:place]), name
        files = (path.relative_to(ROOT / "src" / package) for path in (ROOT / "src" / package).rglob("*.py"))
        assert {path.with_suffix("").parts[0].replace("__init__", "") for path in files} == set(rooms)


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("attnbook/layers/new.py", "from attnbook.models.transformer import Transformer"),
        ("attnbook/layers/new.py", "def late():\n    import attnbook.learning.training as t"),
        ("attnbook/layers/__init__.py", "from ..models import decoding"),
        ("attnbook/layers/new.py", "from attnbook import attention"),
        ("attnbook/errors.py", "import attnbook"),
        ("attnbook/plots.py", "if True:\n    from booktools.book import BookError"),
        ("attnbook/__init__.py", "import booktools"),
        ("attnbook/widgets/new/__init__.py", "from attnbook import checks"),
        ("booktools/book/new.py", "from booktools.printers.site_files import complete"),
        ("booktools/directives/guess/new.py", "class Late:\n    from grading import prove"),
        ("grading/classroom.py", "from booktools import printers"),
        ("grading/sandbox/new.py", "from grading.run_tests import Outcome"),
        ("attnbook/layers/late.py", "import grading"),
        ("booktools/rehearsal/new.py", "from grading.sandbox.confinement import HOME"),
    ],
)
def test_an_import_that_turns_round_is_named(file, code, tmp_path):
    planted = tmp_path / file
    planted.parent.mkdir(parents=True)
    planted.write_text(code)
    (told,) = turned_round(tmp_path)
    assert told.startswith(f"{file}, line {len(code.splitlines())}: {room(module(Path(file)))} may not import ")


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("attnbook/models/new.py", "from ..layers import masks\nfrom .decoding import beam\nimport torch"),
        ("attnbook/widgets/new/__init__.py", "from attnbook.widgets.shared.base import BookWidget"),
        (
            "grading/prove.py",
            "import attnbook\nfrom attnbook import causal\nfrom booktools.book import address",
        ),
    ],
)
def test_an_import_that_points_down_is_not(file, code, tmp_path):
    planted = tmp_path / file
    planted.parent.mkdir(parents=True)
    planted.write_text(code)
    assert turned_round(tmp_path) == []
