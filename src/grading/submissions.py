"""Reads a submission: finds the notebook, when it came, and the code in it."""

import ast
import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from IPython.core.inputtransformer2 import TransformerManager

from attnbook.language import whole
from booktools.book.assignment import LOOK_OVER, SET_UP, Assignment, nbgrader
from grading.platforms import Sender
from grading.wording import say

LARGEST = 20_000_000  # bytes of a notebook that is read at all
MOST = 100_000  # characters of a student's code that people read, or that are compared
UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Unreadable(Exception):
    """A submission that nobody can grade; the text says why."""


@dataclass(frozen=True)
class Submission:
    """A submission of a student. Without a path there is nothing to grade; `fault` says what hindered the grader.

    `handed_in` is what `clock` says, and None where nobody has kept the time. Of several, each has the number of its
    `attempt`; 0 is the only one.
    """

    student: str
    path: Path | None
    handed_in: datetime | None = None
    remark: str = ""
    fault: str = ""
    clock: str = "file"
    sender: Sender | None = None
    attempt: int = 0

    @property
    def key(self) -> str:
        return f"{self.student}/{self.attempt}" if self.attempt else self.student


def is_notebook(entry: Path) -> bool:
    return entry.suffix.lower() == ".ipynb"


def read_submission(student: str, entry: Path, name: str, stamped: bool, sender: Sender | None = None) -> Submission:
    """Reads what a file or folder holds for this assignment, whatever it is."""
    try:
        if is_notebook(entry):
            found = Submission(student, entry, _modification_time(entry))
        elif entry.is_dir() and not entry.is_symlink():
            found = _in_folder(entry, name, stamped)
        else:
            found = Submission(student, None, remark=printable(_no_notebook(entry)))
    except Exception as error:
        found = Submission(student, None, fault=unforeseen_error(error))
    if sender:  # files have the time of the download
        found = replace(found, handed_in=sender.when, clock=sender.platform, sender=sender)
    return replace(found, student=student)


def _no_notebook(entry: Path) -> str:
    """Says what a file is that is no notebook, and what to do.

    >>> _no_notebook(Path("ada.ipynb.txt"))
    'a notebook that is called ada.ipynb.txt; rename it to ada.ipynb'
    """
    name, dot, _ = entry.name.partition(".ipynb")
    kind = "other_ending" if dot else {".zip": "a_zip", ".py": "a_script"}.get(entry.suffix.lower(), "no_submission")
    return say(kind, name=entry.name, folder=entry.stem, notebook=f"{name}.ipynb")


