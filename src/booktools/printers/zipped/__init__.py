"""The site as a file to take along, with a server that needs nothing but Python; apart, the published model."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

from attnbook.language import words
from booktools.book.edition import Edition, editions
from booktools.printers.book_files import list_on_first_page
from booktools.printers.slides import name_in_list

HERE = Path(__file__).parent
NAME, MODEL = "attention-you-can-touch.zip", "attention-you-can-touch-model.zip"
MODELS = "_static/models"
FOLDER = "attention-you-can-touch"  # in both, so that one is unpacked over the other


def print_zip(edition: Edition, html: Path) -> list[Path]:
    """Packs the site, and apart from it the published model, beside its pages, and returns where they are."""
    with edition.spoken(), TemporaryDirectory() as temporary:
        folder = Path(temporary, FOLDER)
        site = folder / "book"
        left_out = (Path(MODELS).name, f"{FOLDER}*", "*.pdf", "jupyter_execute")  # the last is for those who print
        shutil.copytree(html, site, ignore=shutil.ignore_patterns(*left_out))
        name_in_list(edition, site)
        for each in editions(edition.root):
            with each.spoken():
                list_on_first_page(site / each.folder)  # none of the files that are not in it
        shutil.copy(HERE / "start.py", folder)
        (folder / "READ ME.txt").write_text(words(HERE.parent)["zip"], "utf-8")
        pack(html / NAME, folder, FOLDER)
        pack(html / MODEL, html / MODELS, f"{FOLDER}/book/{MODELS}")
        list_on_first_page(html)
    return [html / NAME, html / MODEL]


def pack(to: Path, folder: Path, name: str) -> None:
    """Pack a folder, which gets this name."""
    with ZipFile(to, "w", ZIP_DEFLATED) as packed:
        for path in sorted(folder.rglob("*")):
            packed.write(path, f"{name}/{path.relative_to(folder).as_posix()}")
