"""Decks: what an outline may say, how its slides look, how a talk goes, and its paper. Each deck is opened once."""

import json
import re

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from attnbook.widgets import all_widgets
from attnbook.widgets.shared.files import Asset
from booktools.book import BookError
from booktools.book.contents import deck_page
from booktools.book.deck import Deck
from booktools.book.edition import edition
from booktools.printers import slides as printer
from tests import ROOT
from tests.browser.pages import WIDGET
from tests.site.test_pages import COLOURS, LOAD_IMAGES, has_contrast, is_accessible
from tests.widgets.laws import agree, live

BOOK = edition(ROOT)
DECKS = [chapter for chapter in BOOK.chapters if chapter.stem in BOOK.decks]
DOTS = next(chapter for chapter in DECKS if chapter.number == 5)
WALL = {"width": 1920, "height": 1080}
TYPE = 36  # pixels, so that the last row can read
# What leaves its slide, or is cut; of text outside widgets, what is too small.
FAULTS = """(least) => [...document.querySelectorAll(".slide")].flatMap((slide, n) => {
    const bad = [], edge = slide.getBoundingClientRect(), wall = slide.querySelector(".wall");
    const said = (what) => bad.push(`${n + 1}: ${what}`);
    if (wall.scrollHeight > wall.clientHeight + 2) said("the wall is too full");
    for (const node of slide.querySelectorAll(".wall *, h1, h2")) {
        const box = node.getBoundingClientRect();
        if (box.width < 3 || !box.height || node.closest(".katex-mathml, svg, .ab-widget")) continue;
        if (box.right > edge.right || box.bottom > edge.bottom || box.left < edge.left || box.top < edge.top)
            said(`${node.localName}.${node.className} leaves its slide`);
    }
    for (const code of slide.querySelectorAll("pre:not(.touch pre)"))
        if (code.scrollWidth > code.clientWidth + 1) said(`code is cut: ${code.textContent.slice(0, 30)}`);
    for (const card of slide.querySelectorAll(".guess li"))
        if (card.scrollWidth > card.clientWidth + 1) said(`a word leaves its card: ${card.textContent.trim()}`);
    const texts = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { parentElement: node, data } = texts.currentNode;
        if (!data.trim() || !node.checkVisibility() || node.closest(".notes, .katex, .touch, svg")) continue;
        const size = parseFloat(getComputedStyle(node).fontSize);
        if (size < least) said(`${Math.round(size)} px: ${data.trim().slice(0, 30)}`);
    }
    return bad;
})"""


def changed(old: str, new: str) -> Deck:
    """The deck of chapter 5, with a change in its outline."""
    text = BOOK.text(BOOK.decks[DOTS.stem])
    assert old in text

    class Changed:
        decks, notebook, page_of = BOOK.decks, staticmethod(BOOK.notebook), staticmethod(BOOK.page_of)

        @staticmethod
        def text(_page):
            return text.replace(old, new)

    return Deck.read(Changed, DOTS)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("of 0: 9 %", "of 0: 8 %", "it says 8 %, and no cell"),
        ("four features:", "five features:", "it says five, and no cell"),
        ("{take} hand-output\n", "{take} hand-outputs\n", "the cell hand-outputs, which its chapter doesn't have"),
        (r":only: \Q\K\T", r":only: \K\Q\T", r"does not hold \K\Q\T"),
        (":nth: 2\n```\n\n+++ pairs", ":nth: 99\n```\n\n+++ pairs", "asked for number 99"),
        ("+++ instead", "+++ insted", "got 'insted'"),
        (":show: code", ":shows: code", "take knows cut, lines, set, show; hand-query got shows"),
        (":part: formula", ":set: {width: 4}", "of a cell of text take knows nth, only, part; hand-scores got set"),
        (":lines: 3|4", ":lines: 3|4\n:show: output", "of assumption-code only the output is shown"),
        (":lines: 3|4", ":set: {width: 4}", "what is taken of assumption-code shows none"),
        ("+++ set {temperature: 10}", "```{take} why-touch\n```", "why-touch brings another"),
        (":show: code", ":show: code\n:cut: 3-99", "cut asks for lines 3-99 of"),
        ("+++ set {width: 4}", "+++ set {wide: 4}", "of the names"),
        ("2|3-4|5-8|9", "2|3-44", "line 44 of"),
        (":nth: 2\n```\n\n+++ pairs", ":nth: two\n```\n\n+++ pairs", f"{DOTS.stem}.slides.md, slide "),
        ("+++ set {width: 4}", "+++ set {width: 4", f"{DOTS.stem}.slides.md, slide "),
    ],
)
def test_an_outline_says_only_what_its_chapter_does(old, new, says):
    with pytest.raises(BookError, match=re.escape(says)):
        changed(old, new)


