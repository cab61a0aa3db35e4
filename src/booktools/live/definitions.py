"""What a chapter defines above a stub, as far as its page can run it: a reader's code may ask for it."""

from collections.abc import Collection, Sequence

from booktools.book.statements import BUILT_IN, Statement
from booktools.live.mistakes import on_the_page
from booktools.live.source import NotForThePage
from booktools.live.stubs import runnable_lines


def names_above(code: Sequence[Statement], stubs: Collection[int]) -> dict:
    """What a stub may ask for: definitions, and every name with the place of the cell that gives it first."""
    names = [(name, each.place) for each in code for name in each.gives]
    return {"definitions": definitions(code, stubs), "names": dict(reversed(names))}


def definitions(code: Sequence[Statement], stubs: Collection[int]) -> list[tuple[int, str, str]]:
    """Functions and classes outside the cells of stubs: the place of their cell, the name, the source.

    Where a name comes to be something else that the page can't run, its source is empty.
    """
    known, found = set(BUILT_IN), []
    for each in (each for each in code if each.place not in stubs):
        here = {name for _, name, _ in found}
        lines = [(name, line) for line, name in runnable_lines(each)] or [(name, "") for name in each.gives]
        if each.is_definition:
            (name,) = each.gives
            lines = [(name, _defined(each, known))]
            here |= {name for name, source in lines if source}
        known = {*known, *(name for name, line in lines if line)} - {name for name, line in lines if not line}
        found += [(each.place, name, line) for name, line in lines if name in here]
    return found


def _defined(definition: Statement, known: set[str]) -> str:
    if definition.needs - known:
        return ""
    try:
        return on_the_page(definition, {*definition.gives})
    except NotForThePage:
        return ""
