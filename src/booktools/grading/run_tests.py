"""One submission against the tests of its assignment."""

import signal
import time
import traceback
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from attnbook.language import plain
from booktools.book import BookError
from booktools.book.assignment import Assignment, Exercise
from booktools.grading import say
from booktools.grading.fork_server import ForkServer
from booktools.grading.remote import Remote
from booktools.grading.sandbox import Limits, Sandbox, StudentError
from booktools.grading.submissions import printable

PARTS = ("visible", "hidden")


@dataclass
class Result:
    """Why a test failed: what its visible part says, and what its hidden part says. None is a pass."""

    visible: str | None = None
    hidden: str | None = None

    @property
    def passed(self) -> bool:
        return self.visible is None and self.hidden is None


@dataclass
class Outcome:
    """What the tests made of a submission: a result for each test."""

    results: dict[str, Result]
    cells: list[str] = field(default_factory=list)  # what cells raised when they ran
    used: dict[str, list[str]] = field(default_factory=dict)  # forbidden calls, by exercise

    def score(self, exercise: Exercise) -> float:
        if self.used.get(exercise.id):
            return 0
        return sum(test.points for test in exercise.tests if self.results[test.id].passed)

    def total(self, assignment: Assignment) -> float:
        return sum(map(self.score, assignment.exercises))


def run_tests(assignment: Assignment, cells: list[dict], server: ForkServer, limits: Limits, parts=PARTS) -> Outcome:
    """Run the visible tests; then, in a process that has seen none of them, the hidden parts of those that passed."""
    given = names_given(assignment)
    outcome = Outcome({test.id: Result() for exercise in assignment.exercises for test in exercise.tests})
    with closing(Attempts(server, limits, cells)) as attempts:
        for part in parts:
            attempts.close()
            for exercise in assignment.exercises:
                for test in exercise.tests:
                    result = outcome.results[test.id]
                    if result.passed:
                        setattr(result, part, attempts.complaint(exercise, getattr(test, part), given))
    outcome.cells = [printable(error) for error in list(attempts.errors.values())[:20]]
    calls = {exercise.id: attempts.forbidden_calls(exercise) for exercise in assignment.exercises}
    outcome.used = {exercise: names for exercise, names in calls.items() if names}
    return outcome


def names_given(assignment: Assignment) -> dict:
    """What the cells that are neither exercises nor tests define, for the tests to use."""
    given = {}
    exec(compile(assignment.given, f"{assignment.name}, given", "exec"), given)
    return given


class Attempts:
    """A submission's process, and a new one whenever it has died; all together no longer than the limit."""

    def __init__(self, server: ForkServer, limits: Limits, cells: list[dict]):
        self.server, self.limits, self.cells = server, limits, cells
        self.end = time.monotonic() + limits.total
        self.sandbox: Sandbox | None = None
        self.opened = 0  # how many processes there were
        self.to_run: list[int] = []  # cells that have not run in the present one
        self.deadly: set[int] = set()  # cells that are not run again
        self.errors: dict[int, str] = {}
        self.unwritten: set[str] = set()
        self.used: dict[str, set[str]] = {}

    def rewrite(self, name: str, source: str) -> None:
        """Begin again with another source in one cell; where a process is alive, that cell alone runs in it again."""
        self.cells = [cell | {"source": source} if cell["name"] == name else cell for cell in self.cells]
        self.to_run = [number for number, cell in enumerate(self.cells) if cell["name"] == name]
        self.end = time.monotonic() + self.limits.total
        for kept in (self.deadly, self.errors, self.unwritten, self.used):
            kept.clear()

    def forbidden_calls(self, exercise: Exercise) -> list[str]:
        """The calls that an exercise forbids, and that were made all the same."""
        return sorted(self.used.get(exercise.id, set()) & set(exercise.forbidden))

    def complaint(self, exercise: Exercise, code: str, given: dict) -> str | None:
        """Why a test fails, or None. A sandbox that fails is nobody's failed test, and is passed on."""
        try:
            sandbox = self.alive()
            with _at_most(self.limits.total):
                stand_ins = {name: Remote(sandbox, exercise, name) for name in exercise.defined}
                answers = {name: Remote(sandbox, exercise, name)._value() for name in exercise.assigned}
                exec(compile(code, f"{exercise.id}, test", "exec"), given | stand_ins | answers)
        except StudentError as error:
            unwritten = exercise.id in self.unwritten or str(error).startswith("NotImplementedError")
            return say("unwritten") if unwritten else printable(error)
        except AssertionError as error:
            return printable(error) or say("does_not_hold", line=_failing_line(error, code))
        except BookError:
            raise
        except Exception as error:
            return printable(f"{type(error).__name__}: {error}")
        return None

    def alive(self) -> Sandbox:
        """A process in which the cells have run; a cell that ends it is left out the next time."""
        while self.is_gone() or self.to_run:
            if self.is_gone():
                self.close()
                self.sandbox = self.server.open(self.limits)
                self.sandbox.used = self.used
                self.opened += 1
                self.to_run = [number for number in range(len(self.cells)) if number not in self.deadly]
            if self.to_run:
                self.run(self.to_run.pop(0))
        self.in_time()
        return self.sandbox  # pyright: ignore[reportReturnType] (it is not gone)

    def is_gone(self) -> bool:
        return self.sandbox is None or self.sandbox.dead is not None

    def run(self, number: int) -> None:
        """Run a cell, and keep what it raised."""
        cell = self.cells[number]
        self.in_time()
        try:
            error = self.sandbox.run(cell)  # pyright: ignore[reportOptionalMemberAccess]
        except StudentError as ended:
            error = str(ended)
            self.deadly.add(number)
        if error and error.startswith("NotImplementedError"):
            self.unwritten.add(cell["name"])
        elif error:
            self.errors.setdefault(number, say("cell", name=cell["name"], error=error))

    def in_time(self) -> None:
        if time.monotonic() > self.end:
            self.close()
            raise StudentError(say("all_late", seconds=plain(self.limits.total)))

    def close(self) -> None:
        if self.sandbox:
            self.sandbox.close()
        self.sandbox = None


@contextmanager
def _at_most(seconds: float):
    """Stops a test that an answer has sent round in circles."""

    def stop(*_):
        raise StudentError(say("test_late", seconds=plain(seconds)))

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _failing_line(error: Exception, code: str) -> str:
    line = traceback.extract_tb(error.__traceback__)[-1].lineno or 0
    lines = code.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else code.strip()
