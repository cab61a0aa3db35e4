"""The autograder for Gradescope, in folders laid out as its documentation says. Nobody's code runs in it."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from zipfile import ZipFile

import pytest
import yaml

from booktools.book.assignment import Assignment
from grading.classroom import Grade
from grading.collect import find_submissions
from grading.gradescope import write_autograder
from grading.lateness import Rules
from grading.platforms import Sender
from grading.reports import write_all
from grading.roster import Roster
from grading.run_tests import Outcome, Result
from grading.scores import Score, Scoring
from grading.submissions import Submission
from tests.grading.three_things import write

WHEN = datetime(2026, 11, 30, 22, 30, 0, 500_000, tzinfo=UTC)
RESULT = {"score": 7, "tests": [{"name": "1. Shares", "score": 7, "max_score": 10, "output": "Zoë"}]}


def by(student, number, email="", platform="Gradescope"):
    sender = Sender(platform, email=email, when=WHEN, entry=f"submission_{number}")
    return Score(Grade(student, "graded"), "graded", "", submission=Submission(student, None, sender=sender))


@pytest.fixture
def autograder(tmp_path):
    """What Gradescope makes of the zip: /autograder, with the harness's own files in it; the result of one run."""
    scores = [by("ada", 900, "Ada@x.org"), by("bob", 901, "b@x.org"), by("friend", 900), by("eve", 902)]
    write_autograder(tmp_path / "gradescope.zip", scores, {"ada": RESULT, "friend": {"score": 1}})
    root = tmp_path / "autograder"
    with ZipFile(tmp_path / "gradescope.zip") as archive:
        assert {name: archive.getinfo(name).external_attr >> 16 for name in archive.namelist()} == {
            "setup.sh": 0o755,
            "run_autograder": 0o755,
            "graded.json": 0o755,
        }
        archive.extractall(root / "source")
    (root / "submission").mkdir()
    (root / "submission/evil.ipynb").write_text("{")
    (root / "results").mkdir()
    (root / "run_autograder").write_bytes((root / "source/run_autograder").read_bytes())

    def autograder(**about):
        (root / "submission_metadata.json").write_text(json.dumps(about))
        subprocess.run([sys.executable, "-I", root / "run_autograder"], cwd=root, check=True)
        return json.loads((root / "results/results.json").read_text("utf-8"))

    return autograder


USERS = [{"email": "", "id": 1}, {"email": "ada@x.org", "id": 2}]


@pytest.mark.parametrize(
    ("about", "found"),
    [
        ({"id": 900}, True),
        ({"id": 999, "users": USERS, "created_at": WHEN.isoformat()}, False),
        ({"users": USERS, "created_at": "2026-11-30T14:30:00.500001-08:00"}, True),
        ({"users": USERS, "created_at": (WHEN + timedelta(seconds=2)).isoformat()}, False),
        ({"users": USERS[:1], "created_at": WHEN.isoformat()}, False),
    ],
)
def test_each_submission_gets_its_own_result(about, found, autograder):
    got = autograder(**about)
    assert (got == RESULT) == found
    if not found:
        assert got["output"].startswith("This submission has not been graded yet.")


def test_what_could_not_be_graded_says_that_it_is_no_zero(autograder):
    assert "It is not a zero" in autograder(id=901)["output"]


def test_only_what_came_from_gradescope_goes_back_to_it(tmp_path):
    (tmp_path / "gradescope.zip").write_text("an old one")
    write_autograder(tmp_path / "gradescope.zip", [by("ada", 900, platform="Canvas")], {"ada": RESULT})
    assert not (tmp_path / "gradescope.zip").exists()


def test_an_export_comes_back_as_an_autograder(tmp_path):
    source, folder = write(tmp_path / "source"), tmp_path / "assignment_1_export"
    write(folder / "submission_900")
    submitters = [{":name": "Ada", ":sid": None, ":email": "Ada@x.org"}]
    about = {"submission_900": {":submitters": submitters, ":created_at": WHEN}}
    (folder / "submission_metadata.yml").write_text(yaml.safe_dump(about))
    (tmp_path / "roster.csv").write_text("login,name,email\nlovelace,Ada L,ada@x.org\n")
    roster, assignment = Roster.read(tmp_path / "roster.csv"), Assignment.read(source)
    submissions = find_submissions([folder], "three_things", roster=roster)
    tests = [test.id for exercise in assignment.exercises for test in exercise.tests]
    grade = Grade("lovelace", "graded", outcome=Outcome({test: Result() for test in tests}))
    rules = Rules(WHEN - timedelta(days=1, hours=1), percent=10)
    write_all(tmp_path, assignment, Scoring(assignment, rules, roster).scores(submissions, [grade]))
    with ZipFile(tmp_path / "gradescope.zip") as archive:
        (graded,) = json.loads(archive.read("graded.json"))["submissions"]
    assert (graded["id"], graded["email"], graded["result"]["score"]) == ("900", "ada@x.org", 8)
    assert "Gradescope's time" in graded["result"]["output"]
