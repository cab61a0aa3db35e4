"""Some of a module's names with all that they need, as text that MicroPython reads: what the page runs of a check.

Functions, classes and tables of functions travel as their source, in other words where MicroPython would not read it;
numbers, texts and tensors as they are in the module now, tensors in a list apart. Names of other modules are imported.
"""

import ast
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor

from booktools.book.statements import names_given

DRAWS = {"rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like"}


class NotForThePage(Exception):
    """Why something can't be run on a page, and what to do about it."""


def source_of(module: ModuleType, names: set[str], tensors: list[Tensor]) -> str:
    """The text that defines these names of a module; their tensors are added to a list, `tensors` in the text."""
    tree = ast.parse(Path(module.__file__ or "").read_text("utf-8"))
    defined = {name: node for node in tree.body for name in names_given(node)}
    if unknown := names - defined.keys():
        raise NotForThePage(f"{module.__name__} has no {', '.join(sorted(unknown))}")
    wanted, left, baked = set(), list(names), {}
    while left:
        name = left.pop()
        if name in wanted:
            continue
        wanted.add(name)
        node = defined[name]
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_data(value := getattr(module, name)):
            baked[name] = value
        else:
            left += [other for other in _names_read(node) if other in defined]
    return "\n".join(lines(module, tree, wanted, baked, tensors))


def lines(module: ModuleType, tree: ast.Module, wanted: set[str], baked: dict, tensors: list[Tensor]) -> Iterator[str]:
    """Yields the source of the wanted statements in the order in which they stand in the module."""
    for node in tree.body:
        here = [name for name in names_given(node) if name in wanted]
        if not here:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield imported(node, here)
        elif here[0] in baked:
            yield from (f"{name} = {as_expression(baked[name], tensors)}" for name in here)
        else:
            _refuse_draws(module, node)
            yield ast.unparse(ast.fix_missing_locations(Reworded().visit(node)))


def _names_read(node: ast.stmt) -> set[str]:
    """The names that a statement reads once its annotations are gone."""
    plain = Reworded().visit(ast.parse(ast.unparse(node)))
    return {name.id for name in ast.walk(plain) if isinstance(name, ast.Name)}


def imported(node: ast.Import | ast.ImportFrom, names: list[str]) -> str:
    """The same import of these names alone. The page has all that it knows of the book's library in one module."""
    aliases = [alias for alias in node.names if (alias.asname or alias.name).partition(".")[0] in names]
    text = ", ".join(alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in aliases)
    if isinstance(node, ast.Import):
        return f"import {text}"
    package, *rest = (node.module or "").split(".")
    if package == "attnbook" and rest[:1] not in (["language"], ["checks"]):
        return f"from attnbook import {text}"
    return f"from {node.module} import {text}"


def _refuse_draws(module: ModuleType, node: ast.stmt) -> None:
    """On a page chance gives other numbers: what is drawn must be drawn when the module is imported."""
    passed_over = {part.value for part in ast.walk(node) if isinstance(part, ast.Expr)}
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and _is_draw(part) and part not in passed_over:
            why = "draws numbers while it judges; draw them into a name of the module, once"
            raise NotForThePage(f"{module.__name__}, line {part.lineno}: it {why}")


