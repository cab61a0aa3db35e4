"""A machine that no setting stands for: sums differ in their last bit, and training carries that on.

A kernel calls `install` when it starts. From then on each optimizer begins with one weight changed by its last bit, and
TRAINED holds the numbers of the cells, as they were run, in which that happened.
"""

import torch
from IPython.core.getipython import get_ipython

TRAINED: set[int] = set()


def _change_one_weight(optimizer: torch.optim.Optimizer) -> None:
    weights = max((p for group in optimizer.param_groups for p in group["params"]), key=torch.Tensor.numel)
    if weights.is_floating_point():
        one = weights.detach().view(-1)[:1]
        one.copy_(torch.nextafter(one, torch.full_like(one, torch.inf)))


def install() -> None:
    plain, shell = torch.optim.Optimizer.__init__, get_ipython()
    assert shell is not None, "this runs in a kernel"

    def changed(self, *given, **named):
        plain(self, *given, **named)
        _change_one_weight(self)
        TRAINED.add(len(shell.user_ns["In"]) - 1)

    torch.optim.Optimizer.__init__ = changed
