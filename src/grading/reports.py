"""Writes the results of grading: tables for the gradebook, and feedback for each student."""

import builtins
import json
import re
from pathlib import Path

from markdown_it import MarkdownIt

from attnbook.language import plain
from booktools.book.assignment import Assignment, Exercise, marks
from grading.gradescope import write_autograder
from grading.nbgrader_gradebook import write_gradebook
from grading.pages import page_html, write_text
from grading.run_tests import Outcome
from grading.scores import Score, signed_points
from grading.tables import write_table
from grading.wording import say

LATE = ("late", "test_late", "skipped")  # what is said where a limit of time was reached


def write_all(out: Path, assignment: Assignment, scores: list[Score]) -> None:
    """Writes the tables, and the feedback of each student, into the folder `out`."""
    rows = [_row(assignment, score) for score in scores]
    needless = {column for column in ("name", "penalty") if not any(row[column] for row in rows)}
    write_table(out / "grades.csv", [column for column in rows[0] if column not in needless], rows)
    enrolled = [row for row, score in zip(rows, scores, strict=True) if score.enrolled]
    write_table(out / "canvas.csv", *_canvas(assignment, enrolled))
    write_table(out / "moodle.csv", *_moodle(assignment, enrolled))
    results = {score.student: gradescope_result(assignment, score) for score in scores if score.total is not None}
    write_autograder(out / "gradescope.zip", scores, results)
    write_gradebook(out / "nbgrader", assignment, scores)
    for score in scores:
        text = feedback(assignment, score)
        write_text(out / "feedback" / f"{score.student}.md", text)
        body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
        title = say("feedback", student=score.student, title=assignment.title)
        write_text(out / "feedback" / f"{score.student}.html", page_html(title, body))
        path = out / "gradescope" / score.student / "results.json"
        path.unlink(missing_ok=True)
        if result := results.get(score.student):
            write_text(path, json.dumps(result, ensure_ascii=False, indent=1))


def _row(assignment: Assignment, score: Score) -> dict:
    """A student's line. What could not be graded is empty, not zero."""
    points = {exercise.id: score.points.get(exercise.id, "") for exercise in assignment.exercises}
    total = "" if score.total is None else score.total
    ends = {"score": total, "max": assignment.points, "status": score.status, "remark": score.remark}
    if score.extra or score.comments:
        ends["remark"] = "; ".join(filter(None, [score.remark, say("changed")]))
    return {"student": score.student, "name": score.name} | points | {"penalty": score.penalty or ""} | ends


def _canvas(assignment: Assignment, rows: list[dict]) -> tuple[list[str], list[dict]]:
    """Canvas finds students by their login; its second line says what can be reached."""
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment.title]
    possible = {"Student": "    Points Possible", assignment.title: assignment.points}
    lines = [{"Student": row["name"], "SIS Login ID": row["student"], assignment.title: row["score"]} for row in rows]
    return columns, [possible, *lines]


def _moodle(assignment: Assignment, rows: list[dict]) -> tuple[list[str], list[dict]]:
    columns = ["Username", assignment.title, "Feedback"]
    return columns, [
        {"Username": row["student"], assignment.title: row["score"], "Feedback": row["remark"]} for row in rows
    ]


def gradescope_result(assignment: Assignment, score: Score) -> dict:
    """Returns a score as Gradescope reads it. Remarks on the whole submission stand above the tests."""
    tests = [
        {
            "name": exercise.title,
            "score": score.points[exercise.id],
            "max_score": exercise.points,
            "output": "\n".join(_lines(exercise, score)),
            "output_format": "md",
        }
        for exercise in assignment.exercises
    ]
    about = "\n\n".join([*score.notes, *([_quoted(score.remark)] if score.remark else [])])
    return {"score": score.total, "output": about, "output_format": "md", "tests": tests}


