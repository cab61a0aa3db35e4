"""How the second edition looks on the page: short, its checks folded, its code there to take along."""

import pytest

from booktools.core.contents import chapters, read_notebook
from booktools.editions.checked import is_check, title
from booktools.editions.minutes import most_screens
from tests import ROOT
from tests.browser.pages import SITE, settle, soup
from tests.chapters import SECOND_EDITION

pytestmark = pytest.mark.slow
CHAPTERS = [chapter for chapter in chapters(ROOT) if chapter.number in SECOND_EDITION]
HEIGHT = 800
END = """[...document.querySelectorAll("h2")].find((h2) => /^(Going further|Exercises)/.test(h2.textContent))
    .getBoundingClientRect().top + scrollY"""


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_the_core_path_has_so_many_screens(visit, chapter):
    page = visit(f"chapters/{chapter.stem}.html", viewport={"width": 1280, "height": HEIGHT})
    settle(page)
    screens = page.evaluate(END) / HEIGHT
    assert screens <= most_screens(chapter.number), f"{screens:.1f} screens"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_each_check_is_one_line(visit, chapter):
    cells = [cell for cell in read_notebook(chapter.path).cells if is_check(cell)]
    page = visit(f"chapters/{chapter.stem}.html")
    folded = page.locator(".tag_checks")
    assert folded.count() == len(cells)
    for place, cell in enumerate(cells):
        line = folded.nth(place)
        assert line.locator("summary").inner_text().strip() == title(cell.source)
        assert line.bounding_box()["height"] < 60
        assert line.locator("pre").is_hidden()
    folded.first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert folded.first.locator("pre").is_visible()


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
