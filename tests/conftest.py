"""What all tests share: one thread (two fight over small tensors), a fixed seed, the devices at hand, no figures."""

import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import settings

from attnbook import seed_everything

torch.set_num_threads(1)
# slow machines, and the same cases every time
settings.register_profile("book", deadline=None, derandomize=True, database=None)
settings.load_profile("book")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.suffix == ".ipynb" or "browser" in item.fixturenames:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _seed():
    seed_everything(0)


@pytest.fixture(autouse=True)
def _figures():
    yield
    plt.close("all")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def torch_device(request) -> torch.device:
    """Every device in turn. (pytest-playwright owns the name `device`.)"""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    return torch.device(request.param)
