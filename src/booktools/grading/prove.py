"""Proof that an assignment's tests can be trusted: right answers pass, an empty copy doesn't, wrong answers fail."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from booktools.core import BookError
from booktools.core.assignment import Assignment, Exercise
from booktools.grading.run_tests import PARTS, UNWRITTEN, Verdict, code_of, judge
from booktools.grading.sandbox import Limits, Nursery, Remote, StudentError


@dataclass(frozen=True)
class Wrong:
    """A mistake that people make, written into the solution of an exercise."""

    name: str
    exercise: Exercise
    source: str


def known_wrong(assignment: Assignment, path: Path) -> tuple[list[Wrong], list[str]]:
    """The wrong answers in a TOML file, and what is said of those that don't apply to the solution any more."""
    if not path.is_file():
        raise BookError(f"{path} does not exist. It holds the wrong answers that the tests must find.")
    exercises = {exercise.id: exercise for exercise in assignment.exercises}
    wrongs, misfits = [], []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("wrong", []):
        name, exercise = entry["name"], exercises.get(entry["exercise"])
        if exercise is None:
            misfits.append(f"{name!r}: there is no exercise {entry['exercise']!r}")
        elif "code" in entry:
            wrongs.append(Wrong(name, exercise, entry["code"]))
        elif (count := exercise.source.count(entry["find"])) == 1:
            wrongs.append(Wrong(name, exercise, exercise.source.replace(entry["find"], entry["put"])))
        else:
            misfits.append(f"{name!r}: expected its `find` once in the solution, got {count} times")
    return wrongs, misfits


def canaries(assignment: Assignment, nursery: Nursery, limits: Limits) -> Iterator[str]:
    """What is wrong before a single submission has been looked at: a broken sandbox must not become zeros for all."""
    solution = judge(assignment, code_of(assignment.notebook, assignment), nursery, limits)
    for what in complaints(solution):
        yield f"the solution: {what}"
    for part in PARTS:
        empty = judge(assignment, code_of(assignment.student(), assignment), nursery, limits, parts=(part,))
        for name, result in empty.results.items():
            if (said := getattr(result, part)) != UNWRITTEN:
                yield f"the empty copy: expected {UNWRITTEN!r} of {name}, {part} part, got {said!r}"
    for cell in empty.cells:
        yield f"the empty copy: {cell}"


def complaints(verdict: Verdict) -> Iterator[str]:
    yield from verdict.cells
    for exercise, calls in verdict.used.items():
        yield f"{exercise} calls {', '.join(calls)}, which it forbids"
    for name, result in verdict.results.items():
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


def holes(nursery: Nursery, limits: Limits, secrets: list[Path]) -> list[str]:
    """What a submission could do here and must not be able to."""
    with nursery.open(limits) as sandbox:
        sandbox.run({"name": "probe", "source": PROBE, "forbidden": []})
        probe = Remote(sandbox, Exercise("probe", "", "", (), ()), "gaps")
        try:
            return [f"a submission {what}" for what in probe([str(secret) for secret in secrets])]
        except StudentError as error:
            return [f"the probe of the sandbox did not come back: {error}"]


def found(wrong: Wrong, assignment: Assignment, nursery: Nursery, limits: Limits) -> bool:
    """Whether a hidden test fails, or a forbidden call is seen."""
    alone = replace(assignment, exercises=(wrong.exercise,))
    cells = code_of(assignment.notebook, assignment)
    for cell in cells:
        if cell["name"] == wrong.exercise.id:
            cell["source"] = wrong.source
    verdict = judge(alone, cells, nursery, limits, parts=("hidden",))
    return any(not result.passed for result in verdict.results.values()) or bool(verdict.used)


def problems(path: Path, nursery: Nursery, limits: Limits, overlay: Path | None = None) -> Iterator[str]:
    """Everything that speaks against an assignment. With an overlay, known mistakes need not fit any more."""
    assignment = Assignment.read(path, overlay)
    yield from canaries(assignment, nursery, limits)
    public, private = (folder / "wrong" / f"{path.stem}.toml" for folder in (path.parents[1], overlay or path.parent))
    wrongs, misfits = known_wrong(assignment, private if private.is_file() else public)
    if overlay is None:
        yield from misfits
        if len(wrongs) < 8:
            yield f"{len(wrongs)} known wrong answers; expected at least 8"
    elif misfits:
        print(f"{len(misfits)} known mistakes do not fit the changed solution; {len(wrongs)} are tried", end=": ")
    for wrong in wrongs:
        if not found(wrong, assignment, nursery, limits):
            yield f"no hidden test fails for {wrong.name!r} ({wrong.exercise.id})"


def prove_all(paths: list[Path], nursery: Nursery, overlay: Path | None = None) -> None:
    failed = 0
    for path in paths:
        print(f"{path.name}: ", end="", flush=True)
        sound = True
        for what in problems(path, nursery, Limits(), overlay):
            print(f"\n  {what}", end="", flush=True)
            sound = False
        print("proven" if sound else "", flush=True)
        failed += not sound
    if failed:
        raise BookError(f"{failed} of {len(paths)} can't be trusted yet (above).")
