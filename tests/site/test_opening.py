"""A chapter as it opens: short, with pictures; checks, our solutions and what is to be guessed folded; few terms.

A visit of its page (test_pages.py) calls `as_it_opens` before it opens anything.
"""

import re

import pytest

from attnbook.language import words
from booktools.book import HERE as BOOK
from booktools.book.cell_kinds import fold_label, is_check, is_ours
from booktools.book.contents import read_notebook
from booktools.book.edition import edition
from tests import ROOT
from tests.directives.test_guess import ASKED, prose, stands

LAPTOP = {"width": 1280, "height": 800}
SUMMARY = "section:is(#summary, #going-further, #exercises)"
CHAPTERS = edition(ROOT).chapters
# What one reads between a card and the end of what it hides.
BETWEEN = """card => {
  const last = [...document.querySelectorAll(`.${card.id}`)].at(-1), read = [];
  for (let at = card.nextElementSibling; at; at = at.nextElementSibling) {
    read.push(at.checkVisibility() ? at.innerText : "");
    if (at.contains(last)) return read.join(" ");
  }
}"""


def as_it_opens(page, chapter):
    cells = read_notebook(chapter.path).cells
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    shows_a_picture_every_few_screens(page)
    explains_few_terms_on_a_screen(page)
    hides_what_is_to_be_guessed(page, chapter)
    keeps_each_check_in_one_line(page, [cell for cell in cells if is_check(cell)])
    keeps_our_solution_until_it_is_asked_for(page, [cell for cell in cells if is_ours(cell)])


def shows_a_picture_every_few_screens(page):
    """With every guess made; a widget is a picture, too, and so is what a story draws."""
    veiled, veils = (page.locator(f".{name}").element_handles() for name in ("veiled", "veil"))
    page.evaluate(GUESSED, [veiled, veils, True])
    bare = blank_stretches(page, PICTURE, SUMMARY, FAR)
    idle = blank_stretches(page, f"{PICTURE}, {PRESSED}", ENDING, THREE_SCREENS)
    page.evaluate(GUESSED, [veiled, veils, False])
    assert not bare, f"from … to …, pixels without a picture up to the summary, expected at most {FAR}: {bare}"
    assert not idle, f"from … to …, pixels with nothing to look at or press, expected {THREE_SCREENS} at most: {idle}"


def explains_few_terms_on_a_screen(page):
    tops = page.locator("a.term").evaluate_all("links => links.map((link) => link.getBoundingClientRect().top)")
    most_of_them = max(sum(top <= other < top + LAPTOP["height"] for other in tops) for top in tops)
    assert most_of_them <= 12


def hides_what_is_to_be_guessed(page, chapter):
    """What a card hides is as much as its source says, and no answer stands between the card and the end of it."""
    asked = ASKED.findall(prose(chapter.path))
    cards = page.locator(".guess").all()
    assert len(cards) == len(asked)
    assert 1 <= len(cards) <= 5
    for card, source in zip(cards, asked, strict=True):
        hides = re.search(r"^:hides: (\d+)", source, re.MULTILINE)
        hidden = page.locator(f".veiled.{card.get_attribute('id')}")
        assert hidden.count() == (int(hides[1]) if hides else 1), source
        choices, number = card.locator("li"), card.get_attribute("data-number")
        right = choices.filter(has=page.locator(".right")).all_inner_texts()
        assert len(right) == bool(choices.count()), source
        between = card.evaluate(BETWEEN)
        for answer in filter(None, [*right, number]):
            assert not stands(answer, between), (source, between)


def keeps_each_check_in_one_line(page, cells):
    folded = page.locator(".tag_checks")
    assert folded.count() == len(cells)
    for place, cell in enumerate(cells):
        line = folded.nth(place)
        assert line.locator("summary .collapsed").text_content() == fold_label(cell)
        assert line.locator("pre").is_hidden()
        assert not line.is_visible() or line.bounding_box()["height"] < 60  # hidden in a solution that is folded
    folded.first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert folded.first.locator("pre").is_visible()


