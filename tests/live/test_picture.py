"""What a reader's code draws: a tensor as a table with a caption, and one's own right result without asking."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.pages import AXE, OF_WHOLE_PAGES, PHONE
from tests.live.test_write import HEAD, RIGHT, checked, open_stub

__all__ = ["open_stub"]
WRONG = f"{HEAD}return q, q\n\n\n"


def cells(figure):
    return [row.locator("td").all_inner_texts() for row in figure.locator("tbody tr").all()]


def drawn(frame, code):
    """The picture that some code draws: its caption, its numbers, their weights."""
    checked(frame, WRONG + code)
    figure = frame.locator("figure")
    expect(figure.locator("table")).to_be_visible()
    weights = figure.locator("tbody td").evaluate_all("all => all.map((td) => td.style.getPropertyValue('--w'))")
    return figure.locator("figcaption").inner_text(), cells(figure), [float(w) for w in weights]


def test_what_is_shown(open_stub):
    frame = open_stub()
    assert drawn(frame, "show([[0, 0.25], [0.5, 1]])") == (
        "Shape (2, 2)",
        [["0.00", "0.25"], ["0.50", "1.00"]],
        [0, 0.25, 0.5, 1],
    )
    assert drawn(frame, "show(torch.tensor([-2, 6, 0]))") == (
        "Shape (3,) · dark is −2, bright is 6",
        [["−2", "6", "0"]],
        [0, 1, 0.25],
    )
    assert drawn(frame, "show(torch.ones(2, 2).tril() > 0)")[1] == [["1", "0"], ["1", "1"]]
    assert drawn(frame, "show(torch.ones(3, 5, 2, 1))")[0] == "Shape (3, 5, 2, 1) · the first of 15"
    assert drawn(frame, "show(torch.ones(2, 2) * 3)")[2] == [0] * 4


def test_what_has_no_weight_is_striped(open_stub):
    frame = open_stub()
    lowest = "torch.finfo(torch.float32).min"
    said, numbers, _ = drawn(frame, f"show([[1.5, -torch.inf], [torch.nan, {lowest}], [torch.inf, 0.5]])")
    assert said == (
        "Shape (3, 2) · dark is 0.50, bright is 1.50 · striped: NaN, infinite, or the lowest number there is"
    )
    assert numbers == [["1.50", "−∞"], ["NaN", "−3e38"], ["∞", "0.50"]]
    expect(frame.locator("td.hidden")).to_have_count(4)


def test_what_is_too_large_is_cut_and_what_is_empty_is_said(open_stub):
    frame = open_stub()
    said, numbers, _ = drawn(frame, "show(torch.zeros(2, 1000, 26))")
    assert said == "Shape (2, 1000, 26) · the first of 2 · 24 of 1000 rows · 24 of 26 columns"
    assert (len(numbers), len(numbers[0])) == (24, 24)
    assert drawn(frame, "show(torch.zeros(0, 3))")[:2] == ("Shape (0, 3) · nothing to draw", [])


def test_text_and_pictures_stand_in_order_and_are_not_endless(open_stub):
    frame = open_stub()
    checked(frame, f"{WRONG}print('before')\nshow([1])\nprint('after')\nfor i in range(99): show([i])")
    parts = frame.locator(".prints > *").evaluate_all("all => all.map((part) => part.tagName)")
    assert parts == ["PRE", "FIGURE", "PRE", *["FIGURE"] * 11]


def test_a_right_result_is_drawn_without_asking(open_stub, visit):
    frame = open_stub()
    assert checked(frame, f"{HEAD}return q") != "correct"
    assert not [url for url in visit.requests if "picture" in url]
    assert checked(frame, RIGHT) == "correct"
    figure = frame.locator("figure")
    expect(figure).to_have_count(1)
    expect(figure.locator("figcaption")).to_have_text(
        "What you returned: L=3, M=5: weights · rows: query, columns: key"
    )
    assert len(cells(figure)) == 3
    assert all(sum(map(float, row)) == pytest.approx(1, abs=0.02) for row in cells(figure))


NO_SCALE = f"{HEAD}w = (q @ k.mT).softmax(-1)\n    return w @ v, w"


def test_a_wrong_result_names_its_mistake_and_stands_beside_the_right_one(open_stub):
    """Two mistakes at once, no root and no mask: the first case shows the first of them."""
    frame = open_stub()
    assert checked(frame, NO_SCALE) == (
        "one query, two keys: weights: first wrong cell (query, key) = (0, 0): expected 0.7604, got 0.8808 "
        "(in this case it answers like one that does not divide the scores by √d)"
    )
    figures = frame.locator("figure")
    expect(figures.locator("figcaption")).to_have_text(
        [
            re.compile(r"^Expected: one query, two keys: weights · rows: query, columns: key · framed: what differs"),
            re.compile(r"^What you returned: one query, two keys: weights"),
            re.compile(r"^Put in: q · Shape \(1, 3\)"),
            re.compile(r"^Put in: k · Shape \(2, 3\)"),
            re.compile(r"^Put in: v · Shape \(2, 1\)"),
        ]
    )
    assert [cells(figures.nth(n)) for n in (0, 1)] == [[["0.76", "0.24"]], [["0.88", "0.12"]]]
    assert [figures.nth(n).locator("[data-wrong]").count() for n in range(5)] == [2, 2, 0, 0, 0]
    assert checked(frame, RIGHT) == "correct"
    expect(frame.locator("[data-wrong]")).to_have_count(0)


@pytest.mark.parametrize("screen", [PHONE, {"width": 1280, "height": 800}])
def test_numbers_stand_in_cells_while_there_is_room(open_stub, screen):
    frame = open_stub(viewport=screen)
    seen = "td => td.scrollWidth <= td.clientWidth && parseFloat(getComputedStyle(td).fontSize) > 0"
    for columns, room in ((4, True), (24, screen is not PHONE)):
        drawn(frame, f"show(torch.randn(3, {columns}))")
        fits = frame.locator("tbody td").evaluate_all(f"all => all.every({seen})")
        assert fits == room, columns
        assert frame.page.evaluate("document.documentElement.scrollWidth") <= screen["width"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible(open_stub, theme):
    frame = open_stub(theme=theme, viewport=PHONE)
    drawn(frame, "show([[0.0, 0.3, 0.5], [0.7, 1, torch.nan]])")
    rules = AXE["rules"] | {rule: {"enabled": False} for rule in OF_WHOLE_PAGES}
    results = Axe().run(frame.page, options=AXE | {"rules": rules})
    assert results.violations_count == 0, results.generate_report()


def test_with_forced_colours_a_weight_keeps_its_colour(open_stub):
    frame = open_stub()
    frame.page.emulate_media(forced_colors="active")
    drawn(frame, "show([[0.0, 1.0]])")
    grounds = frame.locator("tbody td").evaluate_all("all => all.map((td) => getComputedStyle(td).backgroundColor)")
    assert len(set(grounds)) == 2
