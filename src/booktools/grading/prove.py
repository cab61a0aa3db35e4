"""Proof that an assignment's tests can be trusted: right answers pass, an empty copy doesn't, wrong answers fail."""

import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from booktools.book import BookError
from booktools.book.assignment import Assignment, Exercise
from booktools.book.limits import Limits
from booktools.grading import say
from booktools.grading.fork_server import ForkServer
from booktools.grading.remote import Remote
from booktools.grading.run_tests import PARTS, Attempts, Outcome, OutOfTime, names_given, run_tests
from booktools.grading.sandbox import StudentError
from booktools.grading.submissions import code_of


@dataclass(frozen=True)
class KnownMistake:
    """A mistake that people make, written into the solution of an exercise."""

    name: str
    exercise: Exercise
    source: str


def _known_mistakes(assignment: Assignment, path: Path) -> tuple[list[KnownMistake], list[str]]:
    """The mistakes in a TOML file, and what is said of those that don't apply to the solution any more."""
    if not path.is_file():
        raise BookError(f"{path} does not exist. It holds the wrong answers that the tests must find.")
    exercises = {exercise.id: exercise for exercise in assignment.exercises}
    mistakes, misfits = [], []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("wrong", []):
        name, exercise = entry["name"], exercises.get(entry["exercise"])
        if exercise is None:
            misfits.append(f"{name!r}: there is no exercise {entry['exercise']!r}")
        elif "code" in entry:
            mistakes.append(KnownMistake(name, exercise, entry["code"]))
        elif (count := exercise.source.count(entry["find"])) == 1:
            mistakes.append(KnownMistake(name, exercise, exercise.source.replace(entry["find"], entry["put"])))
        else:
            misfits.append(f"{name!r}: expected its `find` once in the solution, got {count} times")
    return mistakes, misfits


def self_test(assignment: Assignment, server: ForkServer, limits: Limits) -> Iterator[str]:
    """What is wrong before a single submission has been looked at: a broken sandbox must not become zeros for all."""
    try:
        solution = run_tests(assignment, code_of(assignment.notebook, assignment), server, limits)
    except OutOfTime as late:
        yield f"the solution: {late}"
        return
    for what in _complaints(solution):
        yield f"the solution: {what}"
    for part in PARTS:
        empty = run_tests(assignment, code_of(assignment.student(), assignment), server, limits, parts=(part,))
        for name, result in empty.results.items():
            if (said := getattr(result, part)) != say("unwritten"):
                yield f"the empty copy: expected {say('unwritten')!r} of {name}, {part} part, got {said!r}"
    for cell in empty.cells:
        yield f"the empty copy: {cell}"


def _complaints(outcome: Outcome) -> Iterator[str]:
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
        attempt(f"reads {secret}", lambda: os.listdir(secret) if os.path.isdir(secret) else open(secret).read())
    for folder in ("/", "/usr", "/dev", sys.prefix, os.path.dirname(torch.__file__)):
        attempt(f"writes to {folder}", lambda: tempfile.TemporaryFile(dir=folder))
    attempt("opens a socket", socket.socket)
    attempt("starts a program", lambda: os.execv("/usr/bin/true", ["true"]))
    attempt("sees other processes", lambda: os.kill(2, 0))
    attempt("takes any amount of memory", lambda: bytearray(2**36))
    return found
"""


def sandbox_leaks(server: ForkServer, limits: Limits, secrets: list[Path]) -> list[str]:
    """What a submission could do here and must not be able to."""
    with server.open(limits) as sandbox:
        sandbox.run({"name": "probe", "source": PROBE, "forbidden": []})
        probe = Remote(sandbox, Exercise("probe", "", ""), "gaps")
        try:
            return [f"a submission {what}" for what in probe([str(secret) for secret in secrets])]
        except StudentError as error:
            return [f"the probe of the sandbox did not come back: {error}"]


def _uncaught(
    mistakes: list[KnownMistake], exercise: Exercise, assignment: Assignment, server: ForkServer, limits: Limits
) -> list[KnownMistake]:
    """The mistakes in an exercise for which no hidden test fails, and no forbidden call is seen.

    All are tried in one process, which takes half the time. Where that process is not sound at the end, because one
    of them has changed more than its own names, each is tried in a process of its own.
    """
    cells = code_of(assignment.notebook, assignment)

    def tried(sources: list[str]) -> tuple[list[bool], int]:
        """Which sources fail, one after another, and how many processes that took."""
        given = names_given(assignment)
        with closing(Attempts(server, limits, cells)) as attempts:
            return [_fails(source, exercise, attempts, given) for source in sources], attempts.opened

    (*caught, spoilt), processes = tried([*(mistake.source for mistake in mistakes), exercise.source])
    sound = processes == 1 and not spoilt
    doubtful = [mistake for mistake, known in zip(mistakes, caught, strict=True) if not (sound and known)]
    return [mistake for mistake in doubtful if tried([mistake.source])[0] == [False]]


def _fails(source: str, exercise: Exercise, attempts: Attempts, given: dict) -> bool:
    """Whether an answer fails a hidden test, or makes a forbidden call."""
    attempts.rewrite(exercise.id, source)
    complaints = (attempts.complaint(exercise, test.hidden, given) for test in exercise.tests)
    try:
        return any(said is not None for said in complaints) or bool(attempts.forbidden_calls(exercise))
    except OutOfTime:
        return True


@dataclass(frozen=True)
class Proof:
    """An assignment, and the mistakes that its tests must find."""

    assignment: Assignment
    mistakes: list[KnownMistake]
    misfits: list[str]
    is_private: bool

    @classmethod
    def read(cls, path: Path, overlay: Path | None = None) -> "Proof":
        """What is to be proven of an assignment; a private overlay may hold mistakes of its own."""
        assignment = Assignment.read(path, overlay)
        folders = [path.parent.parent, overlay or path.parent]
        public, private = (folder / "wrong" / f"{assignment.name}.toml" for folder in folders)
        found = _known_mistakes(assignment, private if private.is_file() else public)
        return cls(assignment, *found, is_private=overlay is not None)

    def problems(self, server: ForkServer, limits: Limits) -> Iterator[str]:
        """Everything that speaks against the assignment. In a private one, known mistakes need not fit any more."""
        yield from self_test(self.assignment, server, limits)
        if not self.is_private:
            yield from self.misfits
            if len(self.mistakes) < 8:
                yield f"{len(self.mistakes)} known wrong answers; expected at least 8"
        for exercise in self.assignment.exercises:
            mine = [mistake for mistake in self.mistakes if mistake.exercise is exercise]
            for mistake in _uncaught(mine, exercise, self.assignment, server, limits) if mine else ():
                yield f"no hidden test fails for {mistake.name!r} ({exercise.id})"


def prove_all(proofs: list[Proof], server: ForkServer) -> None:
    """Print what speaks against assignments, and fail if anything does."""
    failed = 0
    for proof in proofs:
        print(f"{proof.assignment.name}.ipynb: ", end="", flush=True)
        if proof.is_private and proof.misfits:
            count = len(proof.misfits)
            print(f"{count} known mistakes do not fit the changed solution; {len(proof.mistakes)} are tried", end=": ")
        sound = True
        for what in proof.problems(server, Limits()):
            print(f"\n  {what}", end="", flush=True)
            sound = False
        print("proven" if sound else "", flush=True)
        failed += not sound
    if failed:
        raise BookError(f"{failed} of {len(proofs)} can't be trusted yet (above).")