def feedback(assignment: Assignment, score: Score) -> str:
    """Returns a student's feedback as Markdown: what visible checks said, and of hidden ones only that they failed."""
    name, outcome = say("for", student=_inline_code(score.student)), score.grade.outcome
    if score.name:
        name = say("for_name", name=_inline_code(score.name), student=_inline_code(score.student))
    if score.total is None:
        title = say("not_graded", title=assignment.title)
        parts = [f"# {title}", name, say("no_zero"), _quoted(score.remark or score.status), *score.notes]
        return "\n\n".join([*parts, *(said for comments in score.comments.values() for said in comments)]) + "\n"
    parts = [f"# {_with_score(assignment.title, score.total, assignment.points)}", name]
    if score.remark:
        parts.append(_quoted(score.remark))
    parts += [*score.notes, _table(assignment, score)]
    for exercise in assignment.exercises:
        title = _with_score(exercise.title, score.points[exercise.id], exercise.points)
        parts.append("\n\n".join([f"## {title}", *_lines(exercise, score)]))
    if outcome and outcome.cells:
        parts.append("\n".join([f"## {say('cells')}\n", *map(_quoted, outcome.cells)]))
    return "\n\n".join(parts) + "\n"


def _table(assignment: Assignment, score: Score) -> str:
    """All points at a glance."""
    rows = [(exercise.title, score.points[exercise.id], exercise.points) for exercise in assignment.exercises]
    lines = [f"| {say('exercise')} | {say('points')} |", "|---|---|"]
    for title, points, most in rows:
        lines.append(_line(title, say("of", score=plain(points), points=marks(most))))
    if score.extra:
        lines.append(_line(say("extra"), signed_points(score.extra)))
    if score.penalty:
        lines.append(_line(say("late_points"), signed_points(-score.penalty)))
    total = say("of", score=plain(score.total or 0), points=marks(assignment.points))
    return "\n".join([*lines, _line(say("all"), total)])


def _line(title: str, points: str) -> str:
    cell = title.replace("|", r"\|")
    return f"| {cell} | {points} |"


def _lines(exercise: Exercise, score: Score) -> list[str]:
    """Returns the lines about an exercise: first its checks, then what was changed by hand."""
    return [
        *(_checks(exercise, score.grade.outcome) if score.grade.outcome else ()),
        *score.comments.get(exercise.id, ()),
    ]


def _checks(exercise: Exercise, outcome: Outcome) -> list[str]:
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
            which = say("tries", tries=test.tries) if test.tries else say("tries_more")
            said.append(say("hidden", how=_how_it_failed(result.hidden), which=which, **about))
        else:
            said.append(say("right", **about))
    return said


def _how_it_failed(said: str) -> str:
    """Says in which way a hidden test failed, but nothing of what it tested.

    >>> _how_it_failed("IndexError: index 3 is out of bounds"), _how_it_failed(say("late", seconds="10"))
    ('it ends with an error: IndexError', 'it takes too long')
    >>> _how_it_failed("a row is not 0")
    'the answer is not right'
    """
    error = getattr(builtins, said.partition(":")[0], None)
    if isinstance(error, type) and issubclass(error, BaseException):
        return say("raises", error=error.__name__)
    if said == say("ended"):
        return said
    late = "|".join(re.escape(say(limit, seconds="#")).replace(r"\#", r"[\d.,]+") for limit in LATE)
    return say("takes_too_long" if re.fullmatch(late, said) else "not_right")


def _with_score(title: str, score: float, points: float) -> str:
    return say("scored", title=title, score=plain(score), points=marks(points))


def _quoted(text: str) -> str:
    """Wraps a text as a block of code that the text itself can't close.

    >>> print(_quoted("a ``` b"))
    ````
    a ``` b
    ````
    """
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _inline_code(name: str) -> str:
    """Wraps a text as inline code, whatever backticks it contains.

    >>> _inline_code("ada"), _inline_code("a`b")
    ('`ada`', '`` a`b ``')
    """
    runs = re.findall("`+", name)
    fence = "`" * (1 + max(map(len, runs), default=0))
    return f"{fence} {name} {fence}" if runs else f"`{name}`"
