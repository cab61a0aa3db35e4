"""On a phone, a finger that swipes over a slider scrolls the page and changes nothing."""

import pytest

from attnbook.widgets import KernelRegression, ScaleLab
from tests.browser.hands import Finger, bring
from tests.browser.pages import PHONE, bare
from tests.widgets.laws import live, shown


@pytest.mark.parametrize("kind", [ScaleLab, KernelRegression])
def test_a_swipe_that_begins_on_a_slider_scrolls_the_page(visit, kind):
    space = '<p style="height: 3000px">A long page.</p>'
    html = bare(kind()).replace("<body>", f"<body>{space}").replace("</body>", f"{space}</body>")
    page = visit("bare.html", viewport=PHONE, touch=True, served={"bare.html": html})
    before, sliders = shown(live(page)), page.locator("input[type=range]").all()
    assert sliders
    for slider in sliders:
        x, y = bring(slider)
        there = page.evaluate("scrollY")
        Finger(page).drag([(x + 40, y), *((x + 40, y - 15 * step) for step in range(1, 11))])
        page.wait_for_timeout(200)
        assert page.evaluate("scrollY") > there + 50, "the page did not scroll"
    assert shown(live(page)) == before
