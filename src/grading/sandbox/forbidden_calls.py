"""Forbidden calls: an exercise that asks you to write softmax is not answered by `torch.softmax`.

This is a fence, not a wall. It stops whoever takes the short way, and says so. Its rules and functions are hidden, each
call has a watch of its own, and a seal tells whether somebody has put others in their place. Whoever is set on climbing
over a fence inside a Python process still can: through the frames to the watch on duty, or by changing what it stands
on, the interpreter's profiler and PyTorch's modes. No honest answer looks like that, and it stands in the notebook
that was handed in, where whoever reads the work sees it.
"""

import contextlib
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FunctionType, MappingProxyType, ModuleType

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Module
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook.handing_in.backstage import backstage_name, of_torch
from grading.wording import say

TOTALS = ("torch.logsumexp", "torch.logcumsumexp", "torch.logaddexp", "torch.logaddexp2")  # their gradient is a softmax
FUSED = ("__scaled_dot_product_", "__native_multi_head_attention", "__transformer_encoder_layer")  # a softmax inside


class Forbidden(Exception):
    """A call that the exercise rules out."""


class ForbiddenCalls(TorchFunctionMode):
    """While it is on, a call of a forbidden function raises, whatever name or way it was reached by.

    Functions of PyTorch are noticed by PyTorch itself, which also says what they come down to: a cross-entropy is a
    log_softmax. What calls what in Python is noticed by the interpreter's profiler.

    >>> import torch
    >>> with ForbiddenCalls(["torch.softmax"]):
    ...     getattr(torch.ones(2), "soft" + "max")(-1)
    Traceback (most recent call last):
        ...
    grading.sandbox.forbidden_calls.Forbidden: torch.softmax is forbidden here: write it yourself
    """

    def __new__(cls, *_):
        return super().__new__(_with_own_functions(cls))

    def __init__(self, forbidden: Iterable[str]):
        super().__init__()
        self.functions, self.codes, self.used, self.kernels = {}, {}, [], _with_own_functions(_Kernels)(self)
        self.unfused = contextlib.ExitStack()  # attention as its parts, in which a softmax can be seen
        self.totals, self.on = {}, False  # functions whose gradient is what a name forbids
        for name in forbidden:
            function = _find(name)
            if of_torch(name) and _last(name) == "softmax":
                self.totals |= dict.fromkeys(set().union(*map(_same_in_torch, TOTALS)), name)
            if _is_kernel(name):
                self.kernels.names[_last(name)] = name
            self.functions |= dict.fromkeys({function} | _same_in_torch(name), name)
            self.codes |= dict.fromkeys(_codes_of(function), name)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.refuse(self.functions.get(func))
        result = func(*args, **(kwargs or {}))
        if func in self.totals:
            self.watch_gradient(result, self.totals[func])
        return result

    def watch_gradient(self, total: Tensor, name: str) -> None:
        """Refuses a gradient that is asked for while this is on; a test may ask for one afterwards."""
        if forward_ad.unpack_dual(total).tangent is not None:
            self.refuse(name)
        if total.requires_grad:
            total.register_hook(lambda _: self.refuse(name) if self.on else None)

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
        self.on = True
        if self.functions:
            super().__enter__()
            if self.kernels.names:
                self.kernels.__enter__()
                self.unfused.enter_context(sdpa_kernel(SDPBackend.MATH))
            sys.setprofile(self.profile)
        return self

    def __exit__(self, *error):
        self.on = False
        if self.functions:
            sys.setprofile(None)
            if self.kernels.names:
                self.unfused.close()
                self.kernels.__exit__(*error)
            super().__exit__(*error)


