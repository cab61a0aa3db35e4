"""Grades for a class: find the submissions, make sure that the sandbox is sound, judge each one, write it all down."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from zoneinfo import ZoneInfo

from tqdm.auto import tqdm

from booktools.core import BookError
from booktools.core.assignment import Assignment
from booktools.grading.prove import canaries, holes
from booktools.grading.run_tests import Result, Unreadable, Verdict, is_plain, judge, plain, submitted
from booktools.grading.sandbox import Limits, Nursery
from booktools.grading.walls import limit_memory

UNREADABLE = "not graded: "
MEMORY = 4096  # megabytes for one process of the grader


@dataclass(frozen=True)
class Submission:
    student: str
    path: Path | None
    handed_in: datetime | None = None
    remark: str = ""


@dataclass
class Grade:
    """What became of a submission. `status` is graded, late, missing or error; only the first two have a verdict."""

    student: str
    status: str
    remark: str = ""
    verdict: Verdict | None = None
    digest: str = ""

    @classmethod
    def load(cls, path: Path) -> "Grade | None":
        if not path.is_file():
            return None
        stored = json.loads(path.read_text(encoding="utf-8"))
        if verdict := stored["verdict"]:
            results = {name: Result(**result) for name, result in verdict.pop("results").items()}
            stored["verdict"] = Verdict(results, **verdict)
        return cls(**stored)

    def store(self, path: Path) -> None:
        """In one step: whoever is interrupted leaves the old file or the new one."""
        half = path.with_name(".half")
        half.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        os.replace(half, path)


def find(folder: Path, name: str) -> list[Submission]:
    """The submissions in a folder: STUDENT/ASSIGNMENT/NAME.ipynb, as nbgrader collects them, or STUDENT.ipynb."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    found = []
    for entry in entries:
        if entry.suffix.lower() == ".ipynb":
            found.append(Submission(entry.stem, entry, changed(entry)))
        elif entry.is_dir() and not entry.is_symlink():
            found.append(of_student(entry, name))
        else:
            found.append(Submission(entry.name, None, remark="neither a notebook nor a folder"))
    if not any(submission.path for submission in found):
        raise BookError(f"{folder} holds no submission. Expected STUDENT.ipynb or STUDENT/{name}/{name}.ipynb in it.")
    named = [replace(submission, student=plain(submission.student)[:80]) for submission in found]
    counts = Counter(submission.student for submission in named)
    if twice := sorted(student for student, count in counts.items() if count > 1):
        raise BookError(f"{', '.join(twice)}: more than one submission. Which one counts? Remove the others.")
    return named


def of_student(folder: Path, name: str) -> Submission:
    """What a student's folder holds for this assignment; a wrong name is forgiven where there is no doubt."""
    notebooks = [path for path in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
    named = [path for path in notebooks if path.name == f"{name}.ipynb"]
    placed = [path for path in notebooks if path.parent.name == name]
    choices = ([path for path in named if path in placed], named, placed, notebooks)
    chosen = next((paths[0] for paths in choices if len(paths) == 1), None)
    if chosen is None:
        names = ", ".join(str(path.relative_to(folder)) for path in notebooks) or "no notebook"
        return Submission(folder.name, None, remark=plain(f"expected {name}.ipynb, found {names}"))
    remarks = [] if chosen in named else [f"the file is called {chosen.name}"]
    handed_in = changed(chosen)
    stamp = chosen.with_name("timestamp.txt")
    if stamp.is_file():
        try:
            handed_in = read_stamp(stamp.read_text(encoding="utf-8"))
        except (ValueError, OSError, OverflowError, LookupError):
            remarks.append("timestamp.txt can't be read; the file's own time counts")
    return Submission(folder.name, chosen, handed_in, plain("; ".join(remarks)))


def read_stamp(text: str) -> datetime:
    """When something was handed in, as nbgrader notes it; ISO 8601 will do, too.

    >>> read_stamp("2026-11-21 13:00:01.5 Europe/Paris").isoformat(), read_stamp("2026-11-21T13:00:01Z").isoformat()
    ('2026-11-21T12:00:01.500000+00:00', '2026-11-21T13:00:01+00:00')
    """
    day, _, rest = text.strip().partition(" ")
    clock, _, zone = rest.partition(" ")
    when = datetime.fromisoformat(f"{day} {clock}".strip())
    return when.replace(tzinfo=when.tzinfo or ZoneInfo(zone or "UTC")).astimezone(UTC)


def changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.lstat().st_mtime, UTC)


