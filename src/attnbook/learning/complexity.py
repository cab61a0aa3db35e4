"""What it costs that n tokens of width d learn of each other: by formula, and counted in real modules.

>>> for kind in (Convolution(kernel=3), Recurrence(), SelfAttention()):
...     assert kind.cost(n=12, d=8) == count(kind, n=12, d=8)
"""

from dataclasses import dataclass
from functools import cache
from itertools import count as naturals
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from attnbook.layers.capture import capture_attention
from attnbook.layers.multihead import MultiHeadAttention


class Cost(NamedTuple):
    """What one layer costs; `path` counts layers as well, where one does not reach far enough.

    operations  in floating point: a product and the addition it goes into are two
    memory      numbers that the forward pass keeps for the backward pass, parameters apart
    steps       products that wait for one another, however much a machine does at once
    path        how often what the first token says is passed on until the last one has it

    >>> SelfAttention().cost(n=100, d=64)
    Cost(operations=5836800, memory=42000, steps=4, path=1)
    """

    operations: int
    memory: int
    steps: int
    path: int


class Kind:
    """A kind of layer: its cost by formula, and all it takes to count."""

    def operations_per_step(self, n: int, d: int) -> list[int]:
        """The operations of each step, of which none can begin before the one before it is done."""
        raise NotImplementedError

    def memory(self, n: int, d: int) -> int:
        raise NotImplementedError

    def path(self, n: int) -> int:
        raise NotImplementedError

    def cost(self, n: int, d: int) -> Cost:
        operations_per_step = self.operations_per_step(n, d)
        return Cost(sum(operations_per_step), self.memory(n, d), len(operations_per_step), self.path(n))

    def layers(self, n: int) -> int:
        """How many of them on top of one another it takes until the last token knows what the first one says."""
        return self.path(n)

    def time(self, n: int, d: int, at_once: int) -> int:
        """Moments until then, on a machine that does so many operations in each."""
        return self.layers(n) * sum(-(-operations // at_once) for operations in self.operations_per_step(n, d))

    def layer(self, d: int, number: int = 0) -> nn.Module:
        """The layers of a stack are numbered from 0."""
        raise NotImplementedError

    def run(self, layer: nn.Module, x: Tensor) -> Tensor:
        """Tokens (B, n, d) to tokens (B, n, d)."""
        return layer(x)

    def pass_on(self, layer: nn.Module, x: Tensor, known: Tensor) -> Tensor:
        """What each token knows after a look around, if this is what each knew before."""
        return self.run(layer, known)


@dataclass(frozen=True)
class Convolution(Kind):
    """Each token looks at itself and the kernel - 1 before it; dilated, each layer of a stack skips k times as many.

    >>> Convolution(kernel=3).path(n=100), Convolution(kernel=3, dilated=True).path(n=100)
    (50, 5)
    """

    kernel: int = 3
    dilated: bool = False

    def __post_init__(self):
        if self.kernel < 2:
            raise ValueError(f"kernel must be at least 2, or no token sees another; got {self.kernel}.")

    def operations_per_step(self, n: int, d: int) -> list[int]:
        return [2 * self.kernel * n * d**2]

    def memory(self, n: int, d: int) -> int:
        return (n + self.kernel - 1) * d

    def reach(self, layers: int) -> int:
        """How far back a stack of so many sees."""
        return self.kernel**layers - 1 if self.dilated else layers * (self.kernel - 1)

    def path(self, n: int) -> int:
        return next(layers for layers in naturals(1) if self.reach(layers) >= n - 1)

    def layer(self, d: int, number: int = 0) -> nn.Module:
        return nn.Conv1d(d, d, self.kernel, dilation=self.kernel**number if self.dilated else 1)

    def run(self, layer: nn.Conv1d, x: Tensor) -> Tensor:
        return layer(F.pad(x.mT, (layer.dilation[0] * (self.kernel - 1), 0))).mT


_CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


@dataclass(frozen=True)
class Recurrence(Kind):
    """Each token looks at the one before, which must have looked itself.

    A cell has two matrices (d, d), one for the token and one for the state; with gates, one pair more for each.

    >>> Recurrence().cost(n=100, d=64).steps, Recurrence("lstm").cost(n=100, d=64).steps
    (100, 100)
    """

    cell: str = "rnn"

    def __post_init__(self):
        if self.cell not in _CELLS:
            raise ValueError(f"cell must be one of {', '.join(_CELLS)}; got {self.cell!r}.")

    def operations_per_step(self, n: int, d: int) -> list[int]:
        pairs = {"rnn": 1, "gru": 3, "lstm": 4}[self.cell]
        return [4 * pairs * d**2] * n

    def memory(self, n: int, d: int) -> int:
        return (2 * n + 1) * d if self.cell == "rnn" else 8 * n * d

    def path(self, n: int) -> int:
        return max(1, n - 1)

    def layers(self, n: int) -> int:
        return 1

    def layer(self, d: int, number: int = 0) -> nn.Module:
        return _CELLS[self.cell](d, d, batch_first=True)

    def run(self, layer: nn.Module, x: Tensor) -> Tensor:
        return layer(x)[0]

    def pass_on(self, layer: nn.Module, x: Tensor, known: Tensor) -> Tensor:
        """All tokens at once: a batch of sequences of one, each from the state of the token before."""
        before = F.pad(known[:, :-1], (0, 0, 1, 0))
        output, _ = layer(x.mT.permute(2, 0, 1), (before, before) if self.cell == "lstm" else before)
        return output.permute(1, 0, 2)


@dataclass(frozen=True)
class SelfAttention(Kind):
    """Each token looks at all. Counted where the weights are computed, not where a fused kernel hides them.

    >>> short, long = (SelfAttention(heads=8).cost(n, d=64) for n in (1_000, 2_000))
    >>> round(long.operations / short.operations, 2), round(long.memory / short.memory, 2)
    (3.77, 3.92)
    """

    heads: int = 1

    def operations_per_step(self, n: int, d: int) -> list[int]:
        queries_keys_values, scores, blends, output = 6 * n * d**2, 2 * n**2 * d, 2 * n**2 * d, 2 * n * d**2
        return [queries_keys_values, scores, blends, output]

    def memory(self, n: int, d: int) -> int:
        return 5 * n * d + self.heads * n**2

    def path(self, n: int) -> int:
        return 1

    def layer(self, d: int, number: int = 0) -> nn.Module:
        return MultiHeadAttention(d, self.heads)

    def run(self, layer: nn.Module, x: Tensor) -> Tensor:
        with capture_attention(layer):
            return layer(x)


@torch.enable_grad()
def count(kind: Kind, n: int, d: int) -> Cost:
    """The same cost, not by formula but counted while layers run, on the CPU."""
    if n < 1 or d < 1:
        raise ValueError(f"n tokens of width d: both must be at least 1, got {n} and {d}.")
    from torch.utils.flop_counter import FlopCounterMode  # which loads a compiler, and no page counts

    # In double precision no LSTM is fused, into which no counter looks.
    layer, x, kept = kind.layer(d).double(), torch.randn(1, n, d, dtype=torch.double, requires_grad=True), {}
    parameters = {parameter.untyped_storage().data_ptr() for parameter in layer.parameters()}

    def keep(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        if storage.data_ptr() not in parameters:
            kept[storage.data_ptr()] = saved, storage.nbytes() // saved.element_size()  # and alive: no other moves in
        return saved

    with FlopCounterMode(display=False) as counter, saved_tensors_hooks(keep, lambda saved: saved):
        y = kind.run(layer, x)
    memory = sum(numbers for _, numbers in kept.values())
    return Cost(counter.get_total_flops(), memory, _longest_chain(y), _path(kind, n, d))


def _longest_chain(y: Tensor) -> int:
    """How many products wait for one another, by what autograd wrote down."""

    @cache
    def below(node) -> int:
        product = any(name in node.name() for name in ("Mm", "mm", "Convolution"))
        return product + max((below(source) for source, _ in node.next_functions if source), default=0)

    return below(y.grad_fn)


def _path(kind: Kind, n: int, d: int) -> int:  # pyrefly: ignore[bad-return] (the numbers never end)
    """How many layers it takes until the last token knows: until what it knows depends on what the first one says."""
    x, other_x = torch.randn(2, 1, n, d, dtype=torch.float64)
    other_x[:, 1:] = x[:, 1:]
    knows = torch.arange(n) == 0
    for number in naturals():
        layer = kind.layer(d, number).double()
        known, other = torch.randn(2, 1, n, d, dtype=torch.float64)
        other[:, ~knows] = known[:, ~knows]
        moved = kind.pass_on(layer, x, known) - kind.pass_on(layer, other_x, other)
        knows = (moved.abs() > 1e-9).any(-1)[0]  # less is rounding
        if knows[-1]:
            return number + 1
