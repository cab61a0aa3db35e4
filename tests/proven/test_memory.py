"""A run of pytest with a memory: what is left out, what is not, and what is said."""

import gc
import json
import os
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path

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
        ".gitignore": "green.json\ntable.json\nsaid\n__pycache__\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)

    def run(*given):
        without = ["-p", "no:cacheprovider", "-p", "no:faulthandler"]  # whose watch is not to be ended in a fork
        command = ["-q", *without, "-p", "tests.proven.plugin", "--memory", "green.json", *given]
        child = get_context("fork").Process(target=run_pytest, args=(tmp_path, command))
        child.start()
        child.join()
        return child.exitcode, (tmp_path / "said").read_text()

    return run


def run_pytest(folder, command):
    """In a process of its own, which has imported all that it needs, and looks for no garbage in what it was given."""
    gc.freeze()
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(ROOT)
    with Path("said").open("w") as said, redirect_stdout(said), redirect_stderr(said):
        code = pytest.main(command)
    os._exit(code)


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


def test_what_one_process_remembers_two_workers_know(run):
    for given, counts in (([], ["1", "0"]), (["-n", "2"], ["0", "1"])):
        code, said = run(*given, "parts")
        assert code == 0, said
        row = next(line for line in said.splitlines() if line.startswith("in all"))
        assert row.split()[2:4] == counts


def test_what_a_test_was_seen_to_read_is_in_its_part(run, tmp_path):
    """Though the part is not known to be made of chapters."""
    assert run("tests")[0] == 0
    (tmp_path / "chapters/05_dots.ipynb").write_text("13")
    assert run("tests")[0] == 1


def test_what_another_process_reads_may_be_anything(run, tmp_path):
    asks = "import subprocess\n\ndef test_it():\n    assert subprocess.run(['cat', '{}']).returncode == 0\n"
    (tmp_path / "parts/test_number.py").write_text(asks.format("chapters/05_dots.ipynb"))
    run("parts")
    (tmp_path / "assignments/source/06_heads.ipynb").write_text("changed")
    assert "in all             1           0" in run("parts")[1]