def grade_all(
    source: Path,
    folder: Path,
    out: Path,
    nursery: Nursery,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    overlay: Path | None = None,
    deadline: datetime | None = None,
) -> tuple[Assignment, list[Grade]]:
    """Grade what has not been graded yet, in `jobs` processes; each grade is kept in `out` as soon as it is known."""
    assignment = Assignment.read(source, overlay)
    submissions = find(folder, assignment.name)
    store = out / "results"
    store.mkdir(parents=True, exist_ok=True)
    digests = {one.student: digest(assignment, one, limits) for one in submissions}
    grades = {one.student: Grade.load(store / f"{one.student}.json") for one in submissions}
    grades = {name: grade for name, grade in grades.items() if grade and grade.digest == digests[name]}
    todo = [one for one in submissions if one.student not in grades]
    secrets = [place.resolve() for place in (source, folder, out, overlay) if place]
    checking = "checking the grader itself"
    with tqdm(total=len(submissions), initial=len(grades), unit=" submissions", desc=checking) as progress:
        for submission, verdict, remark in judged(todo, secrets, jobs, (assignment, limits, nursery)):
            status = "graded" if verdict else "error" if submission.path else "missing"
            words = "; ".join(filter(None, [submission.remark, remark]))
            lasting = verdict or remark.startswith(UNREADABLE)
            grade = Grade(submission.student, status, words, verdict, digests[submission.student] if lasting else "")
            grade.store(store / f"{submission.student}.json")
            grades[submission.student] = grade
            progress.set_description("grading")
            progress.update()
    return assignment, [on_time(grades[one.student], one, deadline) for one in submissions]


def digest(assignment: Assignment, submission: Submission, limits: Limits) -> str:
    """The same as long as neither the submission, nor the assignment, nor the limits have changed."""
    path = submission.path
    content = path.read_bytes() if path and is_plain(path) else b""
    about = json.dumps([assignment.notebook, submission.remark, asdict(limits)], sort_keys=True).encode()
    return hashlib.sha256(about + content).hexdigest()


def on_time(grade: Grade, submission: Submission, deadline: datetime | None) -> Grade:
    when = submission.handed_in
    if not (deadline and when and grade.status == "graded" and when > deadline.astimezone(UTC)):
        return grade
    words = f"handed in {when.astimezone():%Y-%m-%d %H:%M}, after the deadline"
    return replace(grade, status="late", remark="; ".join(filter(None, [grade.remark, words])))


def judged(
    todo: list[Submission], secrets: list[Path], jobs: int, desk: tuple
) -> Iterator[tuple[Submission, Verdict | None, str]]:
    """Judge submissions side by side. When a process of ours dies, the ones it may have died of go on alone."""
    todo, checked, alone = list(todo), False, False
    while todo:
        batch = todo[:1] if alone else todo
        try:
            with ProcessPoolExecutor(1 if alone else jobs, get_context("fork"), settle, desk) as pool:
                if not checked and (against := pool.submit(unsound, secrets).result()):
                    raise BookError(
                        "\n  ".join(["nothing was graded, for the grader can't be trusted here:", *against])
                    )
                checked = True
                waiting = {pool.submit(grade_one, one.path): one for one in batch}
                for future in as_completed(waiting):
                    yield waiting[future], *future.result()
                    todo.remove(waiting[future])
            alone = False
        except BrokenProcessPool:
            if alone:
                yield todo.pop(0), None, "the grader's own process ended while it was graded; look at it by hand"
            alone = not alone


# In the processes of the pool. All of them share one nursery.


def settle(assignment: Assignment, limits: Limits, nursery: Nursery) -> None:
    global ASSIGNMENT, LIMITS, NURSERY
    ASSIGNMENT, LIMITS, NURSERY = assignment, limits, nursery
    limit_memory(MEMORY)


def unsound(secrets: list[Path]) -> list[str]:
    """Why nothing can be graded here, or nothing."""
    gaps = holes(NURSERY, LIMITS, secrets) if NURSERY.walled else []
    return [*gaps, *canaries(ASSIGNMENT, NURSERY, LIMITS)]


def grade_one(path: Path | None) -> tuple[Verdict | None, str]:
    if path is None:
        return None, ""
    try:
        return judge(ASSIGNMENT, submitted(path, ASSIGNMENT), NURSERY, LIMITS), ""
    except Unreadable as error:
        return None, f"{UNREADABLE}{error}"
    except Exception as error:
        return None, plain(f"the grader stumbled over it ({type(error).__name__}: {error}); look at it by hand")
