"""The book as PDF: what it says of its own pages, what a screen reader is told, and that nothing is cut.

The book for a reading device: its files name each other, its formulas are MathML, its widgets are pictures.
For both the same pages are opened, once.
"""

import re
from collections import Counter
from functools import cache
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from booktools.book.edition import edition
from booktools.printers import epub, pdf
from booktools.printers.book_files import list_on_first_page
from booktools.printers.browser_pages import book_parts, call_javascript
from booktools.serving import serving
from tests import ROOT
from tests.sizes import is_light

A4 = pdf.SHEETS[""]


@pytest.fixture(scope="module")
def book():
    return edition(ROOT)


@pytest.fixture(scope="module")
def opened(site, book, browser):
    """The pages of the book as its parts, and where they are, as long as the server lives."""
    with serving(site.folder) as address:
        yield address, book_parts(book, browser, address, pictures=True)


@pytest.fixture(scope="module")
def document(book, opened):
    """Where the book in one page would be, and that page."""
    address, pages = opened
    return address, pdf.assemble(book, pages)


@pytest.fixture(scope="module")
def content(browser, document):
    return pdf.packed(pdf.print_until_settled(browser, document[0], document[1], A4))


@pytest.fixture(scope="module")
def printed(content):
    return PdfReader(BytesIO(content))


@pytest.fixture(scope="module")
def text_on(printed):
    """What a sheet says."""
    return cache(lambda page: printed.pages[page - 1].extract_text())


@pytest.fixture(scope="module")
def at(content):
    return pdf.pages_of(content)


@pytest.fixture(scope="module")
def lines_on(printed):
    """A sheet's lines as they stand, the highest first. Its text has them in the order in which they are painted."""

    @cache
    def lines(page):
        parts = []

        def note(text, matrix, of_text, *_):
            height = of_text[4] * matrix[1] + of_text[5] * matrix[3] + matrix[5]
            parts.append((round(height), text.strip()))

        printed.pages[page - 1].extract_text(visitor_text=note)
        written = sorted(filter(itemgetter(1), parts), key=itemgetter(0), reverse=True)
        return [" ".join(text for _, text in line) for _, line in groupby(written, itemgetter(0))]

    return lines


def test_no_name_of_a_widget_stands_below_all_else(printed, book, lines_on):
    site = book.here.site.lower()
    live = {n for n, link in links(printed) if re.match(rf"{re.escape(site)}.*#", link.get("/A", {}).get("/URI", ""))}
    assert len(live) > 30
    assert any(is_name(line) for n in live for line in lines_on(n))
    cut = [n for n in live if any(map(is_name, lines_on(n - 1)[-2:]))]
    assert not cut, "what the name belongs to is on the next page"


def in_one_line(text):
    return " ".join(text.split())


def is_name(line):
    return line.casefold().startswith("touch ")


def links(printed):
    """Each link, and the page that it is on."""
    return [(n, link.get_object()) for n, sheet in enumerate(printed.pages, 1) for link in sheet.get("/Annots", ())]


def test_it_is_light_enough_to_send(content):
    is_light("the PDF", len(content))


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


def test_each_chapter_is_where_the_contents_say(book, at, text_on):
    contents = in_one_line(text_on(2) + text_on(3))
    for chapter in book.chapters:
        page = at[chapter.stem]
        assert re.search(rf"{chapter.number} ?{re.escape(chapter.title)} ?{page}\b", contents), chapter.title
        first = in_one_line(text_on(page))
        assert f"{chapter.number} {chapter.title}" in first  # the running head
        assert str(page) in first.split()
        assert chapter.title in in_one_line(text_on(page + 1))


def test_each_solution_is_on_the_page_that_its_exercise_names(printed, at, text_on):
    count = sum(name.startswith("solution-") for name in at)
    assert count > 90
    led = {str(link["/Dest"]).lstrip("/"): n for n, link in links(printed) if "/Dest" in link}
    for name in ("solution-1", "solution-40", f"solution-{count}"):
        assert f"Solution: page {at[name]}" in in_one_line(text_on(led[name]))
        assert re.search(r"Exercise \d+\.\d+", in_one_line(text_on(at[name])))


def test_links_lead_into_the_book_or_to_the_site(printed, book, at):
    inside = {str(link["/Dest"]).lstrip("/") for _, link in links(printed) if "/Dest" in link}
    outside = {link["/A"]["/URI"] for _, link in links(printed) if "/A" in link}
    assert inside <= at.keys()
    assert not [address for address in outside if "127.0.0.1" in address or address.startswith("file:")]
    assert f"{book.here.site}chapters/06_multi_head_attention.html#head-split".lower() in outside


