"""Proof that an assignment's tests can be trusted: right answers pass, an empty copy doesn't, wrong answers fail."""

import os
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from booktools.book import BookError
from booktools.book.assignment import Assignment, Exercise
from booktools.book.limits import Limits
from booktools.book.variants import GAP, fill_gaps
from grading.run_tests import PARTS, Attempts, Outcome, names_given, run_tests
from grading.sandbox.client import NoAnswer, OutOfTime, StudentError
from grading.sandbox.fork_server import ForkServer
from grading.sandbox.remote import Remote
from grading.submissions import code_of
from grading.wording import say

THIS_YEAR, LAST_YEAR = "the secret of this year", "the secret of last year"


@dataclass(frozen=True)
class KnownMistake:
    """A mistake that people make, written into the solution of an exercise."""

    name: str
    exercise: Exercise
    source: str
    endless: bool = False  # it never returns, and is expected to run out of time


class Verdict(Enum):
    """The verdict on a wrong answer: whether the hidden tests caught it."""

    CAUGHT = "a hidden test failed, or a forbidden call was seen"
    MISSED = "all hidden tests passed"
    LATE = "the time ran out, so nothing is known of it"


def _known_mistakes(assignment: Assignment, path: Path) -> tuple[list[KnownMistake], list[str]]:
    """The mistakes in a TOML file, and what is said of those that don't apply to the solution any more."""
    if not path.is_file():
        raise BookError(f"{path} does not exist. It holds the wrong answers that the tests must find.")
    exercises = {exercise.id: exercise for exercise in assignment.exercises}
    mistakes, misfits = [], []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("wrong", []):
        endless = entry.pop("endless", False)
        entry = {key: fill_gaps(text, assignment.drawn) for key, text in entry.items()}
        name, exercise = entry["name"], exercises.get(entry["exercise"])
        if exercise is None:
            misfits.append(f"{name!r}: there is no exercise {entry['exercise']!r}")
        elif "code" in entry:
            mistakes.append(KnownMistake(name, exercise, entry["code"], endless))
        elif (count := exercise.source.count(entry["find"])) == 1:
            source = exercise.source.replace(entry["find"], entry["put"])
            mistakes.append(KnownMistake(name, exercise, source, endless))
        else:
            misfits.append(f"{name!r}: expected its `find` once in the solution, got {count} times")
    return mistakes, misfits


def self_test(assignment: Assignment, server: ForkServer, limits: Limits) -> Iterator[str]:
    """Yields what is wrong before any submission is looked at: a broken sandbox must not become zeros for all."""
    yield from _faults_of_solution(assignment, server, limits)
    cells: list[str] = []
    for part in PARTS:
        try:
            empty = run_tests(assignment, code_of(assignment.student(), assignment), server, limits, parts=(part,))
        except OutOfTime as late:
            yield f"the empty copy: {late}"
            continue
        cells = empty.cells
        for name, result in empty.results.items():
            if (said := getattr(result, part)) != say("unwritten"):
                yield f"the empty copy: expected {say('unwritten')!r} of {name}, {part} part, got {said!r}"
    for cell in cells:
        yield f"the empty copy: {cell}"


def _faults_of_solution(assignment: Assignment, server: ForkServer, limits: Limits) -> Iterator[str]:
    """Yields what goes wrong when the tests run on the assignment's own solution."""
    try:
        outcome = run_tests(assignment, code_of(assignment.notebook, assignment), server, limits)
    except OutOfTime as late:
        yield f"the solution: {late}"
        yield _out_of_time(limits)
    else:
        yield from (f"the solution: {what}" for what in _failures(outcome))
        if outcome.late:
            yield _out_of_time(limits)


def _out_of_time(limits: Limits) -> str:
    """Says what may be the matter where the solution itself takes too long, and what to do."""
    load, processors, more = os.getloadavg()[0], os.cpu_count(), 5 * limits.total
    return (
        f"the time that counts is that of a processor, and apart from it that of waiting, as for a disk. The load of "
        f"this machine is {load:.1f}, and it has {processors} processors. `attnbook grade --seconds {more:.0f}` allows "
        "five times as much of everything"
    )


def _failures(outcome: Outcome) -> Iterator[str]:
    yield from outcome.cells
    for exercise, calls in outcome.used.items():
        yield f"{exercise} calls {', '.join(calls)}, which it forbids"
    for name, result in outcome.results.items():
        if not result.passed:
            yield f"{name}: {result.visible or result.hidden}"


