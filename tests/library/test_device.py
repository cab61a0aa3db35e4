import random

import numpy as np
import torch

from attnbook import pick_device, seed_everything


def test_one_seed_starts_every_generator():
    def draw():
        seed_everything(3)
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    assert draw() == draw()
    assert len(set(draw())) == 3


def test_the_device_is_one_that_works():
    assert torch.ones(1, device=pick_device()).sum() == 1
    assert (pick_device().type == "cuda") == torch.cuda.is_available()
