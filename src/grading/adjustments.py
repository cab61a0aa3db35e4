"""Adjustments are what an instructor changes by hand: points and a comment for a student, in a CSV file."""

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from booktools.book import BookError
from booktools.book.assignment import Assignment
from grading.tables import read_table, row_of

COLUMNS = {"login": ("username", "student"), "exercise": (), "points": (), "comment": ()}
WHOLE = ("", "all")


@dataclass(frozen=True)
class Adjustment:
    """Points that are added to an exercise, or taken away; without an exercise, to the whole."""

    exercise: str
    points: float
    comment: str


def read_adjustments(path: Path, assignment: Assignment, students: Collection[str]) -> dict[str, list[Adjustment]]:
    """The adjustments of each student. A row that can't be meant like that is refused, and with it the file."""
    found, places = defaultdict(list), {}
    for place, row in read_table(path, COLUMNS, needed=["login", "exercise", "points", "comment"]):
        login = known_login(place, row["login"], students)
        exercise = exercise_of(place, row["exercise"], assignment)
        points = _points(place, row["points"])
        if not points and not row["comment"]:
            raise BookError(f"{place}: neither points nor a comment, so it changes nothing.")
        if (first := places.setdefault((login, exercise), place)) != place:
            raise BookError(f"{place}: {row_of(first)} is about the same student and exercise. Make one row of both.")
        found[login].append(Adjustment(exercise, points, row["comment"]))
    return dict(found)


def known_login(place: str, login: str, students: Collection[str]) -> str:
    """The login of a student, as it is spelled."""
    return _known(login, {one.casefold(): one for one in students}, f"{place}: no student has the login {login!r}")


def exercise_of(place: str, name: str, assignment: Assignment) -> str:
    """The exercise of this column or title; empty for the whole."""
    if name.casefold() in WHOLE:
        return ""
    names = {one.id.casefold(): one.id for one in assignment.exercises}
    names |= {one.title.casefold(): one.id for one in assignment.exercises}
    hint = f"It has {', '.join(one.id for one in assignment.exercises)}, and all for the whole."
    return _known(name, names, f"{place}: there is no exercise {name!r}", hint)


def _known(name: str, known: dict[str, str], missing: str, hint: str = "") -> str:
    if found := known.get(name.casefold()):
        return found
    close = get_close_matches(name.casefold(), known, n=1)
    did_you = f"Did you mean {known[close[0]]}?" if close else ""
    raise BookError(". ".join(filter(None, [missing, " ".join(filter(None, [did_you, hint]))])).removesuffix(".") + ".")


def _points(place: str, text: str) -> float:
    """
    >>> _points("", "-0,5"), _points("", "+1"), _points("", "")
    (-0.5, 1.0, 0)
    """
    if not text:
        return 0
    if not re.fullmatch(r"[+\-−]?\d{1,4}([.,]\d{1,4})?", text):
        raise BookError(f"{place}: expected for *points* a number to add, such as 1 or -0.5, got {text!r}.")
    return float(text.replace(",", ".").replace("−", "-"))
