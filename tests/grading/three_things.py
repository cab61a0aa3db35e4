"""A small assignment to grade in tests: a function, a module and a number."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

SHARES = '''
def shares(x):
    """exp(x) / Σ exp(x) over the last axis."""
    ### BEGIN SOLUTION
    powers = (x - x.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)
    ### END SOLUTION
'''
LINE = '''
class Line(nn.Module):
    """x W, with W (2, 3)."""

    def __init__(self):
        super().__init__()
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(torch.zeros(2, 3))
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return x @ self.weight
        ### END SOLUTION
'''
COUNT = """
### BEGIN SOLUTION
count = 12
### END SOLUTION
"""
TEST_SHARES = """
got = shares(torch.tensor([0.0, 0.0]))
assert got.shape == (2,), f"expected a vector of 2, got {tuple(got.shape)}"
assert_close(got, torch.tensor([0.5, 0.5]))
### BEGIN HIDDEN TESTS
x = torch.tensor([[1.0, 2.0, 4.0], [100.0, 101.0, 103.0]])
assert_close(shares(x), x.softmax(-1))
### END HIDDEN TESTS
"""
TEST_SLOPE = """
x = torch.zeros(3, requires_grad=True)
shares(x)[0].backward()
assert x.grad is not None, "no gradient reaches x"
### BEGIN HIDDEN TESTS
x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
got = torch.autograd.grad(shares(x)[1], x)[0]
want = torch.autograd.grad(x.softmax(-1)[1], x)[0]
assert_close(got, want)
### END HIDDEN TESTS
"""
TEST_LINE = """
line = Line()
line.load_state_dict({"weight": torch.ones(2, 3)})
assert_close(line(torch.ones(1, 2)), torch.full((1, 3), 2.0))
### BEGIN HIDDEN TESTS
line = Line()
weight, x = torch.arange(6.0).reshape(2, 3), torch.tensor([[1.0, -2.0]], requires_grad=True)
line.load_state_dict({"weight": weight})
(line(x) ** 2).sum().backward()
assert_close(x.grad, 2 * (x.detach() @ weight) @ weight.T)
assert_close(line.weight.grad, 2 * x.detach().T @ (x.detach() @ weight))
### END HIDDEN TESTS
"""
TEST_COUNT = """
assert isinstance(count, int), f"expected an integer, got {count!r}"
### BEGIN HIDDEN TESTS
assert count == 12
### END HIDDEN TESTS
"""


def solution(name, source, *forbidden):
    role = {"grade": False, "grade_id": name, "locked": False, "schema_version": 3, "solution": True, "task": False}
    metadata = {"nbgrader": role} | ({"attnbook": {"forbidden": list(forbidden)}} if forbidden else {})
    return new_code_cell(source.strip("\n"), id=name, metadata=metadata)


def graded(name, points, source, **about):
    role = {"grade": True, "grade_id": name, "locked": True, "points": points, "schema_version": 3, "solution": False}
    metadata = {"nbgrader": role | {"task": False}} | ({"attnbook": about} if about else {})
    return new_code_cell(source.strip("\n"), id=name, metadata=metadata)


def three_things():
    """The notebook of the assignment: 10 points."""
    cells = [
        new_markdown_cell("# Three things\n\nA function, a module, a number.", id="title"),
        new_code_cell("import torch\nfrom torch import nn\nfrom torch.testing import assert_close", id="imports"),
        new_markdown_cell(
            "## 1. Shares\n\nForbidden here: `torch.softmax`, `attnbook.masked_softmax`.", id="task-shares"
        ),
        solution("shares", SHARES, "torch.softmax", "attnbook.masked_softmax"),
        graded("test-shares", 3, TEST_SHARES, tries="large scores"),
        graded("test-slope", 2, TEST_SLOPE),
        new_markdown_cell("## 2. A line", id="task-line"),
        solution("line", LINE),
        graded("test-line", 3, TEST_LINE),
        new_markdown_cell("## 3. Three times four", id="task-count"),
        solution("count", COUNT),
        graded("test-count", 2, TEST_COUNT),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"attnbook": {"minutes": 10}, "kernelspec": kernel})


def write(folder, notebook=None):
    """The assignment as the file NAME.ipynb; where it is."""
    path = folder / "three_things.ipynb"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook or three_things(), path)
    return path


def answered(**sources):
    """A submission: the solution, with other sources in some of its cells; `more` is a cell of its own."""
    notebook = three_things()
    for cell in notebook.cells:
        cell.source = sources.get(cell.id, cell.source)
    if "more" in sources:
        notebook.cells.insert(2, new_code_cell(sources["more"], id="more"))
    return notebook
