"""Loads what libraries load at their first use, before any student's time runs.

A first use takes seconds, on a busy machine more than a call may take. A load that a time limit breaks off leaves half
a library behind, and whatever asks for it next fails: "partially initialized module torch._dynamo".
"""

from importlib import import_module

import einops
import torch
from torch.utils._python_dispatch import TorchDispatchMode


class _Watch(TorchDispatchMode):
    """A watch as tests and students write one. For the first, PyTorch loads its compiler."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def warm_up() -> None:
    """Use what assignments use, on one thread. It runs in the grader and in the sandbox; a test says what is missing.

    More threads would count as that much more work, and a forked process, which has none of them, would wait for them.
    """
    torch.set_num_threads(1)
    import_module("torch.utils.flop_counter")  # which assignment 7 forbids
    with _Watch():
        torch.testing.assert_close(torch.ones(1), torch.ones(1))
    torch.func.jacfwd(torch.exp)(torch.ones(1))
    einops.rearrange(torch.ones(1), "a -> a")
