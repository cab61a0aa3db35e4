"""What chapters 1, 4, 6 and 9 measure with several seeds: made by `booktools.make.seeds`."""

import json

from attnbook.data import FOLDER


def seeds(name: str) -> list[dict]:
    """A row for each seed: of the "plays" of chapter 1, of the "numbers" or "readers" of chapter 4,
    of the "copiers" of chapter 6, of the "phrases", "dates" or "rates" of chapter 9.

    >>> [row["seed"] for row in seeds("dates")]
    [0, 1, 2]
    """
    return json.loads((FOLDER / "seeds.json").read_text("utf-8"))[name]
