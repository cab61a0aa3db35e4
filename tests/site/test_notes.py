"""Names, citations and equations explain themselves on hover, focus and tap, and references lead back."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from booktools.site import notes
from tests.browser.clocks import at_rest
from tests.browser.pages import PHONE

FIVE = "chapters/05_scaled_dot_product_attention.html"


def note_of(page, target, how):
    target.scroll_into_view_if_needed()
    at_rest(page)  # scrolling sends a note away
    {"hover": target.hover, "focus": target.focus, "tap": target.tap}[how]()
    note = page.locator("#note")
    expect(note).to_be_visible()
    return note


@pytest.mark.parametrize("how", ["hover", "focus", "tap"])
def test_a_name_tells_its_axes(visit, how):
    page = visit(FIVE, viewport=PHONE, touch=True)
    note = note_of(page, page.locator("[data-note]").get_by_text("k_MK", exact=True), how)
    expect(note).to_have_text("key and value length × head width")
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()


@pytest.mark.parametrize("how", ["hover", "focus", "tap"])
def test_a_citation_tells_its_source_and_a_second_tap_goes_there(visit, how):
    page = visit(FIVE, viewport=PHONE, touch=True)
    link = page.locator("a[href*='references.html#']").first
    note = note_of(page, link, how)
    expect(note).to_contain_text("Attention is all you need")
    assert not link.get_attribute("title"), "the browser would show it once more"
    if how == "tap":
        link.tap()
        page.wait_for_url("**/references.html#*")


def test_the_margin_of_a_wide_screen_calls_a_work_by_its_title_once(visit):
    beside = """(link) => {
        const { content, float } = getComputedStyle(link, "::after");
        return [content.split(" / ")[0], float];
    }"""
    wide, narrow = visit(FIVE, viewport={"width": 1440, "height": 900}), visit(FIVE)
    link = "article section > p a[data-work]"
    works = wide.locator(link).evaluate_all("(all) => all.map((link) => link.dataset.work)")
    assert "Attention is all you need" in works
    assert len(works) == len(set(works))
    content, side = wide.locator(link).first.evaluate(beside)
    assert content.strip('"') == works[0]
    assert side in ("right", "inline-end")
    assert narrow.locator(link).first.evaluate(beside) == ["none", "none"]
    for page in (wide, narrow):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_equations_number_shows_the_equation(visit):
    page = visit(FIVE)
    page.evaluate("for (const box of document.querySelectorAll('details')) box.open = true")
    note = note_of(page, page.locator("a[href='#equation-eq-attention']:not(.headerlink)").first, "hover")
    expect(note.locator(".katex-display")).to_be_visible()
    page.mouse.move(2, 2)
    expect(note).to_be_hidden()


def test_each_entry_leads_back_to_where_it_is_cited(site):
    entries = site.soup("references.html").select(".citation")
    assert entries
    for entry in entries:
        links = entry.select(".cited a")
        assert links, f"{entry.get_text()[:60]} is cited nowhere"
        for link in links:
            chapter, place = link["href"].split("#")
            assert site.soup(chapter).find(id=place).find("a", href=f"../references.html#{entry['id']}")
            assert chapter.split("/")[1][:2].lstrip("0") == link.get_text()


def test_references_lead_back_once_however_often_the_book_is_built(site, tmp_path):
    (tmp_path / "chapters").mkdir()
    for name in ("references.html", FIVE):
        (tmp_path / name).write_text(site.text(name), "utf-8")
    app = SimpleNamespace(outdir=tmp_path)
    notes.link_citations_back(app, None)
    once = (tmp_path / "references.html").read_text("utf-8")
    notes.link_citations_back(app, None)
    assert (tmp_path / "references.html").read_text("utf-8") == once
    assert once.count('class="cited"') == once.count('class="citation"')


def test_code_wraps_on_a_phone(site, visit):
    page = visit(FIVE, viewport=PHONE)
    scrolls = "nodes => nodes.filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.innerText)"
    assert page.locator(".cell_input pre").evaluate_all(scrolls) == []
    html = site.text(FIVE)
    assert 'class="line" style="--in:4"' in html
    copied = page.get_by_text("scores_M").first.locator("xpath=ancestor::pre").inner_text()
    assert copied.strip() == "scores_M = k_MK @ q_K\nscores_M"
