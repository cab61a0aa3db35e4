"""Runs the tests of an assignment on one submission."""

import signal
import time
import traceback
from collections.abc import Callable
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from attnbook.language import plain
from booktools.book import BookError
from booktools.book.assignment import Assignment, Exercise
from booktools.book.limits import Limits
from grading.sandbox.client import NoAnswer, OutOfTime, Sandbox, StudentError, TookTooLong
from grading.sandbox.fork_server import ForkServer
from grading.sandbox.remote import Remote
from grading.sandbox.stopwatch import Spent
from grading.submissions import printable
from grading.wording import say

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
    """The outcome of a submission: a result for each test."""

    results: dict[str, Result]
    cells: list[str] = field(default_factory=list)  # what cells raised when they ran
    used: dict[str, list[str]] = field(default_factory=dict)  # forbidden calls, by exercise
    late: list[str] = field(default_factory=list)  # cells and exercises for which the time did not do
    unparsed: list[str] = field(default_factory=list)  # cells that are no Python

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
            attempts.begin()
            for exercise in assignment.exercises:
                for test in exercise.tests:
                    result = outcome.results[test.id]
                    if result.passed:
                        setattr(result, part, attempts.complaint(exercise, getattr(test, part), given))
            outcome.late = sorted({*outcome.late, *attempts.late, *attempts.late_cells})
            if part == parts[0]:  # what cells raise while hidden tests run is not for students
                outcome.cells = attempts.cell_errors({one.id: one.title for one in assignment.exercises})
                outcome.unparsed = sorted(attempts.unparsed)
    calls = {exercise.id: attempts.forbidden_calls(exercise) for exercise in assignment.exercises}
    outcome.used = {exercise: names for exercise, names in calls.items() if names}
    return outcome


def names_given(assignment: Assignment) -> dict:
    """Runs the cells that are neither exercises nor tests, and returns what they define, for the tests to use."""
    given = {}
    exec(compile(assignment.given, f"{assignment.name}, given", "exec"), given)
    return given


