"""Grades for a class: make sure that the sandbox is sound, test each submission, write it all down."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from attnbook.language import language
from booktools.book import BookError
from booktools.book.assignment import Assignment, nbgrader
from booktools.book.limits import Limits
from booktools.book.variants import mark_of
from booktools.progress import progress
from grading.collect import find_submissions
from grading.processes import side_by_side
from grading.prove import sandbox_leaks, self_test
from grading.run_tests import Outcome, Result, run_tests
from grading.sandbox.client import OutOfTime
from grading.sandbox.fork_server import ForkServer
from grading.submissions import (
    Code,
    Submission,
    Unreadable,
    is_plain_file,
    printable,
    read_code,
    unforeseen_error,
)
from grading.wording import say


@dataclass(frozen=True)
class Classwork:
    """An assignment, what was handed in, and the places that students' code must not see."""

    assignment: Assignment
    submissions: list[Submission]
    private: list[Path]
    secret: str | None = None

    @classmethod
    def read(
        cls,
        source: Path,
        folders: list[Path],
        overlay: Path | None = None,
        secret: str | None = None,
        private: Sequence[Path] = (),
        root: Path | None = None,
        **about,
    ) -> "Classwork":
        """Reads the assignment and finds the submissions; `about` is passed on to `find_submissions`.

        Besides these, students' code must not see the `private` places. With the book's folder, the assignment is in
        the language spoken now.
        """
        assignment = Assignment.read(source, overlay, root)
        places = [place.resolve() for place in (source, *folders, overlay, *private) if place]
        return cls(assignment, find_submissions(folders, assignment.name, **about), places, secret)

    def shard(self, number: int, of: int) -> "Classwork":
        """One of so many parts, which as many machines grade; all results together are those of the class."""
        return replace(self, submissions=self.submissions[number - 1 :: of])


@dataclass
class Grade:
    """A grade says what became of a submission. `status` is graded, missing or error; only the first has an outcome.

    A submission with the same `digest` as before is not graded again.
    """

    student: str
    status: str
    remark: str = ""
    outcome: Outcome | None = None
    digest: str = ""

    @classmethod
    def load(cls, path: Path) -> "Grade | None":
        """A grade that was stored; None where there is none, or one that an older grader wrote."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            if outcome := stored["outcome"]:
                results = {name: Result(**result) for name, result in outcome.pop("results").items()}
                stored["outcome"] = Outcome(results, **outcome)
            return cls(**stored)
        except (FileNotFoundError, ValueError, LookupError, TypeError):
            return None

    def store(self, path: Path) -> None:
        """Writes the grade to a file in one step: an interruption leaves the old file or the new one."""
        path.parent.mkdir(exist_ok=True)
        half = path.with_name(".half")
        half.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        os.replace(half, path)


@dataclass(frozen=True)
class Grader:
    """Grades the submissions to an assignment, one at a time."""

    assignment: Assignment
    server: ForkServer
    limits: Limits
    secret: str | None = None

    def faults(self, private: list[Path]) -> list[str]:
        """Lists the reasons why nothing can be graded here; an empty list means that all is well."""
        leaks = sandbox_leaks(self.server, self.limits, private) if self.server.walled else []
        return [*leaks, *self_test(self.assignment.variant("", self.secret), self.server, self.limits)]

    def grade(self, submission: Submission) -> Grade:
        if submission.fault:
            return _ungraded(submission, submission.fault)
        if submission.path is None:
            return Grade(submission.student, "missing", submission.remark)
        digest = self.digest(submission)
        try:
            assignment = self.assignment.variant(submission.student, self.secret)
            code = read_code(submission.path, assignment)
            outcome = run_tests(assignment, code.cells, self.server, self.limits)
        except (Unreadable, OutOfTime) as error:
            return _ungraded(submission, say("ungraded", why=error), digest)
        except Exception as error:
            return _ungraded(submission, unforeseen_error(error))
        late = say("ran_late", what=self.titles(outcome.late)) if outcome.late else ""
        remarks = (submission.remark, self.whose(code, submission), *self.not_run(code, outcome), late)
        return Grade(submission.student, "graded", _joined(*remarks), outcome, digest)

    def whose(self, code: Code, submission: Submission) -> str:
        """Says whose copy a notebook is, where it is another student's and has the mark to prove it."""
        theirs = code.copy_of.casefold() != submission.student.casefold()
        if not (theirs and self.secret and code.mark == mark_of(code.copy_of, self.secret, self.assignment.name)):
            return ""
        return say("copy_of", student=code.copy_of)

    def not_run(self, code: Code, outcome: Outcome) -> Iterator[str]:
        """Says which exercises were answered in a cell that does not run here."""
        if code.not_code:
            yield say("not_code", exercises=self.titles([*code.not_code]))
        if code.python > sys.version_info[:2] and (cells := self.titles(outcome.unparsed, cells=False)):
            theirs, ours = (f"{major}.{minor}" for major, minor in (code.python, sys.version_info[:2]))
            yield say("newer_python", exercises=cells, theirs=theirs, ours=ours)

    def titles(self, names: list[str], *, cells: bool = True) -> str:
        """The exercises among these names by their titles, and where `cells` count, other cells by their names."""
        known = {exercise.id: exercise.title for exercise in self.assignment.exercises}
        return printable(", ".join(known.get(name, name) for name in names if cells or name in known))

    def digest(self, submission: Submission) -> str:
        """Returns a hash that changes if the submission, the code of the assignment, the limits or the language do.

        Points and texts may change: nobody is graded again for them.
        """
        path = submission.path
        try:
            content = path.read_bytes() if path and is_plain_file(path) else b""
        except OSError:
            content = b""
        notebook = self.assignment.variant(submission.student, self.secret).notebook
        about = [_what_runs(notebook), submission.remark, asdict(self.limits), language()]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode() + content).hexdigest()


