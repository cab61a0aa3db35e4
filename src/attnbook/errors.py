"""Errors that teach: the argument, the rule in letters = numbers, what came, what to try."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import TypeVar, cast

F = TypeVar("F", bound=Callable)


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


def lacking(package: str, for_what: str) -> ModuleNotFoundError:
    """The error where a package is missing that only `attnbook[book]` brings."""
    hint = 'which `pip install "attnbook[book]"` brings'
    return ModuleNotFoundError(f"{for_what} need {package}, {hint}.", name=package)


# What other libraries call an argument, and what it is here.
ELSEWHERE = {
    **dict.fromkeys(["embed_dim", "d_model", "dim", "hidden_size"], "D"),
    **dict.fromkeys(["num_heads", "n_heads", "nhead", "num_attention_heads"], "heads"),
    **dict.fromkeys(["num_kv_heads", "n_kv_heads", "num_key_value_heads"], "kv_heads"),
    **dict.fromkeys(["dropout_p", "attn_drop"], "dropout"),
    "is_causal": "mask=causal(L)",
    "key_padding_mask": "mask=padding(lengths, M), which is True where there is a token",
    **dict.fromkeys(["attn_mask", "attention_mask"], "mask, which is True where a query may look"),
}


def teaches_names(function: F) -> F:
    """The function, which says what an argument is called here if it gets one by the name it has in another library."""
    takes = inspect.signature(function).parameters
    if any(one.kind == one.VAR_KEYWORD for one in takes.values()):
        return function
    owner = function.__qualname__.split("<locals>.")[-1].split(".")[0]

    @wraps(function)
    def call(*args, **kwargs):
        for name in kwargs:
            here = "" if name in takes else ELSEWHERE.get(name, "")
            if here and re.split("[=,]", here)[0] in takes:
                raise TypeError(f"{owner} takes no {name}; here it is {here}.")
        return function(*args, **kwargs)

    return cast(F, call)


def _shape(sizes: Sequence[int | str]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
