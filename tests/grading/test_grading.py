"""From an assignment's source to students' copies, proofs and a class's grades."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import nbformat
import pytest
import torch
from markdown_it import MarkdownIt

from attnbook.handing_in.backstage import OF_TORCH
from attnbook.language import PSEUDO, speaking, words
from booktools.book import BookError
from booktools.book.assignment import SET_UP, Assignment, Exercise
from booktools.book.limits import Limits
from booktools.cli import main
from grading import classroom
from grading.classroom import Classwork, Grade, Grader, grade_all
from grading.collect import find_submissions
from grading.lateness import Rules
from grading.prove import Proof, prove_all, sandbox_leaks, self_test
from grading.reports import feedback, write_all
from grading.run_tests import PARTS, Attempts, Outcome, Result, names_given
from grading.sandbox import fork_server
from grading.sandbox.fork_server import ForkServer
from grading.sandbox.remote import Remote
from grading.sandbox.tensor_sizes import SizeRecorder, replay_sizes
from grading.scores import Scoring
from grading.submissions import Submission, code_of
from grading.wording import HERE
from tests import ROOT
from tests.grading.three_things import answered, graded, three_things, write
from tests.widgets.forgotten import left_over

pytestmark = pytest.mark.slow
VARIANTS = ROOT / "assignments/variants"
SOURCES = sorted((ROOT / "assignments/source").glob("*.ipynb"))
LIMITS = Limits(cell=3, call=3, total=40, megabytes=1024)
WRONG_SHARES = "def shares(x):\n    return x / x.sum() if x.abs().sum() else torch.full_like(x, 0.5) + 0 * x"


@pytest.fixture
def source(tmp_path):
    path = write(tmp_path / "assignments/source")
    wrong = path.parents[1] / "wrong/three_things.toml"
    wrong.parent.mkdir()
    wrong.write_text(
        "".join(
            f'[[wrong]]\nname = "off by {n}"\nexercise = "count"\nfind = "count = 12"\nput = "count = {12 + n}"\n'
            for n in range(1, 9)
        )
    )
    return path


# The assignments of the book


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_assignment_is_proven(path, server):
    """None of their mistakes is endless, so they may take ten times as long as a submission may: no clock decides."""
    assert list(Proof.read(path).problems(server, Limits.within(1200))) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_assignment_is_whole(path):
    assignment = Assignment.read(path)
    assert (ROOT / "chapters" / path.name).is_file()
    assert assignment.title.startswith(f"Assignment {int(path.name[:2])}: ")
    assert assignment.points == 10
    assert 75 <= assignment.minutes <= 90, "as the instructors' page says"
    assert 3 <= len(assignment.exercises) <= 5
    tasks = "\n".join(cell.source for cell in assignment.notebook.cells if cell.cell_type == "markdown")
    for exercise in assignment.exercises:
        assert exercise.title, exercise.id
        for name in exercise.forbidden:
            assert f"{name.rsplit('.')[-1]}" in tasks, f"{exercise.id} forbids {name} and does not say so"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_hidden_test_says_what_it_tries(path):
    overlays = [None, *([VARIANTS] if (VARIANTS / path.name).is_file() else [])]
    tests = [test for overlay in overlays for one in Assignment.read(path, overlay).exercises for test in one.tests]
    assert [test.id for test in tests if not test.tries] == []
    said = [test.tries for test in Assignment.read(path).exercises[0].tests]
    assert all(text[0].islower() and text[-1].isalnum() and len(text) < 100 for text in said), said


def test_a_student_reads_which_part_of_the_task_a_hidden_test_tries(source):
    assignment = Assignment.read(source)
    first, *others = (test for exercise in assignment.exercises for test in exercise.tests)
    results = {test.id: Result(hidden="0.2 is not 0.1") for test in (first, *others)}
    told = feedback(assignment, Scoring(assignment).less_lateness(Submission("ada", None), graded_as(results)))
    assert "a hidden one fails: the answer is not right.\nIt tries: large scores." in told
    assert told.count("which case have you not tried?") == len(others)
    assert "0.2" not in told


def graded_as(results):
    return Grade("ada", "graded", outcome=Outcome(results))


def test_every_chapter_has_an_assignment():
    assert [path.name[:2] for path in SOURCES] == [f"{n:02}" for n in range(1, 16)]


# Reading and copying


def test_points_exercises_and_tests(source):
    assignment = Assignment.read(source)
    assert (assignment.title, assignment.minutes, assignment.points) == ("Three things", 10, 10)
    shares, line, count = assignment.exercises
    assert (shares.title, shares.points, shares.defined) == ("1. Shares", 5, ["shares"])
    assert shares.forbidden == ("torch.softmax", "attnbook.masked_softmax")
    assert (line.defined, count.assigned) == (["Line"], ["count"])
    assert "HIDDEN" not in shares.tests[0].visible + shares.tests[0].hidden


def test_a_students_copy_has_stubs_points_and_no_secrets(source, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["student", str(source), "-o", str(tmp_path / "copies")]) == 0
    text = (tmp_path / "copies/three_things.ipynb").read_text()
    assert "SOLUTION" not in text
    assert "HIDDEN" not in text
    assert "x.softmax" not in text, "a hidden test is in the copy"
    copy = nbformat.reads(text, as_version=4)
    cells = {cell.id: cell.source for cell in copy.cells}
    assert "set_up(" in cells["setup"]
    assert "d2l" not in cells["setup"]
    assert cells["task-shares"].startswith("## 1. Shares (5 points)")
    assert "10 points in all, about 10 minutes. Run" in cells["setup-note"], "it belongs to no chapter"
    assert cells["test-slope"].endswith("print('1. Shares, check 2: passes')")
    assert "20 seconds for one cell,\n120 for all" in cells["setup-note"]
    assert "10 seconds for one call, with 2 GB" in cells["setup-note"]
    assert all(f"`torch.{name}`" in cells["setup-note"] for name in OF_TORCH), "what is refused is said before"
    assert "thread" in cells["setup-note"]
    assert "`ctypes`" in cells["setup-note"]
    assert SET_UP in cells["setup"], "the grader knows the cell by this"
    assert cells["shares"].endswith("# YOUR CODE HERE\n    raise NotImplementedError()")
    for module in (cells["imports"], cells["shares"]):
        compile(module, "copy", "exec")
    assert copy.cells[[cell.id for cell in copy.cells].index("test-shares")].metadata.nbgrader.points == 3


def edited(change):
    notebook = three_things()
    change({cell.id: cell for cell in notebook.cells}, notebook)
    return notebook


def set_source(name, source):
    return lambda cells, notebook: cells[name].update(source=source)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (set_source("shares", "def shares(x):\n    return x"), "three_things.ipynb, cell shares: .* between ### BEGIN"),
        (set_source("test-count", "assert count"), "cell test-count: every test has a hidden part"),
        (set_source("title", "Three things"), "expected `# Title` first"),
        (lambda cells, notebook: notebook.metadata.pop("attnbook"), "attnbook.minutes"),
        (lambda cells, notebook: notebook.cells.remove(cells["test-line"]), "nothing tests line"),
        (lambda cells, notebook: notebook.cells.insert(1, graded("early", 1, "assert True")), "there is none above"),
        (lambda cells, notebook: cells["test-line"].metadata.nbgrader.update(grade_id="line"), "line is used twice"),
    ],
)
def test_a_source_that_is_not_whole_is_refused(change, says, tmp_path):
    with pytest.raises(BookError, match=says):
        Assignment.read(write(tmp_path, edited(change)))


def test_a_marker_without_its_end_never_reaches_students(tmp_path):
    cell = "### BEGIN SOLUTION\ncount = 12\n### END SOLUTION\n### BEGIN SOLUTION\nother = 3"
    with pytest.raises(BookError, match="cell count: a BEGIN without its END"):
        Assignment.read(write(tmp_path, edited(set_source("count", cell)))).student()


def overlay_with(tmp_path, *cells):
    notebook = three_things()
    notebook.cells = [cell for cell in notebook.cells if cell.id in dict(cells)]
    for cell in notebook.cells:
        cell.source = dict(cells)[cell.id]
    return write(tmp_path / "private", notebook).parent


def test_a_private_overlay_changes_exercises_and_hidden_tests(source, tmp_path, server):
    test = "assert count > 0\n### BEGIN HIDDEN TESTS\nassert count == 21\n### END HIDDEN TESTS"
    answer = "### BEGIN SOLUTION\ncount = 21\n### END SOLUTION"
    overlay = overlay_with(tmp_path, ("count", answer), ("test-count", test), ("task-count", "## 3. Three times seven"))
    changed = Assignment.read(source, overlay)
    assert changed.exercises[2].title == "3. Three times seven"
    assert changed.points == 10
    assert list(self_test(changed, server, Limits())) == []
    assert Assignment.read(source).exercises[2].title == "3. Three times four", "the public one stays"


def test_an_overlay_for_a_cell_that_is_not_there(source, tmp_path):
    overlay = overlay_with(tmp_path, ("count", "### BEGIN SOLUTION\ncount = 1\n### END SOLUTION"))
    path = overlay / source.name
    path.write_text(path.read_text().replace('"id": "count"', '"id": "counts"'))
    with pytest.raises(BookError, match="has no cell counts"):
        Assignment.read(source, overlay)


# Proving


def test_a_proven_assignment(source, server):
    assert list(Proof.read(source).problems(server, Limits())) == []


def test_a_wrong_answer_that_nothing_finds(source, server):
    path = source.parents[1] / "wrong/three_things.toml"
    path.write_text(path.read_text() + '[[wrong]]\nname = "right"\nexercise = "count"\nfind = "12"\nput = "3 * 4"\n')
    assert list(Proof.read(source).problems(server, Limits())) == ["no hidden test fails for 'right' (count)"]


ENTRY = '[[wrong]]\nname = "{}"\nexercise = "{}"\ncode = """{}"""\n'


@pytest.mark.parametrize("last", ["def shares(x):\n    return x", "import os\nos._exit(0)"])
def test_a_mistake_that_spoils_the_process_for_the_others(last, source, server):
    """What fails only because of what an earlier one has left behind is not taken for found."""
    path = source.parents[1] / "wrong/three_things.toml"
    right = "def shares(x):\n    p = (x - x.amax(-1, keepdim=True)).exp()\n    return p / p.sum(-1, keepdim=True)"
    spoils = "torch.Tensor.exp = lambda x: x\ndef shares(x):\n    return x"
    for name, code in {"spoils": spoils, "right": right, "last": last}.items():
        path.write_text(path.read_text() + ENTRY.format(name, "shares", code))
    assert list(Proof.read(source).problems(server, Limits())) == ["no hidden test fails for 'right' (shares)"]


LOOP = "while True: pass"
RIGHT_COUNT = "count = 3 * 4"
ENDS = "'one' (count) came to an end; expected it to run out of time, since it says `endless = true`"


@pytest.mark.parametrize(
    ("exercise", "code", "endless", "says"),
    [
        ("shares", f"def shares(x):\n    {LOOP}", "", ["'one' (shares) ran out of time, so nothing is known of it"]),
        ("count", f"count = 12\n{LOOP}", "", ["'one' (count) ran out of time, so nothing is known of it"]),
        ("shares", f"def shares(x):\n    {LOOP}", "endless = true", []),
        ("count", LOOP, "endless = true", []),
        ("count", "count = 13", "endless = true", [ENDS]),
        ("count", RIGHT_COUNT, "endless = true", ["no hidden test fails for 'one' (count)", ENDS]),
    ],
)
def test_who_runs_out_of_time_is_not_caught(exercise, code, endless, says, source, server):
    """A slow machine must not make an answer look wrong. A loop that never ends is declared, and must be one."""
    path = source.parents[1] / "wrong/three_things.toml"
    path.write_text(
        path.read_text() + f'[[wrong]]\nname = "one"\n{endless}\nexercise = "{exercise}"\ncode = """{code}"""\n'
    )
    told = list(Proof.read(source).problems(server, LIMITS))
    assert len(told) == len(says), told
    assert all(what.startswith(start) for what, start in zip(told, says, strict=True)), told


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('exercise = "count"\nfind = "13"\nput = "1"', "'old': expected its `find` once in the solution, got 0 times"),
        ('exercise = "counts"\nfind = "12"\nput = "1"', "'old': there is no exercise 'counts'"),
    ],
)
def test_a_wrong_answer_that_no_longer_applies(entry, says, source, server):
    path = source.parents[1] / "wrong/three_things.toml"
    path.write_text(path.read_text() + f'[[wrong]]\nname = "old"\n{entry}\n')
    assert list(Proof.read(source).problems(server, Limits())) == [says]


def test_an_overlay_is_proven_with_the_mistakes_that_fit_or_its_own(source, tmp_path, server, capsys):
    test = "assert count > 0\n### BEGIN HIDDEN TESTS\nassert count == 21\n### END HIDDEN TESTS"
    overlay = overlay_with(
        tmp_path, ("count", "### BEGIN SOLUTION\ncount = 21\n### END SOLUTION"), ("test-count", test)
    )
    prove_all([Proof.read(source, overlay)], server)
    assert "8 known mistakes do not fit the changed solution; 0 are tried: proven" in capsys.readouterr().out
    own = overlay / "wrong/three_things.toml"
    own.parent.mkdir()
    own.write_text('[[wrong]]\nname = "right"\nexercise = "count"\nfind = "21"\nput = "3 * 7"\n')
    assert list(Proof.read(source, overlay).problems(server, Limits())) == ["no hidden test fails for 'right' (count)"]


def test_an_overlay_without_the_assignment_is_no_overlay(source, tmp_path):
    with pytest.raises(BookError, match=r"three_things\.ipynb does not exist"):
        Assignment.read(source, tmp_path)


def test_a_wrong_answer_is_found_by_hidden_tests_alone(source, server):
    path = source.parents[1] / "wrong/three_things.toml"
    path.write_text(f'[[wrong]]\nname = "by hand"\nexercise = "shares"\ncode = """{WRONG_SHARES}"""\n')
    assert list(Proof.read(source).problems(server, Limits())) == ["1 known wrong answers; expected at least 8"]


@pytest.mark.parametrize(
    ("cell", "source_of_cell", "says"),
    [
        ("count", "### BEGIN SOLUTION\ncount = 13\n### END SOLUTION", "the solution: test-count"),
        (
            "shares",
            "def shares(x):\n    ### BEGIN SOLUTION\n    return x.softmax(-1)\n    ### END SOLUTION",
            "calls torch.softmax",
        ),
        ("test-count", "### BEGIN HIDDEN TESTS\nassert False\n### END HIDDEN TESTS", "the solution: test-count"),
        ("line", "### BEGIN SOLUTION\nLine = None\n### END SOLUTION\nclass Line(nn.Linear): pass", "test-line"),
    ],
)
def test_self_test(cell, source_of_cell, says, tmp_path, server):
    assignment = Assignment.read(write(tmp_path, edited(set_source(cell, source_of_cell))))
    told = list(self_test(assignment, server, Limits()))
    assert any(says in what for what in told), told


@pytest.mark.parametrize("seconds", [1, 3])
def test_a_solution_for_which_the_time_does_not_do(seconds, source, server, own_time):
    """Whether all together take too long, or one cell: what counts is said, how busy it is here, and what to type."""
    assignment = Assignment.read(source)
    for cell in assignment.notebook.cells:
        if cell.id == "imports":
            cell.source += "\n1  # 2 seconds" if seconds == 1 else "\nimport time\ntime.sleep(100)"
    told = "\n".join(self_test(assignment, server, Limits(cell=1, total=seconds)))
    load = r"The load of this machine is [\d.]+, and it has \d+ processors"
    assert re.search(rf"{load}. `attnbook grade --seconds {5 * seconds}`", told), told


def test_an_empty_copy_that_is_not_refused_everywhere_is_reported(tmp_path, server):
    cell = "count = 0\n### BEGIN SOLUTION\ncount = 12\n### END SOLUTION"
    assignment = Assignment.read(write(tmp_path, edited(set_source("count", cell))))
    assert any(
        what.startswith("the empty copy: expected 'not written yet'")
        for what in self_test(assignment, server, Limits())
    )


def test_prove_says_what_is_wrong_and_fails(source, running, capsys):
    path = source.parents[1] / "wrong/three_things.toml"
    path.write_text("\n".join(path.read_text().splitlines()[:5]))
    assert main(["prove", str(source)]) == 1
    told = capsys.readouterr()
    assert "1 known wrong answers; expected at least 8" in told.out
    assert "1 of 1 can't be trusted yet" in told.err


# The walls


def test_a_sound_sandbox_does_not_leak(server, tmp_path):
    (tmp_path / "secret").write_text("42")
    assert sandbox_leaks(server, LIMITS, [tmp_path / "secret", tmp_path]) == []


def test_leaks_are_found_where_there_are_no_walls(open_field, tmp_path):
    (tmp_path / "secret").write_text("42")
    told = sandbox_leaks(open_field, LIMITS, [tmp_path / "secret"])
    for leak in (f"reads {tmp_path / 'secret'}", "opens a socket", "sees other processes"):
        assert any(leak in what for what in told) or "did not come back" in told[0], told


@pytest.mark.parametrize("what", ["secret", "roster", "adjustments"])
def test_a_file_of_the_instructors_that_a_submission_could_read(what, source, tmp_path, running, capsys):
    """A place that students' code must see, such as the folder of the packages, is none for what is private."""
    submissions = make_class(tmp_path, ada={})
    texts = {
        "secret": "sixteen characters or more",
        "roster": "login,name\nada,Ada\n",
        "adjustments": "login,exercise,points,comment\nada,all,1,\n",
    }
    places = {name: tmp_path / name for name in texts} | {what: Path(torch.__file__).parents[1] / f"{what} for a test"}
    for name, place in places.items():
        place.write_text(texts[name])
    options = [text for name, place in places.items() for text in (f"--{name}", str(place))]
    try:
        assert main(["grade", str(source), str(submissions), "-o", str(tmp_path / "out"), *options]) == 1
    finally:
        places[what].unlink()
    assert f"a submission reads {places[what]}" in capsys.readouterr().err


