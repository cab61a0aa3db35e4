"""The book's widgets. `attnbook.widgets.AttentionHeatmap` and its siblings are loaded when first asked for."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from attnbook.errors import lacking

if find_spec("anywidget") is None:
    raise lacking("anywidget", "Widgets")

# Each has a room of its own: AlignmentPlayer lives in the folder alignment_player.
__all__ = [
    "AlignmentPlayer",
    "AnalogyBench",
    "AskPicture",
    "AttentionHeatmap",
    "BankInContext",
    "BlockStepper",
    "BpeStepper",
    "CacheBudget",
    "CacheStepper",
    "ClockHands",
    "CostPlane",
    "CueScene",
    "DialPad",
    "DrawDigit",
    "FillValue",
    "FindTheBug",
    "GraphWalk",
    "HeadAblation",
    "HeadBrowser",
    "HeadBudget",
    "HeadSplit",
    "InductionLab",
    "KernelRegression",
    "LengthSlider",
    "LiveTransformer",
    "MaskMap",
    "ModelMap",
    "OnlineSoftmax",
    "PaintMask",
    "Polarity",
    "RealModel",
    "RecallRace",
    "ScaleLab",
    "ShiftLab",
    "SignalRace",
    "SoftDictionary",
    "TanhSum",
    "TextGenerator",
    "TrainingBudget",
    "WindowMap",
    "WordMap",
]


def room(name: str) -> str:
    """The folder of a widget.

    >>> room("AlignmentPlayer")
    'alignment_player'
    """
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"attnbook.widgets has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"attnbook.widgets.{room(name)}"), name)


def all_widgets() -> list[type]:
    """Every widget class."""
    return [__getattr__(name) for name in __all__]
