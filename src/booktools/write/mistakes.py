"""What the page is sent for a chapter's mistakes: the code above them, as far as each needs it.

From a cell backwards, every statement is taken that gives, or changes, a name that is needed. Where the page can't run
one, because it reads the book's data, the few numbers that it gives are sent in its place. What needs more than that
(a trained model, another library) is left as it is, and the reason known.
"""

import ast
import builtins
import re
from functools import cache

import torch
from torch import Tensor

from booktools.book.cell_kinds import is_mistake
from booktools.book.from_scratch import free_names
from booktools.write.checks import (
    HERE,
    defined,
    names_of_library,
    names_of_torch,
    needed_words,
    operations,
    tensor_json,
)
from booktools.write.source import NotForThePage, Reworded, as_expression, is_data, names_of
from booktools.write.stubs import body, page_has_module

MOST = 2000  # numbers of a tensor that is sent
BUILT_IN = set(dir(builtins))
OTHERS = {name for kind in (object, type, dict, list, str) for name in dir(kind)}  # names that tensors share with them


def runnable_mistakes(cells: list) -> dict[str, dict | NotForThePage]:
    """For each mistake of a notebook, by the id of its cell, what the page is sent, or why it can't run there."""
    found: dict[str, dict | NotForThePage] = {}
    for place, cell in enumerate(cells):
        if is_mistake(cell):
            above = Above(cells[:place], _runnable_ids(found))
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

    def __init__(self, cells: list, editors: set[str]):
        code = [cell for cell in cells if cell.cell_type == "code"]
        self.statements = [(cell.id, node) for cell in code for node in body(cell.source)]
        self.imported = {name for _, node in self.statements if _is_import(node) for name in names_of(node)}
        self.editors, self.used, self.tensors = editors, set(), []
        self.refused: dict[tuple[frozenset[str], int], NotForThePage] = {}  # many ways lead to the same question

    def sent(self, cell) -> dict:
        source = "\n".join(self.given(free_names(cell.source), len(self.statements)))
        after = [name for name in dict.fromkeys(name for name, _ in self.statements) if name in self.used]
        tensors = [tensor_json(tensor) for tensor in self.tensors]
        return {"source": source, "after": after, "tensors": tensors, "words": needed_words("")}

    def given(self, needed: set[str], place: int) -> list[str]:
        """What the page runs, of the statements before a place, so that it has all these names."""
        asked = frozenset(needed), place
        if asked in self.refused:
            raise self.refused[asked]
        try:
            return self.found(needed - BUILT_IN, place)
        except NotForThePage as why:
            self.refused[asked] = why
            raise

    def found(self, needed: set[str], place: int) -> list[str]:
        while needed and place:
            place -= 1
            cell, node = self.statements[place]
            if not (touched := needed & self.touched(node)):
                continue
            if cell in self.editors:
                self.used.add(cell)
                needed = needed - _bound(node) | uses(node) - BUILT_IN
                continue
            try:
                line = on_the_page(node, touched)
                return [*self.given(needed - _bound(node) | uses(node), place), line]
            except NotForThePage:
                if not isinstance(node, ast.Assign):
                    raise
                return [*self.given(needed - _bound(node), place), *self.values(node, touched, place)]
        if needed:
            raise NotForThePage(f"{', '.join(sorted(needed))} can't be had")
        return []

    def touched(self, node: ast.stmt) -> set[str]:
        """The names that a statement gives, and those that it may change: x[0] = 1, x.y = 1, x += 1, x.f_()."""
        found = _bound(node)
        if _is_import(node) or isinstance(node, ast.FunctionDef | ast.ClassDef):
            return found
        for part in ast.walk(node):
            match part:
                case ast.Name(name, ast.Store()):
                    found.add(name)
                case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                    found.add(_root_of(part))
                case ast.Call(ast.Attribute(value, name)) if name.endswith("_") or isinstance(node, ast.Expr):
                    found.add(_root_of(value))
        return found - self.imported

    def values(self, node: ast.Assign, names: set[str], place: int) -> list[str]:
        """What a statement gives, as numbers: it and what it needs are run now, unless something is trained for it."""
        needed, lines = uses(node), [ast.unparse(node)]
        for _, other in reversed(self.statements[:place]):
            if needed & self.touched(other):
                needed = needed - _bound(other) | uses(other)
                lines.insert(0, ast.unparse(other))
        source = "\n".join(lines)
        if re.search(r"\b(backward|fit|pretrained|rand\w*)\b", source):
            raise NotForThePage(f"{', '.join(sorted(names))} comes from training, chance or a published model")
        space: dict[str, object] = {}
        exec(source, space)
        for name in sorted(names):
            value = space[name]
            if not is_data(value) or (isinstance(value, Tensor) and value.numel() > MOST):
                raise NotForThePage(f"{name} is more than a few numbers")
        return [f"{name} = {as_expression(space[name], self.tensors)}" for name in sorted(names)]


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement gives, whatever they were before."""
    if isinstance(node, ast.Assign):
        parts = (part for target in node.targets for part in ast.walk(target))
        return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return set(names_of(node))


def uses(node: ast.stmt) -> set[str]:
    """The names that a statement needs; in x = f(x) it is x, too."""
    return free_names(ast.unparse(node)) | (
        free_names(ast.unparse(node.value)) if isinstance(node, ast.Assign) else set()
    )


def _root_of(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def on_the_page(node: ast.stmt, names: set[str]) -> str:
    """A statement in MicroPython's words; of an import, only these names."""
    match node:
        case ast.Import(aliases):
            kept = [alias for alias in aliases if (alias.asname or alias.name).partition(".")[0] in names]
            for alias in kept:
                if not page_has_module(alias.name):
                    raise NotForThePage(f"it needs {alias.name}")
            return ast.unparse(ast.Import(kept))
        case ast.ImportFrom(str(module), aliases):
            kept = [alias for alias in aliases if (alias.asname or alias.name) in names]
            library = module.partition(".")[0] == "attnbook"
            for alias in kept:
                if alias.name not in names_of_library() if library else not page_has_module(module):
                    raise NotForThePage(f"it needs {module}.{alias.name}")
            return ast.unparse(ast.ImportFrom("attnbook" if library else module, kept, 0))
    source = ast.unparse(node)
    refuse(source)
    return ast.unparse(ast.fix_missing_locations(Reworded().visit(ast.parse(source))))


def refuse(source: str) -> None:
    """Names of PyTorch and of the library that the page lacks are a reason."""
    layers = defined(HERE / "micropython_modules/torch/nn/__init__.py") | {"functional"}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(ast.Name("torch"), name) if name not in names_of_torch():
                raise NotForThePage(f"it needs torch.{name}")
            case ast.Attribute(ast.Name("nn"), name) if name not in layers:
                raise NotForThePage(f"it needs torch.nn.{name}")
            case ast.Attribute(ast.Name("attnbook"), name) if name not in names_of_library():
                raise NotForThePage(f"it needs attnbook.{name}")
            case ast.Attribute(attr=name) if hasattr(torch.Tensor, name) and name not in _methods():
                raise NotForThePage(f"it needs Tensor.{name}")


@cache
def _methods() -> set[str]:
    """What a tensor of the page has; and names that other things have, too, so that they tell nothing."""
    tree = ast.parse((HERE / "micropython_modules/torch/__init__.py").read_text("utf-8"))
    tensor = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    own = {name for node in tensor.body for name in names_of(node)}
    return own | operations() | OTHERS
