"""The pages of a printed site as parts of one book: opened in Chromium, where their widgets start and stand still."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from booktools.book import BookError
from booktools.book.edition import Edition
from booktools.progress import progress
from booktools.serving import serving

PATIENCE = 600_000  # milliseconds: on a busy machine a whole book takes its time to be laid out
STILL = Path(__file__).with_name("frozen_page.js")
BESIDE = ("your_model", "silent_mistakes", "notation", "glossary", "references")  # pages after the chapters


@dataclass(frozen=True)
class Part:
    """A page: its ids, and links to other parts, are `NAME--ID`."""

    name: str
    number: str  # of a chapter
    title: str
    html: str
    styles: list[str]
    pictures: dict[str, bytes] = field(default_factory=dict)  # of widgets, as PNG, by the id of their frame

    @property
    def heading(self) -> str:
        """The title, with the number of a chapter."""
        return f"{self.number} {self.title}".strip()


@contextmanager
def site_in_browser(html: Path) -> Iterator[tuple[Browser, str]]:
    """A browser, and the address of the site in a folder."""
    if not (html / "index.html").is_file():
        raise BookError(f"{html} holds no book; print it first: attnbook book {html}")
    with serving(html) as address, sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=which("chromium-headless-shell"), args=["--no-sandbox"]), address


def new_page(browser: Browser, **options: Any) -> Page:
    """A new page. It gets the time it needs, however busy the machine is."""
    page = browser.new_page(**options)
    page.set_default_timeout(PATIENCE)
    return page


def book_parts(edition: Edition, browser: Browser, address: str, *, pictures: bool = False) -> list[Part]:
    """The chapters and what is beside them, as far as the edition has them; with pictures of widgets, if wanted."""
    paths = [*(f"chapters/{chapter.stem}" for chapter in edition.chapters), *BESIDE]
    names = {Path(path).name: path for path in paths if edition.has(edition.source_of(path))}
    numbers = {chapter.stem: str(chapter.number) for chapter in edition.chapters}
    pages = {f"{address}{path}.html": name for name, path in names.items()}
    found = []
    for url, name in progress(pages.items(), "opening pages", of=len(pages)):
        page = new_page(
            browser, viewport={"width": 1024, "height": 1400}, reduced_motion="reduce", service_workers="block"
        )
        page.route("**/write.js*", lambda route: route.abort())  # a stub is printed as it is in the notebook
        page.goto(url)
        page.wait_for_selector(":root:not(.early)")
        call_javascript(page, address, STILL, "settle")
        frames = page.locator(".touch").all() if pictures else []
        taken = {frame.get_attribute("id") or "": screenshot(frame) for frame in frames}
        given = {"part": name, "parts": pages, "site": edition.here.site}
        about = call_javascript(page, address, STILL, "gather", given)
        found.append(Part(name, numbers.get(name, ""), **about, pictures=taken))
        page.close()
    return found


def screenshot(frame) -> bytes:
    return frame.locator("[data-afm]").first.screenshot()


def call_javascript(page: Page, address: str, module: Path, name: str, *given: Any) -> Any:
    """Calls a function of a JavaScript module on a page, whose host need not serve the module; returns its result."""
    url = f"{address}{module.name}"
    page.route(url, lambda route: route.fulfill(path=module, content_type="text/javascript"))
    return page.evaluate("async ([url, name, given]) => (await import(url))[name](...given)", [url, name, list(given)])
