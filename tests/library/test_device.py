import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attnbook import pick_device, seed_everything
from tests.conftest import pytest_runtest_teardown


def test_one_seed_starts_every_generator():
    def draw():
        seed_everything(3)
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    assert draw() == draw()
    assert len(set(draw())) == 3


def test_a_test_that_ends_the_gpu_is_named(monkeypatch):
    def dead():
        raise RuntimeError("misaligned address")

    marks = {"gpu": pytest.mark.gpu}
    test = SimpleNamespace(nodeid="test_masks.py::test_one", get_closest_marker=marks.get)
    monkeypatch.setattr(torch.cuda, "synchronize", dead)
    pytest_runtest_teardown(test)  # it was skipped, where there is no GPU
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(pytest.exit.Exception, match="test_one left a GPU that answers nothing any more: misaligned"):
        pytest_runtest_teardown(test)
    marks.clear()
    pytest_runtest_teardown(test)


def test_the_device_is_one_that_works():
    assert torch.ones(1, device=pick_device()).sum() == 1
    assert (pick_device().type == "cuda") == torch.cuda.is_available()
