"""What chapters measure with several seeds, beside their page: made by `booktools.make.seeds`."""

import json
from collections.abc import Mapping
from functools import reduce
from operator import getitem
from typing import Any

from attnbook.data import FOLDER


def seeds(name: str, names: Mapping[str, str] | None = None, path: str = "{}") -> Any:
    """What was measured under a name, which `booktools.make.seeds` explains: mostly a row for each seed.

    With `names`, of each the numbers that the rows have under its key; or under a longer path.

    >>> [row["seed"] for row in seeds("dates")]
    [0, 1, 2]
    >>> seeds("listeners", {"inf": "no noise"}, "snr/{}")
    {'no noise': [0.586, 0.77, 0.557]}
    """
    rows = json.loads((FOLDER / "seeds.json").read_text("utf-8"))[name]
    if names is None:
        return rows
    steps = {label: path.format(key).split("/") for key, label in names.items()}
    return {label: [reduce(getitem, keys, row) for row in rows] for label, keys in steps.items()}
