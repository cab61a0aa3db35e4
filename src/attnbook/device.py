"""Where to compute, and how to get the same numbers again."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn


def pick_device() -> torch.device:
    """The GPU where there is one, else the CPU.

    >>> torch.zeros(2, device=pick_device()).device.type in ("cpu", "cuda")
    True
    """
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def seed_everything(seed: int) -> None:
    """Start every random generator a chapter may use (Python, NumPy, PyTorch) from `seed`.

    >>> seed_everything(7); first = torch.rand(2)
    >>> seed_everything(7); torch.equal(first, torch.rand(2))
    True
    """
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (the global generator is what other people's code draws from)
    torch.manual_seed(seed)


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """The model without dropout; afterwards each part is as it was before."""
    trained = [part for part in model.modules() if part.training]
    model.eval()
    try:
        yield
    finally:
        for part in trained:
            part.training = True


def runs_eagerly() -> bool:
    """Whether PyTorch does one thing after the other now: not under torch.compile, nor a transform of torch.func."""
    return not torch.compiler.is_compiling() and not torch._C._are_functorch_transforms_active()


def may_look(x: Tensor) -> bool:
    """Whether a look at a number costs nothing: on a CPU, run eagerly. Ask before you compute what nobody looks at.

    >>> may_look(torch.ones(2)), may_look(torch.ones(2, device="meta"))
    (True, False)
    """
    return x.device.type == "cpu" and runs_eagerly()
