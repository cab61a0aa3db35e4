"""The book on paper: the chapters of a printed site as one PDF, by Chromium.

Each page is opened, its widgets start and stand still, and all of it becomes one document. Which page something is on
is known once that is printed: first with numbers that are guessed, then with those found, until none of them changes.
"""

import json
import re
from html import escape, unescape
from io import BytesIO
from pathlib import Path

import pikepdf
from playwright.sync_api import Browser, ViewportSize

from attnbook.language import words
from booktools.book import BookError
from booktools.book.edition import Edition
from booktools.directives.map import pictogram_svg
from booktools.directives.page import qr_code
from booktools.printers.book_files import list_on_first_page
from booktools.printers.browser_pages import Part, book_parts, call_javascript, new_page, site_in_browser
from booktools.progress import progress

HERE = Path(__file__).parent
NAME = "attention-you-can-touch{}.pdf"
SHEETS = {"": (210, 297), "-screen": (150, 200)}  # mm, by the ending of their names: A4, and one for a tablet
ABOVE, BESIDE, BELOW = 19, 17, 16  # the margins, mm
ROUNDS = 5
LIVE = re.compile(r'(<a class="live" href="([^"]*)">)')


def print_pdf(edition: Edition, html: Path) -> list[Path]:
    """Print the site in a folder as PDF beside its pages, for paper and for a screen; where they went."""
    with edition.spoken(), site_in_browser(html) as (browser, address):
        document = assemble(edition, book_parts(edition, browser, address))
        files = [html / NAME.format(ending) for ending in SHEETS]
        for file, sheet in progress(zip(files, SHEETS.values(), strict=True), "printing on paper", of=len(files)):
            file.write_bytes(packed(print_until_settled(browser, address, document, sheet)))
    list_on_first_page(html)
    return files


def assemble(edition: Edition, pages: list[Part]) -> str:
    """One document of all: a title, contents, the parts, solutions, an index."""
    say, site = words(HERE.parent)["pdf"], words(HERE.parents[1] / "site")
    styles = {style: None for page in pages for style in page.styles}
    heads = [(page.name, page.heading) for page in pages]
    heads += [(name, say[name]) for name in ("solutions", "index")]
    return (
        (HERE / "book.html")
        .read_text("utf-8")
        .format(
            language=edition.language,
            title=escape(site["title"]),
            description=escape(site["description"]),
            about=say["about"].format(licence=site["foot"]["licence"], version=edition.version),
            here=escape(edition.here.site),
            code=qr_code(edition.here.site),
            say=say,
            links="".join(f'<link rel="stylesheet" href="{style}">' for style in styles),
            style=(HERE / "pdf.css").read_text("utf-8") + "".join(map(_running_head, *zip(*heads, strict=True))),
            parts="".join(map(section, pages)),
            pictures="".join(pictogram_svg(chapter.pictogram) for chapter in edition.chapters),
        )
    )


def _running_head(part: str, title: str) -> str:
    """The head of the sheets of a part."""
    name = f"sheet-{part}"
    said = json.dumps(title, ensure_ascii=False)
    return f'[id="{part}"] {{ page: {name} }} @page {name} {{ @top-left {{ content: {said} }} }}\n'


def section(part: Part) -> str:
    """A part, in which a code leads to where each widget is live."""
    html = LIVE.sub(lambda live: f"{live[1]}{qr_code(unescape(live[2]))}", part.html)
    about = f'id="{part.name}" data-part data-title="{escape(part.title)}" data-number="{part.number}"'
    return f'<article class="bd-article" {about}>{html}</article>'


def print_until_settled(browser: Browser, address: str, document: str, sheet: tuple[int, int]) -> bytes:
    """A document on sheets of a size, printed until what it names is where it says; the first time as a draft."""
    place, say, pages = f"{address}book-on-paper", words(HERE.parent)["pdf"], None
    style = "@page {{ size: {}mm {}mm; margin: {}mm {}mm {}mm }}".format(*sheet, ABOVE, BESIDE, BELOW)
    for _ in range(ROUNDS):
        page = new_page(browser, viewport=viewport_of(sheet))  # a new one: what was printed already breaks elsewhere
        page.emulate_media(media="print")
        page.route(place, lambda route: route.fulfill(body=document, content_type="text/html; charset=utf-8"))
        page.goto(place)
        page.add_style_tag(content=style)
        call_javascript(page, address, HERE / "arrange.js", "arrange", say)
        page.evaluate("() => document.fonts.ready")
        draft = pages is None
        numbers = pages or call_javascript(page, address, HERE / "arrange.js", "guess")
        call_javascript(page, address, HERE / "arrange.js", "number", numbers)
        content = page.pdf(prefer_css_page_size=True, print_background=True, tagged=not draft, outline=not draft)
        page.close()
        found = (pages or {}) | pages_of(content)
        if found == pages:
            return content
        pages = found
    raise BookError(f"after {ROUNDS} rounds what the book says of its pages still moves them, on {sheet} mm")


def viewport_of(sheet: tuple[int, int]) -> ViewportSize:
    """One as large as the text on a sheet."""
    width, height = sheet[0] - 2 * BESIDE, sheet[1] - ABOVE - BELOW
    return {"width": round(width / 25.4 * 96), "height": round(height / 25.4 * 96)}


def pages_of(pdf: bytes) -> dict[str, int]:
    """On which page each destination of a PDF is, from 1."""
    with pikepdf.open(BytesIO(pdf)) as book:
        numbers = {page.obj.objgen: number for number, page in enumerate(book.pages, start=1)}
        return {name.lstrip("/"): numbers[there[0].objgen] for name, there in book.Root.Dests.items()}


def packed(pdf: bytes) -> bytes:
    """A PDF whose small parts are compressed, too: what tells a screen reader of them is half of a book as printed."""
    smaller = BytesIO()
    with pikepdf.open(BytesIO(pdf)) as book:
        book.save(smaller, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return smaller.getvalue()
