"""What `make bench` measured last, for chapters to show: the tables of benchmarks/RESULTS.md."""

import json

from attnbook.data import FOLDER


def measured(title: str) -> list[list[str]]:
    """The rows of the table under the title that begins so, the first of them its head.

    >>> measured("Growth")[0][-5:]
    ['n = 256', 'n = 512', 'n = 1024', 'n = 2048', 'n = 4096']
    """
    tables = json.loads((FOLDER / "benchmarks.json").read_text("utf-8"))
    (rows,) = [rows for name, rows in tables.items() if name.startswith(title)]
    return rows
