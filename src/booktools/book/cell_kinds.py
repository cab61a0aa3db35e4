"""The kinds of cells in a chapter (stubs, checks, our solutions, mistakes), and which of them are folded to a line."""

import ast
import re

import nbformat

from attnbook.language import count, words
from booktools.book import HERE


def is_check(cell) -> bool:
    return cell.cell_type == "code" and "checks" in cell.metadata.get("tags", [])


def is_ours(cell) -> bool:
    """Whether a cell is the book's answer to what a reader is asked to write first."""
    return cell.cell_type == "code" and "ours" in cell.metadata.get("tags", [])


def stub_check(cell) -> tuple[str, str] | None:
    """Returns the name of the check that a stub calls, and the name that it checks; None for another cell.

    >>> from nbformat.v4 import new_code_cell
    >>> stub_check(new_code_cell("def my_mask(L):\\n    return None  # your code\\n\\n\\ncheck.mask(my_mask)"))
    ('mask', 'my_mask')
    """
    asked = re.search(r"^check\.(\w+)\((\w+)\)", cell.source, re.M) if cell.cell_type == "code" else None
    return (asked[1], asked[2]) if asked and "# your code" in cell.source else None


def is_mistake(cell) -> bool:
    """Whether a cell makes a mistake, or catches one, in the open: its id says so."""
    hidden = {"checks", "hide-input"} & {*cell.metadata.get("tags", [])}
    return cell.cell_type == "code" and cell.id.startswith("mistake") and not hidden


def count_assertions(source: str) -> int:
    """Counts the assertions in the code of a cell.

    >>> count_assertions("assert x\\ntorch.testing.assert_close(a, b)\\nfor _ in y:\\n    says('9 %', z)\\nprint(x)")
    3
    >>> count_assertions("check.says(x)\\nasserted(x)")
    0
    """
    return sum(isinstance(node, ast.Assert) or _is_asserting_call(node) for node in ast.walk(ast.parse(source)))


def _is_asserting_call(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name("says")):
            return True
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)):
            return name.startswith("assert_")
    return False


def fold_label(cell) -> str:
    """Returns the line behind which a cell is folded; an empty text for a cell that stands open.

    >>> from nbformat.v4 import new_code_cell
    >>> fold_label(new_code_cell("assert x", metadata={"tags": ["checks"]}))
    'Checked: 1 statement'
    >>> fold_label(new_code_cell("x = 1", metadata={"tags": ["keep", "ours"]}))
    'Ours'
    """
    if is_check(cell):
        return count(words(HERE)["checked"], count_assertions(cell.source))
    return words(HERE)["ours"] if is_ours(cell) else ""


def fold_on_page(notebook) -> str:
    """The source of a notebook in which each such cell is one that hides its code behind that line.

    A cell in which a reader writes has the tag `stub`, one that makes a mistake the tag `mistake`.
    """
    for cell in notebook.cells:
        if kind := "stub" if stub_check(cell) else "mistake" if is_mistake(cell) else "":
            cell.metadata.tags = [*cell.metadata.get("tags", []), kind]
        if line := fold_label(cell):
            cell.metadata.tags = [*cell.metadata.tags, "hide-input"]
            prompts = {"code_prompt_show": line, "code_prompt_hide": line}
            cell.metadata.mystnb = {**cell.metadata.get("mystnb", {}), **prompts}
    return nbformat.writes(notebook)


def fold_in_colab(cell) -> None:
    """Hide what the site folds: Colab shows a form, with its title, if any; Jupyter goes by a mark of its own."""
    line = fold_label(cell)
    if line:
        cell.source = f"# @title {line}\n{cell.source}"
    if line or "hide-input" in cell.metadata.get("tags", []):
        cell.metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
