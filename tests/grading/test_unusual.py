"""Right answers in six unusual forms get full points, in every assignment."""

import ast
from collections.abc import Callable
from copy import deepcopy

import pytest
from nbformat.v4 import new_code_cell

from booktools.book.assignment import Assignment
from booktools.book.limits import Limits
from grading.run_tests import run_tests
from grading.submissions import code_of
from tests import ROOT

pytestmark = pytest.mark.slow
SOURCES = sorted((ROOT / "assignments/source").glob("*.ipynb"))


def each_definition(source: str, form: Callable[[ast.stmt], str]) -> str:
    """A cell with each function and class that stands in it written in another form."""
    nodes = ast.parse(source).body
    named = (ast.FunctionDef, ast.ClassDef)
    return "\n\n".join(form(node) if isinstance(node, named) else ast.unparse(node) for node in nodes)


def indented(node: ast.stmt) -> str:
    return ast.unparse(node).replace("\n", "\n    ")


def closure(node) -> str:
    """Made by a function, which is deleted."""
    return f"def make():\n    {indented(node)}\n    return {node.name}\n{node.name} = make()\ndel make"


def method(node) -> str:
    """A method of a class, taken out of it."""
    mark = "@staticmethod\n    " if isinstance(node, ast.FunctionDef) else ""
    return f"class Mine:\n    {mark}{indented(node)}\n{node.name} = Mine.{node.name}"


def wrapped(node) -> str:
    """Behind a decorator that passes everything on; a class through one that inherits from it."""
    if isinstance(node, ast.ClassDef):
        return f"{ast.unparse(node)}\nclass {node.name}({node.name}):\n    pass"
    return (
        "def told(f):\n    import functools\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n"
        f"        return f(*args, **kwargs)\n    return inner\n@told\n{ast.unparse(node)}"
    )


class Short(ast.NodeTransformer):
    """Names of a function's own become v1, v2, …, and texts that nobody needs go."""

    def visit_FunctionDef(self, node):
        inner = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef | ast.Lambda) and one is not node]
        kept = {arg.arg for one in (node, *inner) for arg in ast.walk(one.args) if isinstance(arg, ast.arg)}
        kept |= {one.name for one in inner if isinstance(one, ast.FunctionDef)}
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        own = dict.fromkeys(one.id for one in names if isinstance(one.ctx, ast.Store) and one.id not in kept)
        short = {name: f"v{number}" for number, name in enumerate(own)}
        for name in names:
            name.id = short.get(name.id, name.id)
        if ast.get_docstring(node) and len(node.body) > 1:
            del node.body[0]
        return node


def short(source: str) -> str:
    """Timed by a magic, with other names, on lines with semicolons."""
    return "%%time\n" + ast.unparse(Short().visit(ast.parse(source))) + "\nx = 1; y = x; del x, y"


def with_answers(assignment: Assignment, form: Callable[[str], str]):
    notebook = deepcopy(assignment.notebook)
    ids = {one.id for one in assignment.exercises}
    for cell in notebook.cells:
        if cell.id in ids:
            cell.source = form(cell.source)
    return notebook


def in_one_cell(assignment: Assignment):
    """Everything in the first code cell, checks in between."""
    notebook = with_answers(assignment, str)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code[0].source = "\n\n".join(cell.source for cell in code)
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type != "code" or cell is code[0]]
    return notebook


def at_the_end(assignment: Assignment):
    """The cells that were handed out are left as they were; the answers follow in others, the last first."""
    notebook = assignment.student()
    notebook.cells += [new_code_cell(one.source) for one in reversed(assignment.exercises)]
    return notebook


FORMS = {
    "closures": lambda one: with_answers(one, lambda source: each_definition(source, closure)),
    "methods": lambda one: with_answers(one, lambda source: each_definition(source, method)),
    "decorated": lambda one: with_answers(one, lambda source: each_definition(source, wrapped)),
    "short names and a magic": lambda one: with_answers(one, short),
    "in one cell": in_one_cell,
    "at the end": at_the_end,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_right_answers_in_unusual_forms(path, form, server):
    assignment = Assignment.read(path)
    outcome = run_tests(assignment, code_of(FORMS[form](assignment), assignment), server, Limits.within(1200))
    failed = {name: result for name, result in outcome.results.items() if not result.passed}
    assert (outcome.total(assignment), failed, outcome.used) == (10, {}, {})
