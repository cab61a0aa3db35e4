"""The roster: the students of a class, and which of them a submission belongs to."""

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from booktools.book import BookError
from grading.platforms import GITHUB, Sender
from grading.submissions import printable
from grading.tables import read_table, row_of

COLUMNS = {
    "login": ("username", "user name", "sis login id"),
    "name": ("full name", "student"),
    "email": ("e mail", "email address"),
    "id": ("sid", "student id"),
    "github": ("github username", "github login"),
    "deadline": (),
    "extension": (),
    "handed in": ("handed in at", "submitted", "submitted at"),
}
A_TIME = "a time such as 2026-11-30 23:59 (Excel rewrites times; give the column the format Text first)"


@dataclass(frozen=True)
class Student:
    """A line of the roster. What is empty is not known, or as for everybody."""

    login: str
    name: str = ""
    email: str = ""
    id: str = ""
    github: str = ""
    deadline: datetime | None = None
    extension: timedelta | None = None
    handed_in: datetime | None = None


@dataclass(frozen=True)
class Roster:
    """The students of a class, by their logins."""

    students: dict[str, Student]

    @classmethod
    def read(cls, path: Path) -> "Roster":
        students, places = {}, {}
        for place, row in read_table(path, COLUMNS, needed=["login", "name"]):
            if row["name"] == "Points Possible":  # the second line of Canvas's gradebook
                continue
            student = _student(place, row)
            if (first := places.setdefault(student.login.casefold(), place)) != place:
                raise BookError(f"{place}: {student.login} stands in {row_of(first)} already. A student has one row.")
            students[student.login] = student
            own = ("github", student.github.casefold())
            if student.github and (first := places.setdefault(own, place)) != place:
                raise BookError(f"{place}: {student.github} on GitHub stands in {row_of(first)} already.")
        if not students:
            raise BookError(f"{path} names no student.")
        return cls(students)

    def owners(self, entry: str, senders: list[Sender]) -> dict[str, Sender | None]:
        """The logins of those who handed in an entry of this name: of nobody where it fits none, or more than one."""
        direct = self._named(entry)
        if len(direct) == 1:
            return dict.fromkeys(direct)
        found = {sender: self._sent(sender) for sender in senders}
        return {login: sender for sender, logins in found.items() if len(logins) == 1 for login in logins}

    def namesakes(self, entry: str, senders: list[Sender]) -> list[str]:
        """The logins that an entry of nobody's may mean."""
        return sorted(self._named(entry).union(*map(self._sent, senders)))

    def _named(self, trace: str) -> set[str]:
        """Returns the logins of the students whom a text names: by login, or else by name, address or number."""
        exact = {login for login in self.students if login.casefold() == trace.casefold()}
        return exact or self._by(trace, *self._traces)

    def _sent(self, sender: Sender) -> set[str]:
        """Returns the logins that a sender may mean. A number or an address decides only between namesakes.

        A name is compared with names alone: on some platforms students choose what they are called, also like
        somebody else's login.
        """
        if sender.platform == GITHUB:  # a hyphen makes another one of it
            return {one.login for one in self.students.values() if one.github.casefold() == sender.id.casefold()}
        sure = self._by(sender.id, "id", "login") or self._by(sender.email, "email", "login")
        names = self._by(sender.name, "name")
        if sender.platform == "Moodle":  # its numbers are others in each assignment
            sure = sure & names
        return sure & names or sure | names

    def _by(self, trace: str, *columns: str) -> set[str]:
        """Returns the logins of the students for whom one of these columns of the roster says this."""
        return set().union(*(self._traces[column].get(_normalized(trace), set()) for column in columns))

    @cached_property
    def _traces(self) -> dict[str, dict[str, set[str]]]:
        """Maps what may name a student to logins, for each column of the roster that does."""
        found: dict[str, dict[str, set[str]]] = {
            column: defaultdict(set) for column in ("login", "email", "id", "name")
        }
        for student in self.students.values():
            words = student.name.replace(",", " ").split()
            turned = [" ".join(words[n:] + words[:n]) for n in range(len(words))]  # Doe Jane Ann, to Canvas
            named = {"login": [student.login], "email": [student.email], "id": [student.id], "name": turned}
            for column, traces in named.items():
                for trace in filter(None, map(_normalized, traces)):
                    found[column][trace].add(student.login)
        return found


def _student(place: str, row: dict[str, str]) -> Student:
    if not row["login"]:
        raise BookError(f"{place}: no login ({row['name'] or 'no name either'}). Each student needs one.")
    if "/" in row["login"] or row["login"].startswith(".") or len(row["login"]) > 80:
        raise BookError(f"{place}: the login {row['login']} can't be the name of a file.")
    if row.get("deadline") and row.get("extension"):
        raise BookError(f"{place}: {row['login']} has a deadline and an extension; give one of them.")
    return Student(
        *(
            printable(row.get(column, "")) for column in ("login", "name", "email", "id", "github")
        ),  # names are students' own
        deadline=_moment(place, "deadline", row),
        extension=_extension(place, row.get("extension", "")),
        handed_in=_moment(place, "handed in", row),
    )


def _moment(place: str, column: str, row: dict[str, str]) -> datetime | None:
    try:
        return datetime.fromisoformat(row[column]).astimezone() if row.get(column) else None
    except (ValueError, OverflowError):
        raise BookError(f"{place}: expected for *{column}* {A_TIME}, got {row[column]!r}.") from None


def _extension(place: str, text: str) -> timedelta | None:
    """
    >>> _extension("", "2 days"), _extension("", "1,5 h"), _extension("", "3")
    (datetime.timedelta(days=2), datetime.timedelta(seconds=5400), datetime.timedelta(days=3))
    """
    if not text:
        return None
    found = re.fullmatch(r"(\d{1,3}(?:[.,]\d+)?) ?(d|days?|h|hours?)?", text)
    if not found:
        raise BookError(f"{place}: expected for *extension* days or hours, such as 2 days or 12 h, got {text!r}.")
    number = float(found[1].replace(",", "."))
    return timedelta(hours=number) if (found[2] or "d").startswith("h") else timedelta(days=number)


def _normalized(text: str) -> str:
    """Returns a name without the signs, blanks and capitals that platforms leave out.

    >>> _normalized("O’Neil-Smith, Zoë"), _normalized("Zoe\u0308")
    ('oneilsmithzoë', 'zoë')
    """
    return "".join(re.findall(r"[^\W_]+|@", unicodedata.normalize("NFC", text).casefold()))