class _Kernels(TorchDispatchMode):
    """Notices what functions of PyTorch come down to: whatever has a forbidden name in its own, `_sparse_softmax`."""

    def __init__(self, calls: ForbiddenCalls):
        super().__init__()
        self.calls, self.names = calls, {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, and PyTorch would ask its compiler at each call."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        called = f"_{func.__name__.partition('.')[0]}_"
        fused = called.startswith(FUSED)
        hits = (f"_{kernel}_" in called or (fused and "softmax" in kernel) for kernel in self.names)
        self.calls.refuse(next((name for name, hit in zip(self.names.values(), hits, strict=True) if hit), None))
        return func(*args, **(kwargs or {}))


def _with_own_functions(kind: type) -> type:
    """Returns a class like this one that shares no function with it: a change of the one is none of the other."""
    functions = {name: thing for name, thing in vars(kind).items() if inspect.isfunction(thing)}
    own = {
        name: FunctionType(one.__code__, one.__globals__, name, one.__defaults__, one.__closure__)
        for name, one in functions.items()
    }
    return type(kind.__name__, (kind,), own)


def seal(modules: Iterable[ModuleType]) -> Callable[[], bool]:
    """Returns a function that says whether something else now stands in the place of what these modules have.

    That is what their names mean, the methods of their classes, and the code of their functions. It calls nothing that
    can be replaced: no built-in function, and no `==` of somebody else.
    """
    spaces = [vars(module) for module in modules]
    own = {space["__name__"] for space in spaces}
    things = [thing for space in spaces for thing in space.values()]
    spaces += [vars(thing) for thing in things if inspect.isclass(thing) and vars(thing).get("__module__") in own]
    names = [(space, name, thing) for space in spaces for name, thing in space.items()]
    functions = [inspect.unwrap(thing) for _, _, thing in names if callable(thing)]
    codes = [(one, one.__code__, one.__defaults__) for one in functions if inspect.isfunction(one)]

    def is_broken() -> bool:
        for space, name, thing in names:
            if space.get(name) is not thing:
                return True
        for function, code, defaults in codes:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return True
        return False

    return is_broken


def refuse_backstage(source: str, names: Mapping[str, object] = MappingProxyType({})) -> None:
    """Refuse a cell that goes behind PyTorch's back. `names` are those that it finds.

    >>> refuse_backstage("import torch as t\\ny = t.ops.aten.softmax(x)")
    Traceback (most recent call last):
        ...
    grading.sandbox.forbidden_calls.Forbidden: ops is not for graded notebooks: it would go round the forbidden calls
    """
    if name := backstage_name(source, names):
        raise Forbidden(say("backstage", name=name))


@functools.cache
def _find(name: str):
    """Returns what a dotted name means, such as `torch.nn.functional.softmax` or `attnbook.causal`."""
    module, *rest = name.split(".")
    thing = importlib.import_module(module)
    for part in rest:
        if not hasattr(thing, part) and inspect.ismodule(thing):
            importlib.import_module(f"{thing.__name__}.{part}")
        thing = getattr(thing, part)
    return thing


@functools.cache
def _same_in_torch(name: str) -> frozenset:
    """The same function elsewhere in PyTorch: torch.softmax, Tensor.softmax, F.softmax, torch.special.softmax."""
    modules = ["torch", "torch.Tensor", "torch.nn.functional", "torch.special", "torch.linalg", "torch._C._nn"]
    found = (getattr(_find(module), form, None) for module in modules for form in _forms(name))
    return frozenset(function for function in found if callable(function))


@functools.cache
def _is_kernel(name: str) -> bool:
    """Whether a function of PyTorch has the name of a kernel."""
    last = _last(name)
    return of_torch(name) and hasattr(torch.ops.aten, last) and last not in ("backward", "grad")  # a part of many names


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _forms(name: str) -> list[str]:
    """Returns the names that a function of PyTorch has in other modules of it."""
    last = _last(name)
    return (
        [last, f"{last}_", f"_{last}", f"_safe_{last}", f"special_{last}", f"linalg_{last}"] if of_torch(name) else []
    )


def _codes_of(function) -> list[CodeType]:
    """Returns the code objects that run when a function is called or a class is built."""
    if inspect.isclass(function):
        methods = [function.__init__, function.forward] if issubclass(function, Module) else [function.__init__]
    else:
        methods = [function]
    return [method.__code__ for method in map(inspect.unwrap, methods) if hasattr(method, "__code__")]
