"""The book for a reading device: its files name each other, its formulas are MathML, its widgets are pictures."""

import re
from collections import Counter
from io import BytesIO
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

import pytest
from bs4 import BeautifulSoup

from booktools.book.edition import edition
from booktools.printers import epub
from booktools.printers.offer import offer
from booktools.serving import serving
from tests import ROOT


@pytest.fixture(scope="module")
def book(site, browser):
    with serving(site.folder) as address:
        files = epub.assemble(edition(ROOT), site.folder, browser, address)
    return ZipFile(BytesIO(epub.bound(files)))


@pytest.fixture(scope="module")
def pages(book):
    texts = {name: book.read(name) for name in book.namelist() if name.endswith(".xhtml")}
    return {name: BeautifulSoup(text, "html.parser") for name, text in texts.items()}


def test_a_reader_is_told_first_what_it_is(book):
    first = book.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", ZIP_STORED)
    assert book.read("mimetype") == b"application/epub+zip"
    assert sum(one.compress_size for one in book.infolist()) < 25_000_000


def test_each_file_is_named_once_and_there(book):
    package = ElementTree.fromstring(book.read("book.opf"))
    named = [item.get("href") for item in package.findall(".//{*}item")]
    assert max(Counter(named).values()) == 1
    assert {*named, "book.opf", "mimetype", "META-INF/container.xml"} == set(book.namelist())
    order = [item.get("idref") for item in package.findall(".//{*}itemref")]
    assert order[:2] == ["contents", "part-01_word_vectors"]


def test_every_link_and_picture_leads_somewhere(book, pages):
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
            assert image["src"].startswith("data:") or image["src"] in book.namelist(), f"{name}: {image}"


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


def test_the_first_page_names_the_files_that_are_there(tmp_path):
    (tmp_path / "index.html").write_text('<title>Dots</title><p class="paper" hidden></p><p>dots</p>')
    (tmp_path / "attention-you-can-touch.epub").write_bytes(b"." * 2_400_000)
    offer(tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert '<p class="paper">' in page
    assert '<a href="attention-you-can-touch.epub">EPUB</a> (2 MB).' in page
    assert "PDF" not in page
    kept = (tmp_path / "offline.js").read_text()
    assert "index.html" in kept
    assert ".epub" not in kept, "who keeps the book here does not load it twice"