def test_who_watches_what_is_made_sees_into_the_sandbox(server):
    cell = "import torch\n\ndef f(x):\n    return (x[:, None] * x).sum()"
    with server.open(LIMITS) as sandbox:
        sandbox.run({"name": "f", "source": cell, "forbidden": []})
        f = Remote(sandbox, Exercise("f", "", cell), "f")
        with SizeRecorder() as made:
            answer = f(torch.ones(30))
    assert answer == 900
    assert made.sizes.count(900) == 1
    assert max(made.sizes) == 900, "the message's own bytes are not counted"


@pytest.mark.parametrize("lie", [None, "many", [-1, 2**60, "3", [4], 5]])
def test_what_a_submission_says_it_made_is_not_believed_blindly(lie):
    with SizeRecorder() as made:
        replay_sizes(lie)
    assert made.sizes in ([], [5])


def test_without_bubblewrap_nothing_is_graded(source, tmp_path, monkeypatch, capsys):
    submissions = make_class(tmp_path, ada={})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["grade", str(source), str(submissions), "-o", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert "sudo apt-get install bubblewrap" in told
    assert not (tmp_path / "out/grades.csv").exists()


def test_where_the_sandbox_does_not_start_nothing_is_graded(source, tmp_path, monkeypatch, capsys):
    submissions = make_class(tmp_path, ada={})
    broken = tmp_path / "bin/bwrap"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    assert main(["grade", str(source), str(submissions), "-o", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert "setting up uid map" in told
    assert "kernel.apparmor_restrict_unprivileged_userns" in told
    assert not (tmp_path / "out/grades.csv").exists()


def test_a_sandbox_that_never_gets_ready_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(fork_server, "worker", lambda _: ["sleep", "600"])
    monkeypatch.setattr(fork_server, "STARTS_WITHIN", 0.1)
    with pytest.raises(BookError, match=r"It said:\nnothing, for 0\.1 seconds"):
        ForkServer(walled=False)


def test_unsafe_needs_no_bubblewrap(source, tmp_path, running):
    """What it says: a submission can read whatever is there."""
    submissions = make_class(tmp_path, ada={"count": f"import os\ncount = 12 * os.path.exists({str(tmp_path)!r})"})
    assert main(["grade", str(source), str(submissions), "-o", str(tmp_path / "out"), "--unsafe"]) == 0
    assert table(tmp_path / "out/grades.csv")["ada"]["score"] == "10"


def test_an_assignment_that_cannot_be_trusted_grades_nobody(source, tmp_path, grade):
    broken = write(source.parent, edited(set_source("count", "### BEGIN SOLUTION\ncount = 13\n### END SOLUTION")))
    with pytest.raises(BookError, match=r"nothing was graded(.|\n)*the solution: test-count"):
        grade(broken, make_class(tmp_path, ada={}), tmp_path / "out")
    assert not (tmp_path / "out/grades.csv").exists()


# A class


def make_class(folder, **students):
    """A flat folder of submissions: for each student the cells that differ from the solution."""
    submissions = folder / "submissions"
    submissions.mkdir(parents=True, exist_ok=True)
    for name, sources in students.items():
        nbformat.write(answered(**sources), submissions / f"{name}.ipynb")
    return submissions


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.fixture
def grade(server):
    def grade(source, submissions, out, stamped=False, deadline=None, **settings):
        work = Classwork.read(source, [submissions], stamped=stamped)
        grades = grade_all(work, out, server, **settings)
        write_all(out, work.assignment, Scoring(work.assignment, Rules(deadline)).scores(work.submissions, grades))
        return table(out / "grades.csv")

    return grade


SLOW_SHARES = """import time
def shares(x):
    time.sleep(20 * x.ndim - 20)
    return x.exp() / x.exp().sum()"""


def test_students_are_told_in_the_language_of_the_book(source, tmp_path):
    submissions = make_class(
        tmp_path,
        bob={"shares": "def shares(x):\n    return x.softmax(-1)"},
        eve={"shares": WRONG_SHARES, "count": "count = 13"},
        copy={"shares": "def shares(x):\n    return x.exp_()"},
        numpy={"shares": "def shares(x):\n    return x.numpy()"},
        gone={"shares": "del x"},
        slow={"shares": SLOW_SHARES},
        disk={"shares": "def shares(x):\n    import os\n    os.fork()"},
    )
    assignment = Assignment.read(source)
    nbformat.write(assignment.student(), submissions / "empty.ipynb")
    (submissions / "broken.ipynb").write_text('{"cells": [')
    (submissions / "nothing").mkdir()
    out, limits, long_ago = tmp_path / "out", Limits(cell=8, call=4), datetime(2026, 1, 1, tzinfo=UTC)
    with speaking(PSEUDO), ForkServer() as server:
        work = Classwork.read(source, [submissions])
        grades = grade_all(work, out, server, limits=limits)
        write_all(out, assignment, Scoring(assignment, Rules(long_ago)).scores(work.submissions, grades))
    names = [assignment.title, *(exercise.title for exercise in assignment.exercises)]
    said = {path.stem: path.read_text("utf-8") for path in (out / "feedback").glob("*.md")}
    assert len(said) == 10
    for name, text in said.items():
        bare = re.sub("|".join(map(re.escape, names)), "", text)
        assert not left_over(re.sub(r"(?s)```.*?```", "", bare)), name
        assert f'<html lang="{PSEUDO}">' in (out / f"feedback/{name}.html").read_text("utf-8")
    for name, pattern in {
        "bob": "⟦It calls `torch.softmax`",
        "eve": "⟦the answer is not right⟧",
        "copy": "⟦it changes what it was given",
        "numpy": "⟦a NumPy array came back",
        "gone": "NameError: ⟦shares is not there",
        "slow": "⟦it takes too long⟧",
        "disk": r"⟦PermissionError.*a graded notebook",
        "empty": "⟦Not written yet.⟧",
        "broken": "⟦it is not a notebook",
        "nothing": "⟦expected three_things.ipynb, found ⟦no notebook⟧⟧",
    }.items():
        assert re.search(pattern, said[name]), said[name]


def test_a_class_with_every_kind_of_submission(source, tmp_path, grade):
    submissions = make_class(
        tmp_path,
        ada={},
        bob={"shares": "def shares(x):\n    return x.softmax(-1)"},
        eve={"shares": WRONG_SHARES, "count": "count = 13"},
        surrogate={"shares": "def shares(x):\n    raise ValueError('\\ud800')"},
        loop={"shares": "def shares(x):\n    raise ValueError('<b>bold</b> ``` # x')"},
    )
    nbformat.write(Assignment.read(source).student(), submissions / "empty.ipynb")
    nbformat.write(three_things(), submissions / "Zoë Ångström.ipynb")
    nbformat.write(three_things(), submissions / "=1+1.ipynb")
    nbformat.write(three_things(), submissions / f"{'x' * 240}.ipynb")
    nbformat.write(three_things(), os.fsdecode(bytes(submissions) + b"/Zo\xeb.ipynb"))
    (submissions / "BOM.ipynb").write_text("\ufeff" + nbformat.writes(three_things()))
    (submissions / "broken.ipynb").write_text('{"cells": [')
    (submissions / "bomb.ipynb").write_text('{"cells": ' + "[" * 10**5)
    (submissions / "link.ipynb").symlink_to(source)
    (submissions / "nested.ipynb").mkdir()
    huge = three_things()
    huge.cells[1].outputs = [nbformat.v4.new_output("stream", text="x" * 21_000_000)]
    nbformat.write(huge, submissions / "huge.ipynb")
    tampered = answered(count="count = 13")
    for cell in tampered.cells:
        if "nbgrader" in cell.metadata and cell.metadata.nbgrader.grade:
            cell.metadata.nbgrader.update(points=100)
            cell.source = "assert True"
    nbformat.write(tampered, submissions / "tampered.ipynb")
    stripped = three_things()
    for cell in stripped.cells:
        cell.metadata.clear()
    nbformat.write(stripped, submissions / "stripped.ipynb")

    rows = grade(source, submissions, tmp_path / "out", jobs=2)
    scores = {
        name: (row["shares"], row["line"], row["count"], row["score"], row["status"]) for name, row in rows.items()
    }
    full = ("5", "3", "2", "10", "graded")
    assert scores["ada"] == scores["Zoë Ångström"] == scores["'=1+1"] == scores["stripped"] == full
    assert scores["bob"] == ("0", "3", "2", "5", "graded")
    assert scores["eve"] == ("0", "3", "0", "3", "graded")
    assert scores["loop"] == ("0", "3", "2", "5", "graded")
    assert scores["empty"] == ("0", "0", "0", "0", "graded")
    assert scores["Zo?"] == scores["BOM"] == scores["x" * 80] == full
    assert scores["surrogate"] == ("0", "3", "2", "5", "graded")
    assert scores["tampered"] == ("5", "3", "0", "8", "graded")
    for name in ("broken", "bomb", "link", "huge", "nested"):
        assert scores[name] == ("", "", "", "", "error"), name
    assert all(row["max"] == "10" for row in rows.values())
    assert "clear the outputs" in rows["huge"]["remark"].lower()

    told = (tmp_path / "out/feedback/ada.md").read_text()
    assert told.startswith("# Three things (10 of 10 points)\n\nFor `ada`.\n\n| exercise | points |\n|---|---|\n")
    assert "| 1. Shares | 5 of 5 points |" in told
    assert "| all | 10 of 10 points |" in told
    assert "<td>10 of 10 points</td>" in (tmp_path / "out/feedback/ada.html").read_text()
    feedback = (tmp_path / "out/feedback/bob.md").read_text()
    assert "It calls `torch.softmax`, which this exercise forbids: no points." in feedback
    eve = (tmp_path / "out/feedback/eve.md").read_text()
    assert "but a hidden one fails" in eve
    for text in (eve, (tmp_path / "out/feedback/eve.html").read_text()):
        assert "12" not in text, "the feedback gives a hidden test away"
    page = (tmp_path / "out/feedback/loop.html").read_text()
    assert "<b>" not in page
    assert "&lt;b&gt;bold&lt;/b&gt; ``` # x" in page
    assert "It is not a zero" in (tmp_path / "out/feedback/broken.md").read_text()
    assert not (tmp_path / "out/gradescope/broken").exists()

    results = json.loads((tmp_path / "out/gradescope/eve/results.json").read_text())
    assert results["score"] == 3
    assert [(test["score"], test["max_score"]) for test in results["tests"]] == [(0, 5), (3, 3), (0, 2)]
    with open(tmp_path / "out/canvas.csv", newline="") as file:
        header, possible, *lines = csv.reader(file)
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Three things"]
    assert (possible[0], possible[-1]) == ("    Points Possible", "10")
    assert ["", "", "", "ada", "", "10"] in lines
    with open(tmp_path / "out/moodle.csv", newline="") as file:
        assert ["ada", "10", ""] in csv.reader(file)


def test_nbgraders_folders_late_ones_and_wrong_names(source, tmp_path, grade):
    submitted = tmp_path / "submitted"
    for student, place, stamp in (
        ("ada", "three_things/three_things.ipynb", "2026-11-20 10:00:00.5 UTC"),
        ("late", "three_things/three_things.ipynb", "2026-11-21 13:00:01.5 Europe/Paris"),
        ("renamed", "three_things/my answers.ipynb", "2026-11-20 10:00:00.5 UTC"),
        ("unread", "three_things/three_things.ipynb", "yesterday, promise"),
        ("two", "a/one.ipynb", ""),
        ("two", "a/other.ipynb", ""),
        ("nothing", "three_things/readme.txt", ""),
    ):
        path = submitted / student / place
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(three_things(), path)
        if stamp:
            (path.parent / "timestamp.txt").write_text(stamp)
    checkpoint = submitted / "ada/three_things/.ipynb_checkpoints/three_things.ipynb"
    checkpoint.parent.mkdir()
    checkpoint.write_text("{}")
    (submitted / "zip.zip").touch()
    (submitted / "zoe").symlink_to(submitted / "ada")
    rows = grade(source, submitted, tmp_path / "out", stamped=True, deadline=datetime(2026, 11, 21, 12, tzinfo=UTC))
    assert {name: (row["score"], row["status"]) for name, row in rows.items()} == {
        "ada": ("10", "graded"),
        "late": ("10", "late"),
        "nothing": ("", "missing"),
        "renamed": ("10", "graded"),
        "two": ("", "missing"),
        "unread": ("10", "late"),
        "zip.zip": ("", "missing"),
        "zoe": ("", "missing"),
    }
    assert "timestamp.txt can't be read" in rows["unread"]["remark"]
    assert rows["renamed"]["remark"] == "the file is called my answers.ipynb"
    assert rows["two"]["remark"] == "expected three_things.ipynb, found a/one.ipynb, a/other.ipynb"


def test_a_second_run_grades_what_has_changed(source, tmp_path, grade):
    submissions = make_class(tmp_path, ada={}, bob={})
    out = tmp_path / "out"
    (out / "results").mkdir(parents=True)
    (out / "results/ada.json").write_text('{"student": "ada", "status": "graded", "verdict": null}')  # as it once was
    grade(source, submissions, out)
    before = {name: (out / f"results/{name}.json").stat().st_mtime_ns for name in ("ada", "bob")}
    make_class(tmp_path, bob={"count": "count = 1"})
    rows = grade(source, submissions, out)
    assert [rows[name]["score"] for name in ("ada", "bob")] == ["10", "8"]
    after = {name: (out / f"results/{name}.json").stat().st_mtime_ns for name in ("ada", "bob")}
    assert after["ada"] == before["ada"]
    assert after["bob"] != before["bob"]


def test_points_and_texts_that_change_are_reckoned_without_running_again(source, tmp_path, grade):
    submissions, out = make_class(tmp_path, ada={}, bob={"count": "count = 1"}), tmp_path / "out"
    grade(source, submissions, out)
    before = {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}

    def worth_more(cells, notebook):
        cells["test-count"].metadata.nbgrader.points = 7
        cells["task-line"].source += "\n\nA line through the origin."

    rows = grade(write(source.parent, edited(worth_more)), submissions, out)
    assert [(row["score"], row["max"]) for row in rows.values()] == [("15", "15"), ("8", "15")]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    harder = set_source(
        "test-count", "assert count > 0\n### BEGIN HIDDEN TESTS\nassert count < 20\n### END HIDDEN TESTS"
    )
    assert [row["score"] for row in grade(write(source.parent, edited(harder)), submissions, out).values()] == [
        "10",
        "10",
    ]


def test_parts_of_a_class_graded_apart_are_the_class(source, tmp_path, monkeypatch, running, capsys):
    """2,000 students on eight machines, whose results are put into one folder. Nothing is graded twice."""
    submissions, graded_ones = tmp_path / "submissions", tmp_path / "graded ones"
    submissions.mkdir()
    text = nbformat.writes(answered())
    for n in range(2000):
        (submissions / f"s{n:04}.ipynb").write_text(text)

    def quickly(assignment, *_):
        with open(graded_ones, "a") as file:
            file.write("x")
        return Outcome({test.id: Result() for exercise in assignment.exercises for test in exercise.tests})

    monkeypatch.setattr(classroom, "run_tests", quickly)
    monkeypatch.setattr(Grader, "faults", lambda *_: [])
    command = ["grade", str(source), str(submissions), "-o"]
    for number in range(1, 9):
        assert main([*command, str(tmp_path / f"machine {number}"), "--shard", f"{number}/8"]) == 0
        assert f"Part {number} of 8: 250 of 2000 submissions" in capsys.readouterr().out
        assert not (tmp_path / f"machine {number}/grades.csv").exists(), "a part is not the class"
        shutil.copytree(tmp_path / f"machine {number}/results", tmp_path / "out/results", dirs_exist_ok=True)
    assert main([*command, str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("2000 graded;")
    assert len(graded_ones.read_text()) == 2000
    assert {row["score"] for row in table(tmp_path / "out/grades.csv").values()} == {"10"}


def test_a_killed_grader_goes_on_where_it_was(source, tmp_path, grade, monkeypatch):
    """It is killed while it grades the seventh and the eighth, which never come to an end."""
    real, begun = classroom.run_tests, get_context("fork").Value("i", 0)

    def held(*of_one):
        with begun.get_lock():
            begun.value += 1
            number = begun.value
        if number > 6:
            signal.pause()
        return real(*of_one)

    submissions = make_class(tmp_path, **{f"s{n:02}": {"count": f"count = 12 + {n % 2}"} for n in range(16)})
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(classroom, "run_tests", held)
        running = get_context("fork").Process(target=in_a_group, args=(grade, source, submissions, out))
        running.start()
    while len(list(out.glob("results/s*.json"))) < 6:
        assert running.is_alive()
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.join()
    done = {path: path.stat().st_mtime_ns for path in out.glob("results/s*.json")}
    assert len(done) == 6, "killed half-way"
    rows = grade(source, submissions, out, jobs=2)
    assert [row["score"] for row in rows.values()] == ["10", "8"] * 8
    assert {path: path.stat().st_mtime_ns for path in done} == done, "what was known is not graded again"


def in_a_group(grade, *where):
    """Grade in a process that can be killed with all that it starts."""
    os.setsid()
    grade(*where, jobs=2)


def test_a_grader_that_dies_costs_one_submission(source, tmp_path, monkeypatch, grade):
    """Should a process of ours end all the same, somebody looks at that one; nobody else loses a point."""
    real = classroom.run_tests

    def fragile(assignment, cells, *rest):
        if any("poison" in cell["source"] for cell in cells):
            os._exit(1)
        return real(assignment, cells, *rest)

    monkeypatch.setattr(classroom, "run_tests", fragile)
    submissions = make_class(tmp_path, ada={}, mallory={"more": "'poison'"}, zoe={})
    rows = grade(source, submissions, tmp_path / "out", jobs=2)
    assert [rows[name]["status"] for name in ("ada", "mallory", "zoe")] == ["graded", "error", "graded"]
    assert "by hand" in rows["mallory"]["remark"]


def test_a_test_that_an_answer_keeps_busy_in_c_ends(tmp_path, grade):
    """No signal reaches Python there. So the kernel ends the grader's process, and the next one goes on."""
    notebook = three_things()
    next(
        cell for cell in notebook.cells if cell.id == "test-count"
    ).source += "\nsum(iter(int, 0 if count == 12 else 1))"
    source = write(tmp_path / "source", notebook)
    submissions = make_class(tmp_path, ada={}, mallory={"count": "count = 13"}, zoe={})
    rows = grade(source, submissions, tmp_path / "out", limits=Limits(cell=20, call=2, total=3))
    assert [rows[name]["status"] for name in ("ada", "mallory", "zoe")] == ["graded", "error", "graded"]


def ends(*_):
    os._exit(1)


def does_not_start(*_):
    raise BookError("the sandbox does not start")


@pytest.mark.parametrize(("checks", "says"), [(ends, "its own process ended"), (does_not_start, "does not start")])
def test_a_grader_that_cannot_check_itself_grades_nobody(checks, says, source, tmp_path, monkeypatch, grade):
    monkeypatch.setattr(classroom, "self_test", checks)
    with pytest.raises(BookError, match=says):
        grade(source, make_class(tmp_path, ada={}), tmp_path / "out")
    assert not list(tmp_path.glob("out/results/*"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["grade", "{source}", "{empty}", "-o", "out"], "holds no submission"),
        (["grade", "{source}", "nowhere", "-o", "out"], "nowhere is not a folder"),
        (["grade", "nowhere.ipynb", "{empty}", "-o", "out"], "is not a notebook"),
        (["grade", "{source}", "{empty}", "-o", "out", "-j", "0"], "expected an integer from 1 on"),
        (["grade", "{source}", "{empty}", "-o", "out", "--deadline", "tomorrow"], "2026-11-30T23:59"),
        (["grade", "{source}", "{empty}", "-o", "out", "--shard", "0/8"], "which part of how many, such as 2/8"),
        (["prove", "{lonely}"], "lonely.toml does not exist"),
    ],
)
def test_what_is_wrong_with_a_command_is_said(arguments, says, source, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    lonely = shutil.copy(source, source.with_name("lonely.ipynb"))
    places = {"source": source, "empty": tmp_path / "empty", "lonely": lonely}
    try:
        code = main([argument.format(**places) for argument in arguments])
    except SystemExit as stopped:
        code = stopped.code
    assert code in (1, 2)
    assert says in capsys.readouterr().err


def test_both_a_file_and_a_folder_of_one_student(source, tmp_path, grade):
    submissions = make_class(tmp_path, ada={}, bob={})
    (submissions / "ada").mkdir()
    rows = grade(source, submissions, tmp_path / "out")
    assert {name: row["status"] for name, row in rows.items()} == {"ada": "missing", "bob": "graded"}
    assert rows["ada"]["remark"] == "more than one submission: ada, ada.ipynb"


def nested(folder):
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        here, above = os.open("d", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)


def in_folder(folder, stamp):
    write(folder / "three_things")
    with open(folder / "three_things/timestamp.txt", "wb") as file:
        stamp(file)


# student: what is handed in, and what becomes of it
ODD = {
    "deep": (lambda place: nested(place / "deep"), "error", "RecursionError"),
    "far off": (
        lambda place: in_folder(place / "far off", lambda file: file.write(b"9999-12-31 23:59:59 Asia/Tokyo")),
        "late",
        "timestamp.txt can't be read",
    ),
    "60 GB": (
        lambda place: in_folder(place / "60 GB", lambda file: file.truncate(60_000_000_000)),
        "late",
        "timestamp.txt can't be read",
    ),
    "old": (lambda place: os.utime(write(place).rename(place / "old.ipynb"), (-(10**11), -(10**11))), "graded", ""),
    "new": (lambda place: os.utime(write(place).rename(place / "new.ipynb"), (2**37, 2**37)), "graded", ""),
    "pipe": (lambda place: os.mkfifo(place / "pipe.ipynb"), "error", "plain file"),
    "\N{PARROT}" * 50: (lambda place: write(place / ("\N{PARROT}" * 63) / "three_things"), "late", ""),
    "\ufffd[2J": (lambda place: write(place / "\x1b[2J\n\u202e" / "three_things"), "late", ""),
    "other": (lambda place: shutil.copy(SOURCES[0], place / "other.ipynb"), "error", "no exercise of this assignment"),
    "three": (lambda place: (place / "three.ipynb").write_text('{"cells": [3]}'), "error", "can be read"),
    "number": (lambda place: (place / "number.ipynb").write_text("3"), "error", "can be read"),
    "nothing": (lambda place: (place / "nothing.ipynb").write_text('{"cells": []}'), "error", "no exercise"),
}


@pytest.fixture
def emptied(tmp_path):
    """A folder that is gone afterwards, however deep it is: pytest itself can't take it away."""
    yield tmp_path
    subprocess.run(["rm", "-rf", tmp_path / "submissions"], check=True)


def test_odd_entries_concern_nobody_else(source, emptied, tmp_path, grade):
    submissions = make_class(emptied, zoe={})
    for make, *_ in ODD.values():
        make(submissions)
    rows = grade(source, submissions, tmp_path / "out", stamped=True, deadline=datetime(2026, 1, 1, tzinfo=UTC))
    assert (rows.pop("zoe")["score"], set(rows)) == ("10", set(ODD))
    assert {name: row["status"] for name, row in rows.items()} == {name: status for name, (_, status, _) in ODD.items()}
    assert all(says in rows[name]["remark"] for name, (*_, says) in ODD.items())


def test_a_file_that_cannot_be_read(source, tmp_path, grade, monkeypatch):
    submissions = make_class(tmp_path, ada={}, bob={})
    readable = Path.read_bytes, Path.read_text

    def refuse(path, read, *args, **about):
        if path.name == "bob.ipynb":
            raise PermissionError(13, "Permission denied")
        return read(path, *args, **about)

    monkeypatch.setattr(Path, "read_bytes", lambda path: refuse(path, readable[0]))
    monkeypatch.setattr(Path, "read_text", lambda path, *args, **about: refuse(path, readable[1], *args, **about))
    rows = grade(source, submissions, tmp_path / "out")
    assert {name: row["status"] for name, row in rows.items()} == {"ada": "graded", "bob": "error"}
    assert "PermissionError" in rows["bob"]["remark"]


def test_names_that_begin_alike_stay_apart(source, tmp_path, grade):
    submissions = make_class(tmp_path, **{f"{'x' * 90}{n}": {"count": f"count = {12 + n}"} for n in range(2)})
    nbformat.write(three_things(), os.fsdecode(bytes(submissions) + b"/Zo\xeb.ipynb"))
    nbformat.write(three_things(), os.fsdecode(bytes(submissions) + b"/Zo\xec.ipynb"))
    rows = grade(source, submissions, tmp_path / "out")
    assert sorted(row["score"] for row in rows.values()) == ["10", "10", "10", "8"]
    assert sorted(re.sub("~.{6}$", "~", name) for name in rows) == ["Zo?~", "Zo?~", f"{'x' * 80}~", f"{'x' * 80}~"]


FORGED = (
    "# Ten of ten\\n[click](http://x)\\n```\\n~~~\\n<b>\\x1b[31m![x](http://x)\\n\\n# Ten\\n\\n    ====\\n> | a | b |"
)


def test_what_students_write_stays_within_its_fence(source, tmp_path, grade):
    forges = {"shares": f"def shares(x):\n    raise ValueError('{FORGED}')", "more": f"raise ValueError('{FORGED}')"}
    submissions = make_class(tmp_path, **{"#[a](b)`<i>": forges, "x;=1+1": {}, "y ;\t-2": {}, "＝1": {}})
    (submissions / "# [z](b)").mkdir()
    nbformat.write(three_things(), submissions / "# [z](b)/```# A ;=cmd.ipynb")
    (submissions / "@none").mkdir()
    grade(source, submissions, tmp_path / "out")
    told = {path.stem: path.read_text("utf-8") for path in (tmp_path / "out/feedback").glob("*.md")}
    told |= {f"{n}": test["output"] for n, test in enumerate(gradescope(tmp_path / "out", "#[a](b)`<i>"))}
    headings = {"Three things", "1. Shares", "2. A line", "3. Three times four", "Cells that stopped with an error"}
    assert re.search(r"code cell \d+: ValueError: # Ten", told["#[a](b)`<i>"]), "a cell of the student's own"
    assert "1. Shares: ValueError" not in told["#[a](b)`<i>"]
    for name, text in told.items():
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        for heading, inline in pairwise(tokens):
            if heading.type == "heading_open":
                assert inline.content.partition(" (")[0] in headings, name
        inside = {token.type for parent in tokens for token in parent.children or ()}
        assert not inside & {"link_open", "image", "html_inline"}, name
        assert "html_block" not in {token.type for token in tokens}, name
        assert "\x1b" not in text, name
    for page in (tmp_path / "out/feedback").glob("*.html"):
        assert not re.search("<(i|b|a|img)\\b", page.read_text("utf-8")), page
    for path in (tmp_path / "out").glob("*.csv"):
        for line in path.read_text("utf-8").splitlines():
            assert not re.search('(^|[;,])[\\s"]*[=+@＝-]', line), line


def gradescope(out, name):
    return json.loads((out / "gradescope" / name / "results.json").read_text())["tests"]


@pytest.mark.parametrize("kind", sorted(words(HERE)))
def test_a_hidden_error_tells_nothing_by_its_name(kind, source):
    """Whatever a student calls an error that a hidden test meets: the words in it are not repeated."""
    assignment, secret = Assignment.read(source), "[101.0, 103.0]"
    for said in (words(HERE)[kind], *words(HERE)[kind].split(" {")[:1], "ValueError"):
        for text in (f"{said}: {secret}", f"{said} {secret}", f"{said}\n{secret}", f"{secret} {said}"):
            results = {test.id: Result(hidden=text) for exercise in assignment.exercises for test in exercise.tests}
            grade = Grade("ada", "graded", outcome=Outcome(results))
            assert "101" not in feedback(assignment, Scoring(assignment).less_lateness(Submission("ada", None), grade))


def test_cells_that_fail_when_hidden_tests_run_are_not_told(source, tmp_path, grade):
    """A process may die of a hidden test; the cells of the next one could say what it was."""
    shares = """
import os
def shares(x):
    if x.ndim == 2:
        os._exit(1)
    return (x - x.amax()).exp() / (x - x.amax()).exp().sum()
"""
    draws = ["import os\ndrawn = os.urandom(1)[0] % 16", *(f"assert drawn != {n}" for n in range(16))]  # one fails
    submissions = make_class(tmp_path, ada={"shares": shares})
    notebook = nbformat.read(submissions / "ada.ipynb", 4)
    notebook.cells += [nbformat.v4.new_code_cell(cell, id=f"more-{n}") for n, cell in enumerate(draws)]
    nbformat.write(notebook, submissions / "ada.ipynb")
    grade(source, submissions, tmp_path / "out")
    told = json.loads((tmp_path / "out/results/ada.json").read_text())["outcome"]["cells"]
    assert len(told) == 1


def test_time_that_runs_out_is_an_error_and_no_zero(source, tmp_path, grade, own_time):
    bob, eve = {"more": "x = 1  # 60 seconds"}, {"shares": "def shares(x):\n    while True: pass"}
    submissions = make_class(tmp_path, ada={}, bob=bob, eve=eve)
    rows = grade(source, submissions, tmp_path / "out", limits=Limits(cell=20, call=2, total=50))
    assert {name: (row["score"], row["status"]) for name, row in rows.items()} == {
        "ada": ("10", "graded"),
        "bob": ("", "error"),
        "eve": ("5", "graded"),
    }
    assert "longer than 50 seconds" in rows["bob"]["remark"]
    assert rows["eve"]["remark"] == "a time limit was reached in 1. Shares"


def test_a_grader_has_one_thread():
    """Others would not be there in a process forked from it, and whoever waits for them waits for ever."""
    tried = "from grading.sandbox.warm_up import warm_up\nimport torch\nwarm_up()\nprint(torch.get_num_threads())"
    more = os.environ | {"OMP_NUM_THREADS": "4"}
    done = subprocess.run([sys.executable, "-c", tried], capture_output=True, text=True, check=True, env=more)
    assert done.stdout.split() == ["1"]


def test_nothing_is_loaded_in_a_students_time_by_the_grader():
    """In a process of its own, since others have loaded a lot in this one."""
    tried = """
import sys, torch, grading.run_tests
from grading.sandbox.warm_up import warm_up
from torch.utils._python_dispatch import TorchDispatchMode
class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
warm_up()
before = set(sys.modules)
with Watch():
    torch.testing.assert_close(torch.ones(2), torch.ones(2))
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", tried], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


BEFORE = "import sys\nbefore = set(sys.modules)"
SINCE = "def since():\n    return sorted(set(sys.modules) - before)"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_nothing_is_loaded_in_a_students_time_by_the_sandbox(path, server):
    """While the solution is asked every test; a cell that fails has everything for its traceback, too."""
    assignment = Assignment.read(path)
    given, exercises = names_given(assignment), assignment.exercises
    first, fails, last = ({"name": "more", "source": text, "forbidden": []} for text in (BEFORE, "1 / 0", SINCE))
    cells = [first, *code_of(assignment.notebook, assignment), fails, last]
    with closing(Attempts(server, Limits(), cells)) as attempts:
        for exercise, test in ((one, test) for one in exercises for test in one.tests):
            for part in PARTS:
                assert attempts.complaint(exercise, getattr(test, part), given) is None
        assert Remote(attempts.living_sandbox(), exercises[0], "since")() == []


def test_a_cell_of_a_students_own_is_told_by_its_number(source, tmp_path, grade):
    submissions = make_class(tmp_path, ada={"more": "while True: pass"})
    rows = grade(source, submissions, tmp_path / "out", limits=Limits(cell=5))
    code = [cell.source for cell in nbformat.read(submissions / "ada.ipynb", 4).cells if cell.cell_type == "code"]
    called = f"code cell {code.index('while True: pass') + 1}"
    assert rows["ada"]["remark"] == f"a time limit was reached in {called}"
    assert f"{called}: " in (tmp_path / "out/feedback/ada.md").read_text()


def test_a_newer_python_than_the_graders_is_said_and_gives_no_second_chance(source, tmp_path, grade):
    unknown = {"shares": "def shares(x):\n    return f'{x!z}'"}  # until Python has a conversion z
    submissions = make_class(tmp_path, old=unknown, new=unknown, beside={"more": "f'{x!z}'"})
    for name, version in {"old": "3.11.0", "new": "3.99.0", "beside": "3.99.0"}.items():
        notebook = nbformat.read(submissions / f"{name}.ipynb", 4)
        notebook.metadata.language_info = {"name": "python", "version": version}
        nbformat.write(notebook, submissions / f"{name}.ipynb")
    rows = grade(source, submissions, tmp_path / "out")
    assert {name: (row["score"], row["status"]) for name, row in rows.items()} == {
        "beside": ("10", "graded"),
        "new": ("5", "graded"),
        "old": ("5", "graded"),
    }
    assert "the notebook says that it was written with Python 3.99" in rows["new"]["remark"]
    assert rows["old"]["remark"] == rows["beside"]["remark"] == ""


def test_a_stamp_from_a_students_own_zip_is_not_believed(source, tmp_path, grade):
    submissions = tmp_path / "submissions"
    in_folder(submissions / "ada", lambda file: file.write(b"2020-01-01 10:00:00 UTC"))
    row = grade(source, submissions, tmp_path / "out", deadline=datetime(2026, 1, 1, tzinfo=UTC))["ada"]
    assert row["status"] == "late"


def test_points_that_no_longer_hold_go_away(source, tmp_path, grade):
    submissions, out = make_class(tmp_path, ada={}), tmp_path / "out"
    grade(source, submissions, out)
    assert (out / "gradescope/ada/results.json").exists()
    (submissions / "ada.ipynb").write_text("{")
    assert grade(source, submissions, out)["ada"]["status"] == "error"
    assert not (out / "gradescope/ada/results.json").exists()


def test_a_notebook_saved_without_ids_is_graded_as_it_was(source, tmp_path, running, monkeypatch):
    """Some editors know nothing of ids; the cell that installs things is none of the student's."""
    monkeypatch.chdir(ROOT)
    assert main(["student", str(source), "-o", str(tmp_path / "copies")]) == 0
    copy = nbformat.read(tmp_path / "copies/three_things.ipynb", 4)
    for cell in copy.cells:
        cell.source = {cell.id: cell.source for cell in three_things().cells}.get(cell.id, cell.source)
    (tmp_path / "submissions").mkdir()
    nbformat.write(copy, tmp_path / "submissions/ada.ipynb")
    without_ids(tmp_path / "submissions/ada.ipynb")
    assert main(["grade", str(source), str(tmp_path / "submissions"), "-o", str(tmp_path / "out")]) == 0
    stored = json.loads((tmp_path / "out/results/ada.json").read_text())
    assert stored["outcome"]["cells"] == []
    assert table(tmp_path / "out/grades.csv")["ada"]["score"] == "10"


def merged(notebook, first, second):
    """What Jupyter's *Merge cells* makes: one cell, with the name of the first."""
    cells = {cell.id: cell for cell in notebook.cells}
    cells[first].source += "\n\n" + cells[second].source
    notebook.cells.remove(cells[second])


HELPER = "def helper(x):\n    return (x - x.amax(-1, keepdim=True)).exp()"
HELPED = "def shares(x):\n    return helper(x) / helper(x).sum(-1, keepdim=True)"


def rewrite(name, change):
    def rewritten(notebook):
        cell = next(cell for cell in notebook.cells if cell.id == name)
        cell.source = change(cell.source)

    return rewritten


# what a student does to the copy, and what the feedback says of cells
WELL_MEANT = {
    "set-up and imports merged": ([lambda nb: merged(nb, "setup", "imports")], None),
    "set-up and imports merged, with a magic": (
        [rewrite("imports", "%matplotlib inline\n{}".format), lambda nb: merged(nb, "setup", "imports")],
        None,
    ),
    "a check and the next answer merged": ([lambda nb: merged(nb, "test-slope", "line")], None),
    "an answer and its check merged": ([lambda nb: merged(nb, "count", "test-count")], None),
    "a helper in the cell of a check": (
        [rewrite("test-count", f"{HELPER}\n\n{{}}".format), rewrite("shares", lambda _: HELPED)],
        None,
    ),
    "prints in a check": (
        [rewrite("test-shares", lambda source: source.replace("assert_", "print(got)\nassert_"))],
        None,
    ),
    "an own assertion in a check": ([rewrite("test-count", "{}\nassert count == 13".format)], "Cells that stopped"),
    "no Python in a check": ([rewrite("test-count", "{}\nso far so good".format)], "SyntaxError"),
}


@pytest.mark.parametrize("case", WELL_MEANT)
def test_only_what_was_handed_out_is_not_run(case, source, tmp_path, grade, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["student", str(source), "-o", str(tmp_path / "copies")]) == 0
    copy = nbformat.read(tmp_path / "copies/three_things.ipynb", 4)
    for cell in copy.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = {cell.id: cell.source for cell in three_things().cells}[cell.id]
    changes, says = WELL_MEANT[case]
    for change in changes:
        change(copy)
    (tmp_path / "submissions").mkdir()
    nbformat.write(copy, tmp_path / "submissions/ada.ipynb")
    row = grade(source, tmp_path / "submissions", tmp_path / "out")["ada"]
    assert (row["score"], row["remark"]) == ("10", "")
    told = (tmp_path / "out/feedback/ada.md").read_text()
    assert says in told if says else "Cells that stopped" not in told


def test_an_answer_in_a_cell_of_text_is_said(source, tmp_path, grade):
    notebook = answered()
    next(cell for cell in notebook.cells if cell.id == "count").cell_type = "raw"
    (tmp_path / "submissions").mkdir()
    nbformat.write(notebook, tmp_path / "submissions/ada.ipynb")
    row = grade(source, tmp_path / "submissions", tmp_path / "out")["ada"]
    assert row["score"] == "8"
    assert row["remark"].startswith("3. Three times four: not run, because the cell of the answer is no code cell")
    assert row["remark"] in (tmp_path / "out/feedback/ada.md").read_text()


def without_ids(path):
    """Save a notebook as it was before cells had ids."""
    notebook = nbformat.read(path, 4)
    notebook.nbformat_minor = 4
    for cell in notebook.cells:
        cell.pop("id")
    nbformat.write(notebook, path)


def pressed(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("spoil", "code", "says"),
    [
        (lambda source, patch: patch.setattr(classroom, "find_submissions", pressed), 130, "stopped"),
        (lambda source, patch: patch.setattr(classroom, "find_submissions", lambda *_, **__: 1 / 0), 1, "division"),
        (lambda source, patch: source.write_text("{"), 1, "not a notebook"),
        (lambda source, patch: source.write_text("[]"), 1, ""),
        (lambda source, patch: without_ids(source), 1, "have no ids"),
        (lambda source, patch: source.write_text(source.read_text().replace('"grade_id"', '"was"')), 1, "grade_id"),
    ],
)
def test_an_instructor_reads_a_sentence_and_no_traceback(spoil, code, says, source, tmp_path, monkeypatch, capsys):
    submissions = make_class(tmp_path, ada={})
    spoil(source, monkeypatch)
    assert main(["grade", str(source), str(submissions), "-o", str(tmp_path / "out")]) == code
    told = capsys.readouterr().err
    assert told.startswith("attnbook: ")
    assert says in told
    assert "Traceback" not in told


def test_an_overlay_without_ids(source, tmp_path):
    overlay = overlay_with(tmp_path, ("count", "### BEGIN SOLUTION\ncount = 1\n### END SOLUTION"))
    path = overlay / source.name
    without_ids(path)
    with pytest.raises(BookError, match="cells have no ids"):
        Assignment.read(source, overlay)


def test_a_deadline_is_in_local_time(tmp_path):
    submissions = make_class(tmp_path, ada={})
    (submission,) = find_submissions([submissions], "three_things")
    handed_in = submission.handed_in
    assert abs(handed_in - datetime.now().astimezone()) < timedelta(minutes=1)