PROBE = """
def gaps(secrets):
    import os, socket, sys, tempfile, torch
    found = []
    def attempt(what, act):
        try:
            act()
        except Exception:
            return
        found.append(what)
    for secret in secrets:
        attempt(f"reads {secret}", lambda: os.listdir(secret) if os.path.isdir(secret) else open(secret, "rb").read())
    for folder in ("/", "/usr", "/dev", sys.prefix, os.path.dirname(torch.__file__)):
        attempt(f"writes to {folder}", lambda: tempfile.TemporaryFile(dir=folder))
    attempt("opens a socket", socket.socket)
    attempt("starts a program", lambda: os.execv("/usr/bin/true", ["true"]))
    attempt("sees other processes", lambda: os.kill(2, 0))
    attempt("takes any amount of memory", lambda: bytearray(2**36))
    return found
"""


def sandbox_leaks(server: ForkServer, limits: Limits, secrets: list[Path]) -> list[str]:
    """Runs a probe as if it were a submission; returns what it could do, but must not be able to."""
    with server.open(limits) as sandbox:
        sandbox.run({"name": "probe", "source": PROBE, "forbidden": []})
        probe = Remote(sandbox, Exercise("probe", "", ""), "gaps")
        try:
            return [f"a submission {what}" for what in probe([str(secret) for secret in secrets])]
        except (StudentError, NoAnswer, OutOfTime) as error:
            return [f"the probe of the sandbox did not come back: {error}"]


TOO_LATE = (
    "{what} ran out of time, so nothing is known of it; expected a hidden test that fails. "
    "Try again on a machine that is less busy. If it is a loop that never ends, write `endless = true` below its name"
)
NOT_ENDLESS = (
    "{what} came to an end; expected it to run out of time, since it says `endless = true`. Delete that line, "
    "or make it endless"
)


def _missed(mistakes: list[KnownMistake], assignment: Assignment, server: ForkServer, limits: Limits) -> Iterator[str]:
    """Yields a sentence for each mistake that no hidden test finds, or whose running time is not as declared."""
    for exercise in assignment.exercises:
        mine = [mistake for mistake in mistakes if mistake.exercise is exercise]
        for mistake, verdict in _verdicts(mine, exercise, assignment, server, limits) if mine else ():
            what = f"{mistake.name!r} ({exercise.id})"
            if verdict is Verdict.MISSED:
                yield f"no hidden test fails for {what}"
            if mistake.endless and verdict is not Verdict.LATE:
                yield NOT_ENDLESS.format(what=what)
            elif verdict is Verdict.LATE and not mistake.endless:
                yield TOO_LATE.format(what=what)


def _verdicts(
    mistakes: list[KnownMistake], exercise: Exercise, assignment: Assignment, server: ForkServer, limits: Limits
) -> Iterator[tuple[KnownMistake, Verdict]]:
    """Each mistake in an exercise, and what became of it.

    Those that end are tried in one process, which takes half the time. Where that process is not sound at the end,
    because one of them has changed more than its own names, each is tried in a process of its own.
    """
    cells = code_of(assignment.notebook, assignment)

    def tried(sources: list[str]) -> tuple[list[Verdict], int]:
        """Tries sources one after another; returns the verdicts, and how many processes that took."""
        given = names_given(assignment)
        with closing(Attempts(server, limits, cells)) as attempts:
            return [_verdict(source, exercise, attempts, given) for source in sources], attempts.opened

    together = [mistake for mistake in mistakes if not mistake.endless]
    (*verdicts, of_solution), processes = tried([*(mistake.source for mistake in together), exercise.source])
    sound = processes == 1 and of_solution is Verdict.MISSED
    caught = [one for one, verdict in zip(together, verdicts, strict=True) if sound and verdict is Verdict.CAUGHT]
    for mistake in mistakes:
        yield mistake, Verdict.CAUGHT if mistake in caught else tried([mistake.source])[0][0]


def _verdict(source: str, exercise: Exercise, attempts: Attempts, given: dict) -> Verdict:
    """Whether an answer fails a hidden test, or makes a forbidden call. Who runs out of time has not failed."""
    attempts.rewrite(exercise.id, source)
    complaints = (attempts.complaint(exercise, test.hidden, given) for test in exercise.tests)
    try:
        failed = any(said is not None for said in complaints)
    except OutOfTime:
        return Verdict.LATE
    if attempts.forbidden_calls(exercise):
        return Verdict.CAUGHT
    if attempts.late or attempts.late_cells:
        return Verdict.LATE
    return Verdict.CAUGHT if failed else Verdict.MISSED