def _is_draw(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS


def is_data(value: object) -> bool:
    """Whether a value can be written down as it is.

    >>> is_data({"two": (2, torch.zeros(2))}), is_data({"two": max})
    (True, False)
    """
    if isinstance(value, dict):
        return all(map(is_data, value)) and all(map(is_data, value.values()))
    if isinstance(value, list | tuple | set):
        return all(map(is_data, value))
    return value is None or isinstance(value, bool | int | float | str | bytes | Tensor | torch.dtype | Path)


def as_expression(value: object, tensors: list[Tensor]) -> str:
    """A value as an expression.

    >>> as_expression({"a": (1.0, [math.inf])}, [])
    "page_ordered([('a', (1.0, [float('inf')],))])"
    """
    write = lambda value: as_expression(value, tensors)  # noqa: E731
    match value:
        case Tensor():
            tensors.append(value)
            return f"tensors[{len(tensors) - 1}]"
        case dict():
            return f"page_ordered([{', '.join(f'({write(k)}, {write(v)})' for k, v in value.items())}])"
        case tuple():
            return f"({''.join(f'{write(x)}, ' for x in value).rstrip()})".replace(", )", ",)")
        case list():
            return f"[{', '.join(map(write, value))}]"
        case set():
            return f"set([{', '.join(map(write, value))}])"
        case float() if not math.isfinite(value):
            return f"float('{value}')"
        case Path():
            return repr(folder_name(value))
    return str(value) if isinstance(value, torch.dtype) else repr(value)


def folder_name(folder: Path) -> str:
    """Returns the name by which the page knows a folder of words.

    >>> import attnbook.checks
    >>> folder_name(Path(attnbook.checks.__file__).parent)
    'attnbook/checks'
    """
    return folder.relative_to(Path(sys.modules["attnbook"].__file__ or "").parents[1]).as_posix()


class Reworded(ast.NodeTransformer):
    """The same code for MicroPython: without annotations; dicts keep their order; no star inside a list or a tuple."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [each for each in node.decorator_list if getattr(each, "id", "") != "exercise"]
        node.returns = None
        for argument in [*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
            if argument:
                argument.annotation = None
        node.body = without_docstring(node.body)
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = without_docstring(node.body)
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        """MicroPython forgets where an error came from."""
        self.generic_visit(node)
        if node.exc and node.cause:
            return ast.Raise(_called("page_because", node.exc, node.cause), None)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.generic_visit(node)
        parts, pairs = [], []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                parts += [ast.List(pairs, ast.Load()), value]
                pairs = []
            else:
                pairs.append(ast.Tuple([key, value], ast.Load()))
        return _called("page_ordered", *parts, ast.List(pairs, ast.Load())) if node.keys else _called("page_ordered")

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        self.generic_visit(node)
        return _called("page_ordered", ast.ListComp(ast.Tuple([node.key, node.value], ast.Load()), node.generators))

    def visit_List(self, node: ast.List) -> ast.expr:
        return self.display(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return self.display(node)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        return _called("set", joined(node.elts)) if any(isinstance(x, ast.Starred) for x in node.elts) else node

    def display(self, node):
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not any(isinstance(each, ast.Starred) for each in node.elts):
            return node
        whole = joined(node.elts)
        return _called("tuple", whole) if isinstance(node, ast.Tuple) else whole

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Rewrites x[a:b:step] as a call of `page_stepped`, because MicroPython takes steps in lists alone."""
        self.generic_visit(node)
        if isinstance(node.slice, ast.Slice) and node.slice.step and isinstance(node.ctx, ast.Load):
            bounds = ast.Subscript(ast.Name("page_cut", ast.Load()), node.slice, ast.Load())
            return _called("page_stepped", node.value, bounds)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "zip":
            node.keywords = []
        if name == "isinstance":
            kinds = _alternatives(node.args[1])
            node.args[1] = kinds[0] if len(kinds) == 1 else ast.Tuple(kinds, ast.Load())
        if name == "slice":  # which MicroPython can't call
            first, *rest = node.args
            bounds = [None, first] if not rest else node.args
            return ast.Subscript(ast.Name("page_cut", ast.Load()), ast.Slice(*bounds), ast.Load())
        if sum(isinstance(each, ast.Starred) for each in node.args) > 1:
            node.args = [ast.Starred(joined(node.args), ast.Load())]
        return node


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return (body[1:] or [ast.Pass()]) if is_text else body


def _called(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def joined(elements: list[ast.expr]) -> ast.expr:
    """A sum of lists in place of stars."""
    parts = [_called("list", x.value) if isinstance(x, ast.Starred) else ast.List([x], ast.Load()) for x in elements]
    total = parts[0]
    for part in parts[1:]:
        total = ast.BinOp(total, ast.Add(), part)
    return total


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """The types that `a | b` or `(a, b)` allow."""
    if isinstance(node, ast.BinOp):
        return _alternatives(node.left) + _alternatives(node.right)
    return node.elts if isinstance(node, ast.Tuple) else [node]
