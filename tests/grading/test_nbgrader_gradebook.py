"""Points on their way into nbgrader's gradebook, by calls of its API that a stand-in answers."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from booktools.book.assignment import Assignment
from grading.adjustments import Adjustment
from grading.classroom import Grade
from grading.lateness import Rules
from grading.nbgrader_gradebook import write_gradebook
from grading.run_tests import Outcome, Result
from grading.scores import Scoring
from grading.submissions import Submission
from tests.grading.three_things import write

WHEN = datetime(2026, 11, 30, 22, 30, tzinfo=UTC)
STAND_IN = '''
import json
from types import SimpleNamespace

class Gradebook:
    """Keeps what nbgrader's own would keep, by the same calls."""

    def __init__(self, url):
        self.url, self.cells, self.grades, self.submissions, self.db = url, {}, {}, {}, self
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def update_or_create_assignment(self, name):
        self.name = name
    def update_or_create_notebook(self, name, assignment):
        assert name == assignment == self.name
    def update_or_create_grade_cell(self, cell, notebook, assignment, max_score, cell_type):
        self.cells[cell] = max_score
    def update_or_create_student(self, student, first_name=None, last_name=None):
        self.grades[student] = {"names": [first_name, last_name]} | {cell: SimpleNamespace() for cell in self.cells}
    def update_or_create_submission(self, assignment, student, timestamp):
        self.submissions[student] = SimpleNamespace(timestamp=str(timestamp))
        return SimpleNamespace(notebooks=[self.submissions[student]])
    def find_grade(self, cell, notebook, assignment, student):
        return self.grades[student][cell]
    def commit(self):
        print(json.dumps([self.url, self.cells, self.grades, self.submissions], default=vars))
'''


@pytest.fixture
def entered(tmp_path):
    """What the script enters for three students: late with a wrong answer and points by hand, whole, and missing."""
    assignment = Assignment.read(write(tmp_path / "source"))
    tests = [test for exercise in assignment.exercises for test in exercise.tests]
    wrong = {test.id: Result(hidden="no" if test.id == "test-slope" else None) for test in tests}
    whole = {test.id: Result() for test in tests}
    adjustments = {"ada": [Adjustment("shares", 0.5, "nearly"), Adjustment("", -1, "no names")]}
    rules = Rules(deadline=WHEN.replace(hour=1), percent=10)
    scoring = Scoring(assignment, rules, None, adjustments)
    handed_in = [Submission("ada", None, WHEN), Submission("bob", None), Submission("eve", None)]
    grades = [Grade("ada", "graded", outcome=Outcome(wrong)), Grade("bob", "graded", outcome=Outcome(whole))]
    scores = scoring.scores(handed_in, [*grades, Grade("eve", "missing")])
    write_gradebook(tmp_path / "nbgrader", assignment, scores)
    package = tmp_path / "nbgrader_stand_in/nbgrader"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "api.py").write_text(STAND_IN)
    command = [sys.executable, tmp_path / "nbgrader/fill.py", "sqlite:///g.db"]
    told = subprocess.run(command, env={"PYTHONPATH": str(package.parent)}, capture_output=True, text=True, check=True)
    book, said = told.stdout.splitlines()
    assert said == "2 students are in the gradebook."
    return scores, *json.loads(book)


def test_each_check_is_a_cell_with_its_points(entered):
    _, url, cells, grades, submissions = entered
    assert url == "sqlite:///g.db"
    assert cells == {"test-shares": 3, "test-slope": 2, "test-line": 3, "test-count": 2}
    auto = {student: {cell: grades[student][cell]["auto_score"] for cell in cells} for student in ("ada", "bob")}
    assert auto == {"ada": {**cells, "test-slope": 0}, "bob": cells}
    assert submissions["ada"]["timestamp"] == "2026-11-30 22:30:00"
    assert submissions["bob"]["timestamp"] == "None"


def test_the_sum_is_the_score(entered):
    """Points by hand are extra credit, lateness is nbgrader's penalty, and who has no score is not there."""
    scores, _, cells, grades, submissions = entered
    assert grades.keys() == {"ada", "bob"}
    for score in scores[:2]:
        own = [grades[score.student][cell] for cell in cells]
        total = sum(grade["auto_score"] + grade["extra_credit"] for grade in own)
        assert total - submissions[score.student]["late_submission_penalty"] == score.total
        assert not any(grade["needs_manual_grade"] or grade["manual_score"] for grade in own)
    assert submissions["ada"]["late_submission_penalty"] == 1
    assert scores[0].total == 6.5
