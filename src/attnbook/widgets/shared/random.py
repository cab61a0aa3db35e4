"""The random numbers that widgets draw in the browser (shared/random.js), for tests and tables."""

import numpy as np
import torch
from torch import Tensor


def uniforms(seed: int, n: int) -> Tensor:
    """n numbers between 0 and 1: mulberry32.

    >>> [round(x, 3) for x in uniforms(seed=1, n=2).tolist()]
    [0.627, 0.003]
    """
    with np.errstate(over="ignore"):  # 32-bit arithmetic that wraps around, as in JavaScript
        t = np.uint32(seed % 2**32) + np.arange(1, n + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
        t = (t ^ (t >> 15)) * (t | 1)
        t ^= t + (t ^ (t >> 7)) * (t | 61)
    return torch.from_numpy(((t ^ (t >> 14)).astype(np.float64) + 0.5) / 2**32)


def normals(seed: int, n: int) -> Tensor:
    """n draws from the standard normal distribution: such numbers, then Box and Muller's cosine.

    >>> draws = normals(seed=1, n=100_000)
    >>> round(draws.mean().item(), 2), round(draws.var().item(), 2)
    (0.0, 1.0)
    """
    uniform = uniforms(seed, 2 * n).numpy()
    return torch.from_numpy(np.sqrt(-2 * np.log(uniform[::2])) * np.cos(2 * np.pi * uniform[1::2]))
