"""The book's widgets. `attnbook.widgets.AttentionHeatmap` and its siblings are loaded when first asked for."""

import re
from importlib import import_module
from pathlib import Path

_TRIOS = sorted(path.stem for path in Path(__file__).parent.glob("*.css") if path.stem != "base")
_HOME = {re.sub(r"(?:^|_)(\w)", lambda letter: letter[1].upper(), name): name for name in _TRIOS}

__all__ = sorted(_HOME)  # noqa: PLE0605 (a list, as it should be)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"attnbook.widgets has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"attnbook.widgets.{_HOME[name]}"), name)


def all_widgets() -> list[type]:
    """Every widget class, one for each NAME.js."""
    return [__getattr__(name) for name in __all__]
