"""A function of a module that no other file names begins with an underscore, so that one sees what a module offers.

It holds for layers and models, and for the packages that make the book and grade. Classes may be open: they are the
types of what open functions take and return.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT

FOLDERS = ["attnbook/layers", "attnbook/models", "booktools", "grading"]
# Called by others by name: Sphinx, whose extensions have a `setup`; Python, when a script is run; the command line.
BY_NAME = {"setup", "main"}
ON_THE_PAGE = "micropython_modules"  # readers' code names what is in these


def defined(tree: ast.Module) -> Iterator[str]:
    """The functions of a module, but for those that a decorator hands to somebody, as a command."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not any(map(_hands_over, node.decorator_list)):
            yield node.name


def _hands_over(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "command"


@cache
def named_elsewhere() -> dict[str, set[Path]]:
    """Which files import each name, take it as an attribute of something, or say it in a text, as a patch does."""
    found = defaultdict(set)
    for path in [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]:
        text = path.read_text("utf-8")
        imported = re.findall(r"\bimport\s+(\([^)]*\)|[^\n]+)", text)
        for name in [*re.findall(r"[.\"'](\w+)", text), *re.findall(r"\w+", " ".join(imported))]:
            found[name].add(path)
    return found


def open_for_nobody(path: Path) -> list[str]:
    """The functions of a file without an underscore that no other file names."""
    names = defined(ast.parse(path.read_text("utf-8")))
    users = named_elsewhere()
    return [name for name in names if not name.startswith("_") and name not in BY_NAME and not users[name] - {path}]


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_nobody_else_names_begins_with_an_underscore(folder):
    files = sorted(path for path in (ROOT / "src" / folder).rglob("*.py") if ON_THE_PAGE not in path.parts)
    wrong = {str(path.relative_to(ROOT)): names for path in files if (names := open_for_nobody(path))}
    assert not wrong, "\n".join(f"{file}: {', '.join(names)}" for file, names in wrong.items())


def test_a_name_that_nobody_names_is_found(tmp_path):
    path, name = tmp_path / "new.py", "_".join(["nobody", "names", "this"])
    path.write_text(f"def {name}(): ...\ndef _hidden(): ...\n@command('x')\ndef shown(): ...\n")
    assert open_for_nobody(path) == [name]
