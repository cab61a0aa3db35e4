"""Exercises are ticked by those who have done them, and the first page counts the ticks."""

from playwright.sync_api import expect

FIVE = "chapters/05_scaled_dot_product_attention.html"


def test_a_tick_stays(visit):
    page = visit(FIVE)
    ticks = page.locator(".exercise").get_by_role("checkbox", name="Done")
    assert ticks.count() == page.locator(".exercise").count() > 6
    ticks.nth(1).check()
    ticks.nth(2).press("Space")
    page.goto(f"{visit.home}{FIVE}")
    assert [tick.is_checked() for tick in ticks.all()[:4]] == [False, True, True, False]
    page.goto(visit.home)
    expect(page.locator('[data-chapter="5"] .been')).to_have_text("things done: 2")
    page.goto(f"{visit.home}{FIVE}")
    ticks.nth(2).uncheck()
    ticks.nth(1).uncheck()
    page.goto(visit.home)
    expect(page.locator('.card[data-chapter="5"] .been')).to_be_hidden()


def test_without_scripts_there_is_nothing_to_tick(visit):
    page = visit(FIVE, javascript=False)
    expect(page.locator(".exercise").first).to_be_visible()
    expect(page.get_by_role("checkbox")).to_have_count(0)


def test_a_finger_can_tick(visit):
    page = visit(FIVE, viewport={"width": 360, "height": 740}, touch=True)
    label = page.locator(".exercise .done").first
    label.tap()
    expect(label.get_by_role("checkbox")).to_be_checked()
    assert 44 <= label.bounding_box()["height"] < 50, "one line, as high as a finger"