def _what_runs(notebook) -> list[tuple]:
    """The code cells of an assignment and what they forbid, without what they are worth or say."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    forbidden = [cell.metadata.get("attnbook", {}).get("forbidden") for cell in cells]
    return [(cell.source, no, nbgrader(cell) | {"points": None}) for cell, no in zip(cells, forbidden, strict=True)]


def grade_all(
    work: Classwork,
    out: Path,
    server: ForkServer,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
) -> list[Grade]:
    """Grade what has not been graded yet, in `jobs` processes; each grade is kept in `out` as soon as it is known."""
    work.assignment.variant("", work.secret)  # where it needs a secret, there is one
    grader, most = Grader(work.assignment, server, limits, work.secret), 4 * limits.total
    store = out / "results"
    store.mkdir(parents=True, exist_ok=True)
    grades = {}
    for one in work.submissions:
        kept = Grade.load(store / f"{one.key}.json")
        if kept and kept.digest == grader.digest(one):
            grades[one.key] = kept
    todo = [one for one in work.submissions if one.key not in grades]
    with progress(doing="checking the grader itself", of=len(work.submissions), done=len(grades)) as bar:
        if todo:
            _check_grader(grader, [*work.private, out.resolve()], most)
        for submission, grade in side_by_side(grader.grade, todo, jobs, most):
            grades[submission.key] = grade or _ungraded(submission, say("died"))
            grades[submission.key].store(store / f"{submission.key}.json")
            bar.set_description_str("grading")
            bar.update()
    return [grades[one.key] for one in work.submissions]


def _check_grader(grader: Grader, private: list[Path], seconds: float) -> None:
    """Grade nothing where the sandbox leaks or the assignment's own solution fails."""
    [(_, faults)] = side_by_side(grader.faults, [private], 1, seconds)
    faults = ["its own process ended"] if faults is None else faults
    if faults:
        raise BookError("\n  ".join(["nothing was graded, for the grader can't be trusted here:", *faults]))


def _ungraded(submission: Submission, why: str, digest: str = "") -> Grade:
    return Grade(submission.student, "error", _joined(submission.remark, why), digest=digest)


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))
