"""A bar for whoever waits at a terminal. Where nobody looks, as in CI or in a file, nothing is written."""

from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def progress(things: Iterable[Any] | None = None, doing: str = "", *, of: int | None = None, done: int = 0) -> tqdm:
    """The things, one after another, under a bar that says what is done to them; or a bar `of` so many steps.

    >>> [thing.upper() for thing in progress(["a", "b"], "making letters large")]
    ['A', 'B']
    """
    form = "{desc}: {bar:30} {n_fmt} of {total_fmt}, {elapsed}{postfix}"
    return tqdm(things, doing, of, initial=done, disable=None, leave=False, dynamic_ncols=True, bar_format=form)


def say(line: object) -> None:
    """Print a line, above the bar if there is one."""
    with tqdm.external_write_mode():
        print(line, flush=True)
