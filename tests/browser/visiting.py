"""A real Chromium, and the built site on a server of its own, in a sub-folder. Any other host is out of reach."""

import mimetypes
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from booktools.serving import Quiet, serving
from tests.browser.clocks import PATIENCE
from tests.browser.pages import DESKTOP

FOLDER = "/some/book/"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run"
)


@contextmanager
def chromium():
    """A browser without a page."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        program = next(filter(None, map(shutil.which, NAMES)), driver.chromium.executable_path)
        if not Path(program).is_file():
            pytest.fail("There is no Chromium to test the site in. `make setup` installs one, or says how.")
        started = driver.chromium.launch(executable_path=program, args=FLAGS.split())
        yield started
        started.close()


# Per package, not per session: while Playwright runs, this thread can't run the event loop that notebooks need.
@pytest.fixture(scope="package")
def browser():
    with chromium() as started:
        yield started


class Lasting(Quiet):
    """A browser keeps a connection for all that a page asks for."""

    protocol_version = "HTTP/1.1"


@pytest.fixture(scope="package")
def home(site):
    """The address of the site's first folder."""
    with in_a_folder(site.folder) as address:
        yield address


def in_a_folder(site: Path):
    """The address of a built site's first folder."""
    return serving(site, Lasting, at=FOLDER)


class Visitor:
    """Opens pages, each as a new reader would, and remembers what they asked for and complained about."""

    def __init__(self, browser, home):
        self.browser, self.home = browser, home
        self.contexts, self.requests, self.complaints = [], [], []

    def __call__(
        self,
        path="index.html",
        *,
        theme="light",
        viewport=DESKTOP,
        javascript=True,
        touch=False,
        motion="no-preference",
        served=None,
    ):
        """The page at `path`; `served` holds answers to give in place of the site's (None: not found)."""
        context = self.browser.new_context(
            color_scheme=theme,
            viewport=viewport,
            java_script_enabled=javascript,
            has_touch=touch,
            reduced_motion=motion,
            accept_downloads=True,
            service_workers="block",  # their requests can't be answered here, nor counted
        )
        self.contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.route(re.compile(f"^(?!{re.escape(self.home)}|data:|blob:)"), self._block)
        for name, text in (served or {}).items():
            context.route(self.home + name, partial(answer, name, text))
        page = context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("response", lambda response: response.status < 400 or self._note(response.status, response.url))
        page.on("pageerror", lambda error: self._note("an error nobody caught:", error))
        page.on("console", partial(self._listen, javascript))
        page.on("websocket", lambda socket: self._note("a web socket:", socket.url))
        page.goto(self.home + path)
        page.locator(":root:not(.early)").wait_for(state="attached")  # until all of a chapter is laid out
        return page

    def _listen(self, javascript, said):
        idle = not javascript and "was preloaded" in said.text  # for scripts, and said if the page stays long enough
        if said.type in ("error", "warning") and not idle and "registration blocked by Playwright" not in said.text:
            self._note("the console:", said.text)

    def _block(self, route):
        self._note("asks another host:", route.request.url)
        route.abort()

    def _note(self, *what):
        self.complaints.append(" ".join(map(str, what)))


def answer(name, text, route):
    if text is None:
        route.fulfill(status=404)
    else:
        route.fulfill(body=text, content_type=mimetypes.guess_type(name)[0])


@contextmanager
def visiting(browser, home) -> Iterator[Visitor]:
    """Whatever a page complains of meanwhile fails the test."""
    visitor = Visitor(browser, home)
    yield visitor
    for context in visitor.contexts:
        context.close()
    if visitor.complaints:
        said = "\n".join(visitor.complaints)
        pytest.fail(f"A page must load in silence and from its own host, but:\n{said}", pytrace=False)


@pytest.fixture
def visit(browser, home):
    """Open a page of the site: `visit("notation.html", theme="dark")`."""
    with visiting(browser, home) as visitor:
        yield visitor
