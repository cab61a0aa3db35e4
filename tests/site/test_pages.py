"""Every page, visited once: it is light, complete, right, accessible in light and dark, and fits a phone."""

import re
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from booktools.book.edition import edition
from tests import ROOT
from tests.browser.clocks import until
from tests.browser.hands import Mouse
from tests.browser.pages import AXE, DESKTOP, PAGES, PHONE, settle
from tests.site.test_opening import as_it_opens
from tests.sizes import is_light, on_its_way
from tests.widgets.laws import agree, copy_of, laws_of, live, walk

# Of code, one word of each colour speaks for all; of formulas, one of the same colours in the same surroundings: most
# of a chapter's elements are words of code and signs of formulas. Of texts whose colours axe compares with what lies
# behind them, one speaks for all that look like it and stand in what looks the same.
THIN_OUT = """() => {
    const words = new Set(), formulas = new Set(), more = []; // they go when all is read: not a layout each
    for (const word of document.querySelectorAll(".highlight pre span")) {
        if (words.has(word.className)) more.push(() => word.replaceWith(...word.childNodes));
        else words.add(word.className);
    }
    for (const formula of document.querySelectorAll(".katex-html")) {
        const around = formula.parentElement, style = getComputedStyle(around);
        let behind = around;
        while (behind && getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
        const colours = [...formula.querySelectorAll("*")].map((sign) => getComputedStyle(sign).color);
        const kind = [style.fontSize, behind?.className, ...new Set(colours)].join();
        if (formulas.has(kind)) more.push(() => formula.replaceChildren());
        else formulas.add(kind);
    }
    for (const leave of more) leave();
}"""
ONE_OF_A_KIND = """() => {
    const looks = new Map(), kinds = new Set();
    const look = (node) => { // of an element and all that it stands in
        if (!node) return "";
        if (!looks.has(node)) {
            const style = getComputedStyle(node), sides = ["", "::before", "::after"];
            const { color, fontSize, fontWeight, opacity, position, textDecoration } = style;
            const own = [color, fontSize, fontWeight, opacity, position, textDecoration];
            own.push(...sides.flatMap((side) => {
                const { backgroundColor, backgroundImage, content } = getComputedStyle(node, side || null);
                return [backgroundColor, backgroundImage, content];
            }));
            looks.set(node, `${look(node.parentElement)}/${own}`);
        }
        return looks.get(node);
    };
    for (const node of document.body.querySelectorAll("*")) {
        const written = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
        if (!(written || node.matches("input, textarea")) || !node.checkVisibility()) continue;
        const kind = look(node);
        node.toggleAttribute("data-one-of-a-kind", !kinds.has(kind));
        kinds.add(kind);
    }
}"""
LOAD_IMAGES = """() => Promise.all([...document.images].map((image) => {
    image.loading = "eager";
    return image.complete || new Promise((done) => { image.onload = image.onerror = done; });
}))"""
BROKEN_IMAGES = """[...document.images].filter((image) => image.checkVisibility() && !image.naturalWidth)
    .map((image) => image.src)"""
SCROLL_THROUGH = """async () => {
    for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight / 2) {
        scrollTo({ top, behavior: "instant" });
        await new Promise(requestAnimationFrame);
    }
}"""
WIDTH = """() => [document.documentElement.scrollWidth, [...document.body.querySelectorAll("*")]
    .filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
    .map((node) => `${node.localName}.${node.className}`).slice(0, 8)]"""


COVERED = """() => [...document.querySelectorAll("div.math:has(.eqno)")].filter((node) => {
    const number = node.querySelector(".eqno").getBoundingClientRect();
    return [...node.querySelectorAll(".katex-html > .katex-base")].some((part) => {
        const formula = part.getBoundingClientRect();
        return number.left < formula.right && formula.left < number.right
            && number.top < formula.bottom && formula.top < number.bottom;
    });
}).map((node) => node.id)"""
PLACES = """() => [...document.querySelectorAll(".touch")].map((frame) =>
    [frame.id, parseFloat(frame.style.getPropertyValue("--wide")), frame.querySelector("[data-afm]").offsetHeight])
    .filter(([, kept, needed]) => !(Math.abs(kept - needed) <= 8))"""
HIGHER = """(most) => [...document.querySelectorAll(".touch")].map((frame) => [frame.id, frame.offsetHeight])
    .filter(([, height]) => height > most)"""
NARROW = {"width": 320, "height": 640}  # a laptop's page at 400 %
OF_COLOURS = ["color-contrast", "link-in-text-block"]
COLOURS = {**AXE, "runOnly": OF_COLOURS}
ALL_ELSE = {**AXE, "rules": AXE["rules"] | {rule: {"enabled": False} for rule in OF_COLOURS}}
OF_CHAPTERS = {f"chapters/{chapter.stem}.html": chapter for chapter in edition(ROOT).chapters}


@pytest.mark.parametrize("path", PAGES)
def test_a_visit(site, visit, path):
    page = visit(path)
    arrives_soon(site, page, visit)
    if path in OF_CHAPTERS:
        as_it_opens(page, OF_CHAPTERS[path])
    is_complete(settle(page))
    keeps_places(page)
    page.emulate_media(reduced_motion="reduce")
    shows_what_torch_computes(site, page, path)
    page.evaluate("for (const box of document.querySelectorAll('[data-afm] details')) box.open = true")
    for screen in (PHONE, NARROW):
        page.set_viewport_size(screen)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        fits_a_phone(page, screen["width"])
    page.set_viewport_size(DESKTOP)
    page.evaluate(THIN_OUT)
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")  # where the bar lies over nothing
    is_accessible(page, ALL_ELSE)
    has_contrast(page)
    page.emulate_media(color_scheme="dark")
    if path != "404.html":  # which has no script, and follows the system by its style alone
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    has_contrast(page)


