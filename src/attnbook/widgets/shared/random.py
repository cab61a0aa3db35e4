"""The random numbers that widgets draw in the browser (`normals` in core.js), for tests and tables."""

import numpy as np
import torch
from torch import Tensor


def normals(seed: int, n: int) -> Tensor:
    """n draws from the standard normal distribution: mulberry32, then Box and Muller's cosine.

    >>> draws = normals(seed=1, n=100_000)
    >>> round(draws.mean().item(), 2), round(draws.var().item(), 2)
    (0.0, 1.0)
    """
    with np.errstate(over="ignore"):  # 32-bit arithmetic that wraps around, as in JavaScript
        t = np.uint32(seed % 2**32) + np.arange(1, 2 * n + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
        t = (t ^ (t >> 15)) * (t | 1)
        t ^= t + (t ^ (t >> 7)) * (t | 61)
    uniform = ((t ^ (t >> 14)).astype(np.float64) + 0.5) / 2**32
    return torch.from_numpy(np.sqrt(-2 * np.log(uniform[::2])) * np.cos(2 * np.pi * uniform[1::2]))
