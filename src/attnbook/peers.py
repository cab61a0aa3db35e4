"""The libraries the book compares itself with."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


def d2l() -> ModuleType:
    """`d2l.torch`, the code of Dive into Deep Learning, also where torchvision is missing.

    Its data sets and transforms need torchvision, its attention does not: an empty stand-in lets the import pass.
    """
    if "torchvision" not in sys.modules and importlib.util.find_spec("torchvision") is None:
        for name in ("torchvision", "torchvision.transforms"):
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__spec__ = ModuleSpec(name, None)
        sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    from d2l import torch

    return torch
