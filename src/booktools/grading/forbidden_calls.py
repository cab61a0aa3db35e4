"""Forbidden calls: an exercise that asks you to write softmax is not answered by `torch.softmax`.

This is a fence, not a wall. It stops whoever takes the short way, and says so; whoever is set on climbing over a
fence inside a Python process can.
"""

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Iterable
from types import CodeType

from torch import Tensor
from torch.nn import Module
from torch.overrides import TorchFunctionMode

from booktools.grading import say

# Ways round the watch that no answer needs: attributes or imports of these names.
BACKSTAGE = {"_C", "ops", "overrides", "jit", "fx", "setprofile", "settrace", "ctypes", "booktools"}


class Forbidden(Exception):
    """A call that the exercise rules out."""


class ForbiddenCalls(TorchFunctionMode):
    """While it is on, a call of a forbidden function raises, whatever name or way it was reached by.

    Functions of PyTorch are noticed by PyTorch itself, and what calls what by the interpreter's profiler.

    >>> import torch
    >>> with ForbiddenCalls(["torch.softmax"]):
    ...     getattr(torch.ones(2), "soft" + "max")(-1)
    Traceback (most recent call last):
        ...
    booktools.grading.forbidden_calls.Forbidden: torch.softmax is forbidden here: write it yourself
    """

    def __init__(self, forbidden: Iterable[str]):
        super().__init__()
        self.functions, self.codes, self.used = {}, {}, []
        for name in forbidden:
            function = _find(name)
            self.functions |= dict.fromkeys({function} | _same_in_torch(name), name)
            self.codes |= dict.fromkeys(_codes_of(function), name)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.refuse(self.functions.get(func))
        return func(*args, **(kwargs or {}))

    def profile(self, frame, event: str, called) -> None:
        if event == "call":
            self.refuse(self.codes.get(frame.f_code))
        elif event == "c_call":
            method = isinstance(getattr(called, "__self__", None), Tensor)
            self.refuse(self.functions.get(getattr(Tensor, called.__name__, None) if method else called))

    def refuse(self, name: str | None) -> None:
        if name is not None:
            self.used.append(name)
            raise Forbidden(say("forbidden", name=name))

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
    >>> refuse_backstage("import torch as t  # not torch.ops\\ny = t.ops.aten.softmax(x)")
    Traceback (most recent call last):
        ...
    booktools.grading.forbidden_calls.Forbidden: ops is not for graded notebooks: it would go round the forbidden calls
    """
    if source.startswith("%%"):
        source = source.partition("\n")[2]
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        names = [getattr(node, "attr", ""), *(getattr(node, "module", None) or "").split(".")]
        if isinstance(node, ast.Import | ast.ImportFrom):
            names += [part for alias in node.names for part in alias.name.split(".")]
        if found := BACKSTAGE & set(names):
            raise Forbidden(say("backstage", name=min(found)))


@functools.cache
def _find(name: str):
    """What a dotted name means, `torch.nn.functional.softmax` or `attnbook.causal`."""
    module, *rest = name.split(".")
    thing = importlib.import_module(module)
    for part in rest:
        if not hasattr(thing, part) and inspect.ismodule(thing):
            importlib.import_module(f"{thing.__name__}.{part}")
        thing = getattr(thing, part)
    return thing


@functools.cache
def _same_in_torch(name: str) -> set:
    """The same function elsewhere in PyTorch: torch.softmax, Tensor.softmax, F.softmax, torch.special.softmax."""
    package, _, last = name.rpartition(".")
    if package.split(".")[0] != "torch":
        return set()
    modules = ["torch", "torch.Tensor", "torch.nn.functional", "torch.special", "torch.linalg", "torch._C._nn"]
    forms = [last, f"{last}_", f"_{last}", f"_safe_{last}", f"special_{last}"]
    found = (getattr(_find(module), form, None) for module in modules for form in forms)
    return {function for function in found if callable(function)}


def _codes_of(function) -> list[CodeType]:
    """Where in Python a function, or the building of a class, begins."""
    if inspect.isclass(function):
        methods = [function.__init__, function.forward] if issubclass(function, Module) else [function.__init__]
    else:
        methods = [inspect.unwrap(function)]
    return [method.__code__ for method in methods if hasattr(method, "__code__")]
