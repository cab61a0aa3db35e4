"""How rotary positions are stretched, so that a model reads texts longer than those it was trained on.

Each pair j of features turns by f_j = base^(-2j/K) a position. Beyond the trained length the slow pairs come to angles
that the model has never seen; the fast ones have been round many times, and there is nothing new to them.

>>> for scaling in (PositionInterpolation(4), NTKAware(4), YaRN(4, trained=64)):
...     print((rotary_frequencies(16) / scaling.frequencies(16)).round(decimals=2).tolist())
[4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
[1.0, 1.22, 1.49, 1.81, 2.21, 2.69, 3.28, 4.0]
[1.0, 1.33, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0]
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


def rotary_frequencies(K: int, base: float = 10000.0) -> Tensor:
    """base^(-2j/K) for each pair j, in float64."""
    return base ** -(torch.arange(0, K, 2, dtype=torch.float64) / K)


@dataclass(frozen=True)
class PositionInterpolation:
    """All pairs turn `factor` times more slowly: position i is taken for i / factor, neighbours too.

    >>> PositionInterpolation(4).frequencies(K=4, base=100.0).tolist()
    [0.25, 0.025]
    """

    factor: float

    def __post_init__(self):
        if not 1 <= self.factor < math.inf:
            raise ValueError(f"factor is how many times longer texts may be, at least 1; got {self.factor}.")

    def frequencies(self, K: int, base: float = 10000.0) -> Tensor:
        return rotary_frequencies(K, base) / self.factor

    @property
    def loudness(self) -> float:
        """What turned queries and keys are multiplied by: scores by its square."""
        return 1.0


@dataclass(frozen=True)
class NTKAware(PositionInterpolation):
    """A larger base, such that the last pair turns `factor` times more slowly, and the first as before.

    >>> NTKAware(4).frequencies(K=4, base=100.0)
    tensor([1.0000, 0.0250], dtype=torch.float64)
    """

    def frequencies(self, K: int, base: float = 10000.0) -> Tensor:
        return rotary_frequencies(K, base * self.factor ** (K / max(K - 2, 1)))


@dataclass(frozen=True)
class YaRN(PositionInterpolation):
    """Pairs that turn `fast` times or more within the trained length stay, those below `slow` times are interpolated.

    In between there is a ramp over the pairs. It begins and ends at an integer number of them, as in the authors' code.
    Scores are multiplied by (0.1 ln factor + 1)², so that a softmax over more keys stays as sharp.

    >>> round(YaRN(4, trained=64).loudness, 3)
    1.139
    """

    trained: int
    fast: float = 32.0
    slow: float = 1.0

    def frequencies(self, K: int, base: float = 10000.0) -> Tensor:
        first, last = (self._pair(turns, K, base) for turns in (self.fast, self.slow))
        low, high = max(math.floor(first), 0), min(math.ceil(last), K - 1)
        ramp = (torch.arange(K // 2, dtype=torch.float64) - low) / max(high - low, 0.001)
        return rotary_frequencies(K, base) * (1 + ramp.clamp(0, 1) * (1 / self.factor - 1))

    def _pair(self, turns: float, K: int, base: float) -> float:
        """Returns the index, perhaps a fraction, of the pair that turns so many times within the trained length."""
        return K * math.log(self.trained / (2 * math.pi * turns)) / (2 * math.log(base))

    @property
    def loudness(self) -> float:
        return 0.1 * math.log(self.factor) + 1
