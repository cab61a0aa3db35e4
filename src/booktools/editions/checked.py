"""Cells tagged `checks` hold what is asserted; every edition folds each to one line that says how much."""

import ast

import nbformat

from attnbook.language import count, words
from booktools.core import HERE as CORE


def is_check(cell) -> bool:
    return cell.cell_type == "code" and "checks" in cell.metadata.get("tags", [])


def statements(source: str) -> int:
    """How many things a cell asserts.

    >>> statements("assert x\\nassert_close(a, b)\\nfor _ in y:\\n    says('9 %', z)\\nprint(x)")
    3
    """
    nodes = list(ast.walk(ast.parse(source)))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = [name.id for name in called if isinstance(name, ast.Name)]
    asserting = [name for name in names if name == "says" or name.startswith("assert_")]
    return sum(isinstance(node, ast.Assert) for node in nodes) + len(asserting)


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
    """Colab shows a cell that begins with a title as a form, without its code; Jupyter goes by a mark of its own."""
    cell.source = f"# @title {title(cell.source)}\n{cell.source}"
    cell.metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
