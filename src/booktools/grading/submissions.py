"""What students handed in: the notebooks in a folder, when they came, and the code in them."""

import json
import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from attnbook.language import whole
from booktools.book import BookError
from booktools.book.assignment import SET_UP, Assignment, nbgrader
from booktools.grading import say

LARGEST = 20_000_000  # bytes of a notebook that is read at all
UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Unreadable(Exception):
    """A submission that nobody can grade; the text says why."""


@dataclass(frozen=True)
class Submission:
    """What a student handed in. Without a path there is nothing to grade; `fault` says what hindered the grader."""

    student: str
    path: Path | None
    handed_in: datetime | None = None
    remark: str = ""
    fault: str = ""


def find_submissions(folder: Path, name: str, *, stamped: bool = False) -> list[Submission]:
    """The submissions in a folder: STUDENT/ASSIGNMENT/NAME.ipynb, as nbgrader collects them, or STUDENT.ipynb.

    Where they are `stamped`, it counts what nbgrader has written into timestamp.txt. What is odd about one of them is
    said of that one.
    """
    entries = defaultdict(list)
    for entry in sorted(entry for entry in folder.iterdir() if not entry.name.startswith(".")):
        entries[entry.stem if _is_notebook(entry) else entry.name].append(entry)
    found = [_of_student(student, own, name, stamped) for student, own in entries.items()]
    if not any(submission.path for submission in found):
        raise BookError(f"{folder} holds no submission. Expected STUDENT.ipynb or STUDENT/{name}/{name}.ipynb in it.")
    short = Counter(_short(student) for student in entries)
    return [
        replace(submission, student=_short(submission.student, unique=short[_short(submission.student)] == 1))
        for submission in found
    ]


def _is_notebook(entry: Path) -> bool:
    return entry.suffix.lower() == ".ipynb"


def _short(student: str, unique: bool = True) -> str:
    """A name that can be written down, also as the name of a file.

    >>> _short("ada"), _short("x" * 240) == "x" * 80, len(_short("x" * 240, unique=False))
    ('ada', True, 87)
    """
    short = " ".join(printable(student).split())[:80].encode()[:200].decode(errors="ignore")
    return short if unique else f"{short}~{sha256(os.fsencode(student)).hexdigest()[:6]}"


def _of_student(student: str, entries: list[Path], name: str, stamped: bool) -> Submission:
    """What one student has handed in, whatever it is."""
    try:
        if len(entries) > 1:
            return Submission(student, None, remark=say("several", names=", ".join(entry.name for entry in entries)))
        (entry,) = entries
        if _is_notebook(entry):
            return Submission(student, entry, _changed(entry))
        if entry.is_dir() and not entry.is_symlink():
            return _in_folder(entry, name, stamped)
        return Submission(student, None, remark=say("no_submission"))
    except Exception as error:
        return Submission(student, None, fault=stumbled(error))


def _in_folder(folder: Path, name: str, stamped: bool) -> Submission:
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
    if stamped and stamp.exists():
        try:
            handed_in = _read_stamp(stamp.read_text(encoding="utf-8") if is_plain_file(stamp, most=1000) else "")
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
    return _believed(when.replace(tzinfo=when.tzinfo or ZoneInfo(zone or "UTC")))


def _changed(path: Path) -> datetime | None:
    try:
        return _believed(datetime.fromtimestamp(path.lstat().st_mtime, UTC))
    except (ValueError, OSError, OverflowError):
        return None


def _believed(when: datetime) -> datetime:
    if not 1970 <= when.year < 2200:
        raise ValueError
    return when.astimezone(UTC)


class Code(NamedTuple):
    """What a student wrote, cell by cell, and the version of Python that it was written with, where that is known."""

    cells: list[dict]
    python: tuple[int, ...]


def read_code(path: Path, assignment: Assignment) -> Code:
    """The code of a submission, without the tests: those come from the assignment."""
    if not is_plain_file(path):
        size = whole(round(path.lstat().st_size / 1e6))
        raise Unreadable(say("no_file", most=whole(LARGEST // 1_000_000), size=size))
    try:
        notebook = json.loads(path.read_text(encoding="utf-8-sig"))
        cells = code_of(notebook, assignment)
    except Exception as error:
        raise Unreadable(say("not_a_notebook", error=type(error).__name__)) from None
    if not _belong(cells, assignment):
        raise Unreadable(say("another"))
    return Code(cells, _python(notebook))


def _python(notebook: dict) -> tuple[int, ...]:
    """
    >>> _python({"metadata": {"language_info": {"version": "3.12.1"}}}), _python({"metadata": {}})
    ((3, 12), ())
    """
    try:
        return tuple(int(part) for part in notebook["metadata"]["language_info"]["version"].split(".")[:2])
    except (LookupError, TypeError, ValueError, AttributeError):
        return ()


def _belong(cells: list[dict], assignment: Assignment) -> bool:
    """Whether an exercise is among the cells, by its id, or by a name that it defines."""
    ids = {exercise.id for exercise in assignment.exercises}
    names = [name for exercise in assignment.exercises for name in (*exercise.defined, *exercise.assigned)]
    written = re.compile(rf"^((async )?def |class )?({'|'.join(map(re.escape, names))})\b *[=(:]", re.MULTILINE)
    return any(cell["name"] in ids or written.search(cell["source"]) for cell in cells)


def is_plain_file(path: Path, most: int = LARGEST) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= most


def code_of(notebook: dict, assignment: Assignment) -> list[dict]:
    """Cells that define functions may call what is forbidden, to compare; cells that give values may not."""
    forbidden = {exercise.id: list(exercise.forbidden) for exercise in assignment.exercises if exercise.assigned}
    tests = {test.id for exercise in assignment.exercises for test in exercise.tests}
    cells = []
    for cell in notebook["cells"]:
        name, source = str(nbgrader(cell).get("grade_id", cell.get("id"))), "".join(cell["source"])
        if cell["cell_type"] == "code" and name not in tests and SET_UP not in source:
            cells.append({"name": name[:50], "source": source, "forbidden": forbidden.get(name, [])})
    return cells


def stumbled(error: Exception) -> str:
    """Said of an error that nobody foresaw. What it says may be from a hidden test, and students read this, too."""
    return say("stumbled", error=type(error).__name__)


def printable(said: object) -> str:
    r"""A text that can be written down and read, and is not too long: no control characters, nothing turned round.

    >>> printable("a\x1b[31m\u202eb\ud800")
    'a\ufffd[31m\ufffdb?'
    """
    text = str(said)[:4000].encode("utf-8", "replace").decode()
    return UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)[:2000]
