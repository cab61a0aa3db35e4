"""The files to take along, run as a reader would run them: in an empty folder, without the book."""

import subprocess
import sys

import nbformat
import pytest

from booktools.book.edition import edition
from tests import ROOT

FILES = edition(ROOT).from_scratch
# Where what the book stands on cannot be imported.
ALONE = """
import runpy, sys
for name in ("attnbook", "booktools", "d2l", "einops", "anywidget", "ipywidgets", "IPython", "matplotlib"):
    sys.modules[name] = None
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("name", FILES)
def test_it_runs_alone(name, tmp_path):
    path = tmp_path / f"{name}.py"
    path.write_text(FILES[name], encoding="utf-8")
    env = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-I", "-c", ALONE, path.name]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=180)
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
