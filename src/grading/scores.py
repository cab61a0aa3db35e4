"""Turns grades into scores: adds points by hand, takes off lateness, and chooses the attempt that counts.

Nothing runs here, so a change of the rules or of the adjustments grades nobody again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby

from attnbook.language import plain, whole
from booktools.book.assignment import Assignment, marks
from grading.adjustments import Adjustment
from grading.classroom import Grade
from grading.lateness import Rules
from grading.roster import Roster, Student
from grading.submissions import Submission
from grading.wording import say

BEST, LAST = "best", "last"


@dataclass(frozen=True)
class Score:
    """A score is what a student gets, and how it came about. Without points there is no total, which is not a zero.

    `status` is graded, late, missing or error.
    """

    grade: Grade
    status: str
    remark: str
    points: dict[str, float] = field(default_factory=dict)  # by exercise
    extra: float = 0  # points by hand for the whole
    penalty: float = 0
    notes: tuple[str, ...] = ()  # sentences about the whole
    comments: dict[str, list[str]] = field(default_factory=dict)  # sentences about an exercise
    name: str = ""
    enrolled: bool = True  # False for what is of nobody on the roster
    submission: Submission | None = None

    @property
    def student(self) -> str:
        return self.grade.student

    @property
    def total(self) -> float | None:
        """Returns the sum of all points, extra and penalties included, at least 0 and rounded to hundredths."""
        return max(0, round(sum(self.points.values()) + self.extra - self.penalty, 2)) if self.points else None


@dataclass(frozen=True)
class Scoring:
    """The rules by which grades become scores."""

    assignment: Assignment
    rules: Rules = Rules()  # noqa: RUF009 (frozen)
    roster: Roster | None = None
    adjustments: dict[str, list[Adjustment]] = field(default_factory=dict)
    counts: str = LAST

    def scores(self, submissions: list[Submission], grades: list[Grade]) -> list[Score]:
        """The scores of all students, of each the attempt that counts."""
        pairs = zip(submissions, grades, strict=True)
        return [self.score(list(own)) for _, own in groupby(pairs, key=lambda pair: pair[0].student)]

    def score(self, attempts: list[tuple[Submission, Grade]]) -> Score:
        """Returns the score of the attempt that counts, with what was changed by hand."""
        scores = [self.less_lateness(*attempt) for attempt in attempts]
        chosen = self.choose(scores)
        if len(scores) > 1:
            about = {"tries": _worth_of_each(scores, self.assignment), "number": whole(scores.index(chosen) + 1)}
            chosen = replace(chosen, notes=(say(f"counts_{self.counts}", **about), *chosen.notes))
        return self.with_adjustments(chosen)

    def less_lateness(self, submission: Submission, grade: Grade) -> Score:
        """Returns the score of one attempt, less what lateness costs."""
        student = self.roster.students.get(submission.student) if self.roster else None
        name, outcome = student.name if student else "", grade.outcome
        points = {one.id: outcome.score(one) for one in self.assignment.exercises} if outcome else {}
        known = {"name": name, "enrolled": student is not None or self.roster is None}
        score = Score(grade, grade.status, grade.remark, points, submission=submission, **known)
        late = self.rules.lateness(submission, student)
        if not (late and outcome):
            return score
        said = [self.lateness_remark(submission, student)]
        if self.rules.percent and late.by is None:
            said.append(say("no_penalty"))
        penalty = min(self.rules.cost(late.days, self.assignment.points), sum(points.values()))
        shares = {"percent": plain(self.rules.percent), "most": plain(self.rules.most)}
        notes = (say("penalty", points=signed_points(-penalty), days=whole(late.days), **shares),) if penalty else ()
        return replace(score, status="late", remark=_joined(grade.remark, *said), penalty=penalty, notes=notes)

    def lateness_remark(self, submission: Submission, student: Student | None) -> str:
        if submission.handed_in is None:
            return say("said_late", platform=submission.clock)
        due = self.rules.due(student)
        about = {"when": _time_text(submission.handed_in), "due": _time_text(due) if due else ""}
        return say("handed_in_late", clock=say(f"clock_{submission.clock}"), **about)

    def choose(self, scores: list[Score]) -> Score:
        """The last attempt, or the best; of two as good, the earlier. What could not be graded is no attempt."""
        known = [score for score in scores if score.total is not None] or scores
        return max(known, key=lambda score: score.total or 0) if self.counts == BEST else known[-1]

    def with_adjustments(self, score: Score) -> Score:
        """The score with what was changed by hand. An exercise stays between 0 and its points, the whole above 0."""
        own = self.adjustments.get(score.student, [])
        if not own:
            return score
        exercises = {exercise.id: exercise for exercise in self.assignment.exercises}
        points, extra, notes, comments = dict(score.points), score.extra, list(score.notes), {}
        if any(one.points for one in own):
            points = dict.fromkeys(exercises, 0.0) | points
        for one in own:
            if one.exercise:
                got, most = points.get(one.exercise, 0), exercises[one.exercise].points
                points |= {one.exercise: min(max(got + one.points, 0), most)} if one.points else {}
                comments[one.exercise] = list(_adjustment_notes(one, capped=not 0 <= got + one.points <= most))
            else:
                extra += one.points
                notes += _adjustment_notes(one)
        return replace(score, points=points, extra=extra, notes=tuple(notes), comments=comments)


def warnings(scores: list[Score], rules: Rules) -> Iterator[str]:
    """Yields sentences about what an instructor should look at before anything is uploaded."""
    for score in scores:
        if score.status == "error" or (score.status == "missing" and score.remark != say("nothing")):
            yield f"{score.student}: {score.remark}" if score.enrolled else score.remark
    timeless = [score.submission for score in scores if score.submission and score.submission.sender]
    platforms = sorted({one.clock for one in timeless if one.path and one.handed_in is None})
    if platforms and (rules.deadline or rules.percent):
        yield say("timeless", platforms=", ".join(platforms))


def _adjustment_notes(one: Adjustment, capped: bool = False) -> Iterator[str]:
    if one.points:
        yield say("by_hand", change=signed_points(one.points), why=f" {one.comment}" if one.comment else "")
    else:
        yield one.comment
    if capped:
        yield say("capped")


def signed_points(points: float) -> str:
    """
    >>> signed_points(2), signed_points(-1)
    ('+2 points', '−1 point')
    """
    return f"{'+' if points > 0 else '−'}{marks(abs(points))}"


def _worth_of_each(scores: list[Score], assignment: Assignment) -> str:
    """Lists the points of each attempt."""
    of = marks(assignment.points)
    known = [say("of", score=plain(score.total), points=of) if score.total is not None else "–" for score in scores]
    return ", ".join(known)


def _time_text(when: datetime) -> str:
    return f"{when.astimezone():%Y-%m-%d %H:%M}"


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))
