"""Notebooks give the same outputs whatever way they are run: `pytest --nbval` sets what `attnbook run` sets.

Numbers that say how far they may be off are compared within that.
"""

import os


def pytest_configure(config):
    if config.getoption("nbval", False) or config.getoption("nbval_lax", False):  # where the plugin is loaded
        from nbval.plugin import IPyNbCell

        from booktools.editions.compare import settle_outputs
        from booktools.editions.run import EVERYWHERE

        os.environ.update(EVERYWHERE)  # kernels inherit it
        compare = IPyNbCell.compare_outputs

        def compare_settled(cell, fresh, stored, *rest):
            return compare(cell, settle_outputs(stored, fresh), stored, *rest)

        IPyNbCell.compare_outputs = compare_settled