def _in_folder(folder: Path, name: str, stamped: bool) -> Submission:
    """Finds the notebook in a student's folder; a wrong name is forgiven where there is no doubt."""
    notebooks = [path for path in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
    named = [path for path in notebooks if path.name == f"{name}.ipynb"]
    placed = [path for path in notebooks if path.parent.name == name]
    choices = ([path for path in named if path in placed], named, placed, notebooks)
    chosen = next((paths[0] for paths in choices if len(paths) == 1), None)
    if chosen is None:
        names = ", ".join(str(path.relative_to(folder)) for path in notebooks) or say("no_notebook")
        return Submission(folder.name, None, remark=printable(say("expected", name=name, found=names)))
    remarks = [] if chosen in named else [say("other_name", name=chosen.name)]
    handed_in, clock = _modification_time(chosen), "file"
    stamp = chosen.with_name("timestamp.txt")
    if stamped and stamp.exists():
        try:
            handed_in = _read_stamp(stamp.read_text(encoding="utf-8") if is_plain_file(stamp, most=1000) else "")
            clock = "stamp"
        except (ValueError, OSError, OverflowError, LookupError):
            remarks.append(say("no_stamp"))
    return Submission(folder.name, chosen, handed_in, printable("; ".join(remarks)), clock=clock)


def _read_stamp(text: str) -> datetime:
    """When something was handed in, as nbgrader notes it; ISO 8601 will do, too.

    >>> _read_stamp("2026-11-21 13:00:01.5 Europe/Paris").isoformat(), _read_stamp("2026-11-21T13:00:01Z").isoformat()
    ('2026-11-21T12:00:01.500000+00:00', '2026-11-21T13:00:01+00:00')
    """
    day, _, rest = text.strip().partition(" ")
    clock, _, zone = rest.partition(" ")
    when = datetime.fromisoformat(f"{day} {clock}".strip())
    return _plausible_time(when.replace(tzinfo=when.tzinfo or ZoneInfo(zone or "UTC")))


def _modification_time(path: Path) -> datetime | None:
    try:
        return _plausible_time(datetime.fromtimestamp(path.lstat().st_mtime, UTC))
    except (ValueError, OSError, OverflowError):
        return None


def _plausible_time(when: datetime) -> datetime:
    if not 1970 <= when.year < 2200:
        raise ValueError
    return when.astimezone(UTC)


class Code(NamedTuple):
    """A student's code, cell by cell; and what the notebook says of itself, which anybody can write into it.

    That is the version of Python, and whose copy it is, with a mark that only the right one has. `not_code` are the
    exercises whose cell is one of text, which nobody can run.
    """

    cells: list[dict]
    python: tuple[int, ...]
    copy_of: str = ""
    mark: str = ""
    not_code: tuple[str, ...] = ()


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
    if not _has_an_exercise(cells, assignment):
        raise Unreadable(say("another"))
    return Code(cells, _python_version(notebook), *_copy_of(notebook), _not_code(notebook, assignment))


def _python_version(notebook: dict) -> tuple[int, ...]:
    """
    >>> _python_version({"metadata": {"language_info": {"version": "3.12.1"}}}), _python_version({"metadata": {}})
    ((3, 12), ())
    """
    try:
        return tuple(int(part) for part in notebook["metadata"]["language_info"]["version"].split(".")[:2])
    except (LookupError, TypeError, ValueError, AttributeError):
        return ()


def _copy_of(notebook: dict) -> tuple[str, str]:
    """
    >>> _copy_of({"metadata": {"attnbook": {"student": "ada", "mark": "1f"}}}), _copy_of({"metadata": []}), _copy_of({})
    (('ada', '1f'), ('', ''), ('', ''))
    """
    try:
        about = notebook["metadata"]["attnbook"]
        return printable(about.get("student", ""))[:80], printable(about.get("mark", ""))
    except (LookupError, TypeError, AttributeError):
        return "", ""


def _has_an_exercise(cells: list[dict], assignment: Assignment) -> bool:
    """Whether an exercise is among the cells, by its id, or by a name that it defines."""
    ids = {exercise.id for exercise in assignment.exercises}
    names = [name for exercise in assignment.exercises for name in (*exercise.defined, *exercise.assigned)]
    written = re.compile(rf"^((async )?def |class )?({'|'.join(map(re.escape, names))})\b *[=(:]", re.MULTILINE)
    return any(cell["name"] in ids or written.search(cell["source"]) for cell in cells)


def is_plain_file(path: Path, most: int = LARGEST) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= most


def code_of(notebook: dict, assignment: Assignment) -> list[dict]:
    """Returns the code of a notebook, without what was handed out with it, each cell with the calls it must not make.

    Cells that define functions may call what is forbidden, to compare; cells that give values may not.
    """
    forbidden = {exercise.id: list(exercise.forbidden) for exercise in assignment.exercises if exercise.assigned}
    checks = {test.id: f"{test.visible}\n{test.hidden}" for exercise in assignment.exercises for test in exercise.tests}
    given = set(map(_cell_name, assignment.notebook.cells))
    cells = []
    for number, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), 1):
        name, source = _cell_name(cell), "".join(cell["source"])
        if SET_UP in source or LOOK_OVER in source:
            source = _own_part(source, _is_of_copies)
        if name in checks:
            source = _without_checks(source, "\n".join(checks.values()))
        if source:
            called = name if name in given else say("own_cell", number=number)  # its id says nothing to anybody
            cells.append({"name": called, "source": source, "forbidden": forbidden.get(name, [])})
    return cells


