"""Notebooks give the same outputs whatever way they are run: `pytest --nbval` sets what `attnbook run` sets."""

import os


def pytest_configure(config):
    if config.getoption("nbval", False) or config.getoption("nbval_lax", False):  # where the plugin is loaded
        from booktools.editions.run import EVERYWHERE

        os.environ.update(EVERYWHERE)  # kernels inherit it
