"""A chapter's own code in one file: its cells tagged `keep`, in order, which need nothing of the book."""

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

from attnbook.language import words
from booktools.book import HERE, BookError
from booktools.book.address import Address
from booktools.book.contents import Chapter
from booktools.book.statements import Statement, free_names, statements, statements_of

FOLDER = "from_scratch"
WIDTH = 76  # of a line of the chapters' code


@dataclass(frozen=True)
class Import:
    """What binds one name: `import module`, `import module as name`, `from module import member`, …"""

    name: str
    module: str
    member: str = ""
    alias: str = ""

    @property
    def is_pythons(self) -> bool:
        return self.module.partition(".")[0] in sys.stdlib_module_names

    @property
    def comes_along(self) -> bool:
        """Whether whoever has PyTorch has the module."""
        return self.is_pythons or self.module.partition(".")[0] == "torch"

    @property
    def renamed(self) -> str:
        return f" as {self.alias}" if self.alias else ""


def from_scratch(notebook, chapter: Chapter, here: Address) -> str:
    """The text of the file; empty where a chapter keeps nothing."""
    cells = kept_cells(notebook)
    if not cells:
        return ""
    told = {"title": chapter.title, "n": chapter.number, "page": here.page(f"chapters/{chapter.path.name}")}
    opening = f'"""{words(HERE)["scratch"]["docstring"].format(**told)}\n"""'
    pieces = [
        opening,
        _as_sorted(_needed_imports(notebook, cells, chapter)),
        *(cell.source.strip("\n") for cell in cells),
    ]
    return _join_pieces([piece for piece in pieces if piece]) + "\n"


def kept_cells(notebook) -> list:
    return [cell for cell in notebook.cells if "keep" in cell.metadata.get("tags", [])]


def _needed_imports(notebook, cells: list, chapter: Chapter) -> set[Import]:
    """What the kept cells use of what the notebook imports; a name that comes from nowhere else is refused."""
    found = [each for statement in statements(notebook.cells) for each in _imports_in(statement)]
    for cell in cells:
        if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(ast.parse(cell.source))):
            raise BookError(
                f"{chapter.path}, cell {cell.id} is kept and imports something. Imports stand once, at the top "
                "of the file: move this one to a cell that is not kept."
            )
    whole = "\n\n".join(cell.source for cell in cells)
    missing = free_names(whole)
    brought = {each for each in found if each.name in missing and each.comes_along}
    for name in sorted(missing - {each.name for each in brought}):
        user = next(cell.id for cell in cells if name in free_names(cell.source))
        source = next((f"comes from {each.module}" for each in found if each.name == name), "no kept cell defines")
        raise BookError(
            f"{chapter.path}, cell {user} is kept and uses {name}, which {source}. What is kept needs nothing but "
            "PyTorch: define it in a kept cell, or take the tag `keep` away."
        )
    return brought


def _imports_in(statement: Statement) -> Iterator[Import]:
    """
    >>> both = statements_of("import torch.nn.functional as F, torch.utils.data\\nfrom torch import nn")
    >>> [each.name for statement in both for each in _imports_in(statement)]
    ['F', 'torch', 'nn']
    """
    match statement.node:
        case ast.Import(names):
            yield from (
                Import(name, each.name, "", each.asname or "")
                for name, each in zip(statement.gives, names, strict=True)
            )
        case ast.ImportFrom(module, names):
            yield from (
                Import(name, module or "", each.name, each.asname or "")
                for name, each in zip(statement.gives, names, strict=True)
            )


def _as_sorted(imports: Iterable[Import]) -> str:
    """As ruff sorts them: Python's own first, then PyTorch's; whole modules before what is taken from them."""
    groups = ([each for each in imports if each.is_pythons is pythons] for pythons in (True, False))
    return "\n\n".join("\n".join(lines(group)) for group in groups if group)


def lines(imports: list[Import]) -> Iterator[str]:
    """
    >>> both = statements_of("from torch import nn, Tensor, optim as o\\nimport torch")
    >>> print(*lines([each for statement in both for each in _imports_in(statement)]), sep="\\n")
    import torch
    from torch import Tensor, nn
    from torch import optim as o
    """
    whole = [each for each in imports if not each.member]
    yield from sorted(f"import {each.module}{each.renamed}" for each in whole)
    taken = sorted((each for each in imports if each.member), key=lambda each: (each.module, _by_kind(each.member)))
    for module, group in groupby(taken, key=lambda each: each.module):
        aliased, plain = [], []
        for each in group:
            (aliased if each.alias else plain).append(each.member + each.renamed)
        lines_of_one = [f"from {module} import {name}" for name in aliased]
        if plain:
            lines_of_one.append(_import_line(module, plain))
        yield from sorted(lines_of_one, key=lambda line: _by_kind(line.split(" import ")[1].lstrip("(\n ")))


def _by_kind(name: str) -> tuple[int, str]:
    """CONSTANTS, Classes, and all else."""
    word = name.split(" as ")[0].split(",")[0]
    return (0 if word.isupper() and len(word) > 1 else 1 if word[0].isupper() else 2), word.lower()


def _import_line(module: str, members: list[str]) -> str:
    line = f"from {module} import {', '.join(members)}"
    inside = "".join(f"    {name},\n" for name in members)
    return line if len(line) <= WIDTH else f"from {module} import (\n{inside})"


def _join_pieces(pieces: list[str]) -> str:
    """Pieces of code as a formatter sets them: two blank lines around what is defined, one elsewhere."""
    text = pieces[0]
    for before, piece in pairwise(pieces):
        wide = _defines(before, -1) or _defines(piece, 0)
        text += ("\n\n\n" if wide else "\n\n") + piece
    return text


def _defines(source: str, place: int) -> bool:
    found = statements_of(source)
    return bool(found) and found[place].is_definition
