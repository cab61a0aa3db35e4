"""What students see of an assignment before they hand it in: the last cell of their copy, run as a notebook runs it."""

import json
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


def look(copy, written=RIGHT, most=None, **sources):
    """What the last cell prints once these exercises are written right, and other cells hold other sources."""
    solutions = {cell.id: cell.source for cell in answered().cells}
    for cell in copy.cells:
        if cell.id in written:
            cell.source = solutions[cell.id]
        cell.source = sources.get(cell.id.replace("-", "_"), cell.source)
    if "more" in sources:
        copy.cells.insert(5, new_code_cell(sources["more"]))
    nbformat.write(copy, "three_things.ipynb")
    source = copy.cells[-1].source
    exec(source.replace("total=120", f"total={most}") if most else source, {})


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


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("print(lambda_)", "NameError: name 'lambda_' is not defined. Cells run from top to bottom"),
        ("open('data.csv')", "No such file or directory: 'data.csv'"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 9))", "opens no connection (socket.connect)"),
        ("!ls", "starts no program or thread and opens no connection"),
        ("import threading\nthreading.Thread(target=print).start()", "(threading.Thread.start)"),
        ("y = torch.ops.aten.relu(torch.ones(1))", "ops is not for graded notebooks"),
        ("type Pair = int", ["can't be read by Python 3.11", "SyntaxError"]),
        ("x = = 1", "SyntaxError"),
    ],
    ids=["order", "a file", "network", "a program", "a thread", "backstage", "a newer Python", "no Python"],
)
def test_cells_that_stop(copy, capsys, more, says):
    look(copy, more=more)
    said = capsys.readouterr().out
    assert said.count("Code cell 3 ") == 1, said
    assert any(text in said for text in ([says] if isinstance(says, str) else says)), said
    assert said.count("the checks that you see pass") == 3
    assert "You can hand it in like this." in said


def test_a_loop_that_never_ends(copy, capsys):
    look(copy, most=5, more="while True: pass")
    said = capsys.readouterr().out
    assert "did not come to an end in 10 seconds." in said
    assert said.count("not reached") == 3


def test_a_cell_that_takes_too_long(monkeypatch, copy, capsys):
    lines = [{"number": n, "error": "", "seconds": 21.0 if n == 2 else 0.1} for n in range(1, 20)]
    monkeypatch.setattr(handing_in, "_outcome", lambda *_: {line["number"]: line for line in lines})
    look(copy)
    assert "Code cell 2 took 21 seconds; where it is graded, it is stopped after 20." in capsys.readouterr().out


def test_a_notebook_of_another_name(copy, capsys, tmp_path, monkeypatch):
    nbformat.write(copy, tmp_path / "mine.ipynb")
    (tmp_path / "three_things.ipynb").unlink()
    exec(copy.cells[-1].source, {})
    assert f"three_things.ipynb is not in {tmp_path}. Save the notebook first" in capsys.readouterr().out
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "mine.ipynb"))
    exec(copy.cells[-1].source, {})
    assert "1. Shares: not written yet." in capsys.readouterr().out


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
    look(copy, look_over="count = 12\n\n" + copy.cells[-1].source if merged else copy.cells[-1].source)
    cells = code_of(copy, assignment)
    assert "look_over" not in "".join(cell["source"] for cell in cells)
    assert cells[-1]["source"] == ("count = 12" if merged else cells[-1]["source"])
    outcome = run_tests(assignment, cells, server, Limits())
    assert (outcome.total(assignment), outcome.cells) == (10, [])
