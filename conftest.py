"""Notebooks give the same outputs whatever way they are run: `pytest --nbval` sets what `attnbook run` sets."""

import os


def pytest_configure(config):
    if config.option.nbval or config.option.nbval_lax:
        from booktools.editions.run import EVERYWHERE

        os.environ.update(EVERYWHERE)  # kernels inherit it
