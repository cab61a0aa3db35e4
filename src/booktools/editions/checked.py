"""Cells tagged `checks` hold what is asserted; every edition folds each to one line that says how much."""

import ast

import nbformat

from attnbook.language import count, words
from booktools.core import HERE as CORE


def is_check(cell) -> bool:
    return cell.cell_type == "code" and "checks" in cell.metadata.get("tags", [])


def statements(source: str) -> int:
    """How many things a cell asserts.

    >>> statements("assert x\\ntorch.testing.assert_close(a, b)\\nfor _ in y:\\n    says('9 %', z)\\nprint(x)")
    3
    >>> statements("check.says(x)\\nasserted(x)")
    0
    """
    return sum(isinstance(node, ast.Assert) or is_asserting_call(node) for node in ast.walk(ast.parse(source)))


def is_asserting_call(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name("says")):
            return True
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)):
            return name.startswith("assert_")
    return False


def title(source: str) -> str:
    """
    >>> title("assert x"), title("assert x\\nassert y")
    ('Checked: 1 statement', 'Checked: 2 statements')
    """
    return count(words(CORE)["checked"], statements(source))


def fold_on_page(source: str) -> str:
    """A notebook's source in which each such cell is one that hides its code behind that line."""
    notebook = nbformat.reads(source, as_version=4)
    for cell in filter(is_check, notebook.cells):
        cell.metadata.tags = [*cell.metadata.tags, "hide-input"]
        line = title(cell.source)
        cell.metadata.mystnb = {**cell.metadata.get("mystnb", {}), "code_prompt_show": line, "code_prompt_hide": line}
    return nbformat.writes(notebook)


def fold_in_colab(cell) -> None:
    """Hide what the site folds: Colab shows a form, with its title, if any; Jupyter goes by a mark of its own."""
    if is_check(cell):
        cell.source = f"# @title {title(cell.source)}\n{cell.source}"
    if is_check(cell) or "hide-input" in cell.metadata.get("tags", []):
        cell.metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
