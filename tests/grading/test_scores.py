"""From what tests found to points: adjustments, lateness, attempts. Nothing runs in these."""

import csv
import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import nbformat
import pytest

from booktools.book import BookError
from booktools.book.assignment import Assignment
from booktools.cli import main
from grading import classroom
from grading.adjustments import Adjustment, read_adjustments
from grading.classroom import Grade
from grading.lateness import Rules
from grading.platforms import Sender
from grading.reports import feedback, gradescope_result, write_all
from grading.roster import Roster, Student
from grading.run_tests import Outcome, Result
from grading.sandbox import fork_server
from grading.scores import BEST, Scoring
from grading.submissions import Submission
from tests.grading.three_things import three_things, write

DEADLINE = datetime(2026, 11, 30, 12, tzinfo=UTC)
PENALTY = Rules(DEADLINE, percent=10, most=50, grace=timedelta(minutes=15))


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    return Assignment.read(write(tmp_path_factory.mktemp("source")))


def graded(assignment, *failed, student="ada"):
    """A grade in which these tests have failed."""
    tests = [test.id for exercise in assignment.exercises for test in exercise.tests]
    results = {name: Result(hidden="no" if name in failed else None) for name in tests}
    return Grade(student, "graded", outcome=Outcome(results))


def handed_in(late=timedelta(), student="ada", **about):
    return Submission(student, None, handed_in=DEADLINE + late, **about)


def score(scoring, grade, late=timedelta(), **about):
    (one,) = scoring.scores([handed_in(late, grade.student, **about)], [grade])
    return one


# Lateness


@pytest.mark.parametrize(
    ("late", "status", "total"),
    [
        (timedelta(days=-3), "graded", 8),
        (timedelta(minutes=15), "graded", 8),
        (timedelta(minutes=15, seconds=1), "late", 7),
        (timedelta(days=1), "late", 7),
        (timedelta(days=1, seconds=1), "late", 6),
        (timedelta(days=5), "late", 3),
        (timedelta(days=90), "late", 3),
    ],
)
def test_each_day_begun_costs_and_there_is_a_most(late, status, total, assignment):
    got = score(Scoring(assignment, PENALTY), graded(assignment, "test-count"), late)
    assert (got.status, got.total, got.points) == (status, total, {"shares": 5, "line": 3, "count": 0})


def test_lateness_takes_no_more_than_there_is(assignment):
    failed = [test.id for exercise in assignment.exercises for test in exercise.tests if test.id != "test-count"]
    got = score(Scoring(assignment, Rules(DEADLINE, percent=30)), graded(assignment, *failed), timedelta(days=2))
    assert (got.total, got.penalty) == (0, 2)


def test_feedback_tells_what_lateness_cost(assignment):
    got = score(Scoring(assignment, PENALTY), graded(assignment, "test-count"), timedelta(days=1, hours=2))
    told = feedback(assignment, got)
    assert told.startswith("# Three things (6 of 10 points)")
    assert "Late: −2 points. Each day begun costs 10 % of all points, at most 50 %; days begun: 2." in told
    assert "| handed in late | −2 points |\n| all | 6 of 10 points |" in told
    assert "(the file's own time)" in got.remark


def test_a_deadline_of_ones_own_and_an_extension(assignment):
    own = Student("ada", "Ada", deadline=DEADLINE + timedelta(days=7))
    longer = Student("bob", "Bob", extension=timedelta(days=2))
    scoring = Scoring(assignment, PENALTY, Roster({"ada": own, "bob": longer}))
    totals = {
        (name, days): score(scoring, graded(assignment, student=name), timedelta(days=days)).total
        for name in ("ada", "bob", "eve")
        for days in (2, 3, 8)
    }
    assert [totals["ada", days] for days in (2, 3, 8)] == [10, 10, 9]
    assert [totals["bob", days] for days in (2, 3, 8)] == [10, 9, 5]
    assert [totals["eve", days] for days in (2, 3, 8)] == [8, 7, 5]


def test_an_extension_needs_a_deadline():
    roster = Roster({"bob": Student("bob", extension=timedelta(days=2))})
    with pytest.raises(BookError, match="gives bob an extension; --deadline says of what"):
        Rules.checked(roster, None)
    with pytest.raises(BookError, match="--late-penalty costs points from a deadline on"):
        Rules.checked(Roster({"eve": Student("eve")}), None, 10)
    assert Rules.checked(Roster({"eve": Student("eve", deadline=DEADLINE)}), None, 10, 50).most == 50


