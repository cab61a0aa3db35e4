"""Errors that teach: the argument, the rule in letters = numbers, what came, what to try."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path


class _Sendable(ValueError):
    """An error that reaches another process: pickle would make it anew from its message alone, and fail."""

    def __reduce__(self) -> tuple:
        return type(self).__new__, (type(self), *self.args)


class ShapeError(_Sendable):
    """A tensor whose shape breaks a rule.

    >>> raise ShapeError("mask", "(..., L, M)", (5, 7), (7, 5), "Rows are queries, columns are keys; try mask.mT.")
    Traceback (most recent call last):
        ...
    attnbook.errors.ShapeError: mask must have shape (..., L, M) = (5, 7), got (7, 5). Rows are queries, \
columns are keys; try mask.mT.
    """

    def __init__(self, name: str, letters: str, wanted: Sequence[int | str], got: Sequence[int], hint: str):
        rule = letters if not wanted or letters == _shape(wanted) else f"{letters} = {_shape(wanted)}"
        super().__init__(f"{name} must have shape {rule}, got {_shape(got)}. {hint}")


class FileError(_Sendable):
    """A file that is not what it should be.

    >>> raise FileError("model.gguf", "it ends at byte 3, within the header", "Was it copied whole?")
    Traceback (most recent call last):
        ...
    attnbook.errors.FileError: model.gguf can't be read: it ends at byte 3, within the header. Was it copied whole?
    """

    def __init__(self, path: str | Path, reason: str, hint: str = ""):
        super().__init__(f"{path} can't be read: {reason.rstrip('.')}. {hint}".rstrip())


def meant(name: str, known: Iterable[str]) -> str:
    """A question, if a name is nearly one that is known.

    >>> meant("MultiheadAttention", ["MultiHeadAttention", "attention"])
    "Did you mean 'MultiHeadAttention'? "
    """
    likest = get_close_matches(name, known, n=1)
    return f"Did you mean {likest[0]!r}? " if likest else ""


def _shape(sizes: Sequence[int | str]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
