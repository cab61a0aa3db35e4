"""The book's package: what it is made of, and what it is called where a site carries it."""

import tomllib
from hashlib import sha256
from pathlib import Path

FOLDER = "src/attnbook"


def project(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def package_files(root: Path) -> list[Path]:
    return sorted(path for path in (root / FOLDER).rglob("*") if path.is_file() and path.suffix != ".pyc")


def version(root: Path) -> str:
    """The project's, with a hash of the package's files, so that no installed one is taken for another.

    >>> version(Path()).partition("+")[0] == project(Path())["version"]
    True
    """
    made_of = sha256()
    for path in package_files(root):
        made_of.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return f"{project(root)['version']}+{made_of.hexdigest()[:8]}"
