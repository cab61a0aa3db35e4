"""The built site: every link leads somewhere, every page introduces itself, colours, buttons and weight."""

import json
import re
import zipfile
from urllib.parse import parse_qs, unquote, urljoin, urlsplit
from xml.etree import ElementTree

import nbformat
import pytest
from playwright.sync_api import expect

from attnbook.colours import DARK
from attnbook.widgets.shared.files import tight_style
from booktools.book.address import address
from booktools.book.assignment import assignment_paths
from booktools.book.contents import deck_page, deck_paths, last_green
from booktools.book.edition import edition, editions
from booktools.printers.feed import NAME
from booktools.rehearsal.rehearse import notebooks
from booktools.site.style import PARTS
from tests import ROOT
from tests.browser.pages import CHAPTERS, PAGES

HERE = address(ROOT)
NOT_FOUND = "404.html"  # shown for any missing address: it has no address of its own, so no canonical one and no card
OTHER_EDITIONS = tuple(each.folder for each in editions(ROOT) if each.folder)
NOTEBOOKS = [f"colab/{path.name}" for path in CHAPTERS]
NOTEBOOKS += [f"assignments/{path.name}" for path in assignment_paths(ROOT)]
each_page = pytest.mark.parametrize("path", PAGES)
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)


def test_the_pages_and_notebooks_that_are_tested_are_those_of_the_site(site):
    there = [path.relative_to(site.folder).as_posix() for path in site.folder.rglob("*.html")]
    there = [path for path in there if not path.startswith(OTHER_EDITIONS)]  # tests/site/test_other_editions.py
    decks = [f"{deck_page(chapter)}.html" for chapter in deck_paths(ROOT)]
    assert sorted(there) == sorted(PAGES + decks)  # decks are visited in tests/directives/test_slide.py
    assert [f"{name}.ipynb" for name in notebooks(site.folder)] == NOTEBOOKS


# ---- addresses ----


def resolve(path: str, link: str) -> tuple[str, str] | None:
    """The file of the site and the anchor that a link on a page means; None if it leads elsewhere.

    >>> resolve("chapters/05_dots.html", "../notation.html#masks")
    ('notation.html', 'masks')
    >>> resolve("index.html", HERE.colab("05_dots"))  # Colab opens what the site holds
    ('colab/05_dots.ipynb', '')
    """
    opened_in_colab = HERE.colab("", "").removesuffix("/.ipynb")
    url = urlsplit(urljoin(HERE.page(path), link.replace(opened_in_colab, HERE.site)))
    if url.scheme not in ("http", "https") or not url.geturl().startswith(HERE.site):
        return None
    return unquote(url.path).removeprefix(urlsplit(HERE.site).path) or "index.html", unquote(url.fragment)


def addresses(site, path: str):
    """Every address on a page, and whether a browser asks for it by itself."""
    page = site.soup(path)
    for node in page.select("[href], [src], [srcset], [action], [poster], [data]"):
        own = node.name not in ("a", "form") and "canonical" not in node.get("rel", [])
        links = [node.get(name) for name in ("href", "src", "action", "poster", "data") if node.get(name)]
        links += [part.split()[0] for part in node.get("srcset", "").split(",") if part.strip()]
        yield from ((link, own) for link in links)
    for node in page.select("meta[property='og:url'], meta[property='og:image']"):
        yield node["content"], False
    styles = "".join(style.text for style in page.select("style")) + "".join(n["style"] for n in page.select("[style]"))
    yield from ((link, True) for link in re.findall(r"""url\(["']?([^"')]+)""", styles))


def links_of(site, path: str) -> list[str]:
    """Where a page leads, or a notebook's texts."""
    if path.endswith(".html"):
        return [link for link, _ in addresses(site, path)]
    cells = nbformat.read(site / path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return re.findall(r"(?<=\]\()[^\s()]+|(?<=<)https?://[^>\s]+", text)


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS])
def test_every_link_leads_somewhere(site, path):
    broken = []
    for link in links_of(site, path):
        if target := resolve(path, link):
            file, anchor = target
            if not (site / file).is_file():
                broken.append(f"{link}: the site has no {file}")
            elif anchor and file.endswith(".html") and anchor not in site.ids(file):
                broken.append(f"{link}: {file} has no id {anchor!r}")
    assert not broken, f"dead links on {path}:\n" + "\n".join(broken)


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS])
def test_what_leads_out_is_encrypted(site, path):
    assert not [link for link in links_of(site, path) if link.startswith("http:")]


@each_page
def test_no_page_asks_another_host(site, path):
    """As written; the tests in the browser watch what is asked in fact."""
    foreign = [
        link for link, own in addresses(site, path) if own and not link.startswith("data:") and not resolve(path, link)
    ]
    assert not foreign, f"{path} asks other hosts for {foreign}; put these files on the site"


