"""A page on which an instructor reads what was handed in, gives points by hand, and answers who asks for a regrade.

It is one file that asks for nothing, and saves a table for `--adjustments`: whatever is in the fields, so that the
table of the last time stands in them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from html import escape
from pathlib import Path

from attnbook.language import plain
from booktools.book import BookError
from booktools.book.assignment import Assignment, Exercise, marks
from grading.adjustments import Adjustment, exercise_of, known_login
from grading.pages import page_html, write_text
from grading.run_tests import Outcome
from grading.scores import Score
from grading.submissions import Unreadable, printable, read_code, truncated
from grading.tables import FORMULA, read_table
from grading.wording import HERE, say

Adjustments = Mapping[str, list[Adjustment]]
Questions = Mapping[tuple[str, str], str]
STYLE = (HERE / "by_hand.css").read_text(encoding="utf-8")
SCRIPT = (HERE / "by_hand.js").read_text(encoding="utf-8")


def read_questions(path: Path, assignment: Assignment, students: Collection[str]) -> Questions:
    """What students ask about a grade, by login and exercise; no exercise is the whole."""
    found: dict[tuple[str, str], str] = {}
    columns = {"login": ("username", "student"), "exercise": (), "question": ("regrade", "why")}
    for place, row in read_table(path, columns, needed=["login", "exercise", "question"]):
        login = known_login(place, row["login"], students)
        exercise = exercise_of(place, row["exercise"], assignment)
        if not row["question"]:
            raise BookError(f"{place}: no question, so there is nothing to answer.")
        found[login, exercise] = "\n".join(filter(None, [found.get((login, exercise)), printable(row["question"])]))
    return found


def write_by_hand(
    path: Path,
    assignment: Assignment,
    scores: list[Score],
    secret: str | None,
    adjustments: Adjustments,
    questions: Questions,
) -> None:
    """Writes the page, for the instructor alone: hidden tests speak in it. Who asks something comes first."""
    asked = {login for login, _ in questions}
    ordered = sorted(scores, key=lambda score: score.student not in asked)
    body = [
        f"<h1>{escape(say('by_hand_title', title=assignment.title))}</h1>",
        f"<p>{escape(say('summary_private'))} {escape(say('by_hand_how'))}</p>",
        f'<form><p class="save"><button>{escape(say("by_hand_save"))}</button>',
        f'<output data-of="{escape(say("by_hand_rows"))}"></output></p>',
    ]
    for score in ordered:
        own = _adjusted(adjustments.get(score.student, []))
        variant = assignment.variant(score.student, secret)
        mine = {exercise: text for (login, exercise), text in questions.items() if login == score.student}
        body.append(_student(variant, score, own, mine))
    write_text(
        path, page_html(say("by_hand_title", title=assignment.title), "\n".join([*body, "</form>"]), STYLE, SCRIPT)
    )


def _adjusted(own: list[Adjustment]) -> dict[str, Adjustment]:
    return {one.exercise: one for one in own}


def _student(assignment: Assignment, score: Score, own: dict[str, Adjustment], questions: dict[str, str]) -> str:
    total = say("by_hand_none") if score.total is None else plain(score.total)
    about = ", ".join(filter(None, [printable(score.name), say(f"status_{score.status}"), printable(score.remark)]))
    mark = f" <mark>{escape(say('by_hand_asked'))}</mark>" if questions else ""
    code = _code_of(assignment, score)
    parts = [
        f"<details{' open' if questions else ''}><summary><b>{escape(score.student)}</b>: {escape(total)}"
        f" <small>{escape(about)}</small>{mark}</summary>"
    ]
    for exercise in assignment.exercises:
        points = say("of", score=plain(score.points.get(exercise.id, 0)), points=marks(exercise.points))
        parts.append(f"<section><h3>{escape(exercise.title)} <small>{escape(points)}</small></h3>")
        parts += _asked(questions.get(exercise.id))
        parts += [f"<pre>{escape(text)}</pre>" for text in code.pop(exercise.id, [])]
        parts += _said(exercise, score.grade.outcome)
        parts.append(_fields(score.student, exercise.id, exercise.title, own.get(exercise.id)) + "</section>")
    rest = "".join(f"<pre>{escape(text)}</pre>" for texts in code.values() for text in texts)
    parts.append(f"<section><h3>{escape(say('by_hand_whole'))}</h3>{''.join(_asked(questions.get('')))}")
    parts.append(_fields(score.student, "all", say("by_hand_whole"), own.get("")))
    if rest:
        parts.append(f"<details><summary>{escape(say('by_hand_rest'))}</summary>{rest}</details>")
    return "\n".join([*parts, "</section></details>"])


def _code_of(assignment: Assignment, score: Score) -> dict[str, list[str]]:
    """The code of a submission, by the names of its cells."""
    found: dict[str, list[str]] = defaultdict(list)
    try:
        cells = read_code(score.submission.path, assignment).cells if score.submission and score.submission.path else []
    except (Unreadable, OSError):
        cells = []
    sources = truncated([cell["source"] for cell in cells])
    for cell, source in zip(cells, sources, strict=True):
        found[cell["name"]].append("\n".join(map(printable, source.splitlines())))
    return found


def _asked(question: str | None) -> list[str]:
    return [f'<p class="asked">{escape(question)}</p>'] if question else []


def _said(exercise: Exercise, outcome: Outcome | None) -> Iterator[str]:
    """Yields what the checks of an exercise said, hidden ones too."""
    if not outcome:
        return
    if calls := outcome.used.get(exercise.id):
        yield f"<p>{escape(say('calls', calls=', '.join(calls)))}</p>"
    for number, test in enumerate(exercise.tests, start=1):
        result = outcome.results[test.id]
        said = printable(result.visible or result.hidden or say("by_hand_right"))
        about = say("by_hand_check", number=number, points=marks(test.points), said=said)
        yield f"<p>{'✗' if not result.passed else '✓'} {escape(about)}</p>"


def _fields(login: str, exercise: str, title: str, own: Adjustment | None) -> str:
    """Returns the fields for points and a comment. A login that a spreadsheet would run gets none."""
    if FORMULA.search(login):
        return f"<p>{escape(say('by_hand_odd'))}</p>"
    about = f'data-login="{escape(login)}" data-exercise="{escape(exercise)}"'
    points, comment = (
        (f"{own.points:.4f}".rstrip("0").rstrip(".") if own.points else "", own.comment) if own else ("", "")
    )
    named = escape(f"{login}, {title}")
    return (
        f"<fieldset {about}><label>{escape(say('by_hand_points'))} "
        f'<input inputmode="decimal" pattern="[+\\-−]?\\d{{1,4}}([.,]\\d{{1,4}})?" size="5" value="{points}" '
        f'aria-label="{escape(say("by_hand_points"))}: {named}"></label> '
        f"<label>{escape(say('by_hand_comment'))} "
        f'<input size="40" value="{escape(comment)}" aria-label="{escape(say("by_hand_comment"))}: {named}"></label>'
        "</fieldset>"
    )
