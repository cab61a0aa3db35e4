"""The edition in Chinese, beside the English: what it has, where it leads, what search finds in it."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_markdown_cell, new_notebook
from playwright.sync_api import expect

from attnbook.language import ENGLISH
from booktools.book import BookError
from booktools.book.address import address
from booktools.book.contents import deck_page
from booktools.book.deck import Deck
from booktools.book.edition import Edition, _edition, editions, to_print
from booktools.book.translation import digest
from booktools.directives import page as directives_page
from booktools.site.frame import _read_edition
from booktools.site.other_editions import contents
from tests import ROOT
from tests.browser.clocks import until
from tests.browser.pages import PAGES, PHONE
from tests.site.test_site import addresses, resolve

HERE = address(ROOT)
EN, ZH = editions(ROOT)
OFFERED = [re.sub(r"\.\w+$", ".html", page) for page in ZH.offered]
THREE = "chapters/03_queries_keys_values.html"
each_page = pytest.mark.parametrize("path", OFFERED)


# ---- a book of two pages ----


@pytest.fixture
def root(tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_config.yml").write_text("repository:\n  url: https://github.com/ada/book\n")
    toc = "format: jb-book\nroot: index\nparts:\n- caption: all\n  chapters:\n"
    (tmp_path / "_toc.yml").write_text(f"{toc}  - file: chapters/05_dots\n  - file: notation\n")
    (tmp_path / "index.md").write_text("# Book\n\n[Dots](chapters/05_dots.ipynb) [letters](notation.md)\n")
    (tmp_path / "notation.md").write_text("# Letters\n")
    cells = [new_markdown_cell(text, id=name) for name, text in TEXTS.items()]
    nbformat.write(new_notebook(cells=cells), tmp_path / "chapters/05_dots.ipynb")
    translate(tmp_path, "index.md", page="# 书\n\n[点](chapters/05_dots.ipynb)、[字母](notation.md)")
    return tmp_path


TEXTS = {"title": "# 5. Dots\n\nOf dots.", "why": "## Why divide\n\nSince it is large, and a large sum of squares."}


def translate(root, source, **texts):
    path = (root / "translations/zh" / source).with_suffix(".md")
    path.parent.mkdir(parents=True, exist_ok=True)
    pages = {"page": (root / source).read_text("utf-8")} if (root / source).is_file() else {}
    english = TEXTS | pages
    path.write_text(
        "\n".join(f"+++ {name} {digest(english[name])}\n\n{text}\n" for name, text in texts.items()), "utf-8"
    )


def test_a_page_is_offered_once_three_quarters_of_it_are_translated(root):
    assert [each.language for each in editions(root)] == [ENGLISH, "zh"]
    assert Edition(root, "zh").offered == ["index.md"]
    translate(root, "chapters/05_dots.md", title="# 5. 点\n\n讲点。")
    assert Edition(root, "zh").offered == ["index.md"]
    assert Edition(root, "zh", is_draft=True).offered == ["index.md", "chapters/05_dots.ipynb"]
    translate(root, "chapters/05_dots.md", why="## 为什么除\n\n因为它大，是许多平方之和。")
    assert Edition(root, "zh").offered == ["index.md", "chapters/05_dots.ipynb"]
    (root / "translations/zh/index.md").unlink()
    assert [each.language for each in editions(root)] == [ENGLISH]


def test_a_page_is_read_again_when_its_translation_changes(root, monkeypatch):
    """And not at each build, as one would be that depends on a file that is not there."""
    seen = []
    env = SimpleNamespace(srcdir=root, doc2path=lambda name: root / f"{name}.md", note_dependency=seen.append)
    for language, dependencies in ((ENGLISH, []), ("zh", [str(root / "translations/zh/index.md")])):
        monkeypatch.setattr(directives_page, "edition", lambda root, language=language: Edition(root, language))
        _read_edition(SimpleNamespace(env=env, srcdir=root), "index", source := [""])
        assert seen == dependencies
        assert source[0].startswith({"zh": "# 书"}.get(language, "# Book"))


def test_all_editions_are_printed_or_the_one_asked_for(root, monkeypatch):
    monkeypatch.chdir(root)
    assert [(each.language, to) for each, to in to_print(Path("x"))] == [(ENGLISH, Path("x")), ("zh", Path("x/zh"))]
    _edition.cache_clear()
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh")
    assert [(each.language, to) for each, to in to_print(Path("x"))] == [("zh", Path("x"))]
    _edition.cache_clear()


def test_slides_are_offered_with_their_chapter(root):
    outline = root / "slides/05_dots.slides.md"
    outline.parent.mkdir()
    outline.write_text("Of what?\n\n+++ notes why/sentence\nAsk.\n")
    translate(root, "slides/05_dots.slides.md", page="讲什么？\n\n+++ notes why/sentence/2\n问。")
    assert not Edition(root, "zh").decks
    translate(
        root, "chapters/05_dots.md", title="# 5. 点\n\n讲点。", why="## 为什么除\n\n先看。因为它大，是许多平方之和。"
    )
    zh = Edition(root, "zh")
    assert list(zh.decks) == ["05_dots"]
    (slide,) = Deck.read(zh, zh.chapters[0]).slides
    assert [cell.source for cell in slide.cells[-2:]] == ["因为它大，是许多平方之和。", "问。"]


@pytest.mark.parametrize("stem", ZH.decks)
def test_slides_take_in_chinese_what_they_take_in_english(stem):
    """A sentence or a formula is counted in the text that it is taken from, and the Chinese may have another order."""
    ours, theirs = (
        Deck.read(each, next(chapter for chapter in each.chapters if chapter.stem == stem)) for each in (EN, ZH)
    )
    assert formulas(ours) == formulas(theirs)
    assert [slide.states for slide in ours.slides] == [slide.states for slide in theirs.slides]


def formulas(deck):
    """The formulas on a deck's walls, without words that stand in them."""
    sources = [cell.source for slide in deck.slides for cell in slide.cells]
    return [re.sub(r"\\text{.*?}", "", source) for source in sources if source.startswith("$$")]


