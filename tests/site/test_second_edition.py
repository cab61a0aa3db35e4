"""How the second edition looks on the page: its checks folded, its code there to take along."""

import pytest

from booktools.core.contents import chapters, read_notebook
from booktools.editions.checked import is_check, title
from tests import ROOT
from tests.browser.pages import SITE, soup
from tests.chapters import SECOND_EDITION

pytestmark = pytest.mark.slow
CHAPTERS = [chapter for chapter in chapters(ROOT) if chapter.number in SECOND_EDITION]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_each_check_is_one_line(visit, chapter):
    cells = [cell for cell in read_notebook(chapter.path).cells if is_check(cell)]
    page = visit(f"chapters/{chapter.stem}.html")
    folded = page.locator(".tag_checks")
    assert folded.count() == len(cells)
    for place, cell in enumerate(cells):
        line = folded.nth(place)
        assert line.locator("summary .collapsed").text_content() == title(cell.source)
        assert line.locator("pre").is_hidden()
        assert not line.is_visible() or line.bounding_box()["height"] < 60  # hidden in a solution that is folded
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
