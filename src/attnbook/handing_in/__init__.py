"""A student's look over an assignment before it is handed in: does it run from top to bottom, and is it complete?"""

import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

from attnbook.language import plain, whole, words

HERE = Path(__file__).parent
INSIDE = "ATTNBOOK_HANDING_IN"  # set where the notebook runs once more: there the last cell does nothing


class Exercise(NamedTuple):
    """An exercise's title, and the ids of its cell and of its checks."""

    title: str
    cell: str
    checks: list[str]


class Cell(NamedTuple):
    """A cell of the notebook. Code cells are counted from 1, others have the number 0."""

    name: str
    number: int
    source: str


def look_over(
    name: str, exercises: Mapping[str, str], *, seconds: float = 20, total: float = 120, python: Sequence[int] = (3, 11)
) -> None:
    """Runs the notebook of an assignment once more, as grading will, and prints what is missing or will not count.

    `exercises` has for each title the ids of the exercise's cell and of its checks; `seconds` is what one cell may
    take, `total` what all may.
    """
    if INSIDE in os.environ:
        return
    say = words(HERE)
    if (found := _own_notebook(name)) is None:
        print(say["not_found"].format(name=name, folder=Path.cwd()))
        return
    notebook, path, saved = found
    print(say["saved" if saved else "reads"].format(name=path, time=saved), end="\n\n")
    about = [Exercise(title, *_ids(ids)) for title, ids in exercises.items()]
    cells, checks = list(_cells(notebook)), {check for one in about for check in one.checks}
    outcome, stopped = _outcome(cells, checks, 2 * total)
    of_exercises = [_of_exercise(one, cells, outcome) for one in about]
    of_cells = [*_of_cells(cells, outcome, checks, seconds, tuple(python)), *filter(None, [stopped])]
    if (took := _longer(outcome.values())) > total:
        of_cells.append(say["all_slow"].format(seconds=whole(ceil(took)), most=plain(total)))
    print(*(said for _, said in of_exercises), *([""] if of_cells else []), *of_cells, sep="\n")
    is_whole = all(right for right, _ in of_exercises) and not of_cells
    print("\n" + say["whole" if is_whole else "not_whole"])


def _ids(ids: str) -> tuple[str, list[str]]:
    """
    >>> _ids("shares test-shares test-slope")
    ('shares', ['test-shares', 'test-slope'])
    """
    cell, *checks = ids.split()
    return cell, checks


def _own_notebook(name: str) -> tuple[dict, str, str] | None:
    """The notebook in which this runs, where it is, and when it was saved; Colab gives it as it is on the screen."""
    try:
        from google.colab import _message  # pyrefly: ignore[missing-import] (Colab's own)
    except ImportError:
        pass
    else:
        return _message.blocking_request("get_ipynb", timeout_sec=60)["ipynb"], name, ""
    visible = sys.modules["__main__"].__dict__.get("__vsc_ipynb_file__", "")  # VS Code says where the notebook is
    for path in map(Path, (os.environ.get("JPY_SESSION_NAME", ""), visible, name)):
        if path.suffix == ".ipynb" and path.is_file():
            saved = time.strftime("%H:%M", time.localtime(path.stat().st_mtime))
            return json.loads(path.read_text(encoding="utf-8")), str(path), saved
    return None


def _cells(notebook: dict) -> Iterator[Cell]:
    number = 0
    for cell in notebook["cells"]:
        is_code = cell["cell_type"] == "code"
        number += is_code
        name = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", cell.get("id", ""))
        yield Cell(name, number if is_code else 0, "".join(cell["source"]))


def _outcome(cells: list[Cell], checks: set[str], most: float) -> tuple[dict[int, dict], str]:
    """Runs the cells in a new process, then the checks once more, and a check counts as it runs then.

    Returns what each code cell did, by its number, and what is said where not all of them came to an end.
    """
    code = [cell for cell in cells if cell.number]
    order = [*code, *(cell for cell in code if cell.name in checks)]
    with tempfile.TemporaryDirectory() as folder:
        empty, told = Path(folder) / "empty", Path(folder) / "told"
        empty.mkdir()
        ended, about = _rerun([cell._asdict() for cell in order], empty, told, most)
        lines = [json.loads(line) for line in told.read_text("utf-8").splitlines()] if told.exists() else None
    outcome = {line["number"]: line for line in lines or []}
    if lines is not None and len(lines) == len(order):
        return outcome, ""
    number = order[len(lines or [])].number
    outcome.pop(number, None)
    kind = "no_start" if lines is None and ended else "ended" if ended else "stuck"
    return outcome, words(HERE)[kind].format(number=number, seconds=plain(most), **about).strip()