def test_links_lead_to_the_edition_that_has_the_page(root):
    zh = Edition(root, "zh")
    assert zh.labels["index.md"].url == "https://ada.github.io/book/zh/index.html"
    assert zh.labels["notation.md"].url == "https://ada.github.io/book/notation.html"
    assert zh.here.colab("05_dots").endswith("/blob/gh-pages/zh/colab/05_dots.ipynb")
    listed = contents(zh, root).read_text("utf-8")
    assert "url: https://ada.github.io/book/chapters/05_dots.html" in listed
    assert "file: " not in listed


def test_headings_keep_the_anchors_of_the_english(root):
    translate(root, "chapters/05_dots.md", why="## 为什么除\n\n因为它大，是许多平方之和。")
    labels = Edition(root, "zh").labels
    assert labels["chapters/05_dots.ipynb#why-divide"].text == "为什么除"
    assert labels["chapters/05_dots.ipynb#why-divide"].url.endswith("zh/chapters/05_dots.html#why-divide")
    translate(root, "chapters/05_dots.md", why="为什么除\n\n因为它大，是许多平方之和。")
    with pytest.raises(BookError, match="translates 1 headings into 0"):
        _ = Edition(root, "zh").labels


# ---- the site ----


def zh(path: str) -> str:
    return f"zh/{path}"


def test_what_is_not_translated_is_not_offered(site):
    there = {path.relative_to(site.folder / "zh").as_posix() for path in (site.folder / "zh").rglob("*.html")}
    files = {page.replace("chapters", "from_scratch") for page in OFFERED if page.startswith("chapters/")}
    decks = {f"{deck_page(stem)}.html" for stem in ZH.decks}
    assert there == {*OFFERED, *files, *decks, "404.html", "search.html"}
    places = ElementTree.parse(site / "zh/sitemap.xml").iterfind(".//{*}loc")
    assert {resolve("", place.text)[0] for place in places} == {*map(zh, OFFERED)}


@each_page
def test_every_link_leads_somewhere(site, path):
    for link, _ in addresses(site, zh(path)):
        if target := resolve(zh(path), link):
            file, anchor = target
            file += "index.html" * file.endswith("/")
            assert (site / file).is_file(), f"{link}: the site has no {file}"
            assert not anchor or not file.endswith(".html") or anchor in site.ids(file), link


@each_page
def test_each_page_knows_where_it_stands_in_the_other_language(site, path):
    for own, tag in ((path, "en"), (zh(path), "zh-Hans")):
        page = site.soup(own)
        there = {link["hreflang"]: resolve(own, link["href"])[0] for link in page.head.select("link[hreflang]")}
        assert there == {"en": path, "zh-Hans": zh(path), "x-default": path}
        assert page.html["lang"] == tag
        assert resolve(own, page.head.select_one("link[rel=canonical]")["href"])[0] == own
        assert resolve(own, page.head.select_one("meta[property='og:url']")["content"])[0] == own
        (switch,) = page.select("a.language")
        assert resolve(own, switch["href"])[0] == (path if own != path else zh(path))


