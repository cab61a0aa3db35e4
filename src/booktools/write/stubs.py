"""Makes what the page is sent for a stub: the check, and what the chapter had before it."""

import ast
from collections.abc import Iterator

from booktools.write.checks import HERE, names_of_library, sent_check
from booktools.write.source import names_of

MODULES = HERE / "micropython_modules"
BUILT_IN = {"functools", "math", "random", "re"}  # into MicroPython


def sent_stub(check: str, before: list[str]) -> dict:
    """The check, and what the code before the stub gives as far as the page can do it at once."""
    given = (line for source in before for node in body(source) for line in runnable_lines(node))
    return sent_check(check) | {"given": [[line, name] for line, name in dict.fromkeys(given)]}


def body(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError:  # a magic
        return []


def runnable_lines(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """What of a statement the page can do, imports and numbers with names such as PAD: lines, with what they bring."""
    match node:
        case ast.Import(names):
            for alias in names:
                if page_has_module(alias.name):
                    yield ast.unparse(ast.Import([alias])), (alias.asname or alias.name).partition(".")[0]
        case ast.ImportFrom(str(module), names):
            library = module.partition(".")[0] == "attnbook"
            for alias in names:
                if alias.name in names_of_library() if library else page_has_module(module):
                    line = ast.ImportFrom("attnbook" if library else module, [alias], 0)
                    yield ast.unparse(line), alias.asname or alias.name
        case ast.Assign(value=value) if _is_literal(value) and all(name.isupper() for name in names_of(node)):
            yield from ((ast.unparse(node), name) for name in names_of(node))


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def page_has_module(module: str) -> bool:
    """Whether the page has a module."""
    path = MODULES.joinpath(*module.split("."))
    return module in BUILT_IN or path.is_dir() or path.with_suffix(".py").is_file()