@pytest.mark.parametrize("late", [False, True])
def test_canvas_says_late_and_not_by_how_much(late, assignment):
    by_canvas = Submission("ada", None, clock="Canvas", sender=Sender("Canvas", late=late))
    (got,) = Scoring(assignment, PENALTY).scores([by_canvas], [graded(assignment)])
    assert (got.status, got.total) == ("late" if late else "graded", 10)
    assert ("no points were taken off" in got.remark) == late


def test_names_are_students_own_and_stay_within_their_fence(assignment, tmp_path):
    (tmp_path / "roster.csv").write_text("login,name\nada,=1+1 [x](http://y) `b` <b>\x1b[31m\n")
    scoring = Scoring(assignment, roster=Roster.read(tmp_path / "roster.csv"))
    write_all(tmp_path, assignment, [score(scoring, graded(assignment))])
    assert "For `` =1+1 [x](http://y) `b` <b>\ufffd[31m `` (`ada`)." in (tmp_path / "feedback/ada.md").read_text(
        "utf-8"
    )
    assert rows(tmp_path / "grades.csv")["ada"]["name"].startswith("'=1+1")


# Several attempts


def attempts(assignment, counts, *tries, rules=PENALTY):
    """The score of attempts: for each, the tests that failed and how late it came; None is one that has no grade."""
    submissions = [handed_in(late, attempt=n) for n, (_, late) in enumerate(tries, start=1)]
    grades = [
        graded(assignment, *failed) if failed is not None else Grade("ada", "error", "odd") for failed, _ in tries
    ]
    (got,) = Scoring(assignment, rules, counts=counts).scores(submissions, grades)
    return got


IN_TIME, NEXT_DAY, IN_A_WEEK = timedelta(0), timedelta(hours=20), timedelta(days=7)


@pytest.mark.parametrize(
    ("counts", "tries", "total", "number"),
    [
        ("best", [(["test-count"], IN_TIME), ([], NEXT_DAY)], 9, 2),
        ("best", [(["test-count"], IN_TIME), ([], IN_A_WEEK)], 8, 1),
        ("last", [(["test-count"], IN_TIME), ([], IN_A_WEEK)], 5, 2),
        ("best", [([], IN_TIME), ([], IN_TIME)], 10, 1),
        ("best", [(["test-line"], IN_TIME), (None, IN_TIME)], 7, 1),
        ("last", [(["test-line"], IN_TIME), (None, IN_TIME)], 7, 1),
        ("last", [(None, IN_TIME), (None, IN_TIME)], None, 2),
    ],
)
def test_which_attempt_counts(counts, tries, total, number, assignment):
    got = attempts(assignment, counts, *tries)
    assert got.total == total
    assert got.submission.attempt == number
    assert got.notes[0].endswith(f"The {counts} counts, number {number}.")


def test_feedback_tells_which_attempt_counts(assignment):
    told = feedback(assignment, attempts(assignment, BEST, (["test-count"], IN_TIME), (None, IN_TIME), ([], NEXT_DAY)))
    assert "Attempts: 8 of 10 points, –, 9 of 10 points. The best counts, number 3." in told
    assert "Late: −1 point." in told


def test_each_attempt_is_graded_once_and_kept(tmp_path, monkeypatch):
    source = write(tmp_path / "source")
    for folder in ("first", "second"):
        write(tmp_path / folder).rename(tmp_path / folder / "ada.ipynb")
    work = classroom.Classwork.read(source, [tmp_path / "first", tmp_path / "second"], several=True)
    monkeypatch.setattr(classroom, "_check_grader", lambda *_: None)

    def grade(self, submission):
        return Grade(submission.student, "graded", f"number {submission.attempt}", digest=self.digest(submission))

    monkeypatch.setattr(classroom.Grader, "grade", grade)
    grades = classroom.grade_all(work, tmp_path / "out", None)
    assert [one.remark for one in grades] == ["number 1", "number 2"]
    assert sorted(path.name for path in (tmp_path / "out/results/ada").iterdir()) == ["1.json", "2.json"]
    monkeypatch.setattr(classroom.Grader, "grade", lambda *_: 1 / 0)
    assert classroom.grade_all(work, tmp_path / "out", None) == grades


