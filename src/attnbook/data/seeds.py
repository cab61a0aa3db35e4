"""What chapter 9 measures once, measured with other seeds, too: made by `booktools.make.seeds`."""

import json

from attnbook.data import FOLDER


def seeds(name: str) -> list[dict]:
    """A row for each seed: of the "phrases", or of the "dates".

    >>> [row["seed"] for row in seeds("dates")]
    [0, 1, 2]
    """
    return json.loads((FOLDER / "seeds.json").read_text("utf-8"))[name]
