"""Forbidden calls: an exercise that asks you to write softmax is not answered by `torch.softmax`."""

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterable
from types import CodeType

from torch.nn import Module
from torch.overrides import TorchFunctionMode

# Ways round the watch, which no answer needs.
BACKSTAGE = re.compile(
    r"\btorch\s*\.\s*(?:_C|ops|overrides)\b|\bfrom\s+torch\s+import\s[^\n]*\b(?:_C|ops|overrides)\b"
    r"|\b(?:setprofile|settrace|DisableTorchFunction\w*|threading|_thread|ctypes)\b"
)


class Forbidden(Exception):
    """A call that the exercise rules out."""

    def __init__(self, name: str):
        super().__init__(f"{name} is forbidden here: write it yourself")


class Watch(TorchFunctionMode):
    """While it is on, a call of a forbidden function raises, whatever name or way it was reached by.

    Functions of PyTorch are noticed by PyTorch itself, all other Python functions by the interpreter's profiler.

    >>> import torch
    >>> with Watch(["torch.softmax"]):
    ...     getattr(torch.ones(2), "soft" + "max")(-1)
    Traceback (most recent call last):
        ...
    attnbook.grading.watch.Forbidden: torch.softmax is forbidden here: write it yourself
    """

    def __init__(self, forbidden: Iterable[str]):
        super().__init__()
        self.functions, self.codes, self.used = {}, {}, []
        for name in forbidden:
            function = find(name)
            self.functions |= dict.fromkeys({function} | same_in_torch(name), name)
            self.codes |= dict.fromkeys(codes_of(function), name)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.refuse(self.functions.get(func))
        return func(*args, **(kwargs or {}))

    def profile(self, frame, event, _arg):
        if event == "call":
            self.refuse(self.codes.get(frame.f_code))

    def refuse(self, name: str | None) -> None:
        if name is not None:
            self.used.append(name)
            raise Forbidden(name)

    def __enter__(self):
        if self.functions:
            super().__enter__()
            sys.setprofile(self.profile)
        return self

    def __exit__(self, *error):
        if self.functions:
            sys.setprofile(None)
            super().__exit__(*error)


def refuse_backstage(source: str) -> None:
    """
    >>> refuse_backstage("y = torch.ops.aten.softmax(x)")
    Traceback (most recent call last):
        ...
    attnbook.grading.watch.Forbidden: torch.ops is forbidden here: write it yourself
    """
    if found := BACKSTAGE.search(source):
        raise Forbidden(re.sub(r"\s+", "" if "." in found[0] else " ", found[0]))


@functools.cache
def find(name: str):
    """What a dotted name means, `torch.nn.functional.softmax` or `attnbook.causal`."""
    module, *rest = name.split(".")
    thing = importlib.import_module(module)
    for part in rest:
        if not hasattr(thing, part) and inspect.ismodule(thing):
            importlib.import_module(f"{thing.__name__}.{part}")
        thing = getattr(thing, part)
    return thing


def same_in_torch(name: str) -> set:
    """The same function elsewhere in PyTorch: torch.softmax, Tensor.softmax, F.softmax, torch.special.softmax."""
    package, _, last = name.rpartition(".")
    if package.split(".")[0] != "torch":
        return set()
    places = map(
        find, ("torch", "torch.Tensor", "torch.nn.functional", "torch.special", "torch.linalg", "torch._C._nn")
    )
    found = (
        getattr(place, form, None) for place in places for form in (last, f"{last}_", f"_{last}", f"special_{last}")
    )
    return {function for function in found if callable(function)}


def codes_of(function) -> list[CodeType]:
    """Where in Python a function, or the building of a class, begins."""
    if inspect.isclass(function):
        methods = [function.__init__, function.forward] if issubclass(function, Module) else [function.__init__]
    else:
        methods = [inspect.unwrap(function)]
    return [method.__code__ for method in methods if hasattr(method, "__code__")]
