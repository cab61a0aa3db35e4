"""A student's look over an assignment before it is handed in: does it run from top to bottom, and is it complete?"""

import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

from attnbook.language import plain, words

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
    notebook, saved = found
    print(say["saved" if saved else "reads"].format(name=name, time=saved), end="\n\n")
    about = [Exercise(title, *_ids(ids)) for title, ids in exercises.items()]
    cells = list(_cells(notebook))
    outcome = _outcome(cells, {check for one in about for check in one.checks}, 2 * total)
    of_exercises = [_of_exercise(one, cells, outcome) for one in about]
    of_cells = list(_of_cells(cells, outcome, about, seconds, 2 * total, tuple(python)))
    print(*(said for _, said in of_exercises), *([""] if of_cells else []), *of_cells, sep="\n")
    whole = all(right for right, _ in of_exercises) and not of_cells
    print("\n" + say["whole" if whole else "not_whole"])


def _ids(ids: str) -> tuple[str, list[str]]:
    """
    >>> _ids("shares test-shares test-slope")
    ('shares', ['test-shares', 'test-slope'])
    """
    cell, *checks = ids.split()
    return cell, checks


def _own_notebook(name: str) -> tuple[dict, str] | None:
    """The notebook in which this runs, and when it was saved; Colab gives it as it is on the screen."""
    try:
        from google.colab import _message  # pyrefly: ignore[missing-import] (Colab's own)
    except ImportError:
        pass
    else:
        return _message.blocking_request("get_ipynb", timeout_sec=60)["ipynb"], ""
    visible = sys.modules["__main__"].__dict__.get("__vsc_ipynb_file__", "")  # VS Code says where the notebook is
    for path in map(Path, (os.environ.get("JPY_SESSION_NAME", ""), visible, name)):
        if path.suffix == ".ipynb" and path.is_file():
            saved = time.strftime("%H:%M", time.localtime(path.stat().st_mtime))
            return json.loads(path.read_text(encoding="utf-8")), saved
    return None


def _cells(notebook: dict) -> Iterator[Cell]:
    number = 0
    for cell in notebook["cells"]:
        is_code = cell["cell_type"] == "code"
        number += is_code
        name = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", cell.get("id", ""))
        yield Cell(name, number if is_code else 0, "".join(cell["source"]))


def _outcome(cells: list[Cell], checks: set[str], most: float) -> dict[int, dict]:
    """Runs the cells in a new process; what each code cell did, by its number. A check counts as it runs at the end."""
    given = [
        {"number": cell.number, "source": cell.source, "check": cell.name in checks} for cell in cells if cell.number
    ]
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told"
        told.touch()
        environment = os.environ | {INSIDE: "1", "MPLBACKEND": "agg", "TQDM_DISABLE": "1", "TMPDIR": folder}
        command = [sys.executable, "-m", "attnbook.handing_in.rerun", str(told)]
        try:
            text = json.dumps(given)
            subprocess.run(
                command, input=text, text=True, capture_output=True, env=environment, timeout=most, check=False
            )
        except subprocess.TimeoutExpired:
            pass
        lines = [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]
    return {line["number"]: line for line in lines}


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
    cells: list[Cell], outcome: dict[int, dict], about: list[Exercise], seconds: float, most: float, python: tuple
) -> Iterator[str]:
    """What is said of cells that are no checks: what they raise, and what they take too long for."""
    say = words(HERE)
    checks = {check for one in about for check in one.checks}
    for cell in cells:
        if not cell.number or cell.name in checks:
            continue
        if cell.number not in outcome:
            yield say["stuck"].format(number=cell.number, seconds=plain(most))
            return
        error, took = outcome[cell.number]["error"], outcome[cell.number]["seconds"]
        if error and not _is_unwritten(outcome[cell.number]):
            kind = "order" if error.startswith("NameError") else "cell"
            yield say[kind].format(number=cell.number, error=error)
        elif took > seconds:
            yield say["slow"].format(number=cell.number, seconds=plain(round(took)), most=plain(seconds))
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
