"""What students see of an assignment before they hand it in: the last cell of their copy, run as a notebook runs it."""

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from attnbook import handing_in
from booktools.book.assignment import Assignment
from booktools.book.edition import edition
from booktools.book.limits import Limits
from booktools.printers.student import write_copies
from grading.run_tests import run_tests
from grading.submissions import code_of
from tests import ROOT
from tests.grading.three_things import answered, write

pytestmark = pytest.mark.slow
RIGHT = {"shares", "line", "count"}


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A student's copy, in the folder in which its last cell looks for it."""
    monkeypatch.chdir(tmp_path)
    (path,) = write_copies(edition(ROOT), tmp_path, [Assignment.read(write(tmp_path / "assignments/source"))])
    return nbformat.read(path, 4)


def write_in(copy, written=RIGHT, **sources):
    """These exercises are written right, and other cells hold other sources; `more` are cells of the student's own."""
    solutions = {cell.id: cell.source for cell in answered().cells}
    for cell in copy.cells:
        if cell.id in written:
            cell.source = solutions[cell.id]
        cell.source = sources.get(cell.id.replace("-", "_"), cell.source)
    more = sources.get("more", [])
    copy.cells[5:5] = map(new_code_cell, [more] if isinstance(more, str) else more)


def look(copy, written=RIGHT, seconds=20, total=120, **sources):
    """What the last cell prints of such a copy."""
    write_in(copy, written, **sources)
    nbformat.write(copy, "three_things.ipynb")
    source = copy.cells[-1].source
    exec(source.replace("seconds=20, total=120", f"seconds={seconds}, total={total}"), {})


def test_a_whole_notebook(copy, capsys):
    look(copy)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("three_things.ipynb, as it was saved at ")
    right = [f"{title}: the checks that you see pass." for title in ("1. Shares", "2. A line", "3. Three times four")]
    assert said[1:] == [
        "",
        *right,
        "",
        "All is written, and all checks that you see pass. Others run after you hand in.",
    ]


def test_what_is_missing_wrong_or_in_a_cell_of_text(copy, capsys):
    next(cell for cell in copy.cells if cell.id == "count").cell_type = "markdown"
    look(copy, {"count"}, shares="def shares(x):\n    return x[:1]")
    said = capsys.readouterr().out
    assert "1. Shares: check 1 fails. AssertionError: expected a vector of 2, got (1,)" in said
    assert "2. A line: not written yet." in said
    assert "3. Three times four: the answer stands in a cell of text, which is not run. Make it a code cell." in said
    assert said.endswith("What is above will cost points, or is not run.\n")


STOPS = {
    "print(lambda_)": "NameError: name 'lambda_' is not defined. Cells run from top to bottom",
    "import helpers": "ModuleNotFoundError: No module named 'helpers'",
    "open('data.csv')": "No such file or directory: 'data.csv'",
    "import socket\nsocket.create_connection(('127.0.0.1', 9))": "opens no connection (socket.connect)",
    "!ls": "starts no program or thread and opens no connection",
    "import threading\nthreading.Thread(target=print).start()": "(threading.Thread.start)",
    "y = torch.ops.aten.relu(torch.ones(1))": "ops is not for graded notebooks",
    "type Pair = int": "SyntaxError" if sys.version_info < (3, 12) else "can't be read by Python 3.11",
    "x = = 1": "SyntaxError",
}


def test_cells_that_stop(copy, capsys):
    """Each says why in a line, and those after it run."""
    Path("helpers.py").touch()
    look(copy, more=list(STOPS))
    said = capsys.readouterr().out
    lines = dict(re.findall(r"^Code cell (\d+) (.*)$", said, re.MULTILINE))
    want = {str(number): says for number, says in enumerate(STOPS.values(), start=3)}
    assert lines.keys() == want.keys(), said
    for number, says in want.items():
        assert says in lines[number]
    assert said.count("the checks that you see pass") == 3
    assert "You can hand it in like this." in said


@pytest.mark.parametrize("path", [f"{os.pathsep}/nowhere", "{here}"], ids=["an empty entry", "its folder"])
def test_what_lies_beside_the_notebook_is_not_imported(copy, capsys, tmp_path, monkeypatch, path):
    """Also where Python was told to look there: a file of the student's own, and one with the name of Python's own."""
    monkeypatch.setenv("PYTHONPATH", path.format(here=tmp_path))
    Path("helpers.py").touch()
    Path("random.py").write_text("raise SystemExit('not this one')")
    look(copy, more="import random\nprint(random.random())\nimport helpers")
    said = capsys.readouterr().out
    assert "Code cell 3 stops: ModuleNotFoundError: No module named 'helpers'" in said
    assert said.count("the checks that you see pass") == 3


def test_a_loop_that_never_ends(copy, capsys):
    look(copy, total=5, more="while True: pass")
    said = capsys.readouterr().out
    assert "did not come to an end in 10 seconds. Is there a loop" in said
    assert said.count("not reached") == 3


