"""`pytest --nbval chapters/*.ipynb`, typed by hand, finds the outputs that `make notebooks` stored."""

import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from booktools.rehearsal.run import EVERYWHERE, run
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


STORED = "right: ≈ 0.996 of all"
# What is printed now, and how far it may be off by the cell's metadata, if they say so.
NOW = {
    "same": ("right: ≈ 0.996 of all", None),
    "one_unit_off": ("right: ≈ 0.997 of all", None),
    "two_units_off": ("right: ≈ 0.994 of all", None),
    "within": ("right: ≈ 0.992 of all", 0.004),
    "outside": ("right: ≈ 0.991 of all", 0.004),
    "another_text": ("right: ≈ 0.996 of most", 0.004),
    "one_more": ("right: ≈ 0.996 of all ≈ 1.0", 0.004),
    "exact": ("right: 0.996 of all", 0.004),
}


@pytest.mark.slow
def test_numbers_that_differ_between_machines_are_compared_within_what_their_cell_says(tmp_path):
    """Each cell stores what another machine printed, as a stream or as a result."""
    cells = []
    for n, (source, output) in enumerate([("print({!r})", streamed), ("Pretty({!r})", returned)] * len(NOW)):
        count, (now, within) = n + 2, list(NOW.values())[n // 2]
        metadata = {} if within is None else {"attnbook": {"within": within}}
        cells.append(
            nbformat.v4.new_code_cell(
                source.format(now), execution_count=count, outputs=[output(STORED, count)], metadata=metadata
            )
        )
    first = nbformat.v4.new_code_cell("from IPython.display import Pretty", execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[first, *cells]), tmp_path / "numbers.ipynb")
    shutil.copy(ROOT / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--nbval", tmp_path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    verdicts = re.findall(r"^(PASSED|FAILED) numbers\.ipynb::Cell (\d+)", done.stdout, re.M)
    passed = {list(NOW)[(int(cell) - 1) // 2] for verdict, cell in verdicts if verdict == "PASSED" and int(cell)}
    failed = {list(NOW)[(int(cell) - 1) // 2] for verdict, cell in verdicts if verdict == "FAILED"}
    right = {"same", "one_unit_off", "within"}
    assert (passed, failed) == (right, NOW.keys() - right), done.stdout
    assert done.stdout.count("off by more than 0.004") >= 2
    assert done.stdout.count("off by more than 0.001") >= 2


def streamed(text, count):
    return nbformat.v4.new_output("stream", text=f"{text}\n")


def returned(text, count):
    return nbformat.v4.new_output("execute_result", {"text/plain": text}, execution_count=count)