# Points by hand


def adjusted(tmp_path, assignment, text, students=("ada", "bob")):
    (tmp_path / "adjustments.csv").write_text(text, encoding="utf-8-sig")
    return read_adjustments(tmp_path / "adjustments.csv", assignment, students)


def test_adjustments_as_a_spreadsheet_writes_them(tmp_path, assignment):
    text = (
        'login;exercise;points;comment\nADA;2. a line;0,5;"the idea; nearly"\nada;all;−1;\nbob;shares;;Read §2.\n;;;\n'
    )
    assert adjusted(tmp_path, assignment, text) == {
        "ada": [Adjustment("line", 0.5, "the idea; nearly"), Adjustment("", -1, "")],
        "bob": [Adjustment("shares", 0, "Read §2.")],
    }


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("adda,line,1,", "row 3: no student has the login 'adda'. Did you mean ada?"),
        (
            "ada,lines,1,",
            r"row 3: there is no exercise 'lines'. Did you mean line\? It has shares, line, count, and all",
        ),
        ("ada,line,one,", "row 3: expected for .points. a number to add, such as 1 or -0.5, got 'one'"),
        ("ada,line,=1+1,", "got '=1.1'"),
        ("ada,line,nan,", "got 'nan'"),
        ("ada,line,,", "row 3: neither points nor a comment"),
        ("bob,2. A line,1,", "row 3: row 2 is about the same student and exercise"),
        ("ada,line,1,well, done", "row 3: 5 cells under 4 headings"),
    ],
)
def test_a_bad_row_is_refused_and_named(row, says, tmp_path, assignment):
    with pytest.raises(BookError, match=says):
        adjusted(tmp_path, assignment, f"login,exercise,points,comment\nbob,line,1,good\n{row}\n")


@pytest.mark.parametrize(
    ("own", "points", "total"),
    [
        ([Adjustment("count", 1, "")], {"shares": 5, "line": 3, "count": 1}, 9),
        ([Adjustment("count", 3, "")], {"shares": 5, "line": 3, "count": 2}, 10),
        ([Adjustment("line", -4, "")], {"shares": 5, "line": 0, "count": 0}, 5),
        ([Adjustment("", 3, "")], {"shares": 5, "line": 3, "count": 0}, 11),
        ([Adjustment("", -20, "")], {"shares": 5, "line": 3, "count": 0}, 0),
        ([Adjustment("line", 0, "Look again.")], {"shares": 5, "line": 3, "count": 0}, 8),
    ],
)
def test_an_exercise_stays_within_its_points(own, points, total, assignment):
    got = score(Scoring(assignment, adjustments={"ada": own}), graded(assignment, "test-count"))
    assert (got.points, got.total) == (points, total)


def test_adjustments_survive_a_better_grade_and_reach_feedback(assignment):
    own = [Adjustment("count", 1, "You had the <b>idea</b>."), Adjustment("", -1, "No names.")]
    scoring = Scoring(assignment, adjustments={"ada": own})
    for failed, count in ((["test-count"], 1), ([], 2)):
        got = score(scoring, graded(assignment, *failed))
        told = feedback(assignment, got)
        assert f"## 3. Three times four ({count} of 2 points)" in told
        assert "By hand: +1 point. You had the <b>idea</b>." in told.split("## 3.")[1]
        assert "By hand: −1 point. No names." in told.split("## 1.")[0]
        assert "| by hand | −1 point |" in told
        assert ("no more than it is worth" in told) == (count == 2)
        results = gradescope_result(assignment, got)
        assert (results["score"], results["tests"][2]["score"]) == (7 + count, count)
        assert "No names." in results["output"]


def test_points_by_hand_for_what_could_not_be_graded(assignment):
    own = {"ada": [Adjustment("line", 2, "On paper.")], "bob": [Adjustment("", 0, "See me.")]}
    scoring = Scoring(assignment, adjustments=own)
    ada = score(scoring, Grade("ada", "error", "it is not a notebook"))
    assert (ada.status, ada.total) == ("error", 2)
    assert "On paper." in feedback(assignment, ada)
    bob = score(scoring, Grade("bob", "missing"))
    assert (bob.status, bob.total) == ("missing", None)
    assert "See me." in feedback(assignment, bob)


