"""How the second edition looks on the page: short, checks and our solutions folded, its code there to take along."""

import pytest

from attnbook.language import words
from booktools.book import HERE as BOOK
from booktools.book.checked import is_check, is_ours, title
from booktools.book.contents import chapters, read_notebook
from booktools.directives.minutes import most
from tests import ROOT
from tests.browser.pages import SITE, soup

pytestmark = pytest.mark.slow
LAPTOP = {"width": 1280, "height": 800}
END = "section:is(#going-further, #exercises)"
CHAPTERS = chapters(ROOT)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_visit_of_a_chapter(visit, chapter):
    cells = read_notebook(chapter.path).cells
    page = visit(f"chapters/{chapter.stem}.html", viewport=LAPTOP)
    is_not_scrolled_for_ever(page, chapter)
    keeps_each_check_in_one_line(page, [cell for cell in cells if is_check(cell)])
    keeps_our_solution_until_it_is_asked_for(page, [cell for cell in cells if is_ours(cell)])


def is_not_scrolled_for_ever(page, chapter):
    """As the page opens, up to the end of the core path."""
    found = screens(page)
    *_, expected = most(chapter.long)
    assert found <= expected, f"{found:.1f} screens up to *Going further*, expected at most {expected}"


def keeps_each_check_in_one_line(page, cells):
    folded = page.locator(".tag_checks")
    assert folded.count() == len(cells)
    for place, cell in enumerate(cells):
        line = folded.nth(place)
        assert line.locator("summary .collapsed").text_content() == title(cell)
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
def test_the_chapter_leads_to_its_file_and_back(chapter):
    page = soup(f"chapters/{chapter.stem}.html")
    (read,) = page.select(f'a[href="../from_scratch/{chapter.stem}.html"]')
    assert len(page.select(f'a[href="../from_scratch/{chapter.stem}.py"][download]')) == 1
    text = (SITE / f"from_scratch/{chapter.stem}.py").read_text("utf-8")
    shown = soup(f"from_scratch/{chapter.stem}.html")
    code = [line for line in shown.select_one("pre").get_text().splitlines() if line.strip()]
    assert code == [line for line in text.splitlines() if line.strip()]
    assert shown.select_one(f'a[href="../chapters/{chapter.stem}.html"]')
    assert str(len(text.splitlines())) in read.parent.text


def screens(page):
    """How many screens one scrolls, as the page opens, until the core path ends; places of widgets are kept free."""
    page.evaluate("document.fonts.ready")
    end = page.locator(END).first.evaluate("node => node.getBoundingClientRect().top + scrollY")
    return end / page.viewport_size["height"]


@pytest.mark.parametrize(("parts", "count"), [(["summary", "exercises"], 2), (["going-further", "exercises"], 1)])
def test_screens_are_counted_up_to_what_comes_first(browser, parts, count):
    page = browser.new_page(viewport=LAPTOP)
    sections = "".join(f'<section id="{name}" style="height: 800px"></section>' for name in parts)
    page.set_content(f'<body style="margin: 0"><header style="height: 800px"></header>{sections}')
    found = screens(page)
    page.close()
    assert found == count