def test_no_style_asks_another_host(site):
    for file in site.folder.rglob("*.css"):
        for link in re.findall(r"""(?:url\(|@import )["']?([^"')]+)""", file.read_text(encoding="utf-8")):
            if not link.startswith("data:"):
                target = resolve(file.relative_to(site.folder).as_posix(), link)
                assert target, f"{file.name} asks another host: {link}"
                assert (site / target[0]).is_file(), f"{file.name}: the site has no {target[0]}"


@each_page
def test_every_image_says_what_it_shows(site, path):
    for image in site.soup(path).select("main img"):
        alt = image.get("alt", "").strip()
        assert alt, f"{path}: {image['src']} needs an alt text"
        assert not re.search(r"\.(png|svg|jpe?g|gif|webp)$|^_|/|^[0-9a-f]{16,}", alt), f"{path}: {alt!r} is a file name"
    for image in site.soup(path).select("img"):
        assert image.has_attr("alt"), f"{path}: {image['src']} needs an alt text, empty if words beside it say the same"


@each_page
def test_figures_have_captions_with_numbers_and_two_renderings(site, path):
    figures = site.soup(path).select("main figure.align-default")
    chapter = re.match(r"chapters/0?(\d+)_", path)
    for n, figure in enumerate(figures, start=1):
        number = figure.select_one("figcaption .caption-number").text
        assert number == f"Figure {chapter[1]}.{n}.", f"{path}: {number}"
        day, night = figure.select("img")
        assert (day["class"], night["class"]) == (["by-day"], ["by-night"])
        light, dark = ((site / path).parent.joinpath(image["src"]).read_text("utf-8") for image in (day, night))
        assert DARK["ab-paper"] in dark
        assert DARK["ab-paper"] not in light
    pictures = site.soup(path).select("main img[src*=_images]:not([src$='.webp'])")  # a picture of a screen has one
    assert len(figures) == len(pictures) / 2, f"{path} has a picture without caption"


@each_chapter
def test_what_one_can_do_after_a_chapter_stands_at_its_head_and_opens(site, chapter):
    page = site.soup(html_of(chapter))
    (goals,) = page.select("details.goals")
    assert not goals.has_attr("open")
    assert len(goals.select("li")) >= 3
    assert goals.find_previous("h1"), "below the title"
    assert not goals.find_previous(class_="cell"), "above all that is shown"
    assert len(page.find_all(string=re.compile(goals.summary.text))) == 1


def test_a_page_asks_only_for_the_rendering_that_it_shows(visit):
    page = visit("chapters/02_masked_softmax.html")
    day, night = (page.locator(f"figure img.{kind}").first for kind in ("by-day", "by-night"))
    day.scroll_into_view_if_needed()
    page.wait_for_function(LOADED, arg=day.element_handle())
    size = [day.bounding_box()[side] for side in ("width", "height")]
    assert not [url for url in visit.requests if "/dark-" in url]
    held = []
    page.route("**/dark-*", lambda route: held.append(route))
    page.locator("#theme-button").click()
    expect(day).to_be_hidden()
    before = night.bounding_box()
    assert [before[side] for side in ("width", "height")] == size
    page.route("**/dark-*", lambda route: route.continue_())  # whatever comes from now on
    for route in held:
        route.continue_()
    page.wait_for_function(LOADED, arg=night.element_handle())
    assert night.bounding_box() == before, "nothing moves when the picture comes"
    page.emulate_media(media="print")
    expect(day).to_be_visible()
    expect(night).to_be_hidden()


LOADED = "(image) => image.complete && image.naturalWidth > 0"


RULES = """(text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    // What holds a var() is kept as it is written, blanks and all.
    return [...sheet.cssRules].map((rule) => rule.cssText.replace(/\\s*([,()])\\s*/g, "$1").replace(/\\s+/g, " "));
}"""


def test_a_style_that_travels_says_what_its_authors_wrote(site, visit):
    page = visit()
    written = "".join(site.text(f"_static/{part}.css") for part in PARTS)
    sent = tight_style(written)
    assert page.evaluate(RULES, sent) == page.evaluate(RULES, written)
    assert len(sent) < 0.85 * len(written)


def test_no_style_inverts_a_picture(site):
    for file in site.folder.rglob("*.css"):
        assert "invert(" not in file.read_text(encoding="utf-8"), file


