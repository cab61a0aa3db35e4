"""What `make rehearse` has just used: a machine like Colab's, and the site."""

import pytest

from booktools.rehearsal.machine import Machine
from tests import ROOT
from tests.browser.visiting import browser

__all__ = ["browser", "machine", "wheel"]


@pytest.fixture(scope="package")
def machine():
    found = Machine(ROOT / "_build/rehearsal/machine0")
    if not found.python.exists():
        pytest.fail(
            "There is no machine to rehearse on. `make rehearse` makes one, and runs these tests.", pytrace=False
        )
    return found


@pytest.fixture(scope="package")
def wheel(site):
    return next(site.folder.glob("attnbook-*.whl"))
