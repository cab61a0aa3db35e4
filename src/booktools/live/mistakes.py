"""What the page is sent for a chapter's mistakes: the code above them, as far as each needs it.

From a cell backwards, every statement is taken that gives, or changes, a name that is needed. Where the page can't run
one, because it reads the book's data, the few numbers that it gives are sent in its place. What needs more than that
(a trained model, another library) is left as it is, and the reason known.
"""

import ast
import re
from collections.abc import Sequence, Set
from functools import cache

import torch
from torch import Tensor

from booktools.book.cell_kinds import is_mistake
from booktools.book.statements import BUILT_IN, Statement, free_names, names_given
from booktools.live.checks import (
    HERE,
    defined,
    names_of_library,
    names_of_torch,
    needed_words,
    operations,
    tensor_json,
)
from booktools.live.source import NotForThePage, Reworded, as_expression, is_data
from booktools.live.stubs import page_has_member, page_has_module, page_module

MOST = 2000  # numbers of a tensor that is sent
OTHERS = {name for kind in (object, type, dict, list, str) for name in dir(kind)}  # names that tensors share with them


def runnable_mistakes(cells: list, code: Sequence[Statement]) -> dict[str, dict | NotForThePage]:
    """For each mistake of a notebook, by the id of its cell, what the page is sent, or why it can't run there."""
    found: dict[str, dict | NotForThePage] = {}
    for place, cell in enumerate(cells):
        if is_mistake(cell):
            above = Above([each for each in code if each.place < place], _runnable_ids(found))
            try:
                refuse(cell.source)
                found[cell.id] = above.sent(cell)
            except NotForThePage as why:
                found[cell.id] = why
    needed = {name for each in found.values() if isinstance(each, dict) for name in each["after"]}
    for cell in cells:
        if cell.id in _runnable_ids(found) - needed and not cell.outputs:
            found[cell.id] = NotForThePage("it prints nothing, and what needs it can't be run")
    return found


def _runnable_ids(found: dict[str, dict | NotForThePage]) -> set[str]:
    return {name for name, each in found.items() if isinstance(each, dict)}


class Above:
    """The statements above a cell; some of them stand in cells that can be changed on the page."""

    def __init__(self, code: list[Statement], editors: set[str]):
        self.code = code
        self.imported = {name for each in code if each.is_import for name in each.gives}
        self.editors, self.used, self.tensors = editors, set(), []
        self.refused: dict[tuple[frozenset[str], int], NotForThePage] = {}  # many ways lead to the same question

    def sent(self, cell) -> dict:
        source = "\n".join(self.given(free_names(cell.source), len(self.code)))
        after = [name for name in dict.fromkeys(each.cell for each in self.code) if name in self.used]
        tensors = [tensor_json(tensor) for tensor in self.tensors]
        return {"source": source, "after": after, "tensors": tensors, "words": needed_words("")}

    def given(self, needed: Set[str], place: int) -> list[str]:
        """What the page runs, of the statements before a place, so that it has all these names."""
        asked = frozenset(needed), place
        if asked in self.refused:
            raise self.refused[asked]
        try:
            return self.found(needed - BUILT_IN, place)
        except NotForThePage as why:
            self.refused[asked] = why
            raise

    def found(self, needed: Set[str], place: int) -> list[str]:
        while needed and place:
            place -= 1
            each = self.code[place]
            if not (touched := needed & self.touched(each)):
                continue
            left = needed - {*each.gives}
            if each.cell in self.editors:
                self.used.add(each.cell)
                needed = left | each.needs
                continue
            try:
                line = on_the_page(each, touched)
                return [*self.given(left | each.needs, place), line]
            except NotForThePage:
                if not isinstance(each.node, ast.Assign):
                    raise
                return [*self.given(left, place), *self.values(each, touched, place)]
        if needed:
            raise NotForThePage(f"{', '.join(sorted(needed))} can't be had")
        return []

    def touched(self, statement: Statement) -> Set[str]:
        """The names that a statement gives or may change; a call of a module's function doesn't change the module."""
        anew = statement.is_import or statement.is_definition
        return statement.changes if anew else statement.changes - self.imported

    def values(self, statement: Statement, names: Set[str], place: int) -> list[str]:
        """What a statement gives, as numbers: it and what it needs are run now, unless something is trained for it."""
        needed, lines = statement.needs, [statement.source]
        for other in reversed(self.code[:place]):
            if needed & self.touched(other):
                needed = needed - {*other.gives} | other.needs
                lines.insert(0, other.source)
        source = "\n".join(lines)
        if re.search(r"\b(backward|fit|pretrained|rand\w*)\b", source):
            raise NotForThePage(f"{', '.join(sorted(names))} comes from training, random numbers or a published model")
        space: dict[str, object] = {}
        exec(source, space)
        for name in sorted(names):
            value = space[name]
            if not is_data(value) or (isinstance(value, Tensor) and value.numel() > MOST):
                raise NotForThePage(f"{name} is more than a few numbers")
        return [f"{name} = {as_expression(space[name], self.tensors)}" for name in sorted(names)]


def on_the_page(statement: Statement, names: Set[str]) -> str:
    """A statement in MicroPython's words; of an import, only these names."""
    match statement.node:
        case ast.Import(aliases):
            kept = [alias for alias, name in zip(aliases, statement.gives, strict=True) if name in names]
            for alias in kept:
                if not page_has_module(alias.name):
                    raise NotForThePage(f"it needs {alias.name}")
            return ast.unparse(ast.Import(kept))
        case ast.ImportFrom(str(module), aliases):
            kept = [alias for alias, name in zip(aliases, statement.gives, strict=True) if name in names]
            for alias in kept:
                if not page_has_member(module, alias.name):
                    raise NotForThePage(f"it needs {module}.{alias.name}")
            return ast.unparse(ast.ImportFrom(page_module(module), kept, 0))
    refuse(statement.source)
    return ast.unparse(ast.fix_missing_locations(Reworded().visit(ast.parse(statement.source))))


def refuse(source: str) -> None:
    """Names of PyTorch and of the library that the page lacks are a reason."""
    layers = defined(HERE / "micropython_modules/torch/nn/__init__.py") | {"functional"}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(ast.Name("torch"), name) if name not in names_of_torch():
                raise NotForThePage(f"it needs torch.{name}")
            case ast.Attribute(ast.Name("nn"), name) if name not in layers:
                raise NotForThePage(f"it needs torch.nn.{name}")
            case ast.Attribute(ast.Attribute(ast.Name("torch"), module), name) if _lacks(f"torch.{module}", name):
                raise NotForThePage(f"it needs torch.{module}.{name}")
            case ast.Attribute(ast.Name("attnbook"), name) if name not in names_of_library():
                raise NotForThePage(f"it needs attnbook.{name}")
            case ast.Attribute(attr=name) if hasattr(torch.Tensor, name) and name not in _methods():
                raise NotForThePage(f"it needs Tensor.{name}")


def _lacks(package: str, name: str) -> bool:
    """Whether a package of the page, such as `torch.autograd`, is without a name."""
    own = HERE / "micropython_modules" / package.replace(".", "/") / "__init__.py"
    return own.is_file() and name not in defined(own) and not page_has_module(f"{package}.{name}")


@cache
def _methods() -> set[str]:
    """What a tensor of the page has; and names that other things have, too, so that they tell nothing."""
    tree = ast.parse((HERE / "micropython_modules/torch/__init__.py").read_text("utf-8"))
    tensor = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    own = {name for node in tensor.body for name in names_given(node)}
    return own | operations() | OTHERS