@pytest.mark.parametrize("chapter", DECKS, ids=lambda chapter: chapter.stem)
def test_one_idea_a_slide_and_an_hour_in_all(chapter):
    deck = Deck.read(BOOK, chapter)
    assert 30 <= len(deck.slides) <= 45
    assert 45 <= deck.minutes <= 60
    for slide in deck.slides:
        assert slide.leans, f"{slide.title!r} takes nothing from its chapter and notes nothing"
        said = len(re.findall(r"\w+", re.sub(r"\{\w+\}", "", " ".join(slide.words))))
        assert said <= 45, f"{slide.title!r} has {said} words on its wall"
    assert any("Hands up" in slide.title for slide in deck.slides)


def twins(site, path, deck):
    """The Python twins of a deck's widgets, as they are after the last step of their slides."""
    kinds, states = {kind.name: kind for kind in all_widgets()}, iter(_last_states(deck))
    for name, stored in WIDGET.findall(site.text(path)):
        kind = kinds[name]
        inputs = [trait for trait, of in kind.inputs().items() if not isinstance(of, Asset)]
        first = {trait: json.loads(stored)[trait] for trait in inputs}
        yield kind(**first | next(states))


def _last_states(deck):
    for slide in deck.slides:
        for cell in slide.cells:
            if any("data-afm" in output.get("data", {}).get("text/html", "") for output in cell.get("outputs", ())):
                yield slide.states[-1][1] if slide.states else {}


@pytest.mark.parametrize("chapter", DECKS, ids=lambda chapter: chapter.stem)
def test_a_deck(site, visit, chapter):
    """All slides at their last step: nothing leaves its slide, all can be read, widgets are what PyTorch says."""
    path = f"{deck_page(chapter.stem)}.html"
    page = visit(f"{path}?as=pages", viewport=WALL, motion="reduce")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("[data-afm]:not([data-mounted])")).to_have_count(0)
    for place, twin in enumerate(twins(site, path, Deck.read(BOOK, chapter))):
        agree(live(page, place), twin)
    page.evaluate(LOAD_IMAGES)
    page.evaluate("async () => { await document.fonts.ready; dispatchEvent(new Event('resize')); }")
    assert page.evaluate(FAULTS, TYPE) == []
    is_accessible(page, {**COLOURS, "runOnly": ["image-alt", "button-name", "label", "svg-img-alt"]})
    has_contrast(page)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    has_contrast(page)


def at(page):
    return page.evaluate("location.hash")


def test_a_talk(visit):
    """By keys, a remote and a finger; no widget takes the arrows; the desk follows the wall, and the other way."""
    path = f"{deck_page(DOTS.stem)}.html"
    page = visit(path, viewport=WALL, touch=True)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".slide.here h2")).to_contain_text("Which kind")
    expect(page.locator(".turner [role=status]")).to_contain_text("Slide 2 of")
    assert page.locator(".slide.here .step.shown").count() == 0
    page.keyboard.press("PageDown")
    assert page.locator(".slide.here .step.shown").count() == 1
    page.keyboard.press("PageDown")
    expect(page.locator(".slide.here [data-mounted]")).to_have_count(1)
    masks = {mask: f".slide.here .ab-widget input[value={mask}]" for mask in ("causal", "padding")}
    page.locator(masks["causal"]).click()  # what is done on the wall is seen at the desk, though it comes later

    with page.context.expect_page() as opening:
        page.keyboard.press("s")
    desk = opening.value
    now = desk.frame_locator("iframe.now")
    expect(now.locator(".slide.here h2")).to_contain_text("Which word does")
    expect(desk.frame_locator("iframe.next").locator(".slide.here h2")).to_contain_text("What is looked for")
    expect(desk.locator(".desk .said")).to_contain_text("Take bets before each press")
    expect(now.locator(masks["causal"])).to_be_checked()
    for mask in ("padding", "causal"):
        page.locator(masks[mask]).click()
        expect(now.locator(masks[mask])).to_be_checked()
    before = at(page)
    page.keyboard.press("ArrowRight")  # though the mouse has pressed a control
    assert at(page) != before
    desk.keyboard.press("PageUp")
    expect(page).to_have_url(re.compile(f"{before}$"))

    page.keyboard.press("b")
    expect(page.locator("html.black .deck")).not_to_be_visible()
    expect(desk.locator("html.black .desk .said")).to_be_visible()
    desk.close()
    page.keyboard.press("Escape")
    expect(page.locator(".deck")).to_be_visible()
    for key in ("8", "Enter", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".slide.here .guess.answered .because")).to_be_visible()
    finger = "([from, to]) => { for (const [kind, x] of [['touchstart', from], ['touchend', to]]) {\
        const touch = new Touch({ identifier: 1, target: document.querySelector('.slide.here h2'), clientX: x });\
        touch.target.dispatchEvent(new TouchEvent(kind, { bubbles: true, touches: kind === 'touchstart' ? [touch] : [],\
            changedTouches: [touch] })); } }"
    page.evaluate(finger, [900, 300])
    assert at(page) == "#9"
    page.evaluate(finger, [300, 900])
    assert at(page) == "#8.1"
    page.keyboard.press("o")
    page.keyboard.press("ArrowRight")
    page.locator(".slide").nth(3).click()
    assert at(page) == "#4"


