"""The code of each chapter, as a file to take along."""

from pathlib import Path

from booktools.book.edition import Edition


def write_files(edition: Edition, folder: Path) -> list[Path]:
    """Write the file of each chapter that keeps something into a folder; where they went."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {folder / f"{name}.py": text for name, text in edition.from_scratch.items()}
    for path, text in paths.items():
        path.write_text(text, encoding="utf-8")
    return list(paths)
