"""What all tests share: one thread (two fight over small tensors), a fixed seed, the built site, the devices."""

import gc
import random

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import settings

from tests import ROOT
from tests.browser.pages import Site

torch.set_num_threads(1)
# slow machines, and the same cases every time
settings.register_profile("book", deadline=None, derandomize=True, database=None)
settings.load_profile("book")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays to the end, as do trees of pages: to look for garbage there takes a third of the time."""
    gc.disable()
    yield
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 200)
    gc.enable()


def pytest_collection_modifyitems(items):
    """A notebook, and whatever asks for the built site or a browser, is slow without saying so."""
    for item in items:
        if item.path.suffix == ".ipynb" or {"site", "browser"} & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _seed():
    """What `seed_everything(0)` does. Before CUDA starts, `torch.manual_seed` stores a traceback at every call."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (as there)
    seed = torch.manual_seed if torch.cuda.is_initialized() else torch.default_generator.manual_seed
    seed(0)


@pytest.fixture(autouse=True)
def _figures():
    yield
    plt.close("all")


def pytest_runtest_teardown(item):
    """A kernel that reads where it must not ends the GPU for its process, and later tests would bear the blame."""
    if item.get_closest_marker("gpu") and torch.cuda.is_initialized():
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            pytest.exit(f"{item.nodeid} left a GPU that answers nothing any more: {error}", 1)


@pytest.fixture(scope="session")
def site() -> Site:
    """The site as `make book` built it. A test reads it through this and in no other way."""
    folder = ROOT / "_build/html"
    if not (folder / "index.html").is_file():
        pytest.fail("The site is not built. `make book` builds it, and `make test` does so by itself.", pytrace=False)
    return Site(folder)


DEVICES = ["cpu", *[pytest.param("cuda", marks=pytest.mark.gpu)] * torch.cuda.is_available()]


@pytest.fixture(params=DEVICES)
def torch_device(request) -> torch.device:
    """Every device of this machine in turn. (pytest-playwright owns the name `device`.)"""
    return torch.device(request.param)