@pytest.mark.parametrize(
    ("done", "number", "reached"),
    [(1, 2, 0), (3, 4, 0), (7, 8, 2), (10, 4, 2), (13, 9, 2)],
    ids=["a cell", "a check", "another cell", "a check once more", "the last check once more"],
)
def test_the_cell_in_which_it_stops(copy, capsys, monkeypatch, done, number, reached):
    """Also where it is a check; what has not run is not reached."""

    def rerun(order, empty, told, most):
        lines = [{"number": cell["number"], "error": "", "working": 0, "waiting": 0} for cell in order[:done]]
        told.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return False, {}

    monkeypatch.setattr(handing_in, "_rerun", rerun)
    look(copy)
    said = capsys.readouterr().out
    assert f"Code cell {number} did not come to an end in 240 seconds." in said
    assert said.count("not reached") == 3 - reached
    assert "All is written" not in said


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        ({"more": "import os\nos._exit(3)"}, "Code cell 3 ended Python itself (exit status 3).\n"),
        ({"more": "import os\nos.abort()"}, "Code cell 3 ended Python itself (SIGABRT)."),
        (
            {"line": "import os, sys\nsys.__stderr__.write('no room\\n')\nos._exit(0)"},
            "6 ended Python itself (exit status 0). no room",
        ),
        (
            {
                "count": "class Count(int):\n    __eq__ = __class__ = property(lambda _: __import__('os')._exit(4))\n"
                "count = Count(12)"
            },
            "Code cell 9 ended Python itself (exit status 4).",
        ),
    ],
    ids=["an exit", "a crash", "with words", "in a check"],
)
def test_a_cell_that_ends_python(copy, capsys, sources, says):
    look(copy, **sources)
    said = capsys.readouterr().out
    assert says in said
    assert "not reached" in said
    assert said.count("Code cell") == 1
    assert "Is there a loop" not in said


@pytest.mark.parametrize("python", ["#!/bin/sh\necho no PyTorch >&2\nexit 2\n", ""])
def test_python_that_does_not_start(copy, capsys, tmp_path, monkeypatch, python):
    program = tmp_path / "python"
    if python:
        program.write_text(python)
        program.chmod(0o755)
    monkeypatch.setattr(handing_in.sys, "executable", str(program))
    look(copy)
    said = capsys.readouterr().out
    assert "A new Python does not start" in said
    assert ("exit status 2" in said and "no PyTorch" in said) if python else "No such file" in said
    assert "Code cell" not in said


def took(monkeypatch, *times):
    """The cells have worked and waited for so many seconds."""
    times = [*times, *[(0.1, 0.1)] * 20]
    lines = {n: {"error": "", "working": work, "waiting": wait} for n, (work, wait) in enumerate(times, start=1)}
    monkeypatch.setattr(handing_in, "_outcome", lambda *_: (lines, ""))


@pytest.mark.parametrize("times", [(21, 0.1), (0.1, 20.5)], ids=["work", "waiting"])
@pytest.mark.parametrize("number", [2, 5], ids=["a cell", "a check"])
def test_a_cell_that_takes_too_long(monkeypatch, copy, capsys, times, number):
    took(monkeypatch, *[(0.1, 0.1)] * (number - 1), times)
    look(copy)
    told = f"Code cell {number} took 21 seconds; where it is graded, it is stopped after 20."
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("times", "late"),
    [([(15, 0)] * 9, True), ([(0, 15)] * 9, True), ([(15, 0)] * 5 + [(0, 15)] * 5, False), ([(19, 19)] * 6, False)],
    ids=["work", "waiting", "half of each", "as much of both"],
)
def test_cells_that_take_too_long_together(monkeypatch, copy, capsys, times, late):
    """As grading counts: 120 seconds of work, and as many of waiting."""
    took(monkeypatch, *times)
    look(copy)
    said = capsys.readouterr().out
    assert ("All cells together took 1" in said and "after 120" in said) is late
    assert ("All is written" in said) is not late


def test_waiting_counts_and_threads_are_as_in_grading(copy, capsys):
    look(copy, seconds=1, more="import time\ntime.sleep(1.2)\nassert torch.get_num_threads() == 1")
    said = capsys.readouterr().out
    assert "Code cell 3 took " in said
    assert "Code cell 3 stops" not in said


def test_a_notebook_of_another_name(copy, capsys, tmp_path, monkeypatch):
    nbformat.write(copy, tmp_path / "mine.ipynb")
    (tmp_path / "three_things.ipynb").unlink()
    exec(copy.cells[-1].source, {})
    assert f"three_things.ipynb is not in {tmp_path}. Save the notebook first" in capsys.readouterr().out
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "mine.ipynb"))
    exec(copy.cells[-1].source, {})
    said = capsys.readouterr().out
    assert said.startswith(f"{tmp_path / 'mine.ipynb'}, as it was saved at ")
    assert "1. Shares: not written yet." in said


def test_colab_gives_the_notebook_on_the_screen(copy, capsys, tmp_path, monkeypatch):
    asked = SimpleNamespace(blocking_request=lambda what, timeout_sec: {"ipynb": json.loads(nbformat.writes(copy))})
    monkeypatch.setitem(handing_in.sys.modules, "google", SimpleNamespace())
    monkeypatch.setitem(handing_in.sys.modules, "google.colab", SimpleNamespace(_message=asked))
    (tmp_path / "three_things.ipynb").unlink()
    exec(copy.cells[-1].source, {})
    said = capsys.readouterr().out
    assert said.startswith("three_things.ipynb runs from top to bottom")
    assert said.count("not written yet") == 3


@pytest.mark.parametrize("merged", [False, True])
def test_the_last_cell_is_left_out_where_it_is_graded(copy, server, tmp_path, merged):
    assignment = Assignment.read(tmp_path / "assignments/source/three_things.ipynb")
    write_in(copy, look_over="count = 12\n\n" + copy.cells[-1].source if merged else copy.cells[-1].source)
    cells = code_of(copy, assignment)
    assert "look_over" not in "".join(cell["source"] for cell in cells)
    assert cells[-1]["source"] == ("count = 12" if merged else cells[-1]["source"])
    outcome = run_tests(assignment, cells, server, Limits())
    assert (outcome.total(assignment), outcome.cells) == (10, [])
