"""Numbers in the words that are pressed and dragged: the widget beside them answers."""

import json

import pytest
import traitlets
from docutils import nodes
from playwright.sync_api import expect

from booktools.directives import drag
from tests.browser.pages import PHONE, settle
from tests.directives.test_map import page_of
from tests.directives.test_touch import KINDS, widget

MODEL = "node => node.model.get('temperature')"


def a_number(visit, **how):
    """The page of chapter 5, its widget with a temperature of its own, and the number that moves it."""
    page = visit(page_of(5), **how)
    number = page.locator(".drag[data-trait=temperature]").first
    number.scroll_into_view_if_needed()
    widget = page.locator("[data-afm=attention_heatmap]").nth(1)
    expect(widget).to_have_attribute("data-mounted", "")
    settle(page)
    return page, number, widget


CHAPTERS = pytest.mark.parametrize("chapter", [1, 3, 5, 7, 8, 9, 10, 13])
BESIDE = """([trait, kind, section]) => [...section.querySelectorAll(`[data-afm="${kind}"]`)]
    .map((node) => node.model.get(trait))"""


@CHAPTERS
def test_each_stop_of_a_number_is_a_state_of_its_widget(site, chapter):
    numbers = site.soup(page_of(chapter)).select(".drag")
    assert numbers
    for number in numbers:
        kind, stops = KINDS[number["data-of"]], json.loads(number["data-stops"])
        assert stops == sorted(set(stops))
        assert drag.value_of(number.text) in stops
        for stop in stops:
            kind(**{number["data-trait"]: stop})
        assert number.find_parent("section").select(f'[data-afm="{number["data-of"]}"]'), "it stands in its section"


@CHAPTERS
def test_each_number_is_pressed_and_its_widget_is_there(visit, chapter):
    page = settle(visit(page_of(chapter), motion="reduce"))
    for number in page.locator(".drag").all():
        number.click()
        trait, kind = number.get_attribute("data-trait"), number.get_attribute("data-of")
        section = number.evaluate_handle("(node) => node.closest('section')")
        assert drag.value_of(number.text_content()) in page.evaluate(BESIDE, [trait, kind, section]), trait


def test_pressed_the_widget_is_at_the_number(visit):
    _, number, widget = a_number(visit)
    expect(number).to_have_text("0.1")
    assert widget.evaluate(MODEL) == 1
    number.click()
    assert widget.evaluate(MODEL) == 0.1
    expect(widget.locator(".ab-control", has_text="temperature")).to_contain_text("0.1")


def test_dragged_both_move_and_left_it_says_what_was_written(visit):
    page, number, widget = a_number(visit)
    number.hover()
    box = number.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.down()
    page.mouse.move(x + 100, y, steps=4)
    page.mouse.up()
    moved = widget.evaluate(MODEL)
    assert moved > 0.1
    expect(number).to_have_text(str(moved))
    assert page.evaluate("getSelection().toString()") == ""
    assert number.evaluate("(node) => node.matches(':focus:not(:focus-visible)')"), "a ring is for keys"
    page.mouse.move(x, y)
    assert widget.evaluate(MODEL) == moved, "let go, it stays"
    page.locator("h1").click()
    expect(number).to_have_text("0.1")
    assert widget.evaluate(MODEL) == moved


def test_a_finger_presses_it_and_scrolls_over_it(visit):
    page, number, widget = a_number(visit, viewport=PHONE, touch=True)
    box = number.bounding_box()
    finger = page.context.new_cdp_session(page)

    def touch(kind, y):
        at = {"x": box["x"] + 4, "y": box["y"] + y}
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if kind == "touchEnd" else [at]})

    before = page.evaluate("scrollY")
    touch("touchStart", 5)
    for y in range(0, -200, -20):
        touch("touchMove", y)
    touch("touchEnd", 0)
    page.wait_for_function("(before) => scrollY > before", arg=before)
    assert widget.evaluate(MODEL) == 1, "it was on its way"
    number.scroll_into_view_if_needed()
    number.tap()
    assert widget.evaluate(MODEL) == 0.1


def test_with_keys(visit):
    _, number, widget = a_number(visit)
    number.focus()
    assert widget.evaluate(MODEL) == 1, "to pass by changes nothing"
    for key, value in (
        ("Enter", 0.1),
        ("ArrowRight", 0.15),
        ("ArrowUp", 0.2),
        ("End", 10),
        ("Home", 0.1),
        ("ArrowLeft", 0.1),
    ):
        number.press(key)
        assert widget.evaluate(MODEL) == value, key
        expect(number).to_have_attribute("aria-valuetext", str(value))
    number.press("End")
    number.press("Escape")
    expect(number).to_have_text("0.1")
    assert widget.evaluate(MODEL) == 0.1


def test_what_a_screen_reader_says(visit):
    _, number, _ = a_number(visit)
    expect(number).to_have_role("slider")
    expect(number).to_have_accessible_name("temperature (Who listens to whom?), a number to drag")
    expect(number).to_have_attribute("aria-valuenow", "0.1")
    expect(number).to_have_attribute("aria-valuemax", "10")


def test_without_scripts_it_is_a_number(visit):
    page = visit(page_of(5), javascript=False)
    number = page.locator(".drag").first
    assert number.get_attribute("tabindex") is None
    assert number.evaluate("node => getComputedStyle(node).borderBottomStyle") == "none"


@pytest.mark.parametrize(
    ("trait", "number", "says"),
    [
        ("temperature", "0.5", None),
        ("temperature", "0", "0 can't be dragged here"),
        ("hurry", "0.5", "0.5 can't be dragged here"),
        ("temperature", "half", "half can't be dragged here"),
    ],
)
def test_a_number_is_a_state_that_the_widget_has(trait, number, says, monkeypatch):
    said = warnings(monkeypatch)
    shown = drag.tied(*numbers_beside(widget("attention_heatmap"), trait=trait, number=number))
    assert [says in text for text in said] == ([True] if says else [])
    assert "".join(node.astext() for node in shown if isinstance(node, nodes.Text)) == number


def test_a_number_without_a_widget_in_its_section_is_noticed(monkeypatch):
    said = warnings(monkeypatch)
    number, (shown,) = numbers_beside(widget("attention_heatmap"))
    nodes.section("", shown)  # where it is now
    assert [node.astext() for node in drag.tied(number, [shown])] == ["0.5"]
    assert said == ["a number to drag, 0.5, has no widget in its section"]


def warnings(monkeypatch):
    said = []
    monkeypatch.setattr(drag.log, "warning", lambda text, *gaps, **_: said.append(text % gaps))
    return said


def numbers_beside(shown, trait="temperature", number="0.5"):
    """A section with a widget and a number that names one of its traits: the number, and the widgets."""
    node = drag.dragged(number, number, trait=trait, bounds=("0.1", "10"))
    nodes.section("", shown, nodes.paragraph("", "", node))
    return node, [shown]


@pytest.mark.parametrize("trait", [traitlets.Int(min=0), traitlets.Float(0.5)], ids=["int", "float"])
def test_a_trait_without_bounds_needs_some(trait):
    with pytest.raises(ValueError, match=r"give some, as <\w* 0\.1\.\.10>"):
        drag.stops_of(trait, 1)
    assert drag.stops_of(trait, 1, ("0", "2"))[-1] == 2
