"""Tensors that a call makes in the sandbox are shown to a watcher in the grader.

A test that asks for attention without its table watches the tensors that PyTorch makes, with a TorchDispatchMode of
its own, as a student does in a notebook. The calls it watches happen in another process: there each tensor is
measured, and here one of the same size is made, without memory.
"""

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, is_in_torch_dispatch_mode


class SizeRecorder(TorchDispatchMode):
    """While it is on, `sizes` gathers how many numbers each tensor has that PyTorch makes.

    >>> with SizeRecorder() as made:
    ...     x = torch.ones(3, 1) + torch.ones(2)
    >>> made.sizes
    [3, 2, 6]
    """

    def __init__(self):
        super().__init__()
        self.sizes: list[int] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """As in `forbidden_calls`: nothing is compiled here."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        made = result if isinstance(result, tuple | list) else (result,)
        self.sizes += [tensor.numel() for tensor in made if isinstance(tensor, Tensor)]
        return result


def is_watched() -> bool:
    return is_in_torch_dispatch_mode()


def without_watchers():
    """Returns a context in which no watcher sees the tensors of a message to the sandbox or back."""
    return _disable_current_modes()


def replay_sizes(sizes: object) -> None:
    """Makes tensors of these sizes, which take no memory, for a watcher to see."""
    for size in sizes if isinstance(sizes, list) else ():
        if isinstance(size, int) and 0 <= size < 2**48:
            torch.empty(size, device="meta")
