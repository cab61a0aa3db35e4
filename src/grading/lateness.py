"""Lateness: who is late, by how much, and how many points that costs."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from booktools.book import BookError
from grading.roster import Roster, Student
from grading.submissions import Submission

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Lateness:
    """How late a submission came. `by` is None if a platform says that it is late, but not by how much."""

    by: timedelta | None

    @property
    def days(self) -> int:
        """The days that have begun since the deadline."""
        return -(-self.by // DAY) if self.by else 0


@dataclass(frozen=True)
class Rules:
    """The deadline, and what lateness costs: so many percent of all points for each day begun, and how many at most."""

    deadline: datetime | None = None
    percent: float = 0
    most: float = 100
    grace: timedelta = timedelta()

    @classmethod
    def checked(cls, roster: Roster | None, deadline: datetime | None, percent: float = 0, *others) -> "Rules":
        """The rules, if they say when everybody's work is due."""
        students = roster.students.values() if roster else ()
        if not deadline and (extended := [student.login for student in students if student.extension]):
            raise BookError(f"the roster gives {extended[0]} an extension; --deadline says of what.")
        if percent and not deadline and not any(student.deadline for student in students):
            raise BookError("--late-penalty costs points from a deadline on; give --deadline, too.")
        return cls(deadline, percent, *others)

    def due(self, student: Student | None) -> datetime | None:
        """When a student's work is due: an own deadline, or an extension, goes before that of all."""
        if student and student.deadline:
            return student.deadline
        if student and student.extension and self.deadline:
            return self.deadline + student.extension
        return self.deadline

    def lateness(self, submission: Submission, student: Student | None = None) -> Lateness | None:
        """Returns how late a submission is; None if it came in time, as far as is known."""
        due, when = self.due(student), submission.handed_in
        if when is None:
            return Lateness(None) if submission.sender and submission.sender.late else None
        return None if due is None or when - due <= self.grace else Lateness(when - due)

    def cost(self, days: int, possible: float) -> float:
        """The points that so many days cost, in hundredths; half a hundredth is given, not taken.

        >>> Rules(percent=10).cost(2, possible=10), Rules(percent=10, most=50).cost(9, possible=10)
        (2.0, 5.0)
        >>> Rules(percent=0.25).cost(1, possible=10), Rules(percent=0.35).cost(1, possible=10)
        (0.02, 0.03)
        """
        share = min(Fraction(str(self.percent)) * days, Fraction(str(self.most))) / 100
        hundredths = share * Fraction(str(possible)) * 100
        return math.ceil(hundredths - Fraction(1, 2)) / 100
