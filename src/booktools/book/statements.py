"""A notebook's code, read once: its statements, and of each the names that it gives, needs and may change."""

import ast
import builtins
import symtable
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

BUILT_IN = frozenset(dir(builtins))


@dataclass(frozen=True)
class Statement:
    """One statement, with its cell's place in the notebook and its cell's id."""

    node: ast.stmt
    place: int = 0
    cell: str = ""

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def is_definition(self) -> bool:
        return isinstance(self.node, ast.FunctionDef | ast.ClassDef)

    @cached_property
    def source(self) -> str:
        """Its source without comments."""
        return ast.unparse(self.node)

    @cached_property
    def gives(self) -> tuple[str, ...]:
        """The names that stand for something new after it.

        >>> [each.gives for each in statements_of("import a.b, c as d\\nx, y[0] = z\\nwith f() as g:\\n    h = 1")]
        [('a', 'd'), ('x',), ('g', 'h')]
        """
        return tuple(names_given(self.node))

    @cached_property
    def needs(self) -> frozenset[str]:
        """The names that must be known before it: for x = f(x), f and x.

        >>> [sorted(each.needs) for each in statements_of("x = f(x)\\ndef g(y):\\n    return y + scale")]
        [['f', 'x'], ['scale']]
        """
        needed = free_names(self.source)
        if isinstance(self.node, ast.Assign):
            needed |= free_names(ast.unparse(self.node.value))
        return frozenset(needed)

    @cached_property
    def changes(self) -> frozenset[str]:
        """The names that it gives, and those whose value it may change, as x[0] = 1, x.y = 1, x += 1 and x.f_() do.

        >>> [sorted(each.changes) for each in statements_of("x[0].y = 1\\nprint(z)\\nz.sort()\\nb = a.add_(1)")]
        [['x'], [], ['z'], ['a', 'b']]
        """
        found = set(self.gives)
        if self.is_import or self.is_definition:
            return frozenset(found)
        for part in ast.walk(self.node):
            match part:
                case ast.Name(name, ast.Store()):
                    found.add(name)
                case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                    found.add(_root_of(part))
                case ast.Call(ast.Attribute(value, name)) if name.endswith("_") or isinstance(self.node, ast.Expr):
                    found.add(_root_of(value))
        return frozenset(found)


def statements(cells: Iterable) -> tuple[Statement, ...]:
    """Returns the statements of a notebook's code cells; a cell with a magic in it has none."""
    return tuple(
        Statement(node, place, cell.id)
        for place, cell in enumerate(cells)
        if cell.cell_type == "code"
        for node in _body(cell.source)
    )


def statements_of(source: str) -> tuple[Statement, ...]:
    return tuple(map(Statement, _body(source)))


def _body(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError:  # a magic
        return []


def names_given(node: ast.stmt) -> list[str]:
    match node:
        case ast.Import(names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).partition(".")[0] for alias in names]
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return [name]
        case ast.Assign(targets):
            return [name for target in targets for name in _stored(target)]
        case ast.AnnAssign(ast.Name(name)):
            return [name]
        case ast.With(items, body):
            opened = [name for item in items if item.optional_vars for name in _stored(item.optional_vars)]
            return [*opened, *(name for each in body for name in names_given(each))]
    return []


def _stored(target: ast.expr) -> list[str]:
    return [part.id for part in ast.walk(target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def free_names(source: str) -> set[str]:
    """The names that code uses and does not define, builtins aside.

    >>> sorted(free_names("def f(x):\\n    y = x * scale\\n    return [F.relu(z) for z in y], len(y)\\n\\nf(data)"))
    ['F', 'data', 'scale']
    >>> sorted(free_names("def f():\\n    a = 1\\n    return a\\n\\n\\ndef g():\\n    return a"))
    ['a']
    """
    module = symtable.symtable(source, "", "exec")
    defined = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned()}
    tables, used = [module], set()
    for table in tables:
        tables += table.get_children()
        used |= {each.get_name() for each in table.get_symbols() if each.is_referenced() and _is_global(each, table)}
    return used - defined - BUILT_IN - {"__name__"}


def _is_global(symbol: symtable.Symbol, table: symtable.SymbolTable) -> bool:
    return symbol.is_global() or table.get_type() == "module"


def _root_of(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