def test_the_penalty_is_of_the_tests_points_and_adjustments_are_not_cut(assignment):
    scoring = Scoring(assignment, PENALTY, adjustments={"ada": [Adjustment("count", 1, "")]})
    assert score(scoring, graded(assignment, "test-count"), NEXT_DAY).total == 8


# The command


@pytest.fixture
def command(tmp_path, monkeypatch):
    """`attnbook grade` of a small class, with results made up: carol's notebook fails one test."""
    source = write(tmp_path / "source")
    submissions = tmp_path / "submissions"
    submissions.mkdir()
    for name in ("doejane_12_1_nb.ipynb", "bob_LATE_13_2_nb.ipynb", "carol_14_3_nb.ipynb", "who_9_9_x.ipynb"):
        nbformat.write(three_things(), submissions / name)
    (tmp_path / "roster.csv").write_text("login,name,id\njdoe,Jane Doe,12\nbob,Bob B,13\ncarol,Carol,14\neve,Eve,15\n")

    def made_up(work, *_, **__):
        failed = {"carol": ["test-count"]}
        return [
            Grade(one.student, "error", one.fault) if one.fault
            else Grade(one.student, "missing", one.remark) if one.path is None
            else graded(work.assignment, *failed.get(one.student, []), student=one.student)
            for one in work.submissions
        ]  # fmt: skip

    monkeypatch.setattr(classroom, "grade_all", made_up)
    monkeypatch.setattr(fork_server, "ForkServer", lambda walled: nullcontext())
    return lambda *options: main(["grade", str(source), str(submissions), "-o", str(tmp_path / "out"), *options])


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_a_class_with_a_roster(command, tmp_path, capsys):
    (tmp_path / "by hand.csv").write_text("login,exercise,points,comment\ncarol,count,1,nearly\n")
    files = ["--roster", f"{tmp_path}/roster.csv", "--adjustments", f"{tmp_path}/by hand.csv"]
    assert command(*files, "--deadline", "2026-11-30T12:00", "--late-penalty", "10") == 0
    table = rows(tmp_path / "out/grades.csv")
    assert {name: (row["name"], row["score"], row["status"]) for name, row in table.items()} == {
        "jdoe": ("Jane Doe", "10", "graded"),
        "bob": ("Bob B", "10", "late"),
        "carol": ("Carol", "9", "graded"),
        "eve": ("Eve", "", "missing"),
        "who_9_9_x": ("", "", "error"),
    }
    assert table["carol"]["remark"] == "changed by hand"
    assert "who_9_9_x" not in (tmp_path / "out/canvas.csv").read_text("utf-8"), "Canvas knows nobody of this name"
    assert "who_9_9_x" not in (tmp_path / "out/moodle.csv").read_text("utf-8")
    assert "For `Jane Doe` (`jdoe`)." in (tmp_path / "out/feedback/jdoe.md").read_text("utf-8")
    assert json.loads((tmp_path / "out/gradescope/carol/results.json").read_text())["score"] == 9
    said = capsys.readouterr().out
    assert "2 graded, 1 late, 1 missing, 1 error" in said
    assert "\nwho_9_9_x.ipynb: nobody on the roster" in said
    assert "Canvas keeps no time of handing in" in said
    assert "eve" not in said


def test_without_a_roster_platforms_names_are_noticed(command, capsys):
    assert command() == 0
    assert "These look like Canvas's names. With --roster FILE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--roster", "nowhere.csv"], "nowhere.csv is not there; expected a CSV file"),
        (["--late-penalty", "ten"], "expected a percentage from 0 to 100, such as 10, got 'ten'"),
        (["--late-most", "110"], "expected a percentage from 0 to 100"),
        (["--attempts", "first"], "invalid choice: 'first'"),
    ],
)
def test_options_that_cannot_be_meant(options, says, command, capsys):
    with pytest.raises(SystemExit):
        command(*options)
    assert says in capsys.readouterr().err


def test_columns_that_nobody_needs_are_not_there(assignment, tmp_path):
    scoring = Scoring(assignment)
    write_all(tmp_path, assignment, scoring.scores([handed_in()], [graded(assignment)]))
    assert set(rows(tmp_path / "grades.csv")["ada"]) == {
        *("student", "shares", "line", "count", "score", "max", "status", "remark")
    }, "no columns for what nobody asked for"