@pytest.mark.parametrize("path", sorted({*PAGES} - {*OFFERED, "search.html"}))
def test_a_page_in_english_alone_says_nothing_of_others(site, path):
    assert not site.soup(path).select("link[hreflang], a.language")


@each_page
def test_whatever_leads_out_of_the_edition_says_so(site, path):
    page = site.soup(zh(path))
    for link in page.select("#book-chapters a, .turn a, .cards .card a"):
        target = resolve(zh(path), link["href"])
        marked = link.find_parent("li", class_="card") or link
        assert ("英文" in marked.text) == (not target[0].startswith("zh/")), link


@pytest.mark.parametrize("path", ["slides.html", "instructors.html"])
def test_a_deck_in_english_is_led_to_and_says_so(site, path):
    links = site.soup(zh(path)).select("article a[href*='.slides.html']")
    assert len({link["href"] for link in links}) == len(ZH.outlines)
    for link in links:
        target = resolve(zh(path), link["href"])[0]
        assert (site / target).is_file()
        assert ("abroad" in link.get("class", [])) == (not target.startswith("zh/")), target


def test_sections_have_the_anchors_of_the_english(site):
    english, chinese = (
        [each["id"] for each in site.soup(path).select("article section[id]")] for path in (THREE, zh(THREE))
    )
    assert chinese == english


def in_neither(page: BeautifulSoup) -> list[str]:
    """Texts of a page without a Chinese sign that don't say that they are English."""
    texts = page.select("article :is(p, h1, h2, h3, h4, figcaption):not(.cell *, .touch *, .bibtex-citation)")
    for node in page.select("article :is(code, .math, .raw, cite, .bibtex-citation, .headerlink)"):
        node.decompose()
    said = [(text.text.strip(), text) for text in texts if not text.decomposed]
    return [
        text
        for text, node in said
        if len(re.findall(r"[A-Za-z]{2,}", text)) > 1
        and not re.search(r"[\u4e00-\u9fff]", text)
        and not node.find_parent(lang="en")
        and node.get("lang") != "en"
    ]


@each_page
def test_english_that_is_left_over_says_so(site, path):
    page = BeautifulSoup(site.text(zh(path)), "html.parser")
    assert in_neither(page) == []
    page.select_one("article p").string = "Not marked, but English."
    assert in_neither(page) == ["Not marked, but English."]


def test_a_notebook_installs_the_package_that_all_editions_share(site):
    notebook = nbformat.read(site / "zh/colab/03_queries_keys_values.ipynb", as_version=4)
    (setup,) = [cell.source for cell in notebook.cells if cell.id == "setup"]
    assert f'book="{HERE.site}{ZH.wheel}"' in setup
    assert setup.endswith("%env ATTNBOOK_LANGUAGE=zh")
    assert (site / ZH.wheel).is_file()
    assert not list((site.folder / "zh").rglob("*.whl"))


def test_each_edition_keeps_its_own_pages_for_times_without_a_network(site):
    known = {folder: read_manifest(site, folder) for folder in ("", "zh/")}
    assert not [name for name in known[""]["files"] if name.startswith("zh/")]
    assert {*OFFERED} <= {*known["zh/"]["pages"]}


def read_manifest(site, folder):
    return json.loads(re.match(r"self\.BOOK = (.*);\n", site.text(f"{folder}offline.js"))[1])


# Pressed while a section is read: which that is may change while widgets above it start.
SWITCH = """() => {
    const { hash } = document.querySelector(".outline a[aria-current]");
    document.querySelector("a.language").click();
    return hash;
}"""


def test_the_switch_leads_to_the_section_and_what_was_done_stays_done(visit):
    page = visit(zh(THREE))
    done = page.locator(".exercise input[type=checkbox]").first
    done.check()
    page.evaluate("document.querySelector('#a-curve-made-of-weights').scrollIntoView()")
    expect(page.locator(".outline a[aria-current]")).to_have_attribute("href", "#a-curve-made-of-weights")
    reading = page.evaluate(SWITCH)
    page.wait_for_url(f"**/03_queries_keys_values.html{reading}")
    assert "/zh/" not in page.url
    expect(page.locator(".exercise input[type=checkbox]").first).to_be_checked()


