"""The shared code of *Attention You Can Touch*: small, tested, explainable attention in PyTorch.

One dimension key serves the code, the prose, the widgets and the error messages. A tensor's name ends in its axes.

    B batch      L query length   M key/value length   D model width
    H heads      K head width     V value head width   N vocabulary

Everything public is one import away, and nothing is loaded before it is asked for:

>>> from attnbook import attention, causal
"""

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from attnbook._public import BOOK, HOMES, MODULES

_lacking = {name for name, package in BOOK.items() if find_spec(package) is None}  # their modules say how to get them
__all__ = sorted({*HOMES, *MODULES} - _lacking)  # noqa: PLE0605 (a list, as it should be)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("attnbook")
    if name in HOMES:
        return getattr(import_module(f"attnbook.{HOMES[name]}"), name)
    if name in MODULES:
        return import_module(f"attnbook.{MODULES[name]}")
    from attnbook.errors import meant

    raise AttributeError(f"attnbook has no {name!r}. {meant(name, __all__)}It has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return __all__