@dataclass(frozen=True)
class Proof:
    """An assignment, and the mistakes that its tests must find.

    Where each student has a variant, it is that of one, and `variants` are those of a class.
    """

    assignment: Assignment
    mistakes: list[KnownMistake]
    misfits: list[str]
    is_private: bool
    variants: tuple["Variant", ...] = ()

    @classmethod
    def read(cls, path: Path, overlay: Path | None = None, variants: int = 50) -> "Proof":
        """Reads an assignment and its known mistakes; a private overlay may hold mistakes of its own."""
        source = Assignment.read(path, overlay)
        folders = [path.parent.parent, overlay or path.parent]
        public, private = (folder / "wrong" / f"{source.name}.toml" for folder in folders)
        wrong = private if private.is_file() else public
        assignment = source.variant("student 1", THIS_YEAR)
        of_class = Variant.of_class(source, Assignment.read(path), wrong, variants) if source.variant_cell else ()
        return cls(assignment, *_known_mistakes(assignment, wrong), overlay is not None, of_class)

    def problems(self, server: ForkServer, limits: Limits) -> Iterator[str]:
        """Everything that speaks against the assignment. In a private one, known mistakes need not fit any more."""
        yield from self_test(self.assignment, server, limits)
        if not self.is_private:
            yield from self.misfits
            if len(self.mistakes) < 8:
                yield f"{len(self.mistakes)} known wrong answers; expected at least 8"
        yield from _missed(self.mistakes, self.assignment, server, limits)
        for variant in self.variants:
            yield from variant.problems(server, limits)


@dataclass(frozen=True)
class Variant:
    """One student's variant, and answers that must fail there: a share of the known mistakes, and other variants'."""

    student: str
    assignment: Assignment
    wrong: list[KnownMistake]
    alike: list[str]  # what is said of answers that are not wrong at all

    @classmethod
    def of_class(cls, source: Assignment, public: Assignment, wrong: Path, students: int) -> tuple["Variant", ...]:
        """The variants of a class. Each known mistake is tried in one of them; each draw is another one in some."""
        found = []
        for n in range(students):
            student, neighbour, draw = f"student {n + 1}", f"student {n + 2}", n % source.draws
            variant = source.variant(student, THIS_YEAR)
            mistakes, _ = _known_mistakes(variant, wrong)
            others = {
                f"the answer of {neighbour}": source.variant(neighbour, THIS_YEAR),
                "last year's answer": source.variant(student, LAST_YEAR),
                "the public answer": public,
            }
            varying = [place for place, one in enumerate(source.exercises) if GAP.search(one.source)]
            answers = [
                KnownMistake(name, variant.exercises[place], other.exercises[place].source)
                for name, other in others.items()
                for place in varying
            ]
            redrawn = source.variant(student, THIS_YEAR, redrawn=draw).exercises
            answers += [
                KnownMistake(f"an answer for another draw {draw + 1}", mine, other.source)
                for mine, other in zip(variant.exercises, redrawn, strict=True)
                if mine.source != other.source
            ]
            alike = [f"{one.name} is right ({one.exercise.id})" for one in answers if one.source == one.exercise.source]
            if len(answers) == len(others) * len(varying):
                alike.append(f"no solution depends on draw {draw + 1}")
            found.append(cls(student, variant, [*mistakes[n::students], *answers], alike))
        return tuple(found)

    def problems(self, server: ForkServer, limits: Limits) -> Iterator[str]:
        about = [*self.alike, *_faults_of_solution(self.assignment, server, limits)]
        about += _missed(self.wrong, self.assignment, server, limits)
        yield from (f"{self.student}: {what}" for what in about)


def prove_all(proofs: list[Proof], server: ForkServer) -> None:
    """Print what speaks against assignments, and fail if anything does."""
    failed = 0
    for proof in proofs:
        print(f"{proof.assignment.name}.ipynb: ", end="", flush=True)
        if proof.is_private and proof.misfits:
            count = len(proof.misfits)
            print(f"{count} known mistakes do not fit the changed solution; {len(proof.mistakes)} are tried", end=": ")
        if proof.variants:
            print(f"{len(proof.variants)} students' variants", end=": ", flush=True)
        sound = True
        for what in proof.problems(server, Limits()):
            print(f"\n  {what}", end="", flush=True)
            sound = False
        print("proven" if sound else "", flush=True)
        failed += not sound
    if failed:
        raise BookError(f"{failed} of {len(proofs)} can't be trusted yet (above).")
