"""Grades for a class: find the submissions, make sure that the sandbox is sound, judge each one, write it all down."""

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tqdm.auto import tqdm

from attnbook.grading import GradingError
from attnbook.grading.assignment import Assignment
from attnbook.grading.judge import Result, Unreadable, Verdict, judge, submitted
from attnbook.grading.prove import canaries, holes
from attnbook.grading.sandbox import Limits, Nursery


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
        half = path.with_name(f".{path.name}.half")
        half.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1), encoding="utf-8")
        os.replace(half, path)


def find(folder: Path, name: str) -> list[Submission]:
    """The submissions in a folder: STUDENT/ASSIGNMENT/NAME.ipynb, as nbgrader collects them, or STUDENT.ipynb."""
    if not folder.is_dir():
        raise GradingError(f"{folder} is not a folder. Expected STUDENT.ipynb or STUDENT/{name}/{name}.ipynb in it.")
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    flat = [Submission(entry.stem, entry, time_of(entry)) for entry in entries if entry.suffix == ".ipynb"]
    nested = [of_student(entry, name) for entry in entries if entry.is_dir()]
    if not flat + nested:
        raise GradingError(
            f"{folder} holds no submission. Expected STUDENT.ipynb or STUDENT/{name}/{name}.ipynb in it."
        )
    twice = {one.student for one in flat} & {one.student for one in nested}
    if twice:
        raise GradingError(
            f"{', '.join(sorted(twice))}: both a notebook and a folder. Which one counts? Remove the other."
        )
    return flat + nested


def of_student(folder: Path, name: str) -> Submission:
    """What a student's folder holds for this assignment; a wrong name is forgiven where there is no doubt."""
    notebooks = [path for path in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
    right = [path for path in notebooks if path.name == f"{name}.ipynb"]
    chosen = right or [path for path in notebooks if path.parent.name == name or len(notebooks) == 1]
    if len(chosen) > 1:
        chosen = [path for path in chosen if path.parent.name == name and path in right] or chosen
    if len(chosen) != 1:
        names = ", ".join(str(path.relative_to(folder)) for path in chosen or notebooks) or "no notebook"
        return Submission(folder.name, None, remark=f"expected {name}.ipynb, found {names}")
    remark = "" if right else f"the file is called {chosen[0].name}"
    return Submission(folder.name, chosen[0], time_of(chosen[0]), remark)


def time_of(path: Path) -> datetime | None:
    """When it was handed in: what nbgrader's timestamp.txt says, or else the file's own time."""
    stamp = path.with_name("timestamp.txt")
    if not stamp.is_file():
        return datetime.fromtimestamp(path.lstat().st_mtime).astimezone()
    day, _, rest = stamp.read_text(encoding="utf-8", errors="replace").strip().partition(" ")
    clock, _, zone = rest.partition(" ")
    try:
        return datetime.fromisoformat(f"{day} {clock[:8]}").replace(tzinfo=ZoneInfo(zone or "UTC"))
    except (ValueError, ZoneInfoNotFoundError):
        return None


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
    secrets = [source.resolve(), folder.resolve()]
    with tqdm(total=len(submissions), initial=len(grades), unit=" submissions") as progress:
        for submission, verdict, remark in judged(todo, secrets, jobs, (assignment, limits, nursery)):
            status = "graded" if verdict else "error" if submission.path else "missing"
            words = "; ".join(filter(None, [submission.remark, remark]))
            grade = Grade(submission.student, status, words, verdict, digests[submission.student])
            grade.store(store / f"{submission.student}.json")
            grades[submission.student] = grade
            progress.update()
    return assignment, [on_time(grades[one.student], one, deadline) for one in submissions]


def digest(assignment: Assignment, submission: Submission, limits: Limits) -> str:
    """The same as long as neither the submission, nor the assignment, nor the limits have changed."""
    content = submission.path.read_bytes() if submission.path and submission.path.is_file() else b""
    about = json.dumps([assignment.notebook, submission.remark, asdict(limits)], sort_keys=True).encode()
    return hashlib.sha256(about + content).hexdigest()


def on_time(grade: Grade, submission: Submission, deadline: datetime | None) -> Grade:
    when = submission.handed_in
    if not (deadline and when and grade.status == "graded" and when > deadline.astimezone()):
        return grade
    words = f"handed in {when.astimezone():%Y-%m-%d %H:%M}"
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
                    raise GradingError(
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
        return None, str(error)
