"""A run of pytest with a memory: what is left out, what is not, and what is said."""

import json
import os
import subprocess
import sys

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow
ON_ITS_OWN = "from pathlib import Path\n\ndef test_it():\n    assert Path('{}').resolve().read_text() == '12'\n"


@pytest.fixture
def run(tmp_path):
    """Of a small checkout: what a run says in its end, and how it ends."""
    files = {
        "parts/test_number.py": ON_ITS_OWN.format("number"),
        "number": "12",
        "assignments/source/06_heads.ipynb": "{}",
        "chapters/05_dots.ipynb": "12",
        "tests/library/test_chapter.py": ON_ITS_OWN.format("chapters/05_dots.ipynb"),
        ".gitignore": "green.json\ntable.json\n__pycache__\n.pytest_cache\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)

    def run(*given):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.proven.plugin", "--memory", "green.json", *given]
        env = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        return done.returncode, done.stdout

    return run


def test_what_was_green_is_left_out_until_it_changes(run, tmp_path):
    def counted():
        rows = json.loads((tmp_path / "table.json").read_text())
        return [sum(row[place] for row in rows.values()) for place in (0, 1)]

    for text, code, counts in (
        ("12", 0, [1, 0]),
        ("13", 1, [1, 0]),  # a fault is planted in what it reads
        ("13", 1, [1, 0]),  # what is red is not remembered
        ("12", 0, [0, 1]),  # and what was green before is
    ):
        (tmp_path / "number").write_text(text)
        (tmp_path / "assignments/source/06_heads.ipynb").write_text(text + str(code))  # which it does not read
        assert run("parts")[0] == code, text
        assert counted() == counts, text


def test_with_two_workers_all_that_is_green_is_remembered_too(run):
    for tests, remembered in ((1, 0), (0, 1)):
        code, said = run("-n", "2", "parts")
        assert code == 0, said
        row = next(line for line in said.splitlines() if line.startswith("in all"))
        assert row.split()[2:4] == [str(tests), str(remembered)]


def test_a_test_that_reads_more_than_its_part_is_made_of_is_told(run):
    code, said = run("tests")
    assert code == 1
    assert "test_chapter.py::test_it reads chapters/05_dots, which is not among what its part is made of" in said


def test_what_another_process_reads_may_be_anything(run, tmp_path):
    asks = "import subprocess\n\ndef test_it():\n    assert subprocess.run(['cat', '{}']).returncode == 0\n"
    (tmp_path / "parts/test_number.py").write_text(asks.format("chapters/05_dots.ipynb"))
    run("parts")
    (tmp_path / "assignments/source/06_heads.ipynb").write_text("changed")
    assert "in all             1           0" in run("parts")[1]
