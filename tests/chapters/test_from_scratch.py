"""A chapter's own code, in one file, runs in an empty folder without the book."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from booktools.core import BookError
from booktools.core.address import address
from booktools.core.contents import Chapter
from booktools.editions.from_scratch import OURS, files, from_scratch
from tests import ROOT
from tests.chapters import SECOND_EDITION

FILES = files(address(ROOT), ROOT)
# Where only what Python and PyTorch bring can be imported.
ALONE = f"""
import runpy, sys
for name in {sorted(OURS)}:
    sys.modules[name] = None
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def test_every_chapter_of_the_second_edition_has_one():
    assert {int(name[:2]) for name in FILES} == SECOND_EDITION


@pytest.mark.parametrize("name", FILES)
def test_it_is_code_as_a_formatter_leaves_it(name, tmp_path):
    path = tmp_path / f"{name}.py"
    path.write_text(FILES[name], encoding="utf-8")
    ruff = [str(Path(sys.executable).with_name("ruff")), "--isolated", "--no-cache"]
    for command in (["check", "--select", "F,I,E4,E7,E9"], ["format", "--diff", "--line-length", "76"]):
        done = subprocess.run([ruff[0], command[0], *ruff[1:], *command[1:], path], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_it_runs_alone(name, tmp_path):
    path = tmp_path / f"{name}.py"
    path.write_text(FILES[name], encoding="utf-8")
    env = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-I", "-c", ALONE, path.name]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    stored = "".join(
        output.get("text", "")
        for cell in nbformat.read(ROOT / f"chapters/{name}.ipynb", as_version=4).cells
        if "keep" in cell.metadata.get("tags", [])
        for output in cell.outputs
    )
    exact = [line for line in stored.splitlines() if "≈" not in line]
    assert exact
    assert [line for line in done.stdout.splitlines() if "≈" not in line] == exact


# The file, from small cells


def made(*sources):
    """From a notebook's imports, and kept cells."""
    imports = new_code_cell(
        "import random\nimport torch.nn.functional as F\nimport torch\n"
        "from torch import nn, optim\nfrom attnbook import fit"
    )
    cells = [new_code_cell(source, metadata={"tags": ["keep"]}) for source in sources]
    chapter = Chapter(5, "Dots", Path("chapters/05_dots.ipynb"))
    return from_scratch(new_notebook(cells=[imports, *cells]), chapter, address(ROOT))


def test_imports_stand_once_and_only_those_that_are_used():
    text = made("x = F.relu(torch.ones(3))", "print(nn.Linear(1, 1), random.random(), F.relu(x))")
    code = text.split('"""\n')[1]
    assert code == (
        "\nimport random\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
        "x = F.relu(torch.ones(3))\n\nprint(nn.Linear(1, 1), random.random(), F.relu(x))\n"
    )


def test_what_is_defined_has_two_blank_lines_around():
    assert "\n\n\ndef f():\n    return 1\n\n\nx = f()\n" in made("y = 1", "def f():\n    return 1", "x = f()")


def test_a_chapter_that_keeps_nothing_has_no_file():
    assert made() == ""


@pytest.mark.parametrize("source", ["fit(1)", "print(nowhere)"])
def test_a_name_of_the_book_is_refused(source):
    with pytest.raises(BookError, match="which no kept cell defines"):
        made(source)
