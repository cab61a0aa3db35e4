"""Collects what a class handed in: decides whose each file or folder is, and which of several counts."""

import os
import re
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from booktools.book import BookError
from grading.look_alikes import look_alikes, plain_name
from grading.platforms import GRADESCOPE, Sender, read_metadata, senders
from grading.roster import Roster, Student
from grading.submissions import Submission, is_notebook, printable, read_submission
from grading.wording import say

NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Entry(NamedTuple):
    """A file or folder, the number of the folder of submissions that it is in, and who sent it, where that shows."""

    path: Path
    folder: int
    sender: Sender | None = None


def find_submissions(
    folders: list[Path], name: str, *, stamped: bool = False, roster: Roster | None = None, several: bool = False
) -> list[Submission]:
    """The submissions in folders: STUDENT/ASSIGNMENT/NAME.ipynb, as nbgrader collects them, or STUDENT.ipynb.

    With a roster, the names that learning platforms give will do as well, and whoever handed in nothing is there, too.
    Where they are `stamped`, it counts what nbgrader has written into timestamp.txt. Where there may be `several` of a
    student, all count, in the order of the folders and of time. What is odd about one of them is said of that one.
    """
    entries, strangers = _by_student(folders, roster)
    read = {
        student: [(entry, read_submission(student, entry.path, name, stamped, entry.sender)) for entry in own]
        for student, own in entries.items()
    }
    if not any(submission.path for each in read.values() for _, submission in each):
        expected = f"Expected STUDENT.ipynb or STUDENT/{name}/{name}.ipynb in it."
        told = [submission.fault for submission in strangers[:3]]
        raise BookError("\n  ".join([f"{folders[0]} holds no submission. {expected}", *told]))
    found = {
        student: _of_student(student, each, beside=roster is not None, several=several)
        for student, each in read.items()
    }
    if roster:
        found = {login: _of_roster(student, found.get(login, [])) for login, student in roster.students.items()}
    return _with_short_names([*(one for each in found.values() for one in each), *strangers])


def _by_student(folders: list[Path], roster: Roster | None) -> tuple[dict[str, list[Entry]], list[Submission]]:
    """Sorts the entries by student, and apart from them those that belong to nobody on the roster."""
    entries, strangers = defaultdict(list), []
    for number, folder in enumerate(folders):
        metadata = read_metadata(folder) if roster else {}
        names = {path: path.stem if is_notebook(path) else path.name for path in sorted(folder.iterdir())}
        names = {path: own for path, own in names.items() if not path.name.startswith(".")}
        imitated = look_alikes(names.values())
        for path, own in names.items():
            if own in imitated:
                like = say("looks_like", name=ascii(own), others=", ".join(map(ascii, imitated[own])))
                strangers.append(Submission(f"{plain_name(own)}~{_hash(own)}", None, fault=like))
            elif roster is None:
                entries[plain_name(own)].append(Entry(path, number))
            elif path.name != GRADESCOPE:
                sent = senders(path.name, metadata)
                owners = roster.owners(own, sent)
                if not owners and path.is_file() and not is_notebook(path):  # a file of some other kind
                    owners = roster.owners(re.sub(r"(\.ipynb)?\.[a-z]{1,5}$", "", own), sent)
                for login, sender in owners.items():
                    entries[login].append(Entry(path, number, sender))
                if not owners:
                    strangers.append(Submission(own, None, fault=_stranger(path, roster.namesakes(own, sent))))
    return entries, strangers


def _stranger(path: Path, namesakes: list[str]) -> str:
    name = printable(path.name)
    return say("namesakes", name=name, logins=", ".join(namesakes)) if namesakes else say("nobody", name=name)


def _of_student(student: str, each: list[tuple[Entry, Submission]], beside: bool, several: bool) -> list[Submission]:
    """One submission or several attempts. A platform's other files, a PDF or a text, may lie `beside` a notebook."""
    if beside and any(submission.path for _, submission in each):
        each = [(entry, submission) for entry, submission in each if submission.path]
    if len(each) == 1:
        return [each[0][1]]
    if several:
        each.sort(key=lambda one: (one[0].folder, one[1].handed_in or NEVER, _by_numbers(one[0].path.name)))
        return [replace(submission, attempt=place) for place, (_, submission) in enumerate(each, start=1)]
    short = len({entry.folder for entry, _ in each}) == 1
    names = [entry.path.name if short else f"{entry.path.parent.name}/{entry.path.name}" for entry, _ in each]
    return [Submission(student, None, remark=printable(say("several", names=", ".join(names))))]


def _by_numbers(name: str) -> list:
    """
    >>> sorted(["nb_10.ipynb", "nb_9.ipynb"], key=_by_numbers)
    ['nb_9.ipynb', 'nb_10.ipynb']
    """
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _of_roster(student: Student, found: list[Submission]) -> list[Submission]:
    """Returns the submissions of a student on the roster. If the roster says when one came, that time counts."""
    if not found:
        return [Submission(student.login, None, remark=say("nothing"))]
    if student.handed_in and len(found) == 1:
        return [replace(found[0], handed_in=student.handed_in.astimezone(UTC), clock="roster")]
    return found


def _with_short_names(found: list[Submission]) -> list[Submission]:
    """Shortens all names so that they can be names of files, and no two students get the same."""
    short = Counter(_short_name(student) for student in {submission.student for submission in found})
    return [
        replace(submission, student=_short_name(submission.student, unique=short[_short_name(submission.student)] == 1))
        for submission in found
    ]


def _short_name(student: str, unique: bool = True) -> str:
    """A name that can be written down, also as the name of a file.

    >>> _short_name("ada"), _short_name("x" * 240) == "x" * 80, len(_short_name("x" * 240, unique=False))
    ('ada', True, 87)
    """
    short = " ".join(printable(student).split())[:80].encode()[:200].decode(errors="ignore")
    return short if unique else f"{short}~{_hash(student)}"


def _hash(name: str) -> str:
    return sha256(os.fsencode(name)).hexdigest()[:6]
