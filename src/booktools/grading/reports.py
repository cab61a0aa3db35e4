"""What comes out of grading: tables for the gradebook, and feedback for each student."""

import builtins
import csv
import json
import re
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from attnbook.language import language, plain
from booktools.book.assignment import Assignment, Exercise, marks
from booktools.grading import say
from booktools.grading.classroom import Grade
from booktools.grading.run_tests import Outcome

LATE = ("late", "test_late", "skipped")  # what is said where a limit of time was reached
FORMULA = re.compile(r"""(^|[;,|])[\s"']*(?=[=+\-@＝＋－＠])""")
PAGE = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ max-width: 42rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
pre {{ white-space: pre-wrap; padding: .5rem; border-left: .25rem solid; }}
th, td {{ padding: .1rem 1rem .1rem 0; text-align: start; }}
</style>
{body}
</html>
"""


def write_all(out: Path, assignment: Assignment, grades: list[Grade]) -> None:
    """Every report, in `out`."""
    rows = [_row(assignment, grade) for grade in grades]
    _write_table(out / "grades.csv", list(rows[0]), rows)
    _write_table(out / "canvas.csv", *_canvas(assignment, rows))
    _write_table(out / "moodle.csv", *_moodle(assignment, rows))
    for grade in grades:
        text = feedback(assignment, grade)
        title = escape(say("feedback", student=grade.student, title=assignment.title))
        write(out / "feedback" / f"{grade.student}.md", text)
        body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
        page = PAGE.format(language=language(), title=title, body=body)
        write(out / "feedback" / f"{grade.student}.html", page)
        results = out / "gradescope" / grade.student / "results.json"
        results.unlink(missing_ok=True)
        if grade.outcome:
            write(results, json.dumps(_gradescope(assignment, grade.outcome), ensure_ascii=False, indent=1))


def _row(assignment: Assignment, grade: Grade) -> dict:
    """A student's line. What could not be graded is empty, not zero."""
    outcome = grade.outcome
    scores = {exercise.id: outcome.score(exercise) if outcome else "" for exercise in assignment.exercises}
    total = outcome.total(assignment) if outcome else ""
    ends = {"score": total, "max": assignment.points, "status": grade.status, "remark": grade.remark}
    return {"student": grade.student} | scores | ends


def _canvas(assignment: Assignment, rows: list[dict]) -> tuple[list[str], list[dict]]:
    """Canvas finds students by their login; its second line says what can be reached."""
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment.title]
    possible = {"Student": "    Points Possible", assignment.title: assignment.points}
    lines = [{"SIS Login ID": row["student"], assignment.title: row["score"]} for row in rows]
    return columns, [possible, *lines]


def _moodle(assignment: Assignment, rows: list[dict]) -> tuple[list[str], list[dict]]:
    columns = ["Username", assignment.title, "Feedback"]
    return columns, [
        {"Username": row["student"], assignment.title: row["score"], "Feedback": row["remark"]} for row in rows
    ]


def _gradescope(assignment: Assignment, outcome: Outcome) -> dict:
    tests = [
        {
            "name": exercise.title,
            "score": outcome.score(exercise),
            "max_score": exercise.points,
            "output": "\n".join(_lines(exercise, outcome)),
            "output_format": "md",
        }
        for exercise in assignment.exercises
    ]
    return {"score": outcome.total(assignment), "output_format": "md", "tests": tests}


def feedback(assignment: Assignment, grade: Grade) -> str:
    """What a student reads: Markdown that tells what visible checks said, and of hidden ones only that they failed."""
    name, outcome = say("for", student=_code(grade.student)), grade.outcome
    if outcome is None:
        title = say("not_graded", title=assignment.title)
        return "\n\n".join([f"# {title}", name, say("no_zero"), _quoted(grade.remark or grade.status)]) + "\n"
    parts = [f"# {_scored(assignment.title, outcome.total(assignment), assignment.points)}", name]
    if grade.remark:
        parts.append(_quoted(grade.remark))
    parts.append(_table(assignment, outcome))
    for exercise in assignment.exercises:
        title = _scored(exercise.title, outcome.score(exercise), exercise.points)
        parts.append("\n\n".join([f"## {title}", *_lines(exercise, outcome)]))
    if outcome.cells:
        parts.append("\n".join([f"## {say('cells')}\n", *map(_quoted, outcome.cells)]))
    return "\n\n".join(parts) + "\n"


def _table(assignment: Assignment, outcome: Outcome) -> str:
    """All points at a glance."""
    rows = [(exercise.title, outcome.score(exercise), exercise.points) for exercise in assignment.exercises]
    lines = [f"| {say('exercise')} | {say('points')} |", "|---|---|"]
    for title, score, points in (*rows, (say("all"), outcome.total(assignment), assignment.points)):
        cell = title.replace("|", r"\|")
        lines.append(f"| {cell} | {say('of', score=plain(score), points=marks(points))} |")
    return "\n".join(lines)


def _lines(exercise: Exercise, outcome: Outcome) -> list[str]:
    if calls := outcome.used.get(exercise.id):
        return [say("calls", calls=", ".join(f"`{call}`" for call in calls))]
    if all(outcome.results[test.id].visible == say("unwritten") for test in exercise.tests):
        return [say("nothing_written")]
    said = []
    for number, test in enumerate(exercise.tests, start=1):
        result, about = outcome.results[test.id], {"number": number, "points": marks(test.points)}
        if result.visible:
            said.append(f"{say('wrong', **about)}\n\n{_quoted(result.visible)}")
        elif result.hidden:
            said.append(say("hidden", how=_how(result.hidden), **about))
        else:
            said.append(say("right", **about))
    return said


def _how(said: str) -> str:
    """In which way a hidden test failed, and nothing of what it tested.

    >>> _how("IndexError: index 3 is out of bounds"), _how(say("late", seconds="10")), _how("a row is not 0")
    ('it ends with an error: IndexError', 'it takes too long', 'the answer is not right')
    """
    error = getattr(builtins, said.partition(":")[0], None)
    if isinstance(error, type) and issubclass(error, BaseException):
        return say("raises", error=error.__name__)
    if said == say("ended"):
        return said
    late = "|".join(re.escape(say(limit, seconds="#")).replace(r"\#", r"[\d.,]+") for limit in LATE)
    return say("takes_too_long" if re.fullmatch(late, said) else "not_right")


def _scored(title: str, score: float, points: float) -> str:
    return say("scored", title=title, score=plain(score), points=marks(points))


def _quoted(text: str) -> str:
    """Somebody else's words as a block of code that they can't close.

    >>> print(_quoted("a ``` b"))
    ````
    a ``` b
    ````
    """
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _code(name: str) -> str:
    """Somebody else's word in a line of text.

    >>> _code("ada"), _code("a`b")
    ('`ada`', '`` a`b ``')
    """
    runs = re.findall("`+", name)
    fence = "`" * (1 + max(map(len, runs), default=0))
    return f"{fence} {name} {fence}" if runs else f"`{name}`"


def _write_table(path: Path, columns: list[str], rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows({name: _harmless(value) for name, value in row.items()} for row in rows)


def _harmless(value):
    """
    A spreadsheet takes a text that starts with = for a formula, and would run it. Some take ; for the end of a cell.

    >>> _harmless("=1+1"), _harmless("ada"), _harmless(2.0), _harmless("a;\\t@b")
    ("'=1+1", 'ada', '2', "a; '@b")
    """
    if isinstance(value, float | int):
        return f"{value:g}"
    return FORMULA.sub(r"\g<0>'", re.sub(r"[\r\n\t]+", " ", value))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