@each_page
def test_page_introduces_itself(site, path):
    head = site.soup(path).head
    meta = {node.get("property") or node.get("name"): node["content"] for node in head.select("meta[content]")}
    assert site.soup(path).html["lang"] == "en"
    assert len(head.select("title")) == 1
    assert head.title.text.strip()
    assert 30 <= len(meta["description"]) <= 200, f"describe {path} in a sentence or two: {meta['description']!r}"
    assert len(head.select("meta[name=viewport]")) == 1, "one viewport"
    assert head.select_one("link[rel=icon]")
    if path == NOT_FOUND:
        assert meta["robots"] == "noindex"
        return
    assert resolve(path, head.select_one("link[rel=canonical]")["href"]) == (path, "")
    assert resolve(path, meta["og:url"]) == (path, "")
    assert meta["og:title"] in head.title.text
    assert meta["og:description"] == meta["description"]
    assert {"og:type", "og:image", "og:image:alt", "og:site_name"} <= meta.keys()


def test_search_engines_are_told_the_pages_the_chapters_and_the_book(site):
    places = ElementTree.parse(site / "sitemap.xml").iterfind(".//{*}loc")
    pages = {path for path in PAGES if not path.startswith("from_scratch/")} - {NOT_FOUND, "search.html"}
    assert {resolve("", place.text)[0] for place in places} == pages
    for number, chapter in enumerate(CHAPTERS, start=1):
        page = site.soup(html_of(chapter))
        told = json.loads(page.select_one("script[type='application/ld+json']").string)
        assert (told["@type"][0], told["position"]) == ("Chapter", number)
        assert resolve("", told["isPartOf"]["url"]) == ("index.html", "")
        assert page.select_one("meta[property='og:image']")["content"].endswith(f"{chapter.stem}.png")


def test_a_feed_tells_of_changes(site):
    link = site.soup("index.html").select_one("link[rel=alternate][type='application/atom+xml']")
    assert resolve("index.html", link["href"])[0] == NAME
    told = ElementTree.parse(site / NAME).getroot()
    days = [entry.findtext("{*}updated") for entry in told.iterfind("{*}entry")]
    assert days == sorted(set(days), reverse=True)
    assert told.findtext("{*}updated") == days[0]
    assert len(days) == len(re.findall(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE))
    assert all("<li>" in entry.findtext("{*}content") for entry in told.iterfind("{*}entry"))


def test_titles_and_descriptions_tell_pages_apart(site):
    titles = [site.soup(path).title.text for path in PAGES]
    assert len(set(titles)) == len(titles), titles


# ---- chapters ----


def html_of(chapter):
    return f"chapters/{chapter.stem}.html"


@pytest.mark.parametrize("path", PAGES)
def test_an_id_is_used_once(site, path):
    ids = [node["id"] for node in site.soup(path).find_all(id=True)]
    assert len(ids) == len(set(ids)), sorted({name for name in ids if ids.count(name) > 1})


def is_widget(output):
    return "data-afm" in output.get("data", {}).get("text/html", "")


@each_chapter
def test_page_shows_what_the_notebook_stored(site, chapter):
    cells = [c for c in nbformat.read(chapter, as_version=4).cells if c.cell_type == "code"]
    cells = [c for c in cells if not {"remove-cell", "remove_cell"} & set(c.metadata.get("tags", []))]
    widgets = [output for cell in cells for output in cell.outputs if is_widget(output)]
    assert len(site.soup(html_of(chapter)).select(".touch [data-afm]")) == len(widgets)
    for cell in cells:  # whose widget stands in a frame of its own
        cell.outputs = [output for output in cell.outputs if not is_widget(output)]
    cells = [c for c in cells if c.outputs or "remove-input" not in c.metadata.get("tags", [])]
    blocks = site.soup(html_of(chapter)).select("div.cell")
    assert len(blocks) == len(cells)
    for cell, block in zip(cells, blocks, strict=True):
        shown = "".join(part.get_text() for part in block.select(".cell_output"))
        assert bool(cell.outputs) == bool(block.select(".cell_output")), (
            f"cell {cell.id} has lost its output on the page"
        )
        for output in cell.outputs:
            data = output.get("data", {})
            if data.keys() <= {"text/plain"}:
                text = output.get("text") or data["text/plain"]
                assert text.strip() in shown, f"cell {cell.id} must show {text!r}"
            elif "text/html" in data:
                assert block.select(".cell_output table, .cell_output .text_html"), cell.id
            else:
                assert block.select(".cell_output img, .cell_output svg, .cell_output .math"), cell.id