def _not_code(notebook: dict, assignment: Assignment) -> tuple[str, ...]:
    """Returns the exercises that are answered in cells of text alone."""
    ids = {exercise.id for exercise in assignment.exercises}
    code = {_cell_name(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"}
    return tuple(dict.fromkeys(name for cell in notebook["cells"] if (name := _cell_name(cell)) in ids - code))


def _own_part(source: str, handed_out: Callable[[ast.stmt], bool]) -> str:
    r"""Returns a cell without the statements that were handed out; all of it if it can't be read.

    >>> _own_part("x = 1\ndel x\n%time y = 2", lambda statement: isinstance(statement, ast.Delete))
    "x = 1\nget_ipython().run_line_magic('time', 'y = 2')"
    """
    try:
        statements = ast.parse(TransformerManager().transform_cell(source)).body
        return "\n".join(ast.unparse(one) for one in statements if not handed_out(one))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


def _is_of_copies(statement: ast.stmt) -> bool:
    """Whether a statement is of the cells that copies have and sources don't: one installs, one looks the work over."""
    match statement:
        case ast.ImportFrom(module=module) if module == LOOK_OVER:
            return True
        case ast.Expr(ast.Call(ast.Name("look_over"))):
            return True
        case ast.Expr(ast.Call(ast.Attribute(attr="run_line_magic"), [_, ast.Constant(value=str(text))])):
            return text.startswith("ATTNBOOK_LANGUAGE=")
        case ast.FunctionDef(name="set_up") | ast.Expr(ast.Call(ast.Name("set_up"))) | ast.Delete([ast.Name("set_up")]):
            return True
    return False


def _without_checks(source: str, checks: str) -> str:
    r"""Returns what a student wrote into the cell of a check, with the values of the check but without its verdicts.

    >>> check = "got = f(1)\nassert got == 2"
    >>> _without_checks("got = f(1)\nassert got == 2\n\nprint('passes')", check)
    ''
    >>> _without_checks("def g(x): return x\ngot = f(1)\nassert got == 2\nprint('passes')", check)
    'def g(x):\n    return x\ngot = f(1)'
    """
    handed_out = _statements(checks)

    def is_verdict(statement: ast.stmt) -> bool:
        match statement:
            case ast.Expr(ast.Call(ast.Name("print"), [ast.Constant()])):
                return True
            case ast.Assign() | ast.AnnAssign() | ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef():
                return False
        return _wordless(statement) in handed_out

    own = _own_part(source, is_verdict)
    only_values = _own_part(own, lambda statement: _wordless(statement) in handed_out)
    return own if only_values else ""


@lru_cache(maxsize=8)
def _statements(checks: str) -> frozenset[str]:
    """What the statements of an assignment's checks are: the same for each cell of each copy, so worked out once."""
    return frozenset(map(_wordless, ast.parse(checks).body))


def _wordless(statement: ast.stmt) -> str:
    r"""What a statement is, whatever language its words are in: a copy may have been handed out in another one.

    >>> english, chinese = ast.parse("assert x, f'not {x}'\nassert x, f'{x} 不对'").body
    >>> _wordless(english) == _wordless(chinese)
    True
    """
    return ast.dump(_Wordless().visit(deepcopy(statement)))


class _Wordless(ast.NodeTransformer):
    """Empties texts that may be words."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        are_words = isinstance(node.value, str) and not re.fullmatch("[!-~]*", node.value)
        return ast.Constant("") if are_words else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant("")


def truncated(sources: list[str], most: int = MOST) -> list[str]:
    """Cuts sources so that together they have at most so many characters; the last ones lose theirs first.

    >>> truncated(["abc", "defg", "h"], 5)
    ['abc', 'de', '']
    """
    left, kept = most, []
    for source in sources:
        kept.append(source[: max(left, 0)])
        left -= len(source)
    return kept


def _cell_name(cell: dict) -> str:
    return str(nbgrader(cell).get("grade_id", cell.get("id")))


def unforeseen_error(error: Exception) -> str:
    """Names only the type of an error: its text may be from a hidden test, and students read this."""
    return say("stumbled", error=type(error).__name__)


def printable(said: object) -> str:
    r"""Returns a text that is safe to print: without control and direction marks, and not too long.

    >>> printable("a\x1b[31m\u202eb\ud800")
    'a\ufffd[31m\ufffdb?'
    """
    text = str(said)[:4000].encode("utf-8", "replace").decode()
    return UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)[:2000]
