"""One submission against the tests of its assignment."""

import json
import signal
import time
import traceback
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from booktools.core import BookError
from booktools.core.assignment import Assignment, Exercise, nbgrader
from booktools.grading.sandbox import Limits, Nursery, Remote, Sandbox, StudentError

LARGEST = 20_000_000  # bytes of a notebook that is read at all
PARTS = ("visible", "hidden")
UNWRITTEN = "not written yet"


class Unreadable(Exception):
    """A submission that nobody can grade; the text says why."""


@dataclass
class Result:
    """Why a test failed: what its visible part says, and what its hidden part says. None is a pass."""

    visible: str | None = None
    hidden: str | None = None

    @property
    def passed(self) -> bool:
        return self.visible is None and self.hidden is None


@dataclass
class Verdict:
    results: dict[str, Result]
    cells: list[str] = field(default_factory=list)  # what cells raised when they ran
    used: dict[str, list[str]] = field(default_factory=dict)  # forbidden calls, by exercise

    def score(self, exercise: Exercise) -> float:
        if self.used.get(exercise.id):
            return 0
        return sum(test.points for test in exercise.tests if self.results[test.id].passed)

    def total(self, assignment: Assignment) -> float:
        return sum(map(self.score, assignment.exercises))


def submitted(path: Path, assignment: Assignment) -> list[dict]:
    """The code of a submission, cell by cell, without the tests: those come from the assignment."""
    if not is_plain(path):
        size = path.lstat().st_size / 1e6
        raise Unreadable(f"expected a plain file of at most {LARGEST / 1e6:g} MB, got {size:.0f} MB; clear the outputs")
    try:
        return code_of(json.loads(path.read_text(encoding="utf-8-sig")), assignment)
    except Exception as error:
        raise Unreadable(f"it is not a notebook that can be read ({type(error).__name__})") from None


def is_plain(path: Path) -> bool:
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


def judge(assignment: Assignment, cells: list[dict], nursery: Nursery, limits: Limits, parts=PARTS) -> Verdict:
    """Run the visible tests; then, in a process that has seen none of them, the hidden parts of those that passed."""
    given = {}
    exec(compile(assignment.given, f"{assignment.name}, given", "exec"), given)
    verdict = Verdict({test.id: Result() for exercise in assignment.exercises for test in exercise.tests})
    with closing(Attempts(nursery, limits, cells)) as attempts:
        for part in parts:
            attempts.close()
            for exercise in assignment.exercises:
                for test in exercise.tests:
                    result = verdict.results[test.id]
                    if result.passed:
                        setattr(result, part, attempts.complaint(exercise, getattr(test, part), given))
    verdict.cells = [plain(error) for error in list(attempts.errors.values())[:20]]
    for exercise in assignment.exercises:
        if calls := attempts.used.get(exercise.id, set()) & set(exercise.forbidden):
            verdict.used[exercise.id] = sorted(calls)
    return verdict


class Attempts:
    """A submission's process, and a new one whenever it has died; all together no longer than the limit."""

    def __init__(self, nursery: Nursery, limits: Limits, cells: list[dict]):
        self.nursery, self.limits, self.cells = nursery, limits, dict(enumerate(cells))
        self.end = time.monotonic() + limits.total
        self.sandbox: Sandbox | None = None
        self.errors: dict[int, str] = {}
        self.unwritten: set[str] = set()
        self.used: dict[str, set[str]] = {}

    def complaint(self, exercise: Exercise, code: str, given: dict) -> str | None:
        """Why a test fails, or None. A sandbox that fails is nobody's failed test, and is passed on."""
        try:
            sandbox = self.alive()
            with at_most(self.limits.total):
                stand_ins = {name: Remote(sandbox, exercise, name) for name in exercise.defined}
                answers = {name: Remote(sandbox, exercise, name)._value() for name in exercise.assigned}
                exec(compile(code, f"{exercise.id}, test", "exec"), given | stand_ins | answers)
        except StudentError as error:
            unwritten = exercise.id in self.unwritten or str(error).startswith("NotImplementedError")
            return UNWRITTEN if unwritten else plain(error)
        except AssertionError as error:
            return plain(error) or f"this does not hold: {failing_line(error, code)}"
        except BookError:
            raise
        except Exception as error:
            return plain(f"{type(error).__name__}: {error}")
        return None

    def alive(self) -> Sandbox:
        """A process in which the cells have run; a cell that ends it is left out the next time."""
        while self.sandbox is None or self.sandbox.dead:
            self.close()
            self.sandbox = self.nursery.open(self.limits)
            self.sandbox.used = self.used
            for number, cell in list(self.cells.items()):
                self.in_time()
                try:
                    error = self.sandbox.run(cell)
                except StudentError as ended:
                    error = str(ended)
                    del self.cells[number]
                if error and error.startswith("NotImplementedError"):
                    self.unwritten.add(cell["name"])
                elif error:
                    self.errors.setdefault(number, f"cell {cell['name']}: {error}")
                if self.sandbox.dead:
                    break
        self.in_time()
        return self.sandbox

    def in_time(self) -> None:
        if time.monotonic() > self.end:
            self.close()
            raise StudentError(f"the whole submission took longer than {self.limits.total:g} seconds")

    def close(self) -> None:
        if self.sandbox:
            self.sandbox.close()
        self.sandbox = None


@contextmanager
def at_most(seconds: float):
    """Stops a test that an answer has sent round in circles."""

    def stop(*_):
        raise StudentError(f"the test took longer than {seconds:g} seconds with this answer")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def plain(said: object) -> str:
    """A text that can be written down, and is not too long."""
    return str(said).encode("utf-8", "replace").decode()[:2000]


def failing_line(error: Exception, code: str) -> str:
    line = traceback.extract_tb(error.__traceback__)[-1].lineno
    lines = code.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else code.strip()