@each_chapter
def test_buttons_of_a_chapter(site, chapter):
    links = {link.get_text(): link for link in site.soup(html_of(chapter)).select(".run-row a")}
    notebooks = [("Open in Colab", "Download notebook", "colab")]
    if (ROOT / "assignments/source" / chapter.name).is_file():
        notebooks += [("Open assignment in Colab", "Download assignment", "assignments")]
    own = links.pop("Run it in your own Jupyter")
    assert resolve(html_of(chapter), own["href"]) == ("index.html", "how-to-read-it")
    assert "pip install jupyterlab" in site.soup("index.html").select_one("#how-to-read-it").get_text()
    if (ROOT / f"slides/{chapter.stem}.slides.md").is_file():
        deck, _ = resolve(html_of(chapter), links.pop("Slides")["href"])
        assert deck == f"slides/{chapter.stem}.slides.html"
    assert links.keys() == {name for open_it, download_it, _ in notebooks for name in (open_it, download_it)}
    for open_it, download_it, folder in notebooks:
        assert links[open_it]["href"] == HERE.colab(chapter.stem, folder)
        file, _ = resolve(html_of(chapter), links[download_it]["href"])
        assert file == f"{folder}/{chapter.name}"
        assert links[download_it].has_attr("download")
        notebook = nbformat.read(site / file, as_version=4)
        nbformat.validate(notebook)
        (wheel,) = re.findall(rf"{re.escape(HERE.site)}(\S+\.whl)", json.dumps(notebook))
        assert "attnbook/widgets/shared/core.js" in zipfile.ZipFile(site / wheel).namelist()


def test_a_notebook_is_taken_home(visit):
    page = visit(html_of(CHAPTERS[0]))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download notebook", exact=True).click()
    nbformat.validate(nbformat.reads(download.value.path().read_text(encoding="utf-8"), as_version=4))


def test_a_chapter_says_at_its_end_when_it_was_last_tried_in_colab(visit):
    page = visit(html_of(CHAPTERS[0]))
    (time,) = page.locator("article > .ran time").all()
    assert time.get_attribute("datetime") == last_green(ROOT)["date"]


@pytest.mark.parametrize(
    ("served", "said"),
    [
        ('{"date": "2099-01-05"}', "5 January 2099"),
        ('{"date": "2001-01-05"}', None),  # the page is newer
        ("not there", None),
    ],
)
def test_a_later_rehearsal_is_told_without_a_new_site(visit, served, said):
    page = visit(html_of(CHAPTERS[0]), javascript=False)
    before = page.locator(".ran").first.text_content()
    old = page.locator(".ran time").first.text_content()
    page = visit(html_of(CHAPTERS[0]), served={"colab/last-green.json": served})
    page.wait_for_load_state("networkidle")
    expect(page.locator(".ran").first).to_have_text(before.replace(old, said) if said else before)


# ---- what a reader does ----


def test_a_problem_is_reported_with_its_place(visit):
    page = visit(html_of(CHAPTERS[4]) + "#the-layer")
    expect(page.locator(".outline [aria-current]")).to_have_text("The layer")
    page.evaluate("addEventListener('click', (event) => event.preventDefault())")
    link = page.locator(".outline .report")
    for _ in range(2):  # what is filled in is filled in once
        link.click()
        asked = parse_qs(urlsplit(link.get_attribute("href")).query)
        assert asked["title"] == ["5. Scaled dot-product attention: "]
        (body,) = asked["body"]
        assert body.count("Section: The layer (#the-layer)") == 1
        for told in (f"{HERE.site}{html_of(CHAPTERS[4])}", f"Version: {edition(ROOT).version}", "Browser: Mozilla"):
            assert told in body
    improve = page.locator(".foot a").last
    assert improve.get_attribute("href").endswith(f"/edit/main/chapters/{CHAPTERS[4].name}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_switched_and_stay(visit, theme):
    other = {"light": "dark", "dark": "light"}[theme]
    page = visit(theme=theme)
    paper = "getComputedStyle(document.body).backgroundColor"
    html, before = page.locator("html"), page.evaluate(paper)
    expect(html).to_have_attribute("data-theme", theme)
    page.locator("#theme-button").click()
    expect(html).to_have_attribute("data-theme", other)
    assert page.evaluate(paper) != before
    page.goto(f"{visit.home}notation.html")
    expect(html).to_have_attribute("data-theme", other)
    page.locator("#theme-button").press("Enter")
    page.reload()
    expect(html).to_have_attribute("data-theme", theme)


def test_missing_page_explains_itself_at_any_depth(site, visit):
    lost = site.text(NOT_FOUND)
    page = visit("no/such/page.html", served={"no/such/page.html": lost})
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_the_section_being_read_is_marked_in_the_contents(visit):
    page = visit(f"chapters/{CHAPTERS[0].stem}.html")
    heading = page.locator("article section[id] h2").nth(1)
    heading.evaluate("node => node.scrollIntoView({ block: 'start', behavior: 'instant' })")
    current = page.locator(".outline a[aria-current='location']")
    expect(current).to_have_count(1)
    section = heading.evaluate("node => node.parentNode.id")
    expect(current).to_have_attribute("href", f"#{section}")
