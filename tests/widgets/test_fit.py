"""Every widget: nothing is cut or scrolls sideways, it fits a laptop's screen, and what is pressed stays in place."""

import pytest
from playwright.sync_api import expect

from attnbook.widgets import all_widgets
from tests.browser.clocks import frames
from tests.browser.pages import bare, settle

# What sticks out of its widget, or scrolls in it. A drawing may cut off what it draws.
CUT = """() => [...document.querySelectorAll("[data-afm]")].flatMap((widget) => {
    const edge = widget.querySelector(".ab-body").getBoundingClientRect();
    return [...widget.querySelectorAll(".ab-body *:not(svg *, .ab-choices input)")].filter((node) => {
        const { left, right, width } = node.getBoundingClientRect();
        const isWhole = ["visible", "clip"].includes(getComputedStyle(node).overflowX); // or is meant to be cut
        const scrolls = !isWhole && node.scrollWidth > node.clientWidth + 1;
        return width && (left < edge.left - 1 || right > edge.right + 1 || (scrolls && node.localName !== "input"));
    }).map((node) => `${widget.dataset.afm}: ${node.localName}.${node.getAttribute("class")}`).slice(0, 2);
})"""
HIGH = "(widget) => widget.getBoundingClientRect().height"
HEIGHTS = """() => [...document.querySelectorAll("[data-afm]")].map((widget) =>
    [widget.dataset.afm, widget.querySelector(".ab-body").getBoundingClientRect().height])"""
STAGE = 62 * 16  # as wide as a page lets a widget be


@pytest.fixture
def all_of_them(visit):
    """In the book's own fonts."""
    html = bare(*(kind() for kind in all_widgets()))
    html = html.replace("<head>", '<head><link rel="stylesheet" href="_static/style.css">', 1)
    page = visit("bare.html", served={"bare.html": html})
    return settle(page)


def test_nothing_is_cut_at_any_width(all_of_them):
    for width in (360, 480, 664, 768, 992, 1280, 1440):
        all_of_them.set_viewport_size({"width": width, "height": 800})
        frames(all_of_them, 5)
        assert all_of_them.evaluate(CUT) == [], f"cut at {width} px"


def test_each_fits_a_laptops_screen(all_of_them):
    all_of_them.set_viewport_size({"width": STAGE, "height": 800})
    frames(all_of_them, 5)
    too_high = {name: height for name, height in all_of_them.evaluate(HEIGHTS) if height > 700}
    assert not too_high, f"higher than 700 px: {too_high}"


# By widget, what a reader presses, after which something else is said or shown.
PRESSED = {
    "alignment_player": ("Monday", "11/12/13"),
    "analogy_bench": ("france paris japan", "walk walked play"),
    "block_stepper": ("weights", "attention", "hidden layer", "sum 1"),
    "bpe_stepper": ("learned on Shakespeare", "learned on this text"),
    "cache_budget": ("OLMo 2 7B",),
    "cache_stepper": ("Forward", "computed again", "the first query sees one key"),
    "cost_plane": ("convolution",),
    "draw_digit": ("One that it gets wrong", "A digit it has not learned from"),
    "fill_value": ("added to it", "all five", "lowest finite"),
    "find_the_bug": ("Check", "Another round", "Swap dog and man"),
    "graph_walk": ("two parts", "chain"),
    "head_ablation": ("4", "1"),
    "head_browser": ("all layers", "one head"),
    "head_split": ("view alone", "attend(q, k, v)"),
    "induction_lab": ("1", "2"),
    "live_transformer": ("encoder", "decoder, to itself", "Monday"),
    "mask_map": ("own token hidden", "cross-attention: causal"),
    "online_softmax": ("Forward", "rising", "no maximum"),
    "paint_mask": ("a whole row",),
    "polarity": ("Reveal", "Next question", "Reveal", "Next question", "Reveal"),
    "real_model": ("two names", "a new word", "an opposite", "a capital"),
    "shift_lab": ("queries and keys, turned", "one matrix moves a position"),
    "signal_race": ("One step on",),
}
# Of these what is below what is pressed may take more room, or less: maps and tables are as large as what they show.
LONGER = {
    "alignment_player",
    "analogy_bench",
    "bpe_stepper",
    "cost_plane",
    "induction_lab",
    "live_transformer",
    "mask_map",
    "paint_mask",
}
TOP = "(node) => node.getBoundingClientRect().top - node.closest('[data-afm]').getBoundingClientRect().top"


@pytest.mark.parametrize("width", [360, STAGE])
def test_what_is_pressed_stays_where_it_is_and_nothing_grows(all_of_them, width):
    all_of_them.set_viewport_size({"width": width, "height": 800})
    frames(all_of_them, 5)
    moved, grown = {}, {}
    for name, labels in PRESSED.items():
        widget = all_of_them.locator(f"[data-afm={name}]")
        high = widget.evaluate(HIGH)
        for label in labels:
            control = widget.get_by_text(label, exact=True)
            before = control.evaluate(TOP)
            node = control.element_handle()
            control.evaluate("node => node.click()")
            expect(widget.locator("[aria-busy=true]")).to_have_count(0)
            frames(all_of_them, 5)
            if abs(by := node.evaluate(TOP) - before) > 1:
                moved[f"{name}: {label}"] = round(by)
            if name not in LONGER and abs(by := widget.evaluate(HIGH) - high) > 1:
                grown[f"{name}: {label}"] = round(by)
    assert not grown, f"pixels by which a widget has grown: {grown}"
    assert not moved, f"pixels by which what was pressed has moved: {moved}"
