"""Makes what the page is sent for a stub: the check, and what the chapter had before it."""

import ast
from collections.abc import Iterable, Iterator

from booktools.book.statements import Statement
from booktools.live.checks import HERE, names_of_library, sent_check

MODULES = HERE / "micropython_modules"
BUILT_IN = {"functools", "math", "random", "re"}  # into MicroPython


def sent_stub(check: str, before: Iterable[Statement]) -> dict:
    """The check, and what the statements before the stub give as far as the page can do it at once."""
    given = dict.fromkeys(line for each in before for line in runnable_lines(each))
    return sent_check(check) | {"given": [[line, name] for line, name in given]}


def runnable_lines(statement: Statement) -> Iterator[tuple[str, str]]:
    """What of a statement the page can do, imports and numbers with names such as PAD: lines, with what they bring."""
    match statement.node:
        case ast.Import(names):
            for alias, name in zip(names, statement.gives, strict=True):
                if page_has_module(alias.name):
                    yield ast.unparse(ast.Import([alias])), name
        case ast.ImportFrom(str(module), names):
            for alias, name in zip(names, statement.gives, strict=True):
                if page_has_member(module, alias.name):
                    yield ast.unparse(ast.ImportFrom(page_module(module), [alias], 0)), name
        case ast.Assign(value=value) if _is_literal(value) and all(map(str.isupper, statement.gives)):
            yield from ((statement.source, name) for name in statement.gives)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def page_has_module(module: str) -> bool:
    path = MODULES.joinpath(*module.split("."))
    return module in BUILT_IN or path.is_dir() or path.with_suffix(".py").is_file()


def page_has_member(module: str, name: str) -> bool:
    """Whether the page can import a name from a module."""
    return name in names_of_library() if page_module(module) == "attnbook" else page_has_module(module)


def page_module(module: str) -> str:
    """The module's name on the page, which has all that it knows of attnbook in one module."""
    return "attnbook" if module.partition(".")[0] == "attnbook" else module