def keeps_our_solution_until_it_is_asked_for(page, cells):
    """It opens with a key, stays out of sight until then, is open on paper, and what it prints is always there."""
    folded = page.locator(".tag_ours")
    assert folded.count() == len(cells)
    codes = [folded.nth(place).locator(".cell_input pre") for place in range(len(cells))]
    assert not [code for code in codes if code.is_visible()]
    page.emulate_media(media="print")
    assert all(code.is_visible() for code in codes), "on paper it is open"
    page.emulate_media(media="screen")
    for box, code, cell in zip(folded.all(), codes, cells, strict=True):
        assert box.locator("summary .collapsed").inner_text() == words(BOOK)["ours"]
        assert code.is_hidden()
        assert box.locator(".cell_output").count() == bool(cell.outputs)
        assert all(output.is_visible() for output in box.locator(".cell_output").all())
        box.locator("summary").focus()
        page.keyboard.press("Enter")
        assert code.is_visible()
        assert code.inner_text().split() == cell.source.split()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_the_chapter_leads_to_its_file_and_back(site, chapter):
    page = site.soup(f"chapters/{chapter.stem}.html")
    (read,) = page.select(f'a[href="../from_scratch/{chapter.stem}.html"]')
    assert len(page.select(f'a[href="../from_scratch/{chapter.stem}.py"][download]')) == 2  # in its section, at the end
    text = site.text(f"from_scratch/{chapter.stem}.py")
    shown = site.soup(f"from_scratch/{chapter.stem}.html")
    code = [line for line in shown.select_one("pre").get_text().splitlines() if line.strip()]
    assert code == [line for line in text.splitlines() if line.strip()]
    assert shown.select_one(f'a[href="../chapters/{chapter.stem}.html"]')
    assert str(len(text.splitlines())) in read.parent.text


FAR, THREE_SCREENS = 3_000, 3 * LAPTOP["height"]
PICTURE, PRESSED = "main :is(img, svg, canvas, .touch, [data-afm])", ".write, .guess, #assignment .run-row"
ENDING = ".ending"  # "Where you are now", at the end of each chapter
GUESSED = """([veiled, veils, open]) => {
    for (const part of veiled) part.classList.toggle("veiled", !open);
    for (const line of veils) line.style.display = open ? "none" : "";
}"""
LARGE_ENOUGH = """([shown, pressed, end]) => [...document.querySelectorAll(shown)]
  .filter(node => node.checkVisibility())
  .map(node => [node.getBoundingClientRect(), node.matches(pressed)])
  .filter(([{ width, height }, isPressed]) => isPressed || height >= 100 && width >= 60)
  .map(([{ top, bottom }]) => [top + scrollY, bottom + scrollY])
  .filter(([top]) => top < end)"""


def blank_stretches(page, shown, until, far):
    """Between what is shown: where each begins that is too long, and where it ends."""
    page.evaluate("document.fonts.ready")
    end = page.locator(until).first.evaluate("node => node.getBoundingClientRect().top + scrollY")
    reached, found = page.locator("h1").first.bounding_box()["y"], []
    for top, bottom in [*sorted(page.evaluate(LARGE_ENOUGH, [shown, PRESSED, end])), (end, end)]:
        if top - reached > far:
            found.append((round(reached), round(top)))
        reached = max(reached, bottom)
    return found


@pytest.mark.parametrize(
    ("height", "second", "blank"), [(2_900, 100, []), (3_100, 100, [(200, 3_300)]), (1_600, 90, [(200, 3_490)])]
)
def test_a_stretch_without_a_picture_is_found(browser, height, second, blank):
    page = browser.new_page(viewport=LAPTOP)
    style = "display: block; width: 100px; height: {}px"
    page.set_content(f"""<body style="margin: 0"><main><h1 style="margin: 0; height: 100px"></h1>
      <svg style="{style.format(100)}"></svg><p style="margin: 0; height: {height}px"></p>
      <svg style="{style.format(second)}"></svg><p style="margin: 0; height: 1600px"></p><section id="exercises">""")
    found = blank_stretches(page, PICTURE, SUMMARY, FAR)
    page.close()
    assert found == blank


def test_an_editor_is_something_to_press_but_a_folded_box_is_not(browser):
    page = browser.new_page(viewport=LAPTOP)
    page.set_content("""<body style="margin: 0"><main><h1 style="margin: 0; height: 100px"></h1>
      <div style="height: 2200px"></div><div class="write" style="height: 60px"></div>
      <div style="height: 1300px"></div><details style="height: 110px"><summary>Hint</summary></details>
      <div style="height: 1200px"></div><aside class="ending">""")
    found = blank_stretches(page, f"{PICTURE}, {PRESSED}", ENDING, THREE_SCREENS)
    page.close()
    assert found == [(2360, 4970)]
