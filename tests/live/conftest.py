"""A real Chromium, for the tests of this folder."""

from tests.browser.visiting import browser, home, visit

__all__ = ["browser", "home", "visit"]