def test_nothing_is_wider_than_its_sheet(browser, document):
    address, html = document
    page = browser.new_page(viewport=pdf.viewport_of(A4))
    page.route(f"{address}book-on-paper", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(f"{address}book-on-paper")
    page.emulate_media(media="print")
    call_javascript(page, address, pdf.HERE / "arrange.js", "arrange", pdf.words(pdf.HERE.parent)["pdf"])
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
        pdf.print_until_settled(browser, document[0], "<p>dots</p><section id='solutions'></section>", A4)


# ---- EPUB ----


@pytest.fixture(scope="module")
def bound(site, book, browser, opened):
    return ZipFile(BytesIO(epub.zip_book(epub.assemble(book, site.folder, browser, *opened))))


@pytest.fixture(scope="module")
def pages(bound):
    texts = {name: bound.read(name) for name in bound.namelist() if name.endswith(".xhtml")}
    return {name: BeautifulSoup(text, "html.parser") for name, text in texts.items()}


def test_a_reader_is_told_first_what_it_is(bound):
    first = bound.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", ZIP_STORED)
    assert bound.read("mimetype") == b"application/epub+zip"
    is_light("the EPUB", {one.filename: one.compress_size for one in bound.infolist()})


def test_each_file_is_named_once_and_there(bound):
    package = ElementTree.fromstring(bound.read("book.opf"))
    named = [item.get("href") for item in package.findall(".//{*}item")]
    assert max(Counter(named).values()) == 1
    assert {*named, "book.opf", "mimetype", "META-INF/container.xml"} == set(bound.namelist())
    order = [item.get("idref") for item in package.findall(".//{*}itemref")]
    assert order[:2] == ["contents", "part-01_word_vectors"]


def test_every_link_and_picture_leads_somewhere(bound, pages):
    ids = {name: {node["id"] for node in page.find_all(id=True)} for name, page in pages.items()}
    for name, page in pages.items():
        found = Counter(node["id"] for node in page.find_all(id=True))
        assert max(found.values(), default=1) == 1, f"{name}: {found.most_common(1)}"
        for link in page.find_all("a", href=True):
            to, _, id_ = link["href"].partition("#")
            if re.match(r"[a-z]+:", link["href"]):
                assert "127.0.0.1" not in link["href"], f"{name}: {link}"
            else:
                assert not id_ or id_ in ids[to or name], f"{name} leads to {link['href']}"
        for image in page.find_all("img"):
            assert image["src"].startswith("data:") or image["src"] in bound.namelist(), f"{name}: {image}"


def test_formulas_are_mathml_and_widgets_are_pictures(pages):
    chapter = pages["05_scaled_dot_product_attention.xhtml"]
    assert len(chapter.find_all("math")) > 100
    assert not chapter.select(".katex, script, button, input, [style]")
    touch = chapter.select_one(".touch")
    assert touch.img["alt"].endswith("Who listens to whom?")
    assert touch.select_one("a.live")["href"].endswith("05_scaled_dot_product_attention.html#attention-heatmap")
    assert len(touch.select(".tasks li")) == 4
    assert [choice.text.strip() for choice in chapter.select_one(".guess").select("li")] == [
        "nothing",
        "a little",
        "a third",
    ]
    *_, first = chapter.find("h2", string="Solutions").parent.select(".solution .admonition-title")[:1]
    assert first.text.split() == ["Exercise", "5.1.", "(Everyone", "the", "same)"]


def test_what_needs_a_script_at_a_chapters_end_is_left_out(pages):
    assert not [name for name, page in pages.items() if page.select(".ending, .ran")]


def test_the_first_page_names_the_files_that_are_there(tmp_path):
    (tmp_path / "index.html").write_text('<title>Dots</title><p class="paper" hidden></p><p>dots</p>')
    (tmp_path / "attention-you-can-touch.epub").write_bytes(b"." * 2_400_000)
    list_on_first_page(tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert '<p class="paper">' in page
    assert '<a href="attention-you-can-touch.epub">EPUB</a> (2 MB).' in page
    assert "PDF" not in page
    kept = (tmp_path / "offline.js").read_text()
    assert "index.html" in kept
    assert ".epub" not in kept, "who keeps the book here does not load it twice"