def _rerun(order: list[dict], empty: Path, told: Path, most: float) -> tuple[bool, dict]:
    """Runs these cells in an empty folder. Whether the process ended by itself, and if so, how and with what words."""
    environment = os.environ | {INSIDE: "1", "MPLBACKEND": "agg", "TQDM_DISABLE": "1", "TMPDIR": str(told.parent)}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": _installed()}  # as where it is graded
    command = [sys.executable, "-m", "attnbook.handing_in.rerun", str(told)]
    captured = {"capture_output": True, "encoding": "utf-8", "errors": "replace"}
    try:
        ended = subprocess.run(
            command, input=json.dumps(order), cwd=empty, env=environment, timeout=most, check=False, **captured
        )
    except subprocess.TimeoutExpired:
        return False, {}
    except OSError as error:
        return True, {"status": type(error).__name__, "said": error}
    code, said = ended.returncode, ended.stderr.strip().rpartition("\n")[2][:500]
    status = signal.Signals(-code).name if code < 0 else words(HERE)["status"].format(code=code)
    return True, {"status": status, "said": said}


def _installed() -> str:
    """Of PYTHONPATH, where packages are installed: other files of a student's own are not there when it is graded."""
    places = [Path(place).resolve() for place in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.pathsep.join(str(one) for one in places if one.name.endswith("-packages") or one == HERE.parents[1])


def _longer(ran: Iterable[dict]) -> float:
    """Seconds of work or of waiting, whichever were more: each has a limit of its own.

    >>> _longer([{"working": 3, "waiting": 1}, {"working": 0, "waiting": 1}])
    3
    """
    ran = list(ran)
    return max(sum(one[kind] for one in ran) for kind in ("working", "waiting"))


def _of_exercise(one: Exercise, cells: list[Cell], outcome: dict[int, dict]) -> tuple[bool, str]:
    """Whether an exercise is complete as far as its checks show, and what is said of it."""
    say = words(HERE)
    numbers = {cell.name: cell.number for cell in cells}
    if one.cell in numbers and not any(cell.number for cell in cells if cell.name == one.cell):
        return False, say["text"].format(title=one.title)
    checks = [numbers.get(check, 0) for check in one.checks]
    if not all(checks):
        return False, say["no_checks"].format(title=one.title)
    unwritten = _is_unwritten(outcome.get(numbers.get(one.cell, 0)))
    for place, number in enumerate(checks, start=1):
        if number not in outcome:
            return False, say["not_reached"].format(title=one.title)
        if error := outcome[number]["error"]:
            kind = "unwritten" if unwritten or _is_unwritten(outcome[number]) else "fails"
            return False, say[kind].format(title=one.title, number=place, error=error)
    return True, say["right"].format(title=one.title)


def _is_unwritten(ran: dict | None) -> bool:
    return ran is not None and ran["error"].startswith("NotImplementedError")


def _of_cells(
    cells: list[Cell], outcome: dict[int, dict], checks: set[str], seconds: float, python: tuple
) -> Iterator[str]:
    """What is said of cells: what those raise that are no checks, and what takes too long."""
    say = words(HERE)
    for cell in cells:
        if cell.number not in outcome:
            continue
        ran = outcome[cell.number]
        error, took = "" if cell.name in checks else ran["error"], _longer([ran])
        if error and not _is_unwritten(ran):
            kind = "order" if error.startswith("NameError") else "cell"
            yield say[kind].format(number=cell.number, error=error)
        elif took > seconds:
            yield say["slow"].format(number=cell.number, seconds=whole(ceil(took)), most=plain(seconds))
        if not error and (older := _not_read_by(cell.source, python)):
            yield say["old"].format(number=cell.number, python=".".join(map(str, python)), error=older)


def _not_read_by(source: str, python: tuple) -> str:
    """What an older Python would say of a cell; nothing where it can read it.

    >>> _not_read_by("type Pair = tuple[int, int]", (3, 11)) != "", _not_read_by("%time x = 1", (3, 11))
    (True, '')
    """
    try:
        ast.parse(TransformerManager().transform_cell(source), feature_version=python)
    except SyntaxError as error:
        return error.msg
    return ""
