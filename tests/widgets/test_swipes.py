"""On a phone, a finger that swipes over a slider or a grid scrolls the page and changes nothing."""

import pytest
from playwright.sync_api import expect

from attnbook.widgets import AttentionHeatmap, DrawDigit, KernelRegression, MaskMap, PaintMask, Polarity, ScaleLab
from tests.browser.hands import Finger, bring, swiped
from tests.browser.pages import PHONE, bare
from tests.widgets.laws import agree, live, shown


@pytest.fixture
def amid(visit):
    """A widget amid a long page, on a phone."""

    def page_of(widget):
        space = '<p style="height: 3000px">A long page.</p>'
        html = bare(widget).replace("<body>", f"<body>{space}").replace("</body>", f"{space}</body>")
        return visit("bare.html", viewport=PHONE, touch=True, served={"bare.html": html})

    return page_of


@pytest.mark.parametrize("kind", [ScaleLab, KernelRegression])
def test_a_swipe_that_begins_on_a_slider_scrolls_the_page(amid, kind):
    page = amid(kind())
    before, sliders = shown(live(page)), page.locator("input[type=range]").all()
    assert sliders
    for slider in sliders:
        x, y = bring(slider)
        assert swiped(page, (x + 40, y)) > 50, "the page did not scroll"
    assert shown(live(page)) == before


@pytest.mark.parametrize("widget", [AttentionHeatmap(mask="paint"), PaintMask(), MaskMap(), Polarity()], ids=repr)
def test_a_swipe_that_begins_on_a_grid_scrolls_unless_the_finger_paints(amid, widget):
    page = amid(widget)
    before, paint = shown(live(page)), page.get_by_role("button", name="Paint with a finger")

    def swipe():
        return swiped(page, bring(page.locator("[role=gridcell]").nth(0)))

    assert swipe() > 50, "the page did not scroll"
    assert shown(live(page)) == before
    Finger(page).press(paint)
    expect(paint).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".ab-finger")).to_contain_text("Strokes paint")
    assert swipe() == 0, "the page scrolled under a finger that paints"
    assert shown(live(page)) != before
    now = shown(live(page))
    Finger(page).press(paint)
    assert swipe() > 50, "the page did not scroll once painting was over"
    assert shown(live(page)) == now


def test_a_finger_draws_on_the_sheet_at_once(amid):
    """And the example that stood there is gone with the first stroke."""
    page = amid(DrawDigit())
    live(page)
    expect(page.locator(".ab-finger")).to_have_count(0)
    assert swiped(page, bring(page.locator(".ab-sheet [role=gridcell]").nth(100))) == 0, "the page scrolled"
    (stroke,) = page.locator("[data-afm]").evaluate("(node) => node.model.get('strokes')")
    assert stroke[0] == 100
    assert len(stroke) > 3
    assert swiped(page, bring(page.get_by_text("Draw one digit."))) > 50, "beside the sheet a swipe scrolls"


def test_a_tap_presses_one_cell(amid):
    page = amid(AttentionHeatmap("the river bank", mask="paint"))
    live(page)
    Finger(page).press(page.locator("[role=gridcell]").nth(4))
    agree(live(page), AttentionHeatmap("the river bank", mask="paint", query=1, blocked=[[1, 1]]), "a tap")


def test_where_there_is_only_a_mouse_no_finger_is_spoken_of(visit):
    page = visit("bare.html", served={"bare.html": bare(PaintMask())})
    live(page)
    expect(page.locator(".ab-finger")).to_be_hidden()
