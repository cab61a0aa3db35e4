"""A chapter's own code in one file: its cells tagged `keep`, in order, which need nothing of the book."""

import ast
import builtins
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from booktools.core import BookError
from booktools.core.address import Address
from booktools.core.contents import Chapter, chapters, read_notebook

OURS = {"attnbook", "booktools", "d2l", "einops", "ipywidgets"}  # not of what a reader takes along
FOLDER = "from_scratch"


def from_scratch(notebook, chapter: Chapter, here: Address) -> str:
    """The text of the file; empty where a chapter keeps nothing."""
    cells = kept(notebook)
    if not cells:
        return ""
    page = here.page(f"chapters/{chapter.path.name}")
    told = f"{chapter.title}, from scratch: the code of chapter {chapter.number}. It needs nothing but PyTorch."
    opening = f'"""{told}\n\n{page}\n"""'
    return together([opening, "\n".join(imports(notebook, cells, chapter)), *(cell.source for cell in cells)]) + "\n"


def kept(notebook) -> list:
    return [cell for cell in notebook.cells if "keep" in cell.metadata.get("tags", [])]


def imports(notebook, cells: list, chapter: Chapter) -> Iterator[str]:
    """What the kept cells use of what the notebook imports, each once, in the order of a formatter."""
    imported = {name: line for cell in notebook.cells if cell.cell_type == "code" for name, line in bound(cell.source)}
    defined = {name for cell in cells for name in names(cell.source, ast.Store)} | set(dir(builtins))
    used = {}
    for cell in cells:
        for name in sorted(names(cell.source, ast.Load) - defined):
            if name not in imported or root_of(imported[name]) in OURS:
                raise BookError(
                    f"{chapter.path}, cell {cell.id} is kept and uses {name}, which no kept cell defines. "
                    "What is kept runs without the book: define it there, or take the tag `keep` away."
                )
            used[imported[name]] = root_of(imported[name]) in sys.stdlib_module_names
    for group in ([line for line in used if used[line]], [line for line in used if not used[line]]):
        yield from sorted(group, key=lambda line: (line.startswith("from "), line.split()[1], line))
        yield ""


def bound(source: str) -> Iterator[tuple[str, str]]:
    """The names that imports of a cell bind, each with the line that binds it alone."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                start = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
                line = f"{start} {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                yield alias.asname or alias.name.partition(".")[0], line


def root_of(line: str) -> str:
    return line.split()[1].partition(".")[0]


def names(source: str, use: type[ast.Load] | type[ast.Store]) -> set[str]:
    """The names that a cell reads, or those it gives a meaning."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, use):
            found.add(node.id)
        elif use is ast.Store and isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif use is ast.Store and isinstance(node, ast.arg):
            found.add(node.arg)
    return found


def together(pieces: list[str]) -> str:
    """Pieces of code as a formatter sets them: two blank lines around what is defined, one elsewhere."""
    text = pieces[0]
    for before, piece in pairwise(pieces):
        wide = defines(before, -1) or defines(piece, 0)
        text += ("\n\n\n" if wide else "\n\n") + piece.strip("\n")
    return text


def defines(source: str, place: int) -> bool:
    body = ast.parse(source).body
    return bool(body) and isinstance(body[place], ast.FunctionDef | ast.ClassDef)


def write_files(folder: Path, here: Address, root: Path) -> None:
    """The file of each chapter that keeps something, into a folder."""
    for name, text in files(here, root).items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def files(here: Address, root: Path) -> dict[str, str]:
    """The file of each chapter that has one, by the chapter's name."""
    texts = {chapter.stem: from_scratch(read_notebook(chapter.path), chapter, here) for chapter in chapters(root)}
    return {name: text for name, text in texts.items() if text}
