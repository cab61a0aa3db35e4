"""Notebooks give the same outputs whatever way they are run: `pytest --nbval` sets what `attnbook run` sets.

A number that is printed as `≈ 0.996` may differ a little; the cell's metadata may say by how much.
"""

import os


def pytest_configure(config):
    if config.getoption("nbval", False) or config.getoption("nbval_lax", False):  # where the plugin is loaded
        from nbval.plugin import IPyNbCell

        from booktools.rehearsal.compare import settle_outputs, tolerance
        from booktools.rehearsal.run import EVERYWHERE

        os.environ.update(EVERYWHERE)  # kernels inherit it
        compare = IPyNbCell.compare_outputs

        def compare_settled(cell, fresh, stored, *rest):
            return compare(cell, settle_outputs(stored, fresh, tolerance(cell.cell)), stored, *rest)

        IPyNbCell.compare_outputs = compare_settled