def arrives_soon(site, page, visit):
    """Bytes as a host sends them, gzip where that helps: of what is asked for at first, and until the last line."""
    page.wait_for_load_state("networkidle")
    is_light("a page as it opens", fetched(site, visit))
    page.evaluate(SCROLL_THROUGH)
    page.wait_for_load_state("networkidle")
    is_light("a page to its last line", fetched(site, visit))


def fetched(site, visit):
    names = {url.removeprefix(visit.home).split("?")[0] for url in visit.requests if url.startswith(visit.home)}
    return {name: on_its_way(site / name) for name in names}


def keeps_places(page):
    """The place that is kept free for a widget, until it starts, is as high as the widget."""
    wrong = page.evaluate(PLACES)
    assert not wrong, f"kept free and needed: {wrong}; `python -m booktools.make.site.heights` measures again"
    too_high = page.evaluate(HIGHER, 700)
    assert not too_high, f"with its tasks it doesn't fit a laptop's screen: {too_high}"


def is_complete(page):
    """Images there, those in boxes that open, too, and nothing in the way."""
    page.evaluate(LOAD_IMAGES)
    assert page.evaluate(BROKEN_IMAGES) == [], "images that did not arrive"
    assert page.evaluate(COVERED) == [], "numbers that cover their equation"


def shows_what_torch_computes(site, page, path):
    """Every widget at first; and the first of its kind after a step or two, between all else that the page holds."""
    first = {twin.name: (where, n) for where, n, twin in reversed(site.widgets) if not own_numbers(twin)}
    for where, place, twin in site.widgets:
        if where == path:
            agree(live(page, place), twin)
            if (where, place) == first[twin.name]:
                walk(page, Mouse, live(page, place), copy_of(twin), laws_of(twin.name).steps[:2])


def own_numbers(twin):
    return bool(getattr(twin, "q_LK", None))


def is_accessible(page, rules, context=None):
    results = Axe().run(page, context=context, options=rules)
    assert results.violations_count == 0, results.generate_report()


def has_contrast(page):
    page.evaluate(ONE_OF_A_KIND)
    is_accessible(page, COLOURS, {"include": ["[data-one-of-a-kind]"]})
    page.evaluate(
        "for (const node of document.querySelectorAll('[data-one-of-a-kind]')) delete node.dataset.oneOfAKind"
    )


def fits_a_phone(page, phone):
    """Nothing scrolls sideways, no number of an equation covers it, and no button an output."""
    page.mouse.move(1, 1)
    page.mouse.move(2, 2)
    if page.locator("div.highlight pre").count():
        expect(page.locator(".copybtn"), "they come with the mouse").not_to_have_count(0)
    width, culprits = page.evaluate(WIDTH)
    assert width <= phone, f"{width} px wide on a phone of {phone}: look at {culprits}"
    assert page.evaluate(COVERED) == []
    expect(page.locator(".cell_output .copybtn").locator("visible=true")).to_have_count(0)


def test_code_is_copied_once_somebody_has_moved(visit):
    page = visit("chapters/05_scaled_dot_product_attention.html")
    page.wait_for_load_state("networkidle")
    assert not [url for url in visit.requests if "clipboard" in url]
    code = page.locator(".cell_input .highlight").filter(visible=True).first
    code.hover()
    code.locator(".copybtn").click()
    expect(code.locator(".copybtn")).to_have_class(re.compile("success"))


def test_buttons_that_copy_come_later_where_they_did_not_arrive(visit):
    page = visit("chapters/05_scaled_dot_product_attention.html")
    page.route("**/clipboard.min.js", lambda route: route.abort(), times=1)
    with page.expect_event("requestfailed"):
        page.mouse.move(1, 1)
    moved = "async () => dispatchEvent(new Event('pointermove')) && document.querySelectorAll('.copybtn').length > 0"
    until(page, moved)
    visit.complaints.clear()  # of the browser, about what was planted


def test_checks_are_ticks_in_the_margin_that_do_not_meet(visit):
    page = visit("chapters/07_self_attention.html", viewport=DESKTOP)
    ticks = page.locator(".tag_checks:not(.admonition *) summary").all()
    boxes = [tick.bounding_box() for tick in ticks]
    column = page.locator(".tag_checks").first.bounding_box()
    assert len(boxes) > 10
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= column["x"] for box in boxes)
    for one, other in pairwise(boxes):
        assert one["y"] + one["height"] <= other["y"] or other["x"] + other["width"] <= one["x"], (one, other)
    before, code = ticks[0].bounding_box()["width"], page.locator(".tag_checks .cell_input").first
    ticks[0].hover()
    assert ticks[0].bounding_box()["width"] > before
    assert ticks[0].bounding_box()["x"] >= 0
    ticks[0].click()
    expect(code).to_be_visible()
    page.set_viewport_size(PHONE)
    expect(page.locator(".tag_checks summary").nth(1)).to_contain_text("Checked: ")