class Attempts:
    """A submission's process, and a new one whenever it has died.

    Cells and tests share the limit of the whole. That cells run again, for the hidden tests or after a death, is not
    the submission's fault, and is not counted until it has taken twice as long. What takes time is the work of a
    processor, for the submission or for its tests, and apart from that, waiting.
    """

    def __init__(self, server: ForkServer, limits: Limits, cells: list[dict]):
        self.server, self.limits, self.cells = server, limits, cells
        self.sandbox: Sandbox | None = None
        self.opened = 0  # how many processes there were
        self.to_run: list[int] = []  # cells that have not run in the present one
        self.deadly: set[int] = set()  # cells that are not run again
        self.errors: dict[int, str] = {}  # what cells raised, by their number
        self.unwritten: set[str] = set()
        self.unparsed: set[str] = set()
        self.used: dict[str, set[str]] = {}
        self.late: set[str] = set()  # exercises of which no other test is tried
        self.late_cells: set[str] = set()
        self.counted: set[int] = set()  # cells that have run once
        self.requests: list[Spent] = []  # how long each took, in all processes
        self.spent = self.spent_again = Spent()

    def begin(self) -> None:
        """Begin again in a new process."""
        self.close()
        self.late.clear()

    def rewrite(self, name: str, source: str) -> None:
        """Begin again with another source in one cell; where a process is alive, that cell alone runs in it again."""
        self.cells = [cell | {"source": source} if cell["name"] == name else cell for cell in self.cells]
        self.to_run = [number for number, cell in enumerate(self.cells) if cell["name"] == name]
        for kept in (self.deadly, self.errors, self.unwritten, self.used, self.late, self.counted, self.requests):
            kept.clear()
        self.spent = self.spent_again = Spent()

    def cell_errors(self, titles: dict[str, str]) -> list[str]:
        """Returns what cells raised; the cell of an exercise is called by the title of the exercise."""
        names = {number: self.cells[number]["name"] for number in list(self.errors)[:20]}
        said = [say("cell", name=titles.get(name, name), error=self.errors[n]) for n, name in names.items()]
        return [printable(line) for line in said]

    def forbidden_calls(self, exercise: Exercise) -> list[str]:
        """The calls that an exercise forbids, and that were made all the same."""
        return sorted(self.used.get(exercise.id, set()) & set(exercise.forbidden))

    def complaint(self, exercise: Exercise, code: str, given: dict) -> str | None:
        """Why a test fails, or None. A sandbox that fails is nobody's failed test, and is passed on."""
        try:
            if exercise.id in self.late:
                return say("skipped")
            sandbox = self.living_sandbox()
            with self.timed(), _time_limit(self.limits.cell, self.taken):
                stand_ins = {name: Remote(sandbox, exercise, name) for name in exercise.defined}
                answers = {name: Remote(sandbox, exercise, name)._value() for name in exercise.assigned}
                exec(compile(code, f"{exercise.id}, test", "exec"), given | stand_ins | answers)
        except TookTooLong as error:
            self.late.add(exercise.id)
            return printable(error)
        except (StudentError, NoAnswer) as error:
            unwritten = exercise.id in self.unwritten or str(error).startswith("NotImplementedError")
            return say("unwritten") if unwritten else printable(error)
        except AssertionError as error:
            return printable(error) or say("does_not_hold", line=_failing_line(error, code))
        except (BookError, OutOfTime):
            raise
        except Exception as error:
            return printable(f"{type(error).__name__}: {error}")
        return None

    def living_sandbox(self) -> Sandbox:
        """Returns a process in which the cells have run; a cell that ended one is left out of the next."""
        while self.is_gone() or self.to_run:
            if self.is_gone():
                self.close()
                self.sandbox = self.server.open(self.limits)
                self.sandbox.used, self.sandbox.spent = self.used, self.requests
                self.opened += 1
                self.to_run = [number for number in range(len(self.cells)) if number not in self.deadly]
            if self.to_run:
                self.run(self.to_run.pop(0))
        return self.sandbox  # pyrefly: ignore[bad-return] (it is not gone)

    def is_gone(self) -> bool:
        return self.sandbox is None or self.sandbox.dead is not None

    def run(self, number: int) -> None:
        """Run a cell, and keep what it raised."""
        cell = self.cells[number]
        try:
            with self.timed(again=number in self.counted):
                error = self.sandbox.run(cell)  # pyrefly: ignore[missing-attribute]
        except (StudentError, NoAnswer) as ended:
            error = str(ended)
            self.deadly.add(number)
            late = isinstance(ended, TookTooLong)
        else:
            late = error is not None and error.startswith("TimeoutError")
        self.counted.add(number)
        if late:
            self.late_cells.add(cell["name"])
        if error and error.startswith("NotImplementedError"):
            self.unwritten.add(cell["name"])
        elif error:
            self.errors.setdefault(number, error)
        if error and error.startswith(("SyntaxError", "IndentationError")):
            self.unparsed.add(cell["name"])

    def taken(self) -> Spent:
        """How long the grader and the sandboxes have worked, and how long the sandboxes have waited, until now."""
        return sum(self.requests, Spent(time.process_time()))

    @contextmanager
    def timed(self, again: bool = False):
        """Count the time that this takes, and go no further when there is none left."""
        start = self.taken()
        try:
            yield
        finally:
            if again:
                self.spent_again += self.taken() - start
            else:
                self.spent += self.taken() - start
        if self.spent.longer > self.limits.total or self.spent_again.longer > 2 * self.limits.total:
            self.close()
            raise OutOfTime(say("all_late", seconds=plain(self.limits.total)))

    def close(self) -> None:
        if self.sandbox:
            self.sandbox.close()
        self.sandbox = None


@contextmanager
def _time_limit(seconds: float, taken: Callable[[], Spent]):
    """Stops a test that an answer has sent round in circles."""
    start = taken()

    def look(*_):
        if (taken() - start).longer >= seconds:
            raise TookTooLong(say("test_late", seconds=plain(seconds)))

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds, min(seconds, 1))  # again and again: a `__del__` would swallow one
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _failing_line(error: Exception, code: str) -> str:
    line = traceback.extract_tb(error.__traceback__)[-1].lineno or 0
    lines = code.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else code.strip()
