"""The libraries the book compares itself with."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


def d2l() -> ModuleType:
    """`d2l.torch`, the code of Dive into Deep Learning, also where torchvision is missing.

    Its data sets and transforms need torchvision, its attention does not: an empty stand-in lets the import pass.
    """
    missing = "torchvision" not in sys.modules and importlib.util.find_spec("torchvision") is None
    stand_ins = ("torchvision", "torchvision.transforms") if missing else ()
    for name in stand_ins:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__spec__ = ModuleSpec(name, None)
    if missing:
        sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    try:
        from d2l import torch
    finally:
        for name in stand_ins:  # others who look for torchvision must not find this one
            del sys.modules[name]
    return torch
