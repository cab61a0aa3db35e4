"""A real Chromium, for the tests of this folder; and the modules of the theme."""

import importlib
import sys

import pytest

from tests import ROOT
from tests.browser.visiting import browser, home, visit

__all__ = ["browser", "home", "visit"]


@pytest.fixture(scope="session")
def theme():
    """A module of theme/, by its name."""
    sys.path.insert(0, str(ROOT / "theme"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "theme"))
