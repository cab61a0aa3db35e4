"""`pytest --nbval chapters/*.ipynb`, typed by hand, finds the outputs that `make notebooks` stored."""

import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from booktools.editions.run import EVERYWHERE, run
from tests import ROOT

TRAINS = """
import os, torch
from attnbook import fit

model, x = torch.nn.Linear(1, 1), torch.linspace(-1, 1, 9)[:, None]
fit(model, lambda model, x: (model(x) - 3 * x).square().mean(), lambda generator: x, 30)
print(torch.get_num_threads(), torch.cuda.is_available())
"""


@pytest.mark.slow
def test_a_notebook_that_trains_passes_in_a_bare_environment(tmp_path):
    """Neither the progress bar nor the number of threads nor a GPU gets into the comparison."""
    path = tmp_path / "trains.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(TRAINS)]), path)
    assert run(path)
    shutil.copy(ROOT / "conftest.py", tmp_path)  # as it lies above the chapters
    bare = {name: value for name, value in os.environ.items() if name not in EVERYWHERE}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval", path]
    done = subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