def test_a_widget_that_grows_when_its_data_are_there_fits(visit):
    path = deck_page(next(stem for stem in BOOK.decks if stem.startswith("07"))) + ".html"
    page = visit(f"{path}#2", viewport=WALL)
    expect(page.locator(".slide.here [data-mounted]")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".slide.here [data-mounted]").get_by_text("Nearest to what it becomes")).to_be_visible()
    page.wait_for_function(
        "() => { const { scrollHeight, clientHeight } = document.querySelector('.slide.here .wall');"
        " return scrollHeight <= clientHeight; }"
    )


def test_lines_are_lit_in_their_own_cell(site, visit):
    path, mark = f"{deck_page(DOTS.stem)}.html", '<template class="lines"'
    before = '<div class="cell"><pre><span class="line">of another cell</span></pre></div>'
    page = visit(f"{path}#14.1", served={path: site.text(path).replace(mark, before + mark)}, viewport=WALL)
    expect(page.locator(".slide.here .line.lit")).to_contain_text("scores_LM = ")


PHONE = {"width": 390, "height": 844}
READABLE = 14  # pixels on a phone


def test_a_phone_held_upright(visit):
    """Each slide at its last step: all is on the screen, and large enough to read."""
    page = visit(f"{deck_page(DOTS.stem)}.html", viewport=PHONE, motion="reduce")
    page.evaluate("document.fonts.ready")
    for n, _ in enumerate(Deck.read(BOOK, DOTS).slides):
        page.evaluate("(to) => { location.hash = to; }", f"#{n + 1}.99")
        page.reload()
        expect(page.locator(".slide.here [data-afm]:not([data-mounted])")).to_have_count(0)
        seen = f"{n + 1}: "  # its neighbours are made ready, and not yet fitted
        assert [fault for fault in page.evaluate(FAULTS, READABLE) if fault.startswith(seen)] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_browser_that_zooms_otherwise(visit):
    """Without `currentCSSZoom` widgets are scaled: they fit, and are worked as ever."""
    page = visit(f"{deck_page(DOTS.stem)}.html#3", viewport=WALL, motion="reduce")
    zoomed = page.locator(".slide.here [data-mounted]").bounding_box()
    page.add_init_script("delete Element.prototype.currentCSSZoom")
    page.reload()
    expect(page.locator("html.scaled .slide.here [data-mounted]")).to_have_count(1)
    page.evaluate("document.fonts.ready")
    assert page.evaluate(FAULTS, TYPE) == []
    scaled = page.locator(".slide.here [data-mounted]").bounding_box()
    assert scaled == pytest.approx(zoomed, rel=0.05)
    expect(page.locator(".slide.here .touch")).to_have_css("zoom", "1")
    page.locator(".slide.here .ab-widget input[value=causal]").click()
    expect(page.locator(".slide.here .ab-widget input[value=causal]")).to_be_checked()


def test_instructors_find_all_decks(site):
    page = site.text("instructors.html")
    for chapter in BOOK.chapters:
        assert f">{chapter.number}. " in page
        assert (f'href="{deck_page(chapter.stem)}.html"' in page) == (chapter in DECKS)


def test_a_deck_can_be_read_without_scripts(visit):
    page = visit(f"{deck_page(DOTS.stem)}.html", javascript=False)
    expect(page.locator(".slide h2").last).to_be_visible()
    expect(page.locator(".notes").nth(2)).to_be_visible()


def test_decks_are_printed_and_named_in_their_list(home, browser, tmp_path):
    (tmp_path / "slides").mkdir()
    listed = tmp_path / printer.LIST
    listed.write_text(f'<li><span data-printed="{DOTS.stem}"></span></li>')
    made = printer.print_deck(browser, home, DOTS.stem, tmp_path)
    count = len(Deck.read(BOOK, DOTS).slides)
    pages, notes, handout = (len(PdfReader(path).pages) for path in made)
    assert pages == count
    assert notes >= count
    assert handout == -(-count // 3)
    printer.name_in_list(BOOK, tmp_path)
    assert listed.read_text().count('.pdf"') == 3
