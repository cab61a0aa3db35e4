"""Decks on paper: each deck of a printed site as PDF, a slide a page; with notes; and as a handout to write on."""

import re
from pathlib import Path

from playwright.sync_api import Browser

from attnbook.language import marks, words
from booktools.book.contents import deck_page
from booktools.book.edition import Edition
from booktools.directives.slide import HERE as SLIDE
from booktools.printers.browser_pages import new_page, site_in_browser
from booktools.printers.offline import add_worker
from booktools.progress import progress

LIST = "slides.html"
PAPER = {"width": 1280, "height": 720}  # a slide's page, 13⅓ by 7½ inches
# All widgets are live and of their size, all pictures and letters there.
READY = """async () => {
    for (const image of document.images) image.loading = "eager";
    dispatchEvent(new Event("beforeprint"));
    const widgets = [...document.querySelectorAll("[data-afm]")];
    while (widgets.some((each) => !("mounted" in each.dataset || "failed" in each.dataset)))
        await new Promise(requestAnimationFrame);
    await Promise.all([document.fonts.ready, ...[...document.images].map((image) => image.decode().catch(() => {}))]);
    dispatchEvent(new Event("resize"));
    for (let frame = 0; frame < 60; frame++) await new Promise(requestAnimationFrame);
}"""


def print_decks(edition: Edition, html: Path) -> list[Path]:
    """Print the decks of the site in a folder beside their pages, and name them in the list of decks."""
    made = []
    with edition.spoken(), site_in_browser(html) as (browser, address):
        for stem in progress(edition.decks, "printing slides", of=len(edition.decks)):
            made += print_deck(browser, address, stem, html)
        name_in_list(edition, html)
    add_worker(html)
    return made


def print_deck(browser: Browser, address: str, stem: str, to: Path) -> list[Path]:
    """Print a deck of the site at an address, in each of the ways, beside its page in a folder; where they went."""
    made = []
    for kind in words(SLIDE)["list"]["files"]:
        page = new_page(browser, viewport=PAPER, service_workers="block")
        page.emulate_media(media="print")  # laid out as it is printed, so that beams end where they should
        page.goto(f"{address}{deck_page(stem)}.html?as={kind}")
        page.evaluate(READY)
        made.append(to / _file_name(stem, kind))
        page.pdf(path=made[-1], prefer_css_page_size=True, print_background=True)
        page.close()
    return made


def _file_name(stem: str, kind: str) -> str:
    """Where the print of a deck is on the site.

    >>> _file_name("05_dots", "notes")
    'slides/05_dots-notes.pdf'
    """
    return f"slides/{stem}-{kind}.pdf"


def name_in_list(edition: Edition, html: Path) -> None:
    """On the page that lists all decks, say what has been printed of each."""
    say, page = words(SLIDE)["list"], html / LIST

    def named(found: re.Match) -> str:
        there = {kind: _file_name(found[1], kind) for kind in say["files"]}
        links = [
            f'<a href="{name}">{say["files"][kind]}</a>' for kind, name in there.items() if (html / name).is_file()
        ]
        printed = say["printed"].format(files=marks()["list"].join(links)) if links else ""
        return f'<span data-printed="{found[1]}">{printed}</span>'

    text = page.read_text("utf-8")
    page.write_text(re.sub(r'<span data-printed="(\w+)">.*?</span>', named, text), "utf-8")
