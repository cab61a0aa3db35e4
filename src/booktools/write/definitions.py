"""What a chapter defines above a stub, as far as its page can run it: a reader's code may ask for it."""

import ast
import builtins

from booktools.book.cell_kinds import stub_check
from booktools.book.from_scratch import free_names
from booktools.write.mistakes import on_the_page
from booktools.write.source import NotForThePage, names_of
from booktools.write.stubs import body, runnable_lines


def names_above(cells: list) -> dict:
    """What a stub may ask for: definitions, and every name with the place of the cell that gives it first."""
    names = [
        (name, place)
        for place, cell in enumerate(cells)
        if cell.cell_type == "code"
        for node in body(cell.source)
        for name in names_of(node)
    ]
    return {"definitions": definitions(cells), "names": dict(reversed(names))}


def definitions(cells: list) -> list[tuple[int, str, str]]:
    """Functions and classes: the place of their cell, the name, the source.

    Where a name comes to be something else that the page can't run, its source is empty.
    """
    known, found = set(dir(builtins)), []
    for place, cell in enumerate(cells):
        if cell.cell_type != "code" or stub_check(cell):
            continue
        for node in body(cell.source):
            here = {name for _, name, _ in found}
            lines = [(name, line) for line, name in runnable_lines(node)] or [(name, "") for name in names_of(node)]
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                source = defined(node, known)
                lines = [(node.name, source)]
                here |= {node.name} if source else set()
            known = {*known, *(name for name, line in lines if line)} - {name for name, line in lines if not line}
            found += [(place, name, line) for name, line in lines if name in here]
    return found


def defined(node: ast.FunctionDef | ast.ClassDef, known: set[str]) -> str:
    if free_names(ast.unparse(node)) - known:
        return ""
    try:
        return on_the_page(node, {node.name})
    except NotForThePage:
        return ""
