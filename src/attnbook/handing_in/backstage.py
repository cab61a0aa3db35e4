"""Names that no cell of a graded notebook may use, because they lead behind PyTorch's back."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from IPython.core.inputtransformer2 import TransformerManager

# Ways round the watch that no answer needs: attributes of PyTorch's modules, attributes of whatever, imports of ours.
OF_TORCH = frozenset({"_C", "ops", "overrides", "jit", "fx"})
OF_ANY = frozenset({"setprofile", "settrace", "ctypes", "booktools", "backstage"})
OF_ANY |= {"get_objects", "get_referrers", "get_referents", "_getframe", "currentframe", "f_back"}  # lead to the watch
OF_ANY |= {"__globals__", "__subclasses__", "__closure__", "f_globals", "f_locals", "tb_frame", "gi_frame"}
OURS = frozenset({"booktools", "grading"})
RUN_TEXTS = frozenset({"exec", "eval", "run_cell_magic", "run_line_magic"})  # `%time y = x` calls the last of them


def backstage_name(source: str, names: Mapping[str, object] = MappingProxyType({})) -> str | None:
    """The first name in a cell that goes behind PyTorch's back, if there is one. `names` are those that it finds.

    >>> backstage_name("import torch as t  # not torch.fx\\ny = t.ops.aten.softmax(x)")
    'ops'
    >>> backstage_name("self.ops = heads")
    """
    nodes = list(_nodes(source))
    modules = {name for name, value in names.items() if inspect.ismodule(value) and of_torch(value.__name__)}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.asname or "torch" for alias in node.names if of_torch(alias.name)}
        elif isinstance(node, ast.ImportFrom) and of_torch(node.module or ""):
            modules |= {alias.asname or alias.name for alias in node.names}
    found = (_backstage(node, modules) for node in nodes)
    return next((min(some) for some in found if some), None)


def _nodes(source: str) -> Iterator[ast.AST]:
    """Yields the nodes of a cell, and those of the code that it runs as a text: in a magic, in `exec`."""
    try:
        tree = ast.parse(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        yield node
        match node:
            case ast.Call(ast.Name(id=name) | ast.Attribute(attr=name), args) if name in RUN_TEXTS:
                for text in args:
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        yield from _nodes(text.value)


def _backstage(node: ast.AST, modules: set[str]) -> set[str]:
    """Returns the names in a piece of code that would go round the watch."""
    match node:
        case ast.Attribute(attr=name):
            return {name} & (OF_ANY | OF_TORCH if _root(node) in modules else OF_ANY)
        case ast.Call(ast.Name("getattr"), [_, ast.Constant(value=str(name)), *_]):
            return {name} & OF_ANY
        case ast.Import(names=aliases):
            paths = [alias.name.split(".") for alias in aliases]
        case ast.ImportFrom(module=str(module), names=aliases):
            paths = [[*module.split("."), alias.name] for alias in aliases]
        case _:
            return set()
    found = {part for path in paths for part in path if part in OF_ANY or (path[0] == "torch" and part in OF_TORCH)}
    return found | OURS & {path[0] for path in paths}


def _root(node: ast.AST) -> str:
    """
    >>> _root(ast.parse("torch.nn.functional", mode="eval").body)
    'torch'
    """
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def of_torch(module: str) -> bool:
    """Whether a module, or what stands in it, is PyTorch's."""
    return module.partition(".")[0] == "torch"
