"""On the first page, the files of the whole book that are beside it."""

import re
from pathlib import Path

from attnbook.language import words
from booktools.directives.map import PAPER
from booktools.printers.offline import add_worker

HERE = Path(__file__).parent


def any_missing(html: Path) -> bool:
    """Whether a file is missing that is beside the pages where they are published."""
    return not all((html / name).is_file() for name in words(HERE)["offer"]["files"])


def list_on_first_page(html: Path) -> None:
    """Name the files that are there; the page is another one then, for those who keep it."""
    say = words(HERE)["offer"]
    there = {name: html / name for name in say["files"] if (html / name).is_file()}
    listed = [
        say["file"].format(name=name, called=say["files"][name], megabytes=round(path.stat().st_size / 1e6))
        for name, path in there.items()
    ]
    line = f'<p class="paper">{say["line"].format(files=", ".join(listed))}</p>' if there else PAPER
    first = html / "index.html"
    first.write_text(re.sub(r'<p class="paper".*?</p>', line, first.read_text("utf-8")), "utf-8")
    add_worker(html)
