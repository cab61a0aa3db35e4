"""`attnbook widget NAME`: what it writes keeps the laws of widgets, and nothing that is there is written over."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from booktools.book import BookError
from booktools.make.widget import make_room
from tests import ROOT

WIDGETS = "src/attnbook/widgets"


@pytest.fixture
def checkout(tmp_path):
    """As much of one as a widget and its laws need."""
    for folder in ("src/attnbook", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for read in {*ROOT.iterdir()} - {ROOT / name for name in ("src", "tests", "_build", ".venv", ".git")}:
        (tmp_path / read.name).symlink_to(read)
    return tmp_path


@pytest.mark.slow
def test_what_is_written_keeps_the_laws(checkout):
    written = make_room(checkout, "SoftLamp")
    assert not re.findall("example", "".join(path.read_text("utf-8") for path in written), re.I)
    tests = [path for path in written if path.name.startswith("test_")]
    room = checkout / WIDGETS / "soft_lamp"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests, room]
    path = os.pathsep.join(map(str, (checkout / "src", checkout)))
    done = subprocess.run(command, cwd=checkout, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 7
    for check in (
        ["ruff", "check"],
        ["ruff", "format", "--check"],
        ["oxlint", "--deny-warnings"],
        ["oxfmt", "--check"],
    ):
        program = shutil.which(check[0], path=os.path.dirname(sys.executable))
        subprocess.run([program, *check[1:], "src/attnbook/widgets"], cwd=checkout, check=True, capture_output=True)


def registry(root, names):
    file = root / WIDGETS / "__init__.py"
    file.parent.mkdir(parents=True)
    file.write_text("__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n")
    (root / "tests/widgets").mkdir(parents=True)
    return file


def test_it_stands_in_the_registry_where_the_alphabet_has_it(tmp_path):
    file = registry(tmp_path, ["AskPicture", "WordMap"])
    make_room(tmp_path, "SoftLamp")
    assert re.findall(r'"(\w+)"', file.read_text()) == ["AskPicture", "SoftLamp", "WordMap"]


def test_a_widget_that_is_there_stays(tmp_path):
    registry(tmp_path, [])
    make_room(tmp_path, "SoftLamp")
    with pytest.raises(BookError, match=r"soft_lamp is there already; take another name"):
        make_room(tmp_path, "SoftLamp")


@pytest.mark.parametrize("name", ["Lamp", "softLamp", "soft_lamp", "Soft Lamp", "../SoftLamp", ""])
def test_a_name_is_two_words(tmp_path, name):
    with pytest.raises(BookError, match="two words or more, as in SoftLamp"):
        make_room(tmp_path, name)
