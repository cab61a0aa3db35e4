"""What layers are measured on: a mask as each library wants it, and one pass."""

from collections.abc import Callable

import torch
from torch import Tensor

from attnbook import causal, padding
from benchmarks.measure import Work


def masked(kind: str, B: int, n: int, device: str = "cpu") -> tuple[Tensor, Tensor]:
    """Our mask, and the same as d2l wants it: how many keys are valid."""
    if kind == "causal":
        return causal(n, device=device), torch.arange(1, n + 1, device=device).expand(B, n)
    lengths = torch.linspace(n // 2, n, B, device=device).long()
    return padding(lengths, n), lengths


def one_pass(call: Callable[[], Tensor], leaves: list[Tensor], backward: bool) -> Work:
    """Forward, as in use; or forward and backward, as in training."""

    def forward() -> Tensor:
        with torch.no_grad():
            return call()

    def both() -> Tensor:
        output = call()
        torch.autograd.grad(output.sum(), leaves)
        return output.detach()

    return both if backward else forward
