"""What chapters measure with several seeds, beside their page: made by `booktools.make.seeds`."""

import json
from typing import Any

from attnbook.data import FOLDER


def seeds(name: str) -> Any:
    """What was measured under a name, which `booktools.make.seeds` explains: mostly a row for each seed.

    >>> [row["seed"] for row in seeds("dates")]
    [0, 1, 2]
    """
    return json.loads((FOLDER / "seeds.json").read_text("utf-8"))[name]