ENGLISH_ALONE = [page for page in PAGES if page.startswith("chapters/") and page not in OFFERED]


@pytest.mark.parametrize("path", ENGLISH_ALONE[:1])
def test_a_chapter_read_in_english_is_gone_on_with_in_english(visit, path):
    page = visit(path)
    page.goto(page.url.replace(path, "zh/index.html"))
    link = page.locator(".go-on a")
    expect(link).to_be_visible()
    assert "/zh/" not in link.get_attribute("href")


# ---- search ----

ASK = """async ([folder, asked]) => {
    const { Book } = await import(`${folder}search/look.js`);
    const content = async (name) => (await fetch(`${folder}${name}.json`)).json();
    const book = await Book.read(await content("search"), await content("search-rest"));
    return asked.map((typed) => book.look(typed).slice(0, 3).map(({ where }) => where.replace(/.*#/, "")));
}"""
QUESTIONS = {
    "核回归": "a-curve-made-of-weights",
    "训练循环": "the-training-loop",
    "谁打电话": "who-called-whom",
    "学习率调度": "fit-is-this-loop-with-a-few-more-lines",
    "软字典": "a-dictionary-that-answers-between-its-entries",
    "Adam 做了什么": "what-adam-does",
    "矩形核": "other-kernels",
    "半正定": "who-called-whom",
}


def test_search_finds_what_is_asked_in_chinese(visit):
    page = visit("zh/search.html")
    folder = page.evaluate("new URL('_static/', location).href")
    found = dict(zip(QUESTIONS, page.evaluate(ASK, [folder, list(QUESTIONS)]), strict=True))
    assert {asked: got for asked, got in found.items() if QUESTIONS[asked] not in got} == {}


def test_what_was_asked_is_marked_sign_by_sign(visit):
    page = visit("zh/search.html", viewport=PHONE)
    page.get_by_role("combobox").fill("核回归")
    option = page.get_by_role("option").first
    expect(option).to_be_visible(timeout=30_000)
    assert {*"核回归"} <= {*option.locator("mark").all_inner_texts()}
    option.click()
    page.wait_for_url("**/zh/chapters/**")
    marked = "[...(CSS.highlights.get('found') ?? [])].map((range) => range.toString()).join('')"
    until(page, f"async () => {marked}.includes('核回归')")


def test_the_pages_of_search_lead_to_each_other(site):
    for own, other in (("search.html", "zh/search.html"), ("zh/search.html", "search.html")):
        (switch,) = site.soup(own).select("a.language")
        assert resolve(own, switch["href"])[0] == other


def test_terms_are_found_by_their_chinese_names(site):
    sections = json.loads(site.text("zh/_static/search.json"))["sections"]
    titles = {where.partition("#")[2]: title for where, title, *_ in sections if where.startswith("glossary.html#")}
    named = {term.anchor: term.zh for term in ZH.glossary if term.zh}
    assert {anchor: titles[anchor] for anchor in named} == named


EXCERPT = """async (folder) => {
    const { excerpt } = await import(`${folder}search/excerpt.js`);
    return excerpt("它是 attention，True 是可以", ["true"]).flatMap(([piece, marked]) => (marked ? [piece] : []));
}"""


def test_a_word_ends_at_a_full_width_sign(visit):
    page = visit("zh/search.html")
    assert page.evaluate(EXCERPT, page.evaluate("new URL('_static/', location).href")) == ["True "]


TERMS = "async (folder) => (await import(`${folder}search/terms.js`)).groups('softmax函数的核，masked_softmax')"


def test_latin_and_chinese_are_told_apart(visit):
    page = visit("zh/search.html")
    groups = page.evaluate(TERMS, page.evaluate("new URL('_static/', location).href"))
    assert groups == [["softmax"], ["函数"], ["数的"], ["的核"], ["masked_softmax", "masked", "softmax"]]


# ---- how it is set ----


def test_chinese_is_set_as_chinese_is_and_english_as_before(visit):
    look = """(selector) => { const style = getComputedStyle(document.querySelector(selector));
        return [style.lineBreak, style.fontFamily.includes("PingFang SC")]; }"""
    assert visit(zh(THREE)).evaluate(look, "article p") == ["strict", True]
    assert visit(THREE).evaluate(look, "article p") == ["auto", False]
