"""What students handed in: the notebooks in a folder, when they came, and the code in them."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from attnbook.language import whole
from booktools.book import BookError
from booktools.book.assignment import Assignment, nbgrader
from booktools.grading import say

LARGEST = 20_000_000  # bytes of a notebook that is read at all


class Unreadable(Exception):
    """A submission that nobody can grade; the text says why."""


@dataclass(frozen=True)
class Submission:
    student: str
    path: Path | None
    handed_in: datetime | None = None
    remark: str = ""


def find_submissions(folder: Path, name: str) -> list[Submission]:
    """The submissions in a folder: STUDENT/ASSIGNMENT/NAME.ipynb, as nbgrader collects them, or STUDENT.ipynb."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    found = []
    for entry in entries:
        if entry.suffix.lower() == ".ipynb":
            found.append(Submission(entry.stem, entry, _changed(entry)))
        elif entry.is_dir() and not entry.is_symlink():
            found.append(_of_student(entry, name))
        else:
            found.append(Submission(entry.name, None, remark=say("no_submission")))
    if not any(submission.path for submission in found):
        raise BookError(f"{folder} holds no submission. Expected STUDENT.ipynb or STUDENT/{name}/{name}.ipynb in it.")
    named = [replace(submission, student=printable(submission.student)[:80]) for submission in found]
    counts = Counter(submission.student for submission in named)
    if twice := sorted(student for student, count in counts.items() if count > 1):
        raise BookError(f"{', '.join(twice)}: more than one submission. Which one counts? Remove the others.")
    return named


def _of_student(folder: Path, name: str) -> Submission:
    """What a student's folder holds for this assignment; a wrong name is forgiven where there is no doubt."""
    notebooks = [path for path in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
    named = [path for path in notebooks if path.name == f"{name}.ipynb"]
    placed = [path for path in notebooks if path.parent.name == name]
    choices = ([path for path in named if path in placed], named, placed, notebooks)
    chosen = next((paths[0] for paths in choices if len(paths) == 1), None)
    if chosen is None:
        names = ", ".join(str(path.relative_to(folder)) for path in notebooks) or say("no_notebook")
        return Submission(folder.name, None, remark=printable(say("expected", name=name, found=names)))
    remarks = [] if chosen in named else [say("other_name", name=chosen.name)]
    handed_in = _changed(chosen)
    stamp = chosen.with_name("timestamp.txt")
    if stamp.is_file():
        try:
            handed_in = _read_stamp(stamp.read_text(encoding="utf-8"))
        except (ValueError, OSError, OverflowError, LookupError):
            remarks.append(say("no_stamp"))
    return Submission(folder.name, chosen, handed_in, printable("; ".join(remarks)))


def _read_stamp(text: str) -> datetime:
    """When something was handed in, as nbgrader notes it; ISO 8601 will do, too.

    >>> _read_stamp("2026-11-21 13:00:01.5 Europe/Paris").isoformat(), _read_stamp("2026-11-21T13:00:01Z").isoformat()
    ('2026-11-21T12:00:01.500000+00:00', '2026-11-21T13:00:01+00:00')
    """
    day, _, rest = text.strip().partition(" ")
    clock, _, zone = rest.partition(" ")
    when = datetime.fromisoformat(f"{day} {clock}".strip())
    return when.replace(tzinfo=when.tzinfo or ZoneInfo(zone or "UTC")).astimezone(UTC)


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.lstat().st_mtime, UTC)


def read_code(path: Path, assignment: Assignment) -> list[dict]:
    """The code of a submission, cell by cell, without the tests: those come from the assignment."""
    if not is_plain_file(path):
        size = whole(round(path.lstat().st_size / 1e6))
        raise Unreadable(say("no_file", most=whole(LARGEST // 1_000_000), size=size))
    try:
        return code_of(json.loads(path.read_text(encoding="utf-8-sig")), assignment)
    except Exception as error:
        raise Unreadable(say("not_a_notebook", error=type(error).__name__)) from None


def is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST


def code_of(notebook: dict, assignment: Assignment) -> list[dict]:
    """Cells that define functions may call what is forbidden, to compare; cells that give values may not."""
    forbidden = {exercise.id: list(exercise.forbidden) for exercise in assignment.exercises if exercise.assigned}
    tests = {test.id for exercise in assignment.exercises for test in exercise.tests}
    cells = []
    for cell in notebook["cells"]:
        name = str(nbgrader(cell).get("grade_id", cell.get("id")))
        if cell["cell_type"] == "code" and name not in tests and cell.get("id") != "setup":
            source = "".join(cell["source"])
            cells.append({"name": name[:50], "source": source, "forbidden": forbidden.get(name, [])})
    return cells


def printable(said: object) -> str:
    """A text that can be written down, and is not too long."""
    return str(said).encode("utf-8", "replace").decode()[:2000]
