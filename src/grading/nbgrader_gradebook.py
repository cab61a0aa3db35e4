"""Scores on their way into nbgrader's gradebook: the points, and a script that enters them by nbgrader's own API.

The script runs where nbgrader is installed, and needs nothing of ours. It can run again: what is there is replaced.
"""

import json
from pathlib import Path

from booktools.book.assignment import Assignment
from grading.pages import write_text
from grading.scores import Score

FILL = '''#!/usr/bin/env python3
"""Enters points.json, which is beside this file, into a gradebook: fill.py sqlite:///gradebook.db"""

import json
import sys
from datetime import datetime
from pathlib import Path

from nbgrader.api import Gradebook

points = json.loads((Path(__file__).parent / "points.json").read_text("utf-8"))
name, cells = points["assignment"], points["cells"]
with Gradebook(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///gradebook.db") as book:
    book.update_or_create_assignment(name)
    book.update_or_create_notebook(name, name)
    for cell, most in cells.items():
        book.update_or_create_grade_cell(cell, name, name, max_score=most, cell_type="code")
    for one in points["students"]:
        first, _, last = one["name"].rpartition(" ")
        names = {"first_name": first, "last_name": last} if one["name"] else {}
        book.update_or_create_student(one["student"], **names)
        when = datetime.fromisoformat(one["handed_in"]) if one["handed_in"] else None
        submission = book.update_or_create_submission(name, one["student"], timestamp=when)
        (notebook,) = submission.notebooks
        notebook.late_submission_penalty = one["penalty"]
        for cell in cells:
            grade = book.find_grade(cell, name, name, one["student"])
            grade.auto_score, grade.extra_credit = one["auto"][cell], one["by_hand"][cell]
            grade.manual_score, grade.needs_manual_grade = None, False
    book.db.commit()
print(len(points["students"]), "students are in the gradebook.")
'''


def write_gradebook(folder: Path, assignment: Assignment, scores: list[Score]) -> None:
    """Writes `points.json` and `fill.py` into a folder. Who has no score is left out, as it is no zero."""
    tests = [test for exercise in assignment.exercises for test in exercise.tests]
    points = {
        "assignment": assignment.name,
        "cells": {test.id: test.points for test in tests},
        "students": [_points(assignment, score) for score in scores if score.enrolled and score.total is not None],
    }
    write_text(folder / "points.json", json.dumps(points, ensure_ascii=False, indent=1))
    write_text(folder / "fill.py", FILL)


def _points(assignment: Assignment, score: Score) -> dict:
    """A student's points: for each check what it gave, and what a person added to it or took off."""
    outcome = score.grade.outcome
    auto, by_hand = {}, {}
    for exercise in assignment.exercises:
        for test in exercise.tests:
            right = outcome and not outcome.used.get(exercise.id) and outcome.results[test.id].passed
            auto[test.id] = test.points if right else 0
        given = sum(auto[test.id] for test in exercise.tests)
        by_hand |= dict.fromkeys((test.id for test in exercise.tests), 0)
        by_hand[exercise.tests[0].id] = round(score.points[exercise.id] - given, 2)
    by_hand[assignment.exercises[0].tests[0].id] += score.extra
    when = score.submission.handed_in if score.submission else None
    return {
        "student": score.student,
        "name": score.name,
        "handed_in": when.replace(tzinfo=None).isoformat() if when else "",  # in UTC, as nbgrader keeps it
        "auto": auto,
        "by_hand": by_hand,
        "penalty": score.penalty,
    }
