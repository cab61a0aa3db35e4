"""The book as PDF: what it says of its own pages, what a screen reader is told, and that nothing is cut."""

import re
from io import BytesIO

import pytest
from pypdf import PdfReader

from booktools.book.edition import edition
from booktools.printers import pdf
from booktools.printers.still import call, parts
from booktools.serving import serving
from tests import ROOT

A4 = pdf.SHEETS[""]


@pytest.fixture(scope="module")
def book():
    return edition(ROOT)


@pytest.fixture(scope="module")
def document(site, book, browser):
    """Where the book in one page would be, as long as the server lives, and that page."""
    with serving(site.folder) as address:
        yield address, pdf.assemble(book, parts(book, browser, address))


@pytest.fixture(scope="module")
def content(browser, document):
    return pdf.printed(browser, document[0], document[1], A4)


@pytest.fixture(scope="module")
def printed(content):
    return PdfReader(BytesIO(content))


@pytest.fixture(scope="module")
def at(content):
    return pdf.pages_of(content)


def test_no_name_of_a_widget_stands_below_all_else(printed, book):
    site = book.here.site.lower()
    live = {n for n, link in links(printed) if re.match(rf"{re.escape(site)}.*#", link.get("/A", {}).get("/URI", ""))}
    assert len(live) > 30
    said = {n: lines(printed.pages[n - 1]) for n in live | {n - 1 for n in live}}
    assert any(is_name(line) for n in live for line in said[n])
    assert not [n for n in said if any(map(is_name, said[n][-2:]))], "what the name belongs to is on the next page"


def lines(sheet):
    return [line.strip() for line in sheet.extract_text().splitlines() if line.strip()]


def is_name(line):
    return line.casefold().startswith("touch ")


def text_of(printed, page):
    return " ".join(printed.pages[page - 1].extract_text().split())


def links(printed):
    """Each link, and the page that it is on."""
    return [(n, link.get_object()) for n, sheet in enumerate(printed.pages, 1) for link in sheet.get("/Annots", ())]


def test_it_is_light_enough_to_send(content):
    assert len(content) < 25_000_000


def test_a_screen_reader_is_told_the_language_and_what_each_thing_is(printed):
    root = printed.trailer["/Root"]
    assert root["/Lang"] == "en"
    assert root["/MarkInfo"]["/Marked"]
    assert root["/StructTreeRoot"]
    assert printed.metadata.title == "Attention You Can Touch"


def test_a_bookmark_leads_to_each_chapter(printed, book):
    titles = [entry.title for entry in printed.outline if not isinstance(entry, list)]
    assert [chapter.title for chapter in book.chapters] == titles[: len(book.chapters)]
    assert titles[-2:] == ["Solutions", "Index"]


def test_each_chapter_is_where_the_contents_say(printed, book, at):
    contents = text_of(printed, 2) + text_of(printed, 3)
    for chapter in book.chapters:
        page = at[chapter.stem]
        assert re.search(rf"{chapter.number} ?{re.escape(chapter.title)} ?{page}\b", contents), chapter.title
        first = text_of(printed, page)
        assert f"{chapter.number} {chapter.title}" in first  # the running head
        assert str(page) in first.split()
        assert chapter.title in text_of(printed, page + 1)


def test_each_solution_is_on_the_page_that_its_exercise_names(printed, at):
    count = sum(name.startswith("solution-") for name in at)
    assert count > 90
    led = {str(link["/Dest"]).lstrip("/"): n for n, link in links(printed) if "/Dest" in link}
    for name in ("solution-1", "solution-40", f"solution-{count}"):
        assert f"Solution: page {at[name]}" in text_of(printed, led[name])
        assert re.search(r"Exercise \d+\.\d+", text_of(printed, at[name]))


def test_links_lead_into_the_book_or_to_the_site(printed, book, at):
    inside = {str(link["/Dest"]).lstrip("/") for _, link in links(printed) if "/Dest" in link}
    outside = {link["/A"]["/URI"] for _, link in links(printed) if "/A" in link}
    assert inside <= at.keys()
    assert not [address for address in outside if "127.0.0.1" in address or address.startswith("file:")]
    assert f"{book.here.site}chapters/06_multi_head_attention.html#head-split".lower() in outside


def test_nothing_is_wider_than_its_sheet(browser, document):
    address, html = document
    page = browser.new_page(viewport=pdf.window(A4))
    page.route(f"{address}book-on-paper", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(f"{address}book-on-paper")
    page.emulate_media(media="print")
    call(page, address, pdf.HERE / "arrange.js", "arrange", pdf.words(pdf.HERE.parent)["pdf"])
    cut = page.evaluate(
        """() => [...document.querySelectorAll("[data-part] :is(pre, table, img, .touch, :not(svg) > svg)")]
            .filter((node) => node.checkVisibility() && node.getBoundingClientRect().right > innerWidth + 1)
            .map((node) => `${node.closest("[data-part]").id} ${node.outerHTML.slice(0, 200)}`)"""
    )
    page.close()
    assert cut == []


def test_what_moves_for_ever_is_an_error(monkeypatch, browser, document):
    pages = iter(range(100))
    monkeypatch.setattr(pdf, "pages_of", lambda content: {"dots": next(pages)})
    monkeypatch.setattr(pdf, "ROUNDS", 1)
    with pytest.raises(pdf.BookError, match="still moves them"):
        pdf.printed(browser, document[0], "<p>dots</p><section id='solutions'></section>", A4)
