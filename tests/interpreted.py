"""Triton's kernels where there is no GPU: its interpreter runs them, in NumPy."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import pytest


@contextmanager
def interpreted(module: ModuleType) -> Iterator[ModuleType]:
    """The same file once more, made while triton is told to interpret, and so is what it takes of triton's library.

    The interpreter writes into triton's modules and leaves it there, where the compiler stumbles over it: put back.
    """
    import triton
    from triton import language as tl

    spaces = [tl, tl.core, tl.math, tl.tensor, tl.core.tensor_descriptor_base]
    before = [dict(vars(space)) for space in spaces]
    library = {name: f for name, f in vars(tl).items() if isinstance(f, triton.JITFunction)}
    spec = importlib.util.spec_from_file_location("interpreted", module.__file__)
    copy = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setenv("TRITON_INTERPRET", "1")
        for name, function in library.items():
            setattr(tl, name, triton.jit(function.fn))
        spec.loader.exec_module(copy)
        patch.delenv("TRITON_INTERPRET")
        _multiply_bfloat16(patch)
        yield copy
    for space, names in zip(spaces, before, strict=True):
        for name in vars(space).keys() - names.keys():
            delattr(space, name)
        for name, value in names.items():
            if vars(space).get(name) is not value:
                setattr(space, name, value)


def _multiply_bfloat16(patch: pytest.MonkeyPatch) -> None:
    """NumPy has no bfloat16, and the interpreter would multiply the bits as integers."""
    from triton.language import bfloat16, float32
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    dot = InterpreterBuilder.create_dot

    def widened(x):
        if x.dtype.scalar != bfloat16:
            return x
        return TensorHandle((x.data.astype(np.uint32) << 16).view(np.float32), float32)

    patch.setattr(InterpreterBuilder, "create_dot", lambda self, a, b, *more: dot(self, widened(a), widened(b), *more))
